//! Describes one message's way through the program, for people.

use galatea_core::{StepOutcome, store::OutboxState};
use galatea_runtime::explain::{ExplainedDelivery, Explanation};
use std::fmt::Write as _;

use crate::report::output::{Style, hang};
use galatea_host::{
    look::{Color, Look, when, wrap},
    report::{NO_ACTION, Trouble},
};

/// Renders the description. Every line ends with a newline.
pub(crate) fn render(explanation: &Explanation, style: Style) -> String {
    let mut text = String::new();
    let mut fact = |label: &str, value: &str| {
        let _ = writeln!(
            text,
            "  {} {}",
            style.paint(Color::Cyan, &format!("{label:<9}")),
            hang(12, value, style)
        );
    };
    fact("message", &explanation.memory.to_string());
    fact(
        "platform",
        &format!("{} {} in {}", explanation.source, explanation.remote, explanation.room),
    );
    fact("received", &when(explanation.received_at.0));
    if let Some(finished) = explanation.finished_at {
        fact("finished", &format!("{} later", seconds(finished.0 - explanation.received_at.0)));
    }
    if let Some(lane) = &explanation.lane {
        let messages = if lane.ahead == 1 {
            "1 message".to_owned()
        } else {
            format!("{} messages", lane.ahead)
        };
        fact(
            "lane",
            &format!("{messages} of its room before it, {} turns begun for it", lane.begun),
        );
    }
    let summary = wrap(&explanation.summary, style.width(), style.width()).join("\n");
    let mut text = format!("{}\n\n{text}", style.bold(Color::Blue, &summary));
    if !explanation.steps.is_empty() {
        text.push_str("\n  Decided\n");
        let width = explanation.steps.iter().map(|s| s.rule.chars().count()).max().unwrap_or(0);
        for (n, step) in explanation.steps.iter().enumerate() {
            let color = if step.outcome == StepOutcome::Skip || step.outcome == StepOutcome::Failed
            {
                Color::Red
            } else {
                Color::Green
            };
            let outcome = style.paint(color, &format!("{:<6}", step.outcome));
            let _ = writeln!(
                text,
                "  {:>2}  {:<width$}  {outcome}  {}",
                n + 1,
                step.rule,
                hang(16 + width, &step.reason, style)
            );
        }
    }
    if !explanation.deliveries.is_empty() {
        text.push_str("\n  Delivered\n");
        for delivery in &explanation.deliveries {
            let _ = writeln!(text, "{}", part(delivery, style));
        }
    }
    if let Some(change) = &explanation.change {
        // Some changes are instructions rather than settings.
        let what = if change.value.is_empty() && change.setting.contains(' ') {
            change.setting.clone()
        } else {
            format!("{}={}", change.setting, change.value)
        };
        let _ = writeln!(text, "\n  To change it: {}", style.bold(Color::Yellow, &what));
    }
    text
}

fn part(delivery: &ExplainedDelivery, style: Style) -> String {
    let color = match delivery.state {
        OutboxState::Sent => Color::Green,
        OutboxState::Pending | OutboxState::Sending => Color::Yellow,
        OutboxState::Ambiguous | OutboxState::Expired | OutboxState::Dead => Color::Red,
    };
    let attempts = if delivery.attempts == 1 {
        "1 attempt".to_owned()
    } else {
        format!("{} attempts", delivery.attempts)
    };
    let mut line = format!(
        "  part {}  {}  {attempts}",
        delivery.part + 1,
        style.paint(color, delivery.state.as_str())
    );
    if let Some(at) = delivery.waits_until {
        let _ = write!(line, "  waits until {}", when(at.0));
    }
    if let Some(remote) = &delivery.remote {
        let _ = write!(line, "  as {remote}");
    }
    // The error of an earlier attempt explains why several were needed.
    if let Some(error) = &delivery.error {
        let trouble = Trouble::of_text(error);
        let code = trouble.code.map(|code| format!("  {code}")).unwrap_or_default();
        let _ =
            write!(line, "\n          {}", hang(10, &format!("{}{code}", trouble.message), style));
        // The advice of an attempt, such as `nothing to do, it is sent later`, is out of date once
        // no attempt follows.
        let again = format!("`galatea outbox retry {}` sends it again", delivery.id);
        let fix = match (delivery.state, trouble.fix) {
            // A refusal lasts until its cause is removed, so the fix comes first.
            (OutboxState::Dead, Some(fix)) if !fix.starts_with(NO_ACTION) => {
                Some(format!("{fix}; then {again}"))
            }
            (state, _) if !state.is_open() && state != OutboxState::Sent => Some(again),
            (_, fix) => fix,
        };
        for (label, text) in [("cause", trouble.cause), ("where", trouble.origin), ("fix", fix)] {
            if let Some(text) = text {
                let _ = write!(
                    line,
                    "\n          {} {}",
                    style.paint(Color::Cyan, &format!("{label}:")),
                    hang(12 + label.len(), &text, style)
                );
            }
        }
    }
    line
}

fn seconds(millis: i64) -> String {
    #[allow(clippy::cast_precision_loss, reason = "shown with two digits")]
    let seconds = millis.max(0) as f64 / 1000.0;
    format!("{seconds:.2} s")
}

#[cfg(test)]
mod tests {
    use super::*;
    use galatea_core::{
        DeliveryId, MemoryId, RemoteId, Source, StepOutcome, Timestamp,
        store::InboxState,
        verdict::{Change, Step},
    };

    fn explanation() -> Explanation {
        let step = |rule: &'static str, outcome: StepOutcome, reason: &'static str| Step {
            rule: rule.into(),
            outcome,
            reason: reason.into(),
        };
        Explanation {
            memory: MemoryId(galatea_core::ids::uuid_of("x")),
            remote: RemoteId::new("-1001234:7"),
            room: RemoteId::new("-1001234"),
            source: Source::new("telegram"),
            state: InboxState::Skipped,
            summary: "not answered: the message does not address the agent".into(),
            received_at: Timestamp(1_700_000_000_000),
            finished_at: Some(Timestamp(1_700_000_000_012)),
            steps: vec![
                step("own-message", StepOutcome::Pass, "another person wrote it"),
                step("mention", StepOutcome::Skip, "the message does not address the agent"),
            ],
            change: Some(Change { setting: "GROUP_POLICY".into(), value: "always".into() }),
            lane: None,
            deliveries: Vec::new(),
        }
    }

    #[test]
    fn a_skipped_message_is_explained_in_order_with_the_setting_that_would_change_it() {
        insta::assert_snapshot!(render(&explanation(), Style::plain()), @r"
        not answered: the message does not address the agent

          message   11f6ad8e-c52a-0984-abaa-fd7c3b516503
          platform  telegram -1001234:7 in -1001234
          received  2023-11-14T22:13:20Z
          finished  0.01 s later

          Decided
           1  own-message  pass    another person wrote it
           2  mention      skip    the message does not address the agent

          To change it: GROUP_POLICY=always
        ");
    }

    #[test]
    fn a_message_that_waits_shows_its_place() {
        let waiting = Explanation {
            lane: Some(galatea_runtime::explain::Lane { ahead: 3, begun: 1 }),
            ..explanation()
        };
        assert!(
            render(&waiting, Style::plain())
                .contains("  lane      3 messages of its room before it, 1 turns begun for it\n")
        );
    }

    #[test]
    fn what_is_over_does_not_advise_to_wait() {
        let id: DeliveryId = "5f0a92c1-7000-7000-8000-000000000001".parse().unwrap();
        let error = Some("Telegram asks to wait (code=GAL-TG-429, fix=nothing to do: it is sent after that time)".into());
        let expired = ExplainedDelivery {
            id,
            part: 0,
            state: OutboxState::Expired,
            attempts: 3,
            remote: None,
            error,
            waits_until: None,
        };
        let text =
            render(&Explanation { deliveries: vec![expired], ..explanation() }, Style::plain());
        assert!(!text.contains("nothing to do") && text.contains("fix: `galatea outbox retry 5f0a92c1-7000-7000-8000-000000000001` sends it again"), "{text}");
    }

    #[test]
    fn every_part_of_an_answer_shows_its_attempts() {
        let id = DeliveryId::fresh();
        let sent = ExplainedDelivery {
            id,
            part: 0,
            state: OutboxState::Sent,
            attempts: 1,
            remote: Some(RemoteId::new("9")),
            error: None,
            waits_until: None,
        };
        let dead = ExplainedDelivery {
            id,
            part: 1,
            state: OutboxState::Dead,
            attempts: 8,
            remote: None,
            error: Some("the chat is gone".into()),
            waits_until: None,
        };
        let text =
            render(&Explanation { deliveries: vec![sent, dead], ..explanation() }, Style::plain());
        assert!(text.contains("part 1  sent  1 attempt  as 9\n  part 2  dead  8 attempts\n          the chat is gone"), "{text}");
    }

    #[test]
    fn a_part_that_waits_for_the_platform_says_until_when() {
        let id = DeliveryId::fresh();
        let waits_until = Some(Timestamp(1_700_000_030_000));
        let flood = ExplainedDelivery {
            id,
            part: 0,
            state: OutboxState::Pending,
            attempts: 0,
            remote: None,
            error: Some("slow down".into()),
            waits_until,
        };
        let text =
            render(&Explanation { deliveries: vec![flood], ..explanation() }, Style::plain());
        assert!(
            text.contains(
                "part 1  pending  0 attempts  waits until 2023-11-14T22:13:50Z\n          slow down"
            ),
            "{text}"
        );
    }
}
