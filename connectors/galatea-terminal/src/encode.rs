//! Encodes `Outgoing` as parts that a terminal can show. Pure.

mod table;

use galatea_core::{
    AgentIdentity, Button, Content, Encoded, Error, Media, MemoryId, Outgoing, Press, RemoteId,
    Result, split::fenced,
};

use crate::{MAX_TEXT, error, frame::MessagePart};

/// Renders and splits a message. `agent` derives the memory id of the answered message from its
/// platform id.
pub(crate) fn encode(agent: &AgentIdentity, outgoing: &Outgoing) -> Result<Vec<Encoded>> {
    match outgoing {
        Outgoing::Message { content, reply_to } => encode_parts(agent, content, reply_to.as_ref()),
        Outgoing::Edit { .. } => {
            Err(error::unsupported("a terminal cannot change what it has shown"))
        }
        Outgoing::Delete { .. } => {
            Err(error::unsupported("a terminal cannot remove what it has shown"))
        }
        Outgoing::React { .. } => Err(error::unsupported("a terminal has no reactions")),
        Outgoing::Typing => Ok(Vec::new()),
    }
}

fn encode_parts(
    agent: &AgentIdentity,
    content: &Content,
    reply_to: Option<&RemoteId>,
) -> Result<Vec<Encoded>> {
    let text = render(content);
    let label = content
        .extra
        .get("label")
        .and_then(|v| v.as_str())
        .map(|label| printable(label).replace('\n', " "));
    let in_reply_to =
        content.in_reply_to.or_else(|| reply_to.map(|id| MemoryId(agent.swizzle(id.as_str()))));
    let pieces = split(&text, MAX_TEXT);
    let count = pieces.len();
    pieces
        .into_iter()
        .enumerate()
        .map(|(i, piece)| {
            let part = MessagePart {
                text: piece,
                label: label.clone(),
                in_reply_to,
                last: i + 1 == count,
            };
            serde_json::to_value(part)
                .map(Encoded)
                .map_err(|e| Error::unexpected("a message cannot be encoded").with_source(e))
        })
        .collect()
}

/// The text, followed by one line per file and per row of buttons.
fn render(content: &Content) -> String {
    let mut lines: Vec<String> = Vec::new();
    if !content.text.trim().is_empty() {
        lines.push(table::aligned(&printable(&content.text)));
    }
    let buttons = |row: &Vec<Button>| row.iter().map(button).collect::<Vec<_>>().join("  ");
    let below =
        content.attachments.iter().map(attachment).chain(content.buttons.iter().map(buttons));
    lines.extend(below.map(|line| printable(&line)));
    lines.join("\n")
}

fn attachment(media: &Media) -> String {
    let name = [&media.title, &media.description, &media.source]
        .into_iter()
        .find(|s| !s.is_empty())
        .map_or("file", String::as_str);
    // The bytes of a data URL are of no use to a reader.
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

/// Removes characters that could control a terminal: control characters other than line break and
/// tab (ECMA-48: C0, DEL and C1), and the Unicode marks that reorder text (UAX #9 §2).
pub fn printable(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    text.chars()
        .filter(|c| match c {
            '\n' | '\t' => true,
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => false,
            c => !c.is_control(),
        })
        .collect()
}

/// Splits a text into pieces of at most `limit` code points. No text is lost, and a code block that
/// is cut is reopened in the next piece.
fn split(text: &str, limit: usize) -> Vec<String> {
    fenced(text, limit, |_| 1).into_iter().map(|piece| piece.text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn agent() -> AgentIdentity {
        AgentIdentity::new(None, "Eliza")
    }

    fn message(content: Content) -> Vec<MessagePart> {
        let outgoing =
            Outgoing::Message { content, reply_to: Some(RemoteId::new("terminal-maria/a-1")) };
        encode(&agent(), &outgoing)
            .unwrap()
            .into_iter()
            .map(|e| serde_json::from_value(e.0).unwrap())
            .collect()
    }

    #[test]
    fn an_answer_carries_its_label_and_what_it_answers() {
        let mut content = Content::text("Hello.");
        content.extra.insert("label".into(), json!("Offline script, not AI"));
        let parts = message(content);
        assert_eq!(
            parts,
            [MessagePart {
                text: "Hello.".into(),
                label: Some("Offline script, not AI".into()),
                in_reply_to: Some(MemoryId(agent().swizzle("terminal-maria/a-1"))),
                last: true
            }]
        );
    }

    #[test]
    fn files_and_buttons_become_lines() {
        let content = Content {
            attachments: vec![
                Media {
                    url: "https://example.org/a.png".into(),
                    title: "a.png".into(),
                    ..Media::default()
                },
                Media {
                    url: "data:image/png;base64,AAAA".into(),
                    description: "a cat".into(),
                    ..Media::default()
                },
            ],
            buttons: vec![vec![
                Button { text: "Yes".into(), press: Press::Data("y".into()) },
                Button { text: "Site".into(), press: Press::Url("https://example.org".into()) },
            ]],
            ..Content::text("look")
        };
        assert_eq!(
            message(content)[0].text,
            "look\n[a.png] https://example.org/a.png\n[a cat]\n[Yes]  [Site] https://example.org"
        );
    }

    #[test]
    fn tables_are_aligned() {
        let content = Content {
            attachments: vec![Media { title: "a.png".into(), ..Media::default() }],
            ..Content::text("| name | n |\r\n|---|---|\r\n| a\u{1b}[1m | 100 |")
        };
        assert_eq!(message(content)[0].text, "name | n\n-----+----\na[1m | 100\n[a.png]");
    }

    #[test]
    fn nothing_to_say_is_no_part() {
        assert_eq!(message(Content::text("")), []);
        assert_eq!(encode(&agent(), &Outgoing::Typing).unwrap(), []);
    }

    #[test]
    fn escape_sequences_and_reordering_marks_are_left_out() {
        assert_eq!(
            message(Content::text("a\u{1b}[2J\u{9b}b\u{7}\r\nc\td\u{202e}e"))[0].text,
            "a[2Jb\nc\tde"
        );
    }

    #[test]
    fn long_text_is_split_without_loss_and_only_the_last_part_says_so() {
        let text = "wörd ".repeat(50_000);
        let parts = message(Content::text(text.clone()));
        assert!(parts.len() >= 3);
        assert!(parts.iter().all(|p| p.text.chars().count() <= MAX_TEXT));
        assert_eq!(parts.iter().map(|p| p.text.as_str()).collect::<String>(), text);
        assert!(parts.iter().rev().enumerate().all(|(n, part)| part.last == (n == 0)));
        assert_eq!(split(&"x".repeat(100), 100).len(), 1);
        assert_eq!(split(&"x".repeat(250), 100).concat(), "x".repeat(250));
    }

    #[test]
    fn a_code_block_stays_one_in_every_part() {
        let code: Vec<String> = (0..20).map(|n| format!("line {n};")).collect();
        let text = format!("Look:\n```rust\n{}\n```\nDone.", code.join("\n"));
        let pieces = split(&text, 80);
        assert!(pieces.len() > 2);
        for piece in &pieces {
            assert!(piece.chars().count() <= 80, "{piece}");
            assert_eq!(piece.matches("```").count() % 2, 0, "{piece}");
        }
        assert!(pieces[1].starts_with("```rust\nline "), "{}", pieces[1]);
        let shown: Vec<&str> =
            pieces.iter().flat_map(|p| p.lines()).filter(|l| !l.starts_with("```")).collect();
        assert_eq!(
            shown,
            [&["Look:"], &code.iter().map(String::as_str).collect::<Vec<_>>()[..], &["Done."]]
                .concat()
        );
    }

    #[test]
    fn what_a_terminal_cannot_do_is_refused() {
        let id = RemoteId::new("terminal-maria/k");
        for outgoing in [
            Outgoing::Edit { id: id.clone(), content: Content::text("x") },
            Outgoing::Delete { id: id.clone() },
            Outgoing::React { id, emoji: Some("👍".into()) },
        ] {
            assert_eq!(
                encode(&agent(), &outgoing).unwrap_err().kind(),
                galatea_core::ErrorKind::Unsupported
            );
        }
    }
}
