//! SUMMARIZED_CONTEXT (as in elizaOS): what was said before the messages that the prompt shows. It
//! changes only when messages leave the prompt, so it stands before the conversation.

use async_trait::async_trait;
use galatea_core::{Fragment, Provider, ProviderUse, Result, Turn, rights::Authorship};

use crate::summary;

pub(crate) struct SummarizedContext;

#[async_trait]
impl Provider for SummarizedContext {
    fn name(&self) -> &'static str {
        "SUMMARIZED_CONTEXT"
    }
    fn description(&self) -> &'static str {
        "What was said here earlier, in short"
    }
    fn position(&self) -> i32 {
        22
    }
    fn when(&self) -> ProviderUse {
        // A short conversation needs no query.
        ProviderUse::Always
    }
    fn lasting(&self) -> bool {
        true
    }
    async fn provide(&self, turn: &Turn<'_>) -> Result<Fragment> {
        if turn.earlier.is_none() {
            return Ok(Fragment::default());
        }
        // Or at the same time: some platforms have whole seconds.
        let shown_from = turn.recent.first().map(|memory| memory.created_at);
        let Some(summary) = summary::newest(turn, shown_from).await? else {
            return Ok(Fragment::default());
        };
        let text = summary::newest_within(&summary.text, summary::most(turn));
        if text.is_empty() {
            return Ok(Fragment::default());
        }
        let text = format!("{}{text}", summary::HEADING);
        let own = turn.room.kind.is_direct() && !summary.others_words;
        let authorship = if own { Authorship::Own } else { Authorship::Others };
        Ok(Fragment { authorship, ..Fragment::text(text.clone()) }.value("summarizedContext", text))
    }
}
