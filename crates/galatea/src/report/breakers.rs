//! Findings about open circuit breakers, for `status`, `doctor` and `explain`.

use galatea_core::{
    Finding, Severity,
    breaker::{BreakerState, Phase},
};

use galatea_host::look::when;

/// Code of a breaker that is not closed.
const CODE: &str = "GAL-BREAKER";

/// One finding for each breaker that is not closed, with its start, cause and next attempt.
pub(crate) fn findings(states: &[BreakerState]) -> Vec<Finding> {
    states.iter().filter(|state| state.phase != Phase::Closed).map(finding).collect()
}

fn finding(state: &BreakerState) -> Finding {
    let message = format!(
        "{} is left alone since {}: its circuit breaker is {}",
        state.name,
        when(state.since.0),
        state.phase.as_str()
    );
    let mut finding = Finding::new(Severity::Warning, CODE, "breaker", message);
    finding.cause.clone_from(&state.cause);
    let next = match (state.phase, state.until) {
        (Phase::HalfOpen, _) => "nothing to do: it is being tried".to_owned(),
        (Phase::Latched, None) => "put right what the cause says, then start again".to_owned(),
        (Phase::Latched, Some(until)) => format!(
            "put right what the cause says; it is tried again at {}, or at the next start",
            when(until.0)
        ),
        (_, Some(until)) => format!("nothing to do: it is tried again at {}", when(until.0)),
        (_, None) => "nothing to do: it is tried again".to_owned(),
    };
    finding.with_fix(next)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{findings::render, output::Style};
    use galatea_core::Timestamp;

    #[test]
    fn only_what_is_left_alone_is_reported_with_since_cause_and_until() {
        let state = |name: &str, phase, until| BreakerState {
            name: name.to_owned(),
            phase,
            since: Timestamp(1_700_000_000_000),
            cause: Some("HTTP 500".into()),
            until,
        };
        let states = [
            state("telegram:1", Phase::Closed, None),
            state("openai gpt-4o", Phase::Open, Some(Timestamp(1_700_000_005_000))),
            state("discord:2", Phase::Latched, None),
        ];
        insta::assert_snapshot!(render(&findings(&states), Style::plain()), @r"
        ! openai gpt-4o is left alone since 2023-11-14T22:13:20Z: its circuit breaker is
          open GAL-BREAKER
            cause: HTTP 500
            fix:   nothing to do: it is tried again at 2023-11-14T22:13:25Z
        ! discord:2 is left alone since 2023-11-14T22:13:20Z: its circuit breaker is
          latched GAL-BREAKER
            cause: HTTP 500
            fix:   put right what the cause says, then start again
        ");
    }
}
