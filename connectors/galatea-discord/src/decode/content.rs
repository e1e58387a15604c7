//! Content of a message: its text, what stands below it, its files, and what it quotes or passes
//! on.

use galatea_core::{Content, Media, MediaKind, Quote, QuoteKind};
use serde_json::{Value, json};
use serenity::all::Message;

use super::{Me, directory::Directory, media, replied, text, words};

/// Stands for a message in which nothing is of a kind that this version knows.
pub(super) const UNKNOWN: &str = "[a message of a kind that cannot be read here]";

/// Puts texts together, each on lines of its own.
pub(super) fn join<const N: usize>(texts: [String; N]) -> String {
    texts.into_iter().filter(|text| !text.trim().is_empty()).collect::<Vec<_>>().join("\n")
}

/// The words of a message, beside each other: what was written, then what is shown below it.
fn said(
    message: &Value,
    named: &Message,
    guild: Option<u64>,
    directory: &Directory,
    me: &Me,
) -> String {
    let readable = |text: &str| text::readable_text(text, named, guild, me, directory);
    let content = message["content"].as_str().unwrap_or_default();
    join([readable(content), readable(&words::beside(message))])
}

/// Pictures that a message shows without being its files.
fn pictures(message: &Value) -> impl Iterator<Item = Media> {
    words::pictures(message).into_iter().enumerate().map(|(at, (url, description))| Media {
        id: format!("shown-{at}"),
        url,
        content_type: MediaKind::Image,
        source: "Embed".to_owned(),
        description,
        ..Media::default()
    })
}

/// Content of a message.
pub(super) fn content(
    m: &Message,
    data: &Value,
    guild: Option<u64>,
    directory: &Directory,
    me: &Me,
) -> Content {
    let snapshots = || data["message_snapshots"].as_array().into_iter().flatten();
    let mut attachments = media::attachments(m);
    attachments.extend(pictures(data));
    attachments.extend(snapshots().flat_map(|snapshot| pictures(&snapshot["message"])));
    let mut content = Content {
        text: said(data, m, guild, directory, me),
        source: Some(crate::SOURCE_NAME.to_owned()),
        ..Content::default()
    };
    content.quotes = quotes(m, data, guild, directory, me);
    // Discord does not name the author of a forwarded message. Its files are among the message's
    // own.
    for snapshot in snapshots() {
        let mut words = said(&snapshot["message"], m, guild, directory, me);
        if words.is_empty() && attachments.is_empty() {
            words = UNKNOWN.to_owned();
        }
        content.quotes.push(Quote::new(QuoteKind::Forward, None, words));
        content.extra.insert("forwarded".into(), json!(true));
    }
    content.quotes.retain(|quote| quote.own || !quote.is_empty());
    content.attachments = attachments;
    let place = guild.map_or_else(|| "@me".to_owned(), |g| g.to_string());
    content.url = Some(format!("https://discord.com/channels/{place}/{}/{}", m.channel_id, m.id));
    content
}

/// The quote of the message replied to, with the text that Discord sends along. The quoted message
/// need not be in the store.
fn quotes(
    m: &Message,
    data: &Value,
    guild: Option<u64>,
    directory: &Directory,
    me: &Me,
) -> Vec<Quote> {
    let Some(other) = m.referenced_message.as_deref().filter(|_| replied(m).is_some()) else {
        return Vec::new();
    };
    let words = said(&data["referenced_message"], other, guild, directory, me);
    let by = other.author.global_name.clone().unwrap_or_else(|| other.author.name.clone());
    vec![Quote {
        own: other.author.id.get() == me.id,
        attachments: media::attachments(other),
        ..Quote::new(QuoteKind::Reply, Some(by), words)
    }]
}
