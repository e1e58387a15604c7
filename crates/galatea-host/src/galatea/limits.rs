//! Limits of an agent, as settings.

use galatea_core::settings::{Layer, Origin, Setting};

/// Limits of an agent. What is not set has no limit but those of the settings. Memory and processor
/// time are shared by all agents of a process: a container limits them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct AgentLimits {
    answers: Option<u32>,
    cents: Option<u32>,
    instances: Option<(u32, u32)>,
}

impl AgentLimits {
    /// No limits.
    pub fn new() -> Self {
        Self::default()
    }

    /// elizaOS `maxRequestsPerMinute`: answers per minute to all people together (`LIMIT_AGENT`).
    #[must_use]
    pub fn answers_per_minute(mut self, answers: u32) -> Self {
        self.answers = Some(answers);
        self
    }

    /// Money that models may cost per day, in US cents (`BUDGET_AGENT`).
    #[must_use]
    pub fn cents_per_day(mut self, cents: u32) -> Self {
        self.cents = Some(cents);
        self
    }

    /// elizaOS `maxConcurrentRequests`: turns at once, at least 1 (`INSTANCES_MAX`). Others wait in
    /// their order.
    #[must_use]
    pub fn turns_at_once(self, turns: u32) -> Self {
        self.instances(turns, turns)
    }

    /// elizaOS `agentPools`: instances of the agent, each of which makes one turn at a time. One is
    /// added when the oldest waiting turn has waited for `INSTANCES_WAIT_MS`, and removed when none
    /// waits (`INSTANCES_MIN`, `INSTANCES_MAX`). All instances are the same agent with one memory.
    #[must_use]
    pub fn instances(mut self, min: u32, max: u32) -> Self {
        let min = min.max(1);
        self.instances = Some((min, max.max(min)));
        self
    }

    /// Adds the limits to a layer of settings.
    pub(super) fn write(&self, layer: &mut Layer) {
        let mut set = |name: &str, value: String| {
            let setting = Setting { value: value.into(), origin: Origin::Environment };
            layer.insert(name.to_owned(), setting);
        };
        if let Some(answers) = self.answers {
            set("LIMIT_AGENT", format!("{answers}/min"));
        }
        if let Some(cents) = self.cents {
            set("BUDGET_AGENT", format!("{}.{:02} USD", cents / 100, cents % 100));
        }
        if let Some((min, max)) = self.instances {
            set("INSTANCES_MIN", min.to_string());
            set("INSTANCES_MAX", max.to_string());
        }
    }
}
