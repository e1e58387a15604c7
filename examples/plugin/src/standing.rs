//! The provider that shows in each prompt how the poll stands.

use async_trait::async_trait;
use galatea_core::{Fragment, Provider, ProviderUse, Result, Turn};

use crate::poll::Poll;

/// How the poll of the Room stands.
pub(crate) struct PollProvider;

#[async_trait]
impl Provider for PollProvider {
    fn name(&self) -> &'static str {
        "POLL"
    }
    fn description(&self) -> &'static str {
        "How the open poll stands"
    }
    fn position(&self) -> i32 {
        60
    }
    fn when(&self) -> ProviderUse {
        ProviderUse::Always
    }
    // `authorship` stays at its default: people wrote the question, so it instructs nobody.
    async fn provide(&self, turn: &Turn<'_>) -> Result<Fragment> {
        let poll = Poll::load(turn).await?;
        let text = poll.map(|poll| format!("# Open poll\n{}", poll.describe()));
        Ok(Fragment::text(text.unwrap_or_default()))
    }
}
