//! MarkdownV2 and legacy Markdown style (Bot API, "MarkdownV2 style", "Markdown style").

use serde_json::{Map, Value, json};

use super::{Builder, link};

/// Characters that must be escaped everywhere in MarkdownV2 unless they are markup.
const RESERVED: &str = "_*[]()~`>#+-=|{}.!";

struct Open {
    mark: &'static str,
    from: usize,
    at: usize,
}

fn kind_of(mark: &str) -> &'static str {
    match mark {
        "*" => "bold",
        "_" => "italic",
        "__" => "underline",
        "~" => "strikethrough",
        "||" => "spoiler",
        "[" => "text_link",
        _ => "custom_emoji",
    }
}

/// Parses MarkdownV2; an error carries the server's wording.
pub(super) fn parse_v2(text: &str) -> Result<(String, Vec<Value>), String> {
    let mut out = Builder::default();
    let mut stack: Vec<Open> = Vec::new();
    let mut quote: Option<usize> = None;
    let mut at = 0;
    let mut line_start = true;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        if line_start {
            line_start = false;
            if rest.starts_with('>') || rest.starts_with("**>") {
                quote.get_or_insert(out.offset);
                at += if c == '>' { 1 } else { 3 };
                continue;
            }
            close_quote(&mut out, &mut quote, "blockquote");
        }
        match c {
            '\\' if rest[1..]
                .chars()
                .next()
                .is_some_and(|n| n.is_ascii() && !n.is_ascii_control()) =>
            {
                out.push_str(&rest[1..2]);
                at += 2;
            }
            '\n' => {
                out.push('\n');
                at += 1;
                line_start = true;
            }
            '`' => at += code(&mut out, rest, at, true)?,
            '|' if quote.is_some()
                && rest.starts_with("||")
                && (rest.len() == 2 || rest[2..].starts_with('\n'))
                && !open_is(&stack, "||") =>
            {
                close_quote(&mut out, &mut quote, "expandable_blockquote");
                at += 2;
            }
            ']' if stack.last().is_some_and(|o| o.mark == "[" || o.mark == "![") => {
                let Some(open) = stack.pop() else { continue };
                let (url, len) = target(&rest[1..]).ok_or_else(|| {
                    format!("Can't find end of the entity starting at byte offset {}", open.at)
                })?;
                let (kind, extra) = if open.mark == "[" { link(&url) } else { emoji(&url) };
                out.entity(kind, open.from, extra);
                at += 1 + len;
            }
            _ => match mark(rest) {
                Some(found) => {
                    if stack.last().is_some_and(|o| o.mark == found) {
                        if let Some(open) = stack.pop() {
                            out.entity(kind_of(found), open.from, Map::new());
                        }
                    } else {
                        stack.push(Open { mark: found, from: out.offset, at });
                    }
                    at += found.len();
                }
                None if RESERVED.contains(c) => {
                    return Err(format!(
                        "Character '{c}' is reserved and must be escaped with the preceding '\\'"
                    ));
                }
                None => {
                    out.push(c);
                    at += c.len_utf8();
                }
            },
        }
    }
    if let Some(open) = stack.last() {
        return Err(format!(
            "Can't find end of {} entity at byte offset {}",
            title(kind_of(open.mark)),
            open.at
        ));
    }
    close_quote(&mut out, &mut quote, "blockquote");
    Ok(out.done())
}

fn open_is(stack: &[Open], mark: &str) -> bool {
    stack.iter().any(|o| o.mark == mark)
}

fn mark(rest: &str) -> Option<&'static str> {
    // "In case of ambiguity between italic and underline entities __ is always greedily treated
    // from left to right as underline."
    ["||", "![", "[", "*", "__", "_", "~"].into_iter().find(|m| rest.starts_with(*m))
}

fn title(kind: &str) -> String {
    let words: Vec<String> =
        kind.split('_').map(|w| format!("{}{}", w[..1].to_uppercase(), &w[1..])).collect();
    words.join("")
}

fn emoji(url: &str) -> (&'static str, Map<String, Value>) {
    let id = url.strip_prefix("tg://emoji?id=").unwrap_or_default();
    ("custom_emoji", Map::from_iter([("custom_emoji_id".to_owned(), json!(id))]))
}

fn close_quote(out: &mut Builder, quote: &mut Option<usize>, kind: &str) {
    if let Some(from) = quote.take() {
        out.entity(kind, from, Map::new());
    }
}

/// Parses inline code or a fence, and returns its length in bytes.
fn code(out: &mut Builder, rest: &str, at: usize, escapes: bool) -> Result<usize, String> {
    let fence = if rest.starts_with("```") { "```" } else { "`" };
    let (kind, name) = if fence.len() == 3 { ("pre", "Pre") } else { ("code", "Code") };
    let mut inner = fence.len();
    let mut extra = Map::new();
    if kind == "pre" {
        let language: String =
            rest[inner..].chars().take_while(|c| !c.is_whitespace() && *c != '`').collect();
        if rest[inner + language.len()..].starts_with('\n') {
            inner += language.len() + 1;
            if !language.is_empty() {
                extra.insert("language".to_owned(), json!(language));
            }
        }
    }
    let from = out.offset;
    let mut chars = rest[inner..].char_indices();
    while let Some((i, c)) = chars.next() {
        if rest[inner + i..].starts_with(fence) {
            out.entity(kind, from, extra);
            return Ok(inner + i + fence.len());
        }
        match (c, escapes) {
            ('\\', true) => out.push(chars.next().map_or('\\', |(_, n)| n)),
            _ => out.push(c),
        }
    }
    Err(format!("Can't find end of {name} entity at byte offset {at}"))
}

/// Parses `(url)` after a link's text, and returns its length in bytes.
fn target(rest: &str) -> Option<(String, usize)> {
    let inside = rest.strip_prefix('(')?;
    let mut url = String::new();
    let mut chars = inside.char_indices();
    while let Some((i, c)) = chars.next() {
        match c {
            ')' => return Some((url, i + 2)),
            '\\' => url.push(chars.next()?.1),
            _ => url.push(c),
        }
    }
    None
}

/// Parses legacy Markdown: no nesting, and unpaired marks are refused.
pub(super) fn parse_legacy(text: &str) -> Result<(String, Vec<Value>), String> {
    let mut out = Builder::default();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let unpaired = || format!("Can't find end of the entity starting at byte offset {at}");
        match c {
            '\\' if rest[1..].starts_with(['_', '*', '`', '[']) => {
                out.push_str(&rest[1..2]);
                at += 2;
            }
            '`' => at += code(&mut out, rest, at, false).map_err(|_| unpaired())?,
            '*' | '_' => {
                let end = rest[1..].find(c).ok_or_else(unpaired)?;
                let from = out.offset;
                out.push_str(&rest[1..=end]);
                out.entity(if c == '*' { "bold" } else { "italic" }, from, Map::new());
                at += end + 2;
            }
            '[' => {
                let end = rest.find(']').ok_or_else(unpaired)?;
                let from = out.offset;
                out.push_str(&rest[1..end]);
                at += end + 1;
                if let Some((url, len)) = target(&text[at..]) {
                    let (kind, extra) = link(&url);
                    out.entity(kind, from, extra);
                    at += len;
                }
            }
            c => {
                out.push(c);
                at += c.len_utf8();
            }
        }
    }
    Ok(out.done())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(entities: &[Value]) -> Vec<(&str, u64, u64)> {
        entities
            .iter()
            .map(|e| {
                (
                    e["type"].as_str().unwrap(),
                    e["offset"].as_u64().unwrap(),
                    e["length"].as_u64().unwrap(),
                )
            })
            .collect()
    }

    #[test]
    fn marks_become_entities() {
        let (text, entities) =
            parse_v2("*b _i_* ||s|| `c\\`` [l](https://x.y/\\)) a\\.b\n>q\n```rust\nfn\n```")
                .unwrap();
        assert_eq!(text, "b i s c` l a.b\nq\nfn\n");
        assert_eq!(
            kinds(&entities),
            [
                ("bold", 0, 3),
                ("italic", 2, 1),
                ("spoiler", 4, 1),
                ("code", 6, 2),
                ("text_link", 9, 1),
                ("blockquote", 15, 2),
                ("pre", 17, 3)
            ]
        );
        assert_eq!(entities[4]["url"], "https://x.y/)");
    }

    #[test]
    fn what_must_be_escaped_is_refused() {
        for c in ['.', '!', '-', '(', '#', '=', '{'] {
            assert_eq!(
                parse_v2(&format!("a {c}")).unwrap_err(),
                format!("Character '{c}' is reserved and must be escaped with the preceding '\\'")
            );
        }
        assert_eq!(parse_v2("*a").unwrap_err(), "Can't find end of Bold entity at byte offset 0");
        assert_eq!(parse_v2("`a").unwrap_err(), "Can't find end of Code entity at byte offset 0");
    }

    #[test]
    fn legacy_markdown_refuses_what_does_not_pair() {
        assert_eq!(
            kinds(&parse_legacy("*b* [l](https://x.y)").unwrap().1),
            [("bold", 0, 1), ("text_link", 2, 1)]
        );
        assert_eq!(
            parse_legacy("snake_case").unwrap_err(),
            "Can't find end of the entity starting at byte offset 5"
        );
    }
}
