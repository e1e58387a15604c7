//! Decodes posts of X into Galatea's messages. Pure.

mod media;
pub(crate) mod raw;
pub(crate) mod request;
pub(crate) mod snowflake;
#[cfg(test)]
mod tests;
pub(crate) mod text;

use galatea_core::{
    Addressed, ChannelType, Connection, Content, EntityRef, Incoming, IncomingEvent,
    IncomingMessage, Quote, QuoteKind, RemoteId, RoomRef, Timestamp, WorldRef,
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use twitter_v2::data::{ReferencedTweetKind, User};
use url::Url;

use raw::{Includes, Post};

pub(crate) use self::snowflake::number;

/// The connector's own account on X.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Me {
    /// The account's id.
    pub(crate) id: u64,
    /// The account's handle without `@`; empty while unknown.
    pub(crate) user_name: String,
}

impl Me {
    /// Id of the room that holds our own posts, as elizaOS names it.
    pub(crate) fn home(&self) -> RemoteId {
        RemoteId(format!("{}-home", self.id))
    }
}

/// The numeric id of a post; `None` if `id` is not one.
pub(crate) fn post_id(id: &RemoteId) -> Option<u64> {
    number(id.as_str())
}

/// Decodes one post into one message. `None` for a repost, which has no content of its own, and for
/// a post without an author.
pub(crate) fn decode(post: &Post, includes: &Includes, me: &Me) -> Option<Incoming> {
    let tweet = &post.tweet;
    if refers(post, &ReferencedTweetKind::Retweeted).is_some() {
        return None;
    }
    let (id, author) = (tweet.id.as_u64(), tweet.author_id?.as_u64());
    let user = includes.user(author);
    let at = tweet.created_at.map_or_else(
        || snowflake::made_at(id),
        |at| Timestamp(i64::try_from(at.unix_timestamp_nanos() / 1_000_000).unwrap_or_default()),
    );
    let event = IncomingEvent::Message(IncomingMessage {
        id: RemoteId::new(id),
        legacy_id: None,
        content: content(post, includes, me, user),
        addressed: Addressed {
            mention: mentions(post, me) || quotes(post, includes, me),
            reply: tweet.in_reply_to_user_id.is_some_and(|to| to.as_u64() == me.id),
        },
        reply_to: refers(post, &ReferencedTweetKind::RepliedTo).map(RemoteId::new),
        command: None,
        from_self: author == me.id,
    });
    let conversation = tweet.conversation_id.map_or(id, |c| c.as_u64());
    Some(Incoming { connection: connection(conversation, author, user), event, at })
}

/// Uses elizaOS's ids: the World has the author's id, the Room has the conversation's.
fn connection(conversation: u64, author: u64, user: Option<&User>) -> Connection {
    let name = user.map(|u| u.name.clone());
    let user_name = user.map(|u| u.username.clone());
    let mut room = RoomRef::new(
        RemoteId::new(conversation),
        user_name.as_ref().map(|n| format!("Conversation with @{n}")),
        ChannelType::Feed,
    );
    room.metadata.insert("conversationId".into(), json!(conversation.to_string()));
    Connection {
        world: WorldRef::new(
            RemoteId::new(author),
            user_name.as_ref().map(|n| format!("@{n} on X")),
        ),
        room,
        entity: Some(EntityRef::new(
            RemoteId::new(author),
            name.or_else(|| user_name.clone()),
            user_name,
        )),
    }
}

/// The id of the post that `post` refers to in this way.
pub(crate) fn refers(post: &Post, kind: &ReferencedTweetKind) -> Option<u64> {
    post.tweet.referenced_tweets.iter().flatten().find(|r| r.kind == *kind).map(|r| r.id.as_u64())
}

/// Whether the post mentions us. Without entities, the text is searched for our handle.
pub(crate) fn mentions(post: &Post, me: &Me) -> bool {
    let Some(entities) = &post.tweet.entities else { return names(&post.tweet.text, me) };
    let listed = entities.mentions.iter().flatten().any(|m| match m.id {
        Some(id) => id.as_u64() == me.id,
        None => m.username.eq_ignore_ascii_case(&me.user_name),
    });
    // The entities cover only the beginning of a long post.
    listed || post.note.as_deref().is_some_and(|note| names(note, me))
}

fn names(text: &str, me: &Me) -> bool {
    let name = format!("@{}", me.user_name.to_ascii_lowercase());
    let text = text.to_ascii_lowercase();
    name.len() > 1
        && text.match_indices(&name).any(|(at, found)| {
            !text[at + found.len()..].starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        })
}

/// Whether the post quotes one of ours.
pub(crate) fn quotes(post: &Post, includes: &Includes, me: &Me) -> bool {
    let quoted = refers(post, &ReferencedTweetKind::Quoted).and_then(|id| includes.post(id));
    quoted
        .is_some_and(|quoted| quoted.tweet.author_id.is_some_and(|author| author.as_u64() == me.id))
}

fn content(post: &Post, includes: &Includes, me: &Me, user: Option<&User>) -> Content {
    let kinds = [
        (ReferencedTweetKind::RepliedTo, QuoteKind::Reply),
        (ReferencedTweetKind::Quoted, QuoteKind::Quote),
    ];
    let other = |kind| refers(post, kind).and_then(|id| includes.post(id));
    let quotes =
        kinds.iter().filter_map(|(kind, how)| context(other(kind)?, *how, includes, me)).collect();
    let id = post.tweet.id;
    Content {
        text: text::full_text(post),
        quotes,
        source: Some(crate::SOURCE_NAME.to_owned()),
        url: Some(format!(
            "https://x.com/{}/status/{id}",
            user.map_or("i", |u| u.username.as_str())
        )),
        attachments: media::attachments(post, includes),
        ..Content::default()
    }
}

/// The post that this one quotes or replies to. Without it, "is this true?" has no meaning.
fn context(other: &Post, kind: QuoteKind, includes: &Includes, me: &Me) -> Option<Quote> {
    let author = other.tweet.author_id.map(twitter_v2::id::NumericId::as_u64);
    let by = author.and_then(|id| includes.user(id)).map(|user| format!("@{}", user.username));
    let quote = Quote {
        own: author == Some(me.id),
        attachments: media::attachments(other, includes),
        ..Quote::new(kind, by, text::full_text(other))
    };
    (!quote.is_empty()).then_some(quote)
}

/// Extracts a post's id from its address, such as `https://x.com/name/status/123`. The first value,
/// the conversation, is always `None`: the address does not contain it.
pub fn parse_link(link: &str) -> Option<(Option<RemoteId>, RemoteId)> {
    let url = Url::parse(link.trim()).ok()?;
    let host = url
        .host_str()?
        .trim_start_matches("www.")
        .trim_start_matches("mobile.")
        .to_ascii_lowercase();
    if !matches!(host.as_str(), "x.com" | "twitter.com") {
        return None;
    }
    let mut path = url.path_segments()?.skip_while(|part| *part != "status").skip(1);
    number(path.next()?).map(|id| (None, RemoteId::new(id)))
}
