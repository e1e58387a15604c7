//! RECENT_MESSAGES: the conversation so far, for templates. The built-in prompt shows it as the model's own turns.

use async_trait::async_trait;
use galatea_core::{Fragment, Memory, Provider, ProviderUse, Result, Turn, room::ChannelType};

use crate::words;

/// The conversation so far.
pub(crate) struct RecentMessages;

#[async_trait]
impl Provider for RecentMessages {
    fn name(&self) -> &'static str {
        "RECENT_MESSAGES"
    }
    fn description(&self) -> &'static str {
        "The conversation so far"
    }
    fn position(&self) -> i32 {
        100
    }
    fn when(&self) -> ProviderUse {
        ProviderUse::Always
    }
    async fn provide(&self, turn: &Turn<'_>) -> Result<Fragment> {
        // Only templates use it; without one, rendering the conversation twice would be wasted work.
        if turn.agent.character.templates.is_empty() {
            return Ok(Fragment::default());
        }
        let recent = render(turn.recent.iter().map(AsRef::as_ref));
        let waiting = render(turn.merged.iter().chain(std::iter::once(turn.message)));
        let text = format!("# Conversation\n{recent}\n\n# To answer now{}\n{waiting}", if turn.merged.is_empty() { "" } else { " (every one of these)" });
        let fragment =
            Fragment::text(text.clone()).value("recentMessages", text.clone()).value("conversationLog", text).value("receivedMessageHeader", waiting);
        let posts = if turn.room.kind == ChannelType::Feed { recent } else { String::new() };
        Ok(fragment.value("recentPosts", posts).value("recentInteractions", "").value("senderName", words::speaker(turn.message)))
    }
}

fn render<'a>(memories: impl Iterator<Item = &'a Memory>) -> String {
    memories.map(|memory| format!("{}: {}", words::speaker(memory), words::line(&memory.content.text, words::LONGEST))).collect::<Vec<_>>().join("\n")
}
