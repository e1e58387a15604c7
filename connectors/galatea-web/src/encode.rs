//! Encodes `Outgoing` as what readers of the store see. Pure.

use galatea_core::{
    Button, Content, Encoded, Error, Media, MemoryId, Outgoing, RemoteId, Result, split::fenced,
};
use serde::{Deserialize, Serialize};

use crate::{decode::MAX_TEXT, error};

/// A part of an answer, as it is stored.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WebMessage {
    /// The words, as Markdown.
    pub text: String,
    /// Names of the actions that the answer took.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<String>,
    /// Files and links.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Media>,
    /// Rows of buttons.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub buttons: Vec<Vec<Button>>,
    /// The message that it answers, as this platform's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<RemoteId>,
    /// The same as the id of its memory, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_reply_to: Option<MemoryId>,
    /// Words that stand beside it, such as `offline script`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// Splits a message into parts. All but the text stand in the first one, buttons in the last.
pub(crate) fn encode(outgoing: &Outgoing) -> Result<Vec<Encoded>> {
    match outgoing {
        Outgoing::Message { content, reply_to } => parts(content, reply_to.as_ref()),
        Outgoing::Typing => Ok(Vec::new()),
        Outgoing::Edit { .. } | Outgoing::Delete { .. } | Outgoing::React { .. } => {
            Err(error::unsupported())
        }
    }
}

fn parts(content: &Content, reply_to: Option<&RemoteId>) -> Result<Vec<Encoded>> {
    if content.is_empty() && content.buttons.is_empty() {
        return Ok(Vec::new());
    }
    let label = content.extra.get("label").and_then(|label| label.as_str()).map(str::to_owned);
    let mut texts: Vec<String> =
        fenced(&content.text, MAX_TEXT, |_| 1).into_iter().map(|piece| piece.text).collect();
    if texts.is_empty() {
        texts.push(String::new());
    }
    let last = texts.len() - 1;
    let part = |(n, text): (usize, String)| {
        let mut part = WebMessage {
            text,
            in_reply_to: content.in_reply_to,
            label: label.clone(),
            ..WebMessage::default()
        };
        if n == 0 {
            part.actions.clone_from(&content.actions);
            part.attachments.clone_from(&content.attachments);
            part.reply_to = reply_to.cloned();
        }
        if n == last {
            part.buttons.clone_from(&content.buttons);
        }
        let value = serde_json::to_value(part);
        value
            .map(Encoded)
            .map_err(|e| Error::unexpected("a message cannot be encoded").with_source(e))
    };
    texts.into_iter().enumerate().map(part).collect()
}

/// Reads a stored part; none for one whose words were deleted, or that another version wrote.
pub fn read(body: &Encoded) -> Option<WebMessage> {
    serde_json::from_value(body.0.clone()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use galatea_core::{ErrorKind, Press};
    use serde_json::json;

    fn message(content: Content) -> Vec<WebMessage> {
        let outgoing = Outgoing::Message { content, reply_to: Some(RemoteId::new("web/a/1")) };
        encode(&outgoing).unwrap().iter().map(|part| read(part).unwrap()).collect()
    }

    #[test]
    fn a_long_answer_has_its_files_first_and_its_buttons_last_and_loses_no_word() {
        let button = Button { text: "Yes".into(), press: Press::Data("y".into()) };
        let text = "wörd ".repeat(50_000);
        let mut content = Content {
            attachments: vec![Media { title: "a.png".into(), ..Media::default() }],
            buttons: vec![vec![button]],
            actions: vec!["REPLY".into()],
            ..Content::text(&text)
        };
        content.extra.insert("label".into(), json!("offline script"));
        let parts = message(content);
        assert!(parts.len() >= 3);
        assert_eq!(parts.iter().map(|part| part.text.as_str()).collect::<String>(), text);
        assert!(parts.iter().all(|part| part.text.chars().count() <= MAX_TEXT));
        for (n, part) in parts.iter().enumerate() {
            assert_eq!(part.attachments.len() + part.actions.len(), if n == 0 { 2 } else { 0 });
            assert_eq!(part.reply_to.is_some(), n == 0);
            assert_eq!(part.buttons.len(), usize::from(n + 1 == parts.len()));
            assert_eq!(part.label.as_deref(), Some("offline script"));
        }
    }

    #[test]
    fn nothing_to_say_is_no_part_and_a_file_alone_is_one() {
        assert_eq!(message(Content::text(" ")), []);
        assert_eq!(encode(&Outgoing::Typing).unwrap(), []);
        let file = Content {
            attachments: vec![Media { title: "a.png".into(), ..Media::default() }],
            ..Content::default()
        };
        assert_eq!(message(file).len(), 1);
    }

    #[test]
    fn thoughts_stay_inside() {
        let content = Content { thought: Some("hm".into()), ..Content::text("Hello.") };
        let outgoing = Outgoing::Message { content, reply_to: None };
        assert_eq!(encode(&outgoing).unwrap()[0].0, json!({"text": "Hello."}));
    }

    #[test]
    fn what_was_said_stays_as_it_is() {
        let id = RemoteId::new("k");
        for outgoing in [
            Outgoing::Edit { id: id.clone(), content: Content::text("x") },
            Outgoing::Delete { id: id.clone() },
            Outgoing::React { id, emoji: None },
        ] {
            assert_eq!(encode(&outgoing).unwrap_err().kind(), ErrorKind::Unsupported);
        }
        assert_eq!(read(&Encoded(json!(null))), None);
    }
}
