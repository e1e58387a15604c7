//! Encodes outgoing messages as Discord calls, each part fitting one call. Pure: no I/O, and the
//! same input gives the same output.

mod buttons;
mod markdown;
mod media;
#[cfg(test)]
mod tests;

use galatea_core::{Content, Encoded, Error, Media, Outgoing, RemoteId, Result, split};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use serenity::builder::CreateAllowedMentions;

use crate::{decode::is_private, error::codes};
pub(crate) use buttons::disabled;
pub(crate) use media::{FileUpload, MAX_UPLOAD};

/// Longest text of a message (Discord, "Create Message"), in UTF-16 code units. Discord says
/// "characters" without a definition. A text never has fewer UTF-16 code units than characters.
pub(crate) const MAX_TEXT: usize = 2000;
/// Most files of one message (Discord, "Create Message").
const MAX_FILES: usize = 10;

/// One call without its channel, which the delivery's address adds when it is sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "call", rename_all = "snake_case")]
pub(crate) enum Part {
    /// Posts a message.
    Post {
        /// JSON of the message, without nonce and message reference.
        body: Map<String, Value>,
        /// Files to upload with it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<FileUpload>,
        /// The message, or the interaction, it answers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reply_to: Option<RemoteId>,
        /// Whether it is a later part of a private answer, which is a follow-up of the interaction.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        follow_up: bool,
    },
    /// Changes a message.
    Edit {
        /// Id of the message.
        id: RemoteId,
        /// JSON of the fields to change.
        body: Map<String, Value>,
    },
    /// Deletes a message.
    Delete {
        /// Id of the message.
        id: RemoteId,
    },
    /// Sets a reaction. Without an emoji, removes all reactions of the bot.
    React {
        /// Id of the message.
        id: RemoteId,
        /// The emoji as Discord's paths spell it: the character, or `name:id`.
        emoji: Option<String>,
    },
}

impl Part {
    /// Parses what [`encode`] wrote.
    ///
    /// # Errors
    /// `Invalid` for a body of another connector or version.
    pub(crate) fn read(body: &Encoded) -> Result<Self> {
        Self::deserialize(&body.0).map_err(|e| {
            Error::invalid("this delivery is not in Discord's form")
                .with_code(codes::INVALID)
                .with("cause", e)
        })
    }
}

/// Renders a message for Discord and splits it into calls.
///
/// # Errors
/// `Invalid` for an empty message, an invalid button, or an attachment, emoji or message id that
/// Discord does not accept.
pub(crate) fn encode(outgoing: &Outgoing) -> Result<Vec<Encoded>> {
    let parts = match outgoing {
        Outgoing::Message { content, reply_to } => message(content, reply_to.as_ref())?,
        Outgoing::Edit { id, content } => edit(id, content)?,
        Outgoing::React { id, emoji } => {
            vec![Part::React {
                id: checked_id(id)?,
                emoji: emoji.as_deref().map(emoji_path).transpose()?,
            }]
        }
        Outgoing::Delete { id } => vec![Part::Delete { id: checked_id(id)? }],
        Outgoing::Typing => Vec::new(),
    };
    parts
        .iter()
        .map(|p| {
            serde_json::to_value(p)
                .map(Encoded)
                .map_err(|e| Error::unexpected("a message is not JSON").with("cause", e))
        })
        .collect()
}

/// Parses an id. `what` names it in the error.
///
/// # Errors
/// `Invalid` for a malformed id or 0.
pub(crate) fn snowflake(id: &RemoteId, what: &'static str) -> Result<u64> {
    id.as_str().parse().ok().filter(|n| *n > 0).ok_or_else(|| {
        Error::invalid("not an id of Discord")
            .with_code(codes::INVALID)
            .with("of", what)
            .with("id", galatea_http::shorten(id.as_str(), 40))
    })
}

fn checked_id(id: &RemoteId) -> Result<RemoteId> {
    snowflake(id, "message").map(|_| id.clone())
}

/// Allowed mentions: none. Text that a model writes notifies no user and no role, and never
/// everyone (Discord, "Allowed Mentions Object").
fn no_mentions() -> Result<Value> {
    serde_json::to_value(CreateAllowedMentions::new().replied_user(false))
        .map_err(|e| Error::unexpected("allowed mentions are not JSON").with("cause", e))
}

fn body(text: &str) -> Result<Map<String, Value>> {
    let mut body = Map::new();
    body.insert("content".into(), json!(text));
    body.insert("allowed_mentions".into(), no_mentions()?);
    Ok(body)
}

/// The text of a message, then the links of attachments that are not uploaded, in pieces of at most
/// [`MAX_TEXT`]. Leaves out pieces that Discord rejects as empty.
fn texts(content: &Content) -> Vec<String> {
    let mut markdown = markdown::render(&content.text);
    for link in content.attachments.iter().filter(|m| !media::is_upload(m)) {
        if !markdown.is_empty() && !markdown.ends_with('\n') {
            markdown.push('\n');
        }
        markdown.push_str(&link.url);
    }
    let pieces = split::fenced(&markdown, MAX_TEXT, char::len_utf16);
    pieces.into_iter().filter(|p| !p.own().trim().is_empty()).map(|p| p.text).collect()
}

fn check(attachments: &[Media]) -> Result<()> {
    attachments.iter().enumerate().try_for_each(|(at, media)| media::check(media, at + 1))
}

fn message(content: &Content, reply_to: Option<&RemoteId>) -> Result<Vec<Part>> {
    check(&content.attachments)?;
    let uploads: Vec<&Media> = content.attachments.iter().filter(|m| media::is_upload(m)).collect();
    let mut bodies: Vec<(String, Vec<FileUpload>)> =
        texts(content).into_iter().map(|text| (text, Vec::new())).collect();
    for (n, group) in uploads.chunks(MAX_FILES).enumerate() {
        let files = group.iter().enumerate().map(|(at, m)| media::upload(m, at)).collect();
        match bodies.last_mut() {
            Some(last) if n == 0 => last.1 = files,
            _ => bodies.push((String::new(), files)),
        }
    }
    if bodies.is_empty() {
        return Err(Error::invalid("there is nothing to say").with_code(codes::INVALID));
    }
    let count = bodies.len();
    let one = |(at, (text, files)): (usize, (String, Vec<FileUpload>))| {
        let mut body = body(&text)?;
        if at + 1 == count
            && let Some(rows) = buttons::rows(&content.buttons)?
        {
            body.insert("components".into(), rows);
        }
        // A later part of a public answer is an ordinary message. A later part of a private answer
        // must stay private, so it is a follow-up of the interaction.
        let follow_up = at > 0 && reply_to.is_some_and(is_private);
        let reply_to = reply_to.filter(|_| at == 0 || follow_up).cloned();
        Ok(Part::Post { body, files, reply_to, follow_up })
    };
    bodies.into_iter().enumerate().map(one).collect()
}

/// Text that does not fit into the edited message follows in new messages, and so do files. The
/// buttons are on the last message with text, and those of before are removed.
fn edit(id: &RemoteId, content: &Content) -> Result<Vec<Part>> {
    let id = checked_id(id)?;
    check(&content.attachments)?;
    let mut texts = texts(content).into_iter();
    let first = texts.next().ok_or_else(|| {
        Error::invalid("a message cannot be changed to nothing").with_code(codes::INVALID)
    })?;
    let mut first = body(&first)?;
    first.insert("components".into(), json!([]));
    let mut rest: Vec<Map<String, Value>> = texts.map(|t| body(&t)).collect::<Result<_>>()?;
    if let Some(rows) = buttons::rows(&content.buttons)? {
        rest.last_mut().unwrap_or(&mut first).insert("components".into(), rows);
    }
    let more = rest.into_iter().map(|body| Part::Post {
        body,
        files: Vec::new(),
        reply_to: None,
        follow_up: false,
    });
    let mut parts: Vec<Part> =
        std::iter::once(Part::Edit { id, body: first }).chain(more).collect();
    let files = Content {
        attachments: content.attachments.iter().filter(|m| media::is_upload(m)).cloned().collect(),
        ..Content::default()
    };
    if !files.attachments.is_empty() {
        parts.extend(message(&files, None)?);
    }
    Ok(parts)
}

/// The emoji in the form for a path. `👍` stays; `<:wave:12>`, `wave:12` and `custom:wave:12` become
/// `wave:12`.
fn emoji_path(emoji: &str) -> Result<String> {
    let wrong =
        || Error::invalid("this is not an emoji that Discord knows").with_code(codes::INVALID);
    let text = emoji
        .trim()
        .trim_start_matches("custom:")
        .trim_start_matches('<')
        .trim_end_matches('>')
        .trim_start_matches("a:")
        .trim_start_matches(':');
    match text.split_once(':') {
        Some((name, id))
            if !name.is_empty()
                && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
                && id.parse::<u64>().is_ok() =>
        {
            Ok(text.to_owned())
        }
        Some(_) => Err(wrong()),
        None if !text.is_empty() && text.chars().count() <= 16 && !text.is_ascii() => {
            Ok(text.to_owned())
        }
        // Plain ASCII is never an emoji; keycaps contain ASCII, but not only.
        None => Err(wrong()),
    }
}
