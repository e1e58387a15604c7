//! Limits of busy rooms, of the size of turns, and of time.

use galatea_core::{Result, Settings, Variable, sections::Section};
use std::time::Duration;

use super::{
    ACTION_CONFIRMATION, ACTION_CONFIRMATION_MINUTES, ANSWER_TTL_MINUTES, BUSY_POLICY,
    COLLECT_LIMIT, CONVERSATION_LENGTH, CONVERSATION_TOKENS, DELIVERY_WHEN_UNSURE,
    EVALUATION_PAUSE_SECONDS, INSTANCES_MAX, INSTANCES_MIN, INSTANCES_WAIT_MS,
    PROVIDERS_TOTAL_TIMEOUT_MS, TOOL_STEPS, TURN_TIMEOUT_SECONDS, TraceLimits,
};

/// Treatment of messages that arrive while an answer is being made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BusyPolicy {
    /// An answer to all that wait.
    Collect,
    /// An answer per message.
    Each,
    /// Start again with both.
    Interrupt,
    /// Skip, with the reason.
    Drop,
}

/// Condition under which an action beyond its Room waits for the consent of the person who asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confirmation {
    /// While other people's words are before the model.
    OthersWords,
    /// Every such action waits for a confirmation.
    Always,
    /// No action waits, except one that deletes what others wrote.
    Never,
}

/// Tokens of earlier messages that a prompt shows (`CONVERSATION_TOKENS`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConversationTokens {
    /// A quarter of the model's window, at most 3,000.
    ByWindow,
    /// So many, and at most a quarter of the window.
    Most(u64),
    /// No limit: they may fill the window.
    Unlimited,
}

impl ConversationTokens {
    /// Most tokens in a model with this window.
    pub(crate) fn most(self, window: Option<u32>) -> Option<u64> {
        match self {
            Self::ByWindow => Some(Section::Conversation.budget(window)),
            Self::Most(tokens) => Some(tokens.min(Section::Conversation.share(window))),
            Self::Unlimited => None,
        }
    }
}

/// Number of instances of an agent: each makes one turn at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InstanceLimits {
    /// Instances while there is little to do.
    pub min: u32,
    /// Most instances.
    pub max: u32,
    /// Time that the oldest waiting turn waits before an instance is added.
    pub wait: Duration,
}

impl InstanceLimits {
    /// Reads the limits; none without `INSTANCES_MAX`.
    fn from_settings(settings: &Settings) -> Result<Option<Self>> {
        let number = |variable: &Variable| -> Result<Option<u32>> {
            match settings.parse(variable, "a whole number")? {
                Some(0) => Err(settings.invalid_setting(variable, "has to be more than 0")),
                number => Ok(number),
            }
        };
        let Some(max) = number(&INSTANCES_MAX)? else { return Ok(None) };
        let min = number(&INSTANCES_MIN)?.unwrap_or(1);
        if min > max {
            return Err(settings.invalid_setting(&INSTANCES_MIN, "is more than INSTANCES_MAX"));
        }
        let wait = u64::from(number(&INSTANCES_WAIT_MS)?.unwrap_or(1_000));
        Ok(Some(Self { min, max, wait: Duration::from_millis(wait) }))
    }
}

/// Timing and sizes of turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Busy policy; none means by room type.
    pub busy: Option<BusyPolicy>,
    /// Turns at once; none for any number.
    pub instances: Option<InstanceLimits>,
    /// Messages one answer addresses at most.
    pub collect: usize,
    /// Earlier messages shown to the model.
    pub conversation: u32,
    /// Tokens of these, at most.
    pub conversation_tokens: ConversationTokens,
    /// Deadline of a provider.
    pub provider: Duration,
    /// Pause in a Room before evaluators that wait for one run there.
    pub evaluation_pause: Duration,
    /// Deadline of a turn.
    pub turn: Duration,
    /// Rounds of tools in a turn, at least one.
    pub tool_steps: usize,
    /// Age at which an answer expires.
    pub answer_ttl: Duration,
    /// Condition under which actions wait for a confirmation.
    pub confirmation: Confirmation,
    /// Time for which they wait.
    pub confirmation_life: Duration,
    /// An answer that may have arrived is sent again.
    pub resend_unsure: bool,
    /// What is recorded of turns.
    pub traces: TraceLimits,
}

impl Limits {
    /// Reads the settings.
    ///
    /// # Errors
    /// `Invalid` naming the variable and its place.
    pub fn from_settings(settings: &Settings) -> Result<Self> {
        let number = |variable: &Variable| -> Result<u64> {
            let value: Option<u64> = settings.parse(variable, "a whole number")?;
            value
                .filter(|n| *n > 0)
                .ok_or_else(|| settings.invalid_setting(variable, "has to be more than 0"))
        };
        let busy = match settings
            .text(&BUSY_POLICY)
            .unwrap_or_default()
            .trim()
            .to_ascii_lowercase()
            .as_str()
        {
            "auto" => None,
            "collect" => Some(BusyPolicy::Collect),
            "each" => Some(BusyPolicy::Each),
            "interrupt" => Some(BusyPolicy::Interrupt),
            "drop" => Some(BusyPolicy::Drop),
            _ => {
                return Err(settings.invalid_setting(
                    &BUSY_POLICY,
                    "is none of auto, collect, each, interrupt, drop",
                ));
            }
        };
        Ok(Self {
            traces: TraceLimits::from_settings(settings)?,
            busy,
            instances: InstanceLimits::from_settings(settings)?,
            collect: usize::try_from(number(&COLLECT_LIMIT)?.min(100)).unwrap_or(12),
            conversation: u32::try_from(number(&CONVERSATION_LENGTH)?.min(500)).unwrap_or(32),
            conversation_tokens: match settings.text(&CONVERSATION_TOKENS).as_deref().map(str::trim)
            {
                Some("auto") => ConversationTokens::ByWindow,
                Some("none") => ConversationTokens::Unlimited,
                _ => ConversationTokens::Most(number(&CONVERSATION_TOKENS)?),
            },
            provider: Duration::from_millis(number(&PROVIDERS_TOTAL_TIMEOUT_MS)?),
            evaluation_pause: Duration::from_secs(
                settings.parse(&EVALUATION_PAUSE_SECONDS, "a whole number")?.unwrap_or(5),
            ),
            turn: Duration::from_secs(number(&TURN_TIMEOUT_SECONDS)?),
            tool_steps: usize::try_from(number(&TOOL_STEPS)?.min(20)).unwrap_or(6),
            answer_ttl: Duration::from_secs(60 * number(&ANSWER_TTL_MINUTES)?),
            confirmation: match settings
                .text(&ACTION_CONFIRMATION)
                .unwrap_or_default()
                .trim()
                .to_ascii_lowercase()
                .as_str()
            {
                "others-words" => Confirmation::OthersWords,
                "always" => Confirmation::Always,
                "never" => Confirmation::Never,
                _ => {
                    return Err(settings.invalid_setting(
                        &ACTION_CONFIRMATION,
                        "is none of others-words, always, never",
                    ));
                }
            },
            confirmation_life: Duration::from_secs(60 * number(&ACTION_CONFIRMATION_MINUTES)?),
            resend_unsure: match settings
                .text(&DELIVERY_WHEN_UNSURE)
                .unwrap_or_default()
                .trim()
                .to_ascii_lowercase()
                .as_str()
            {
                "resend" => true,
                "hold" => false,
                _ => {
                    return Err(settings
                        .invalid_setting(&DELIVERY_WHEN_UNSURE, "is neither resend nor hold"));
                }
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_values_name_their_place() {
        for (name, value) in [
            ("BUSY_POLICY", "x"),
            ("COLLECT_LIMIT", "0"),
            ("INSTANCES_MAX", "0"),
            ("DELIVERY_WHEN_UNSURE", "maybe"),
            ("ACTION_CONFIRMATION", "x"),
        ] {
            let error = Limits::from_settings(&Settings::from_pairs([(name, value)])).unwrap_err();
            assert!(
                error.to_string().contains(name) && error.to_string().contains("environment"),
                "{error}"
            );
        }
    }
}
