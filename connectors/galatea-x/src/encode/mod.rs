//! Outgoing → calls of the X API. Pure: the same answer for the same input, no I/O; each part is
//! one post.

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

use crate::{config::Tier, decode::post_id, error::codes, receive::posts};
pub(crate) use media::Upload;
pub(crate) use weigh::MAX_WEIGHT;
pub use weigh::weight;

/// Mark of what the house says in the agent's place, such as that no model answers.
const NOTICE: &str = "notice";

/// One call, without what only the address and earlier parts tell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "call", rename_all = "snake_case")]
pub(crate) enum Part {
    /// Say something.
    Post(Post),
    /// Remove a post of ours.
    Delete {
        /// Which.
        id: String,
    },
    /// Like a post, or take that back.
    Like {
        /// Which.
        id: String,
        /// False takes it back.
        on: bool,
    },
}

/// One post.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Post {
    /// Plain text of at most 280 weighted.
    #[serde(default)]
    pub(crate) text: String,
    /// Pictures or a film to upload with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) media: Vec<Upload>,
    /// The post that is answered, also on later parts: they fall back on it when the part before is
    /// not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) answers: Option<String>,
    /// Number within its message, from 0: later ones reply to the one before.
    #[serde(default)]
    pub(crate) nth: u32,
}

impl Part {
    /// Reads what [`encode`] wrote.
    ///
    /// # Errors
    /// `Invalid` for a body of another connector or version.
    pub(crate) fn read(body: &Encoded) -> Result<Self> {
        Self::deserialize(&body.0).map_err(|e| {
            Error::invalid("this delivery is not in X's form")
                .with_code(codes::INVALID)
                .with("cause", e)
        })
    }
}

/// Renders and splits for X. Without `notices` nothing is said of the house's own trouble:
/// everybody would read it, under every mention, for money.
///
/// # Errors
/// `Invalid` for nothing to say or an id that is no post's, `Unsupported` for what X or the
/// account's tier does not allow.
pub(crate) fn encode(outgoing: &Outgoing, tier: Tier, notices: bool) -> Result<Vec<Encoded>> {
    if !notices && matches!(outgoing, Outgoing::Message { content, .. } if is_notice(content)) {
        return Ok(Vec::new());
    }
    parts(outgoing, tier)?
        .iter()
        .map(|part| {
            serde_json::to_value(part)
                .map(Encoded)
                .map_err(|e| Error::unexpected("an encoded part is not JSON").with("cause", e))
        })
        .collect()
}

/// [`encode`] before serialisation.
pub(crate) fn parts(outgoing: &Outgoing, tier: Tier) -> Result<Vec<Part>> {
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
    // "I cannot think right now" is said to somebody who asked, never to everybody.
    if is_notice(content) && reply_to.is_some_and(posts::is_request) {
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
    // A reply to something that is no post, such as the prompt of a scheduled one, answers nothing
    // on X.
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

/// X has no buttons: people see what they would say, and answer in words.
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

/// What X cannot carry: its address where it has a public one, its name otherwise.
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
