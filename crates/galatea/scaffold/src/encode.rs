//! Turns `Outgoing` into parts that the platform takes in one call each. Pure, so that the runtime
//! can store the parts before it sends them.

use galatea_core::{
    Button, Content, Encoded, Error, Media, Outgoing, Press, RemoteId, Result, split::fenced,
};
use serde::{Deserialize, Serialize};

use crate::{decode::number, error};

/// Longest text of a message, in code points.
pub(crate) const MAX_TEXT: usize = 2000;

/// One message as it is posted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Part {
    pub(crate) text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reply_to: Option<u64>,
}

/// Splits and renders.
pub(crate) fn encode(outgoing: &Outgoing) -> Result<Vec<Encoded>> {
    match outgoing {
        Outgoing::Message { content, reply_to } => parts(content, reply_to.as_ref()),
        // What `Capabilities` denies is refused here too: a silent nothing would look like success.
        Outgoing::Edit { .. } => {
            Err(error::unsupported("messages cannot be changed on this platform"))
        }
        Outgoing::Delete { .. } => {
            Err(error::unsupported("messages cannot be removed on this platform"))
        }
        Outgoing::React { .. } => Err(error::unsupported("this platform has no reactions")),
        Outgoing::Typing => Ok(Vec::new()),
    }
}

fn parts(content: &Content, reply_to: Option<&RemoteId>) -> Result<Vec<Encoded>> {
    let reply_to = reply_to.map(number).transpose()?;
    let texts = fenced(&render(content), MAX_TEXT, |_| 1)
        .into_iter()
        .map(|piece| piece.text)
        .filter(|text| !text.trim().is_empty());
    let part = |(i, text)| {
        // Only the first part replies; the others follow it.
        let part = Part { text, reply_to: reply_to.filter(|_| i == 0) };
        serde_json::to_value(part)
            .map(Encoded)
            .map_err(|e| Error::unexpected("a message cannot be encoded").with_source(e))
    };
    texts.enumerate().map(part).collect()
}

/// Words first, then a line for every file and every row of buttons, which the platform does not
/// have.
fn render(content: &Content) -> String {
    let mut lines = vec![content.text.clone()];
    lines.extend(content.attachments.iter().map(file));
    lines.extend(
        content.buttons.iter().map(|row| row.iter().map(button).collect::<Vec<_>>().join("  ")),
    );
    lines.retain(|line| !line.trim().is_empty());
    lines.join("\n")
}

fn file(media: &Media) -> String {
    let name = if media.title.is_empty() { "file" } else { &media.title };
    // The bytes of a data URL are useless to a reader.
    if media.url.is_empty() || media.url.starts_with("data:") {
        format!("[{name}]")
    } else {
        format!("[{name}] {}", media.url)
    }
}

fn button(button: &Button) -> String {
    match &button.press {
        Press::Url(url) => format!("[{}] {url}", button.text),
        Press::Data(_) => format!("[{}]", button.text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::remote;

    fn message(content: Content) -> Vec<Part> {
        let outgoing = Outgoing::Message { content, reply_to: Some(remote(5)) };
        encode(&outgoing)
            .unwrap()
            .into_iter()
            .map(|part| serde_json::from_value(part.0).unwrap())
            .collect()
    }

    #[test]
    fn long_text_is_split_within_the_limit_and_only_the_first_part_replies() {
        let parts = message(Content::text("wörd ".repeat(1000)));
        assert_eq!(parts.len(), 3);
        assert!(parts.iter().all(|part| part.text.chars().count() <= MAX_TEXT));
        assert_eq!(
            parts.iter().map(|part| part.reply_to).collect::<Vec<_>>(),
            [Some(5), None, None]
        );
    }

    #[test]
    fn what_the_platform_lacks_is_written_out() {
        let button =
            Button { text: "Read".into(), press: Press::Url("https://example.org".into()) };
        let parts = message(Content { buttons: vec![vec![button]], ..Content::text("Look") });
        assert_eq!(parts[0].text, "Look\n[Read] https://example.org");
        assert!(encode(&Outgoing::Delete { id: remote(5) }).is_err());
    }
}
