//! Decodes the quote of a reply. Telegram sends the quoted text along, so the quoted message need
//! not be in the store.

use galatea_core::{Quote, QuoteKind};
use teloxide::types::{Message, MessageKind, MessageOrigin};

use super::{Me, connection, is_me, media, text, text::text_and_entities};

/// The message replied to, or the part of it that the sender selected.
pub(super) fn of(m: &Message, me: &Me) -> Vec<Quote> {
    let MessageKind::Common(common) = &m.kind else { return Vec::new() };
    let chosen = common.quote.as_ref().map(|quote| text::to_markdown(&quote.text, &quote.entities));
    let quote = match (real_reply(m), &common.external_reply) {
        (Some(replied), _) => {
            let own = replied.sender_chat.is_none()
                && replied.from.as_ref().is_some_and(|user| is_me(user.id.0, me));
            let said = chosen.unwrap_or_else(|| all(replied));
            Quote {
                own,
                attachments: media::attachments(replied),
                ..Quote::new(QuoteKind::Reply, author(replied), said)
            }
        }
        // A reply to a message of another chat.
        (None, Some(external)) => Quote::new(
            QuoteKind::Reply,
            Some(origin_name(&external.origin)),
            chosen.unwrap_or_default(),
        ),
        // A reply to a story, or to a message that could not be parsed.
        (None, None) => match chosen {
            Some(chosen) => Quote::new(QuoteKind::Reply, None, chosen),
            None => return Vec::new(),
        },
    };
    if quote.is_empty() && !quote.own { Vec::new() } else { vec![quote] }
}

/// The whole text of a message, with a description of content without text.
fn all(m: &Message) -> String {
    let (words, entities) = text_and_entities(m);
    let said = text::to_markdown(words, entities);
    [Some(said), media::in_words(m)]
        .into_iter()
        .flatten()
        .filter(|text| !text.is_empty())
        .collect::<Vec<_>>()
        .join("\n")
}

fn author(m: &Message) -> Option<String> {
    match (&m.sender_chat, &m.from) {
        (Some(chat), _) => connection::chat_name(chat),
        (None, Some(user)) => Some(user.full_name()),
        (None, None) => connection::chat_name(&m.chat),
    }
}

/// The message that this one replies to. In a topic, Telegram presents a message without a reply as
/// a reply to the topic's first message, which does not count.
pub(super) fn real_reply(m: &Message) -> Option<&Message> {
    m.reply_to_message().filter(|r| {
        let root = m.is_topic_message && m.thread_id.is_some_and(|t| t.0 == r.id);
        !root && !matches!(r.kind, MessageKind::ForumTopicCreated(_))
    })
}

pub(super) fn origin_name(origin: &MessageOrigin) -> String {
    match origin {
        MessageOrigin::User { sender_user, .. } => sender_user.full_name(),
        MessageOrigin::HiddenUser { sender_user_name, .. } => sender_user_name.clone(),
        MessageOrigin::Chat { sender_chat, .. } => {
            connection::chat_name(sender_chat).unwrap_or_default()
        }
        MessageOrigin::Channel { chat, .. } => connection::chat_name(chat).unwrap_or_default(),
    }
}
