//! Encodes outgoing messages as calls of the X API; each part of a message is one post. Pure: the
//! same input gives the same result, and there is no I/O.

mod grapheme;
mod links;
mod media;
pub(crate) mod mentions;
mod plain;
mod split;
mod table;
#[cfg(test)]
mod tests;
mod weigh;

use galatea_core::{
    Button, Content, Encoded, Error, ErrorKind, MediaKind, Outgoing, Press, RemoteId, Result,
};
use serde::{Deserialize, Serialize};

use crate::{
    config::Tier,
    decode::{post_id, request},
    error::codes,
};
pub(crate) use media::Upload;
pub use weigh::weight;
pub(crate) use weigh::{MAX_WEIGHT, has_link};

/// Marks a message from Galatea itself instead of the agent, such as the notice that no model
/// answers.
const NOTICE: &str = "notice";

/// One call of the API. The address and earlier parts, known when it is sent, supply the rest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "call", rename_all = "snake_case")]
pub(crate) enum Part {
    /// Create a post.
    Post(Post),
    /// Delete a post of the account.
    Delete {
        /// Id of the post.
        id: String,
    },
    /// Like a post, or remove the like.
    Like {
        /// Id of the post.
        id: String,
        /// False removes the like.
        on: bool,
    },
}

/// One post.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Post {
    /// Plain text with a weighted length of at most 280.
    #[serde(default)]
    pub(crate) text: String,
    /// Pictures or a video to upload with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) media: Vec<Upload>,
    /// The post that the message answers. Later parts reply to it if the part before is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) answers: Option<String>,
    /// Index within its message, from 0. Parts after the first reply to the one before.
    #[serde(default)]
    pub(crate) nth: u32,
}

impl Part {
    /// Reads a body that [`encode`] wrote.
    ///
    /// # Errors
    /// `Invalid` for a body that another connector or version wrote.
    pub(crate) fn read(body: &Encoded) -> Result<Self> {
        Self::deserialize(&body.0).map_err(|e| {
            Error::invalid("this delivery is not in X's form")
                .with_code(codes::INVALID)
                .with("cause", e)
        })
    }
}

/// Renders a message as plain text and splits it into posts. Without `notices`, failure notices are
/// dropped: they would be public, under every mention, and each would cost money.
///
/// # Errors
/// `Invalid` for an empty message or an id that does not belong to a post, `Unsupported` for what X
/// or the account's tier does not allow.
pub(crate) fn encode(outgoing: &Outgoing, tier: Tier, notices: bool) -> Result<Vec<Encoded>> {
    if !notices && matches!(outgoing, Outgoing::Message { content, .. } if is_notice(content)) {
        return Ok(Vec::new());
    }
    encode_parts(outgoing, tier)?
        .iter()
        .map(|part| {
            serde_json::to_value(part)
                .map(Encoded)
                .map_err(|e| Error::unexpected("an encoded part is not JSON").with("cause", e))
        })
        .collect()
}

/// [`encode`] before serialisation.
pub(crate) fn encode_parts(outgoing: &Outgoing, tier: Tier) -> Result<Vec<Part>> {
    match outgoing {
        Outgoing::Message { content, reply_to } => message(content, reply_to.as_ref()),
        Outgoing::Delete { id } => Ok(vec![Part::Delete { id: number(id)? }]),
        Outgoing::React { id, emoji } if tier == Tier::Enterprise => {
            Ok(vec![Part::Like { id: number(id)?, on: emoji.is_some() }])
        }
        Outgoing::React { .. } => Err(unsupported("X took likes from self-serve apps")
            .with_fix("only Enterprise contracts have them: TWITTER_TIER=enterprise")),
        Outgoing::Edit { .. } => {
            Err(unsupported("posts cannot be edited by apps; delete it and say it again"))
        }
        Outgoing::Typing => Ok(Vec::new()),
    }
}

fn unsupported(what: &'static str) -> Error {
    Error::new(ErrorKind::Unsupported, what).with_code(codes::TIER)
}

fn number(id: &RemoteId) -> Result<String> {
    post_id(id).map(|id| id.to_string()).ok_or_else(|| {
        Error::invalid("not the id of a post").with_code(codes::INVALID).with("message", id)
    })
}

fn message(content: &Content, reply_to: Option<&RemoteId>) -> Result<Vec<Part>> {
    // A failure notice is sent only in reply to a person, never as an original post.
    if is_notice(content) && reply_to.is_some_and(request::is_request) {
        return Ok(Vec::new());
    }
    let mut text = plain::plain(&content.text);
    let mut uploads = Vec::new();
    for media in &content.attachments {
        match media::upload(media)? {
            Some(upload) => uploads.push(upload),
            None => add_line(&mut text, &in_words(media)),
        }
    }
    for row in &content.buttons {
        let words: Vec<String> = row.iter().map(button).collect();
        add_line(&mut text, &words.join(" · "));
    }
    let mut posts: Vec<Post> = split::split(&mentions::defuse(&text))
        .into_iter()
        .map(|text| Post { text, ..Post::default() })
        .collect();
    for (n, group) in media::groups(uploads).into_iter().enumerate() {
        match posts.get_mut(n) {
            Some(post) => post.media = group,
            None => posts.push(Post { media: group, ..Post::default() }),
        }
    }
    if posts.is_empty() {
        return Err(Error::invalid(
            "there is nothing to say: the message has neither words nor files",
        )
        .with_code(codes::INVALID));
    }
    // A message may reply to something other than a post, such as the request for a scheduled post.
    // It then replies to nothing on X.
    let answers = reply_to.and_then(post_id).map(|id| id.to_string());
    for (nth, post) in (0_u32..).zip(&mut posts) {
        post.nth = nth;
        post.answers.clone_from(&answers);
    }
    Ok(posts.into_iter().map(Part::Post).collect())
}

fn is_notice(content: &Content) -> bool {
    content.extra.get(NOTICE).is_some_and(|mark| mark == true)
}

/// X has no buttons: the options are listed as text, and people answer in words.
fn button(button: &Button) -> String {
    match &button.press {
        Press::Url(url) => format!("{} {url}", button.text),
        Press::Data(_) => button.text.clone(),
    }
}

fn add_line(text: &mut String, line: &str) {
    if line.is_empty() {
        return;
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(line);
}

/// The text for a file that X cannot carry: its address if that is public, otherwise its name.
fn in_words(media: &galatea_core::Media) -> String {
    let title = media.title.trim();
    let public = media.url.starts_with("https://") || media.url.starts_with("http://");
    match (public, title) {
        (true, "") => media.url.clone(),
        (true, title) if media.content_type == MediaKind::Link => format!("{title} {}", media.url),
        (true, title) => format!("{title}: {}", media.url),
        (false, title) => title.to_owned(),
    }
}
