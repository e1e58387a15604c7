//! Decides whether a refusal for length can be true, and how much less is asked then. Pure.

use galatea_core::Overlong;

/// Tokens that every model takes; a shorter prompt is not too long without numbers that say so.
pub(super) const LEAST: u64 = 1_024;

/// A request that was refused.
#[derive(Debug, Clone, Copy)]
pub(super) struct RefusedRequest {
    /// Its tokens as they are estimated.
    pub(super) estimate: u64,
    /// The same, in the model's count.
    pub(super) tokens: u64,
    /// Tokens of the answer that it may have asked for.
    pub(super) answer: u64,
    /// The longest request that the model took, as estimated.
    pub(super) taken: u64,
    /// The model's window, where it is known.
    pub(super) window: Option<u64>,
}

/// Limits that a refusal shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Judgement {
    /// The request was too long, by an unknown amount.
    Half,
    /// A request of this estimate passes.
    To(u64),
    /// It cannot be true, for this reason.
    Untrue(&'static str),
}

/// Judges a refusal by its own numbers, or else by what is known of the model.
pub(super) fn judge(asked: RefusedRequest, said: Option<Overlong>) -> Judgement {
    let RefusedRequest { estimate, tokens, answer, taken, window } = asked;
    // Estimates may be a quarter too low.
    let at_most = tokens + tokens / 4 + answer;
    match said.unwrap_or_default() {
        Overlong { most: Some(most), asked: Some(counted) } => {
            if counted <= most {
                return Judgement::Untrue("the refusal says that it takes more than was asked");
            }
            // The answer's tokens stay when the prompt is shortened.
            let answer = answer.min(most / 2).min(counted / 2);
            Judgement::To(part(estimate, most - answer, counted - answer))
        }
        Overlong { most: Some(most), asked: None } => {
            if at_most <= most {
                return Judgement::Untrue("the refusal says that it takes more than that");
            }
            let least = most.saturating_sub(answer.min(most / 4));
            Judgement::To(part(estimate, least, tokens.max(least)))
        }
        Overlong { most: None, .. } if window.is_some_and(|window| at_most <= window) => {
            Judgement::Untrue("the model's window holds more")
        }
        // Texts differ in how many tokens an estimate stands for.
        Overlong { most: None, .. } if estimate + estimate / 8 <= taken => {
            Judgement::Untrue("the model took a longer one before")
        }
        Overlong { most: None, .. } if estimate <= LEAST => {
            Judgement::Untrue("every model takes a prompt of this length")
        }
        Overlong { most: None, .. } => Judgement::Half,
    }
}

/// The part of an estimate that a limit leaves of what was counted, a little less, since parts of a
/// prompt differ in their tokens.
fn part(estimate: u64, limit: u64, counted: u64) -> u64 {
    let part = u128::from(estimate) * u128::from(limit) / u128::from(counted.max(1));
    let part = u64::try_from(part).unwrap_or(estimate).min(estimate);
    part - part / 16
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(estimate: u64) -> RefusedRequest {
        RefusedRequest { estimate, tokens: estimate, answer: 500, taken: 0, window: None }
    }

    fn said(most: u64, asked: Option<u64>) -> Option<Overlong> {
        Some(Overlong { most: Some(most), asked })
    }

    #[test]
    fn the_refusals_numbers_count_before_what_is_known() {
        let known = RefusedRequest { taken: 9_000, window: Some(100_000), ..asked(8_000) };
        assert_eq!(judge(known, said(4_096, Some(8_500))), Judgement::To(3_372));
        assert!(matches!(judge(asked(8_000), said(8_192, Some(8_000))), Judgement::Untrue(_)));
        assert!(
            matches!(judge(asked(8_000), said(4_096, None)), Judgement::To(most) if most < 4_096)
        );
        assert!(matches!(judge(asked(8_000), said(200_000, None)), Judgement::Untrue(_)));
    }

    #[test]
    fn without_numbers_nothing_is_believed_that_cannot_be() {
        for known in [
            RefusedRequest { taken: 9_000, ..asked(8_000) },
            RefusedRequest { window: Some(16_000), ..asked(8_000) },
            asked(1_000),
        ] {
            assert!(matches!(judge(known, None), Judgement::Untrue(_)), "{known:?}");
        }
        for possible in [
            asked(8_000),
            RefusedRequest { taken: 8_500, ..asked(8_000) },
            RefusedRequest { window: Some(8_192), ..asked(8_000) },
        ] {
            assert_eq!(judge(possible, None), Judgement::Half, "{possible:?}");
        }
    }

    #[test]
    fn less_is_asked_each_time() {
        for (most, counted) in [(1, Some(2)), (8_000, Some(8_001)), (5, None), (7_999, None)] {
            let Judgement::To(to) = judge(asked(8_000), said(most, counted)) else { panic!() };
            assert!(to < 8_000, "{most} {counted:?}: {to}");
        }
    }
}
