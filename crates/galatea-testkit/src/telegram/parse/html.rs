//! HTML style (Bot API, "HTML style").

use serde_json::{Map, Value, json};

use super::{Builder, link};

struct Open {
    tag: String,
    kind: &'static str,
    from: usize,
    extra: Map<String, Value>,
}

/// Parses HTML style text; an error carries the server's wording.
pub(super) fn parse(text: &str) -> Result<(String, Vec<Value>), String> {
    let mut out = Builder::default();
    let mut stack: Vec<Open> = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        match c {
            '&' => {
                let (decoded, len) = entity(&text[at..]);
                out.push(decoded);
                at += len;
            }
            '<' => {
                let end = text[at..]
                    .find('>')
                    .ok_or_else(|| format!("Unclosed start tag at byte offset {at}"))?;
                let inside = &text[at + 1..at + end];
                if let Some(name) = inside.strip_prefix('/') {
                    close(&mut out, &mut stack, name.trim(), at)?;
                } else {
                    let open = start(inside, at, out.offset, stack.last())?;
                    stack.push(open);
                }
                at += end + 1;
            }
            c => {
                out.push(c);
                at += c.len_utf8();
            }
        }
    }
    match stack.last() {
        Some(open) => {
            Err(format!("Can't find end tag corresponding to start tag \"{}\"", open.tag))
        }
        None => Ok(out.done()),
    }
}

fn start(inside: &str, at: usize, from: usize, outer: Option<&Open>) -> Result<Open, String> {
    let (name, attributes) = inside.split_once(char::is_whitespace).unwrap_or((inside, ""));
    let tag = name.to_ascii_lowercase();
    let attribute = |key: &str| value_of(attributes, key);
    let mut extra = Map::new();
    let kind = match tag.as_str() {
        "b" | "strong" => "bold",
        "i" | "em" => "italic",
        "u" | "ins" => "underline",
        "s" | "strike" | "del" => "strikethrough",
        "tg-spoiler" => "spoiler",
        "span" => match attribute("class").as_deref() {
            Some("tg-spoiler") => "spoiler",
            _ => {
                return Err(format!(
                    "Tag \"span\" must have class \"tg-spoiler\" at byte offset {at}"
                ));
            }
        },
        "blockquote"
            if attributes
                .split_whitespace()
                .any(|a| a == "expandable" || a.starts_with("expandable=")) =>
        {
            "expandable_blockquote"
        }
        "blockquote" => "blockquote",
        "code" => {
            // <pre><code class="language-x"> is one entity.
            if let (Some("pre"), Some(language)) = (
                outer.map(|o| o.tag.as_str()),
                attribute("class").as_deref().and_then(|c| c.strip_prefix("language-")),
            ) {
                extra.insert("language".to_owned(), json!(language));
                "pre"
            } else {
                "code"
            }
        }
        "pre" => "pre",
        "a" => {
            let (kind, more) = attribute("href").map(|u| link(&u)).unwrap_or(("", Map::new()));
            extra = more;
            kind
        }
        "tg-emoji" => {
            let id = attribute("emoji-id")
                .ok_or_else(|| format!("Custom emoji identifier is missing at byte offset {at}"))?;
            extra.insert("custom_emoji_id".to_owned(), json!(id));
            "custom_emoji"
        }
        _ => return Err(format!("Unsupported start tag \"{tag}\" at byte offset {at}")),
    };
    Ok(Open { tag, kind, from, extra })
}

fn close(out: &mut Builder, stack: &mut Vec<Open>, name: &str, at: usize) -> Result<(), String> {
    let open = stack.pop().ok_or_else(|| format!("Unexpected end tag at byte offset {at}"))?;
    let name = name.to_ascii_lowercase();
    if !name.is_empty() && name != open.tag {
        return Err(format!(
            "Unmatched end tag at byte offset {at}, expected \"</{}>\", found \"</{name}>\"",
            open.tag
        ));
    }
    let merged = open.tag == "pre"
        && out.entities.last().is_some_and(|e| {
            e["type"] == "pre" && e["offset"] == open.from && e.get("language").is_some()
        });
    if !open.kind.is_empty() && !merged {
        out.entity(open.kind, open.from, open.extra);
    }
    Ok(())
}

fn value_of(attributes: &str, key: &str) -> Option<String> {
    let mut rest = attributes.trim();
    while let Some((name, tail)) = rest.split_once('=') {
        let tail = tail.trim_start();
        let (value, after) = match tail.chars().next() {
            Some(quote @ ('"' | '\'')) => tail[1..].split_once(quote)?,
            _ => tail.split_once(char::is_whitespace).unwrap_or((tail, "")),
        };
        if name.trim().rsplit(char::is_whitespace).next() == Some(key) {
            return Some(
                value
                    .replace("&amp;", "&")
                    .replace("&quot;", "\"")
                    .replace("&lt;", "<")
                    .replace("&gt;", ">"),
            );
        }
        rest = after.trim_start();
    }
    None
}

/// Decodes one character reference and returns its length in bytes. An unknown one stays an
/// ampersand.
fn entity(text: &str) -> (char, usize) {
    let Some(end) = text.bytes().take(12).position(|b| b == b';') else { return ('&', 1) };
    let decoded = match &text[1..end] {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        name => name
            .strip_prefix('#')
            .and_then(|n| {
                n.strip_prefix(['x', 'X'])
                    .map_or_else(|| n.parse().ok(), |h| u32::from_str_radix(h, 16).ok())
            })
            .and_then(char::from_u32),
    };
    decoded.map_or(('&', 1), |c| (c, end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_become_entities() {
        let (text, entities) =
            parse("<b>a <i>b</i></b> &lt;&#x41; <a href=\"https://x.y/?a=1&amp;b\">l</a><pre><code class=\"language-rust\">fn</code></pre>").unwrap();
        assert_eq!(text, "a b <A lfn");
        let kinds: Vec<_> = entities
            .iter()
            .map(|e| {
                (
                    e["type"].as_str().unwrap(),
                    e["offset"].as_u64().unwrap(),
                    e["length"].as_u64().unwrap(),
                )
            })
            .collect();
        assert_eq!(kinds, [("bold", 0, 3), ("italic", 2, 1), ("text_link", 7, 1), ("pre", 8, 2)]);
        assert_eq!(entities[2]["url"], "https://x.y/?a=1&b");
        assert_eq!(entities[3]["language"], "rust");
    }

    #[test]
    fn broken_markup_is_refused_in_the_servers_words() {
        assert_eq!(parse("a < b").unwrap_err(), "Unclosed start tag at byte offset 2");
        assert_eq!(
            parse("<h1>x</h1>").unwrap_err(),
            "Unsupported start tag \"h1\" at byte offset 0"
        );
        assert_eq!(
            parse("<b>x</i>").unwrap_err(),
            "Unmatched end tag at byte offset 4, expected \"</b>\", found \"</i>\""
        );
        assert_eq!(
            parse("<b>x").unwrap_err(),
            "Can't find end tag corresponding to start tag \"b\""
        );
        assert_eq!(parse("x</b>").unwrap_err(), "Unexpected end tag at byte offset 1");
    }

    #[test]
    fn text_cut_inside_a_character_reference_is_no_panic() {
        assert_eq!(parse("&ééééééééé").unwrap().0, "&ééééééééé");
    }
}
