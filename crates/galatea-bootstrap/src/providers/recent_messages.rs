//! RECENT_MESSAGES: the conversation so far, for templates. The built-in prompt passes it as the
//! model's own turns.

use async_trait::async_trait;
use galatea_core::{
    Fragment, Memory, Provider, ProviderUse, QuoteKind, Result, Speakers, Turn, rights::Authorship,
    room::ChannelType, speakers, tokens::Family,
};

use crate::words;

pub(crate) struct RecentMessages;

/// In graphemes: the part of a quoted message that is shown.
const QUOTED: usize = 300;

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
    fn authorship(&self) -> Authorship {
        Authorship::Own
    }
    async fn provide(&self, turn: &Turn<'_>) -> Result<Fragment> {
        // Only templates use it. Without one, rendering the conversation twice would be wasted
        // work.
        if turn.agent.character.templates.is_empty() {
            return Ok(Fragment::default());
        }
        let speakers = Speakers::of(turn);
        let recent = render(turn, &speakers, turn.recent.iter().map(AsRef::as_ref));
        let waiting =
            render(turn, &speakers, turn.merged.iter().chain(std::iter::once(turn.message)));
        let text = format!(
            "# Conversation\n{recent}\n\n# To answer now{}\n{waiting}",
            if turn.merged.is_empty() { "" } else { " (every one of these)" }
        );
        let fragment = Fragment::text(text.clone())
            .value("recentMessages", text.clone())
            .value("conversationLog", text)
            .value("receivedMessageHeader", waiting);
        let posts = if turn.room.kind == ChannelType::Feed { recent } else { String::new() };
        Ok(fragment
            .value("recentPosts", posts)
            .value("recentInteractions", "")
            .value("senderName", speakers.of_memory(turn.message)))
    }
}

/// Renders one line per message, so that a person cannot fake a line of another speaker. The newest
/// is last; older ones are omitted if they do not fit into the model's context.
fn render<'a>(
    turn: &Turn<'_>,
    speakers: &Speakers,
    memories: impl Iterator<Item = &'a Memory>,
) -> String {
    let own = turn.agent.identity.entity();
    let info = turn.models.large.info();
    let family = Family::of(&info.model);
    // Half of the context window, because the template has other parts.
    let mut left = info.limits.window.map_or(u64::MAX, |window| u64::from(window) / 2);
    let lines: Vec<String> = memories
        .map(|memory| {
            line(
                memory,
                if memory.entity_id == own {
                    turn.agent.character.name.clone()
                } else {
                    speakers.of_memory(memory)
                },
            )
        })
        .collect();
    let mut kept: Vec<String> = Vec::new();
    for line in lines.into_iter().rev() {
        let size = family.text(&line) + 1;
        if size > left && !kept.is_empty() {
            break;
        }
        left = left.saturating_sub(size);
        kept.push(line);
    }
    kept.reverse();
    kept.join("\n")
}

fn line(memory: &Memory, name: String) -> String {
    let reply =
        memory.content.quotes.iter().find(|quote| quote.kind == QuoteKind::Reply).map(|quote| {
            let by = if quote.own {
                "you".to_owned()
            } else {
                quote.by.as_deref().map(speakers::display).unwrap_or_default()
            };
            format!(
                " [replying to {by}: \"{}\"]",
                words::line(&quote.text, QUOTED).replace('"', "'")
            )
        });
    format!(
        "{name}{}: {}",
        reply.unwrap_or_default(),
        words::line(&memory.content.text, words::LONGEST)
    )
}
