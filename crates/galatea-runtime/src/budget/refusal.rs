//! The limit that kept a message from being answered, in words, with the one setting that
//! would change it.

use galatea_core::{
    Error, ErrorKind, StepOutcome,
    model::LIMIT_CODE,
    verdict::{Change, Verdict},
};

use crate::config::Flow;

/// The holder whose limit was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Who {
    Person,
    Room,
    World,
    Platform,
    Strangers,
    /// Work of the agent beside its answers.
    Background,
    Agent,
}

impl Who {
    /// The words that fit into a sentence.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Person => "this person",
            Self::Room => "this room",
            Self::World => "this World",
            Self::Platform => "this platform",
            Self::Strangers => "all strangers together",
            Self::Background => "the agent's work in the background",
            Self::Agent => "the agent",
        }
    }
}

/// The limit that was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RefusalReason {
    /// Answers a minute.
    Minute(Flow),
    /// Answers a day.
    Day(u64),
    /// Millionths of a dollar a day.
    Money(u64),
    /// Tokens a day.
    Tokens(u64),
}

/// A limit that is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) who: Who,
    pub(crate) why: RefusalReason,
    /// The setting with its platform, if that has one of its own.
    pub(crate) setting: String,
    /// Per cent of that limit that commands may use, where their share was used up.
    pub(crate) commands: Option<CommandShare>,
}

/// The share of a limit that commands may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommandShare {
    pub(crate) percent: u64,
    /// The setting that says so.
    pub(crate) setting: String,
}

impl Refusal {
    pub(super) fn new(who: Who, why: RefusalReason, setting: &str) -> Self {
        Self { who, why, setting: setting.to_owned(), commands: None }
    }

    /// The refusal of a command by its share of a limit.
    pub(super) fn of_commands(self, share: CommandShare) -> Self {
        Self { commands: Some(share), ..self }
    }

    /// Over by itself in a minute or so.
    pub(crate) fn passes_soon(&self) -> bool {
        matches!(self.why, RefusalReason::Minute(_))
    }

    /// A sentence for `galatea explain`.
    pub(crate) fn reason(&self) -> String {
        let who = self.who.text();
        if let Some(share) = &self.commands {
            let (percent, limit) = (share.percent, &self.setting);
            let had = match self.why {
                RefusalReason::Minute(flow) => {
                    format!("this minute ({} a minute, {} at once", flow.per_minute, flow.burst)
                }
                RefusalReason::Day(day)
                | RefusalReason::Money(day)
                | RefusalReason::Tokens(day) => {
                    format!("today (UTC) ({day}")
                }
            };
            return format!("{who} has had its commands of {had}: {percent} % of {limit})");
        }
        match self.why {
            RefusalReason::Minute(flow) => format!(
                "{who} has had its answers of this minute ({} a minute, {} at once)",
                flow.per_minute, flow.burst
            ),
            RefusalReason::Day(day) => format!("{who} has had its {day} answers of today (UTC)"),
            RefusalReason::Money(cap) => {
                format!("what {who} may cost today (UTC) is used up or set aside: {}", dollars(cap))
            }
            RefusalReason::Tokens(cap) => {
                format!("what {who} may cost today (UTC) is used up or set aside: {cap} tokens")
            }
        }
    }

    /// The setting and a value that would have let this one through: twice as much.
    fn change(&self) -> Change {
        if let Some(share) = self.commands.as_ref().filter(|share| share.percent < 100) {
            let value = share.percent.max(5).saturating_mul(2).min(100).to_string();
            return Change { setting: share.setting.clone(), value };
        }
        let value = match (self.who, self.why) {
            (Who::Strangers, _) => "100".to_owned(),
            (_, RefusalReason::Minute(flow)) => {
                format!("{}/min", flow.per_minute.max(1).saturating_mul(2))
            }
            (_, RefusalReason::Day(day)) => format!("{}/day", day.max(1).saturating_mul(2)),
            (_, RefusalReason::Money(cap)) => dollars(cap.max(50_000).saturating_mul(2)),
            (_, RefusalReason::Tokens(cap)) => {
                format!("{} tokens", cap.max(50_000).saturating_mul(2))
            }
        };
        Change { setting: self.setting.clone(), value }
    }

    /// Notes it: the message is not answered.
    pub(crate) fn note(&self, verdict: &mut Verdict) {
        let rule = if matches!(self.why, RefusalReason::Minute(_) | RefusalReason::Day(_)) {
            "limits"
        } else {
            "budget"
        };
        verdict.decision = galatea_core::Decision::Skip;
        verdict.step(rule, StepOutcome::Skip, self.reason());
        verdict.change = Some(self.change());
    }

    /// For layers that know errors only.
    pub(super) fn error(&self) -> Error {
        Error::new(ErrorKind::Invalid, self.reason()).with_code(LIMIT_CODE)
    }
}

/// An amount, like `0.05 USD`.
pub(crate) fn dollars(micros: u64) -> String {
    let cents = micros.div_ceil(10_000);
    if micros.is_multiple_of(10_000) {
        format!("{}.{:02} USD", cents / 100, cents % 100)
    } else {
        format!("{}.{:06} USD", micros / 1_000_000, micros % 1_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_is_written_as_the_setting_takes_it() {
        assert_eq!(
            [0, 50_000, 1_000_000, 1_234].map(dollars),
            ["0.00 USD", "0.05 USD", "1.00 USD", "0.001234 USD"]
        );
    }

    #[test]
    fn a_refusal_names_the_one_setting() {
        let mut verdict = Verdict::default();
        Refusal::new(Who::Person, RefusalReason::Money(50_000), "TELEGRAM_BUDGET_STRANGER")
            .note(&mut verdict);
        let change = verdict.change.unwrap();
        assert_eq!(
            (change.setting.as_str(), change.value.as_str()),
            ("TELEGRAM_BUDGET_STRANGER", "0.10 USD")
        );
        assert_eq!(verdict.steps[0].rule, "budget");
        assert!(verdict.steps[0].reason.contains("0.05 USD"));
    }
}
