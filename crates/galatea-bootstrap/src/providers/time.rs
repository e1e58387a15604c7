//! TIME: the current time. The day stands with the place, in the lasting part of the prompt.

use async_trait::async_trait;
use galatea_core::{Fragment, Provider, ProviderUse, Result, Turn, rights::Authorship};

/// The current date and time in the agent's time zone (`TIMEZONE`).
pub(crate) struct Time;

#[async_trait]
impl Provider for Time {
    fn name(&self) -> &'static str {
        "TIME"
    }
    fn description(&self) -> &'static str {
        "The current date and time"
    }
    fn position(&self) -> i32 {
        // After all parts that stay the same from turn to turn.
        110
    }
    fn when(&self) -> ProviderUse {
        ProviderUse::Always
    }
    fn authorship(&self) -> Authorship {
        Authorship::Own
    }
    async fn provide(&self, turn: &Turn<'_>) -> Result<Fragment> {
        let (zone, now) = (&turn.agent.zone, turn.agent.zone.local(turn.now()));
        let text = format!("{}, {} {}", now.long_date(), now.clock(), zone.name());
        let short = format!("It is {} now.", now.clock());
        Ok(Fragment::text(short).value("time", text))
    }
}
