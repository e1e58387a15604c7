//! Small XML trees (actions and arguments) in one pass: damaged nesting is closed, depth and size
//! are bounded.

use serde_json::{Map, Value};

use super::tag::{Tag, element_text, tag_at};

/// Deeper elements are read as words.
const MAX_DEPTH: usize = 12;
/// Further elements are read as words.
const MAX_ELEMENTS: usize = 512;
/// Elements whose content is words, whatever tags it holds.
const WORDS: [&str; 3] = ["text", "message", "content"];

/// An element that is not closed yet.
struct Open<'a> {
    name: &'a str,
    children: Map<String, Value>,
    from: usize,
}

impl<'a> Open<'a> {
    fn new(name: &'a str, from: usize) -> Self {
        Self { name, children: Map::new(), from }
    }

    /// Adds an element; elements of one name become a list.
    fn add(&mut self, name: &str, value: Value) {
        match self.children.get_mut(name) {
            None => drop(self.children.insert(name.to_owned(), value)),
            Some(Value::Array(list)) => list.push(value),
            Some(first) => *first = Value::Array(vec![first.take(), value]),
        }
    }

    /// Its elements, or its words.
    fn into_value(self, words: &str) -> Value {
        if self.children.is_empty() {
            Value::String(element_text(words, false))
        } else {
            Value::Object(self.children)
        }
    }
}

/// Reads an element's content: its elements as an object, or its words.
pub(super) fn parse(content: &str) -> Value {
    let mut stack = vec![Open::new("", 0)];
    let mut elements = 0;
    let mut pos = 0;
    while let Some(offset) = content[pos..].find('<') {
        let at = pos + offset;
        if content[at..].starts_with("<![CDATA[") {
            pos = content[at..].find("]]>").map_or(content.len(), |end| at + end + 3);
            continue;
        }
        let Some(tag) = tag_at(&content[at..]) else {
            pos = at + 1;
            continue;
        };
        pos = at + tag.len;
        if tag.closing {
            if let Some(depth) = stack.iter().skip(1).rposition(|open| tag.is(open.name)) {
                while stack.len() > depth + 1 {
                    close(&mut stack, content, at);
                }
            }
            continue;
        }
        elements += 1;
        if stack.len() > MAX_DEPTH || elements > MAX_ELEMENTS {
            continue;
        }
        let mut open = Open::new(tag.name, pos);
        if let Some(name) = attribute(tag.attributes, "name") {
            open.add("name", Value::String(name.to_owned()));
        }
        stack.push(open);
        if tag.empty {
            close(&mut stack, content, pos);
        } else if WORDS.iter().any(|w| tag.is(w)) || holds_json(&tag, &content[pos..]) {
            let end = content[pos..].match_indices('<').find_map(|(i, _)| {
                tag_at(&content[pos + i..])
                    .filter(|t| t.closing && t.is(tag.name))
                    .map(|t| (pos + i, t.len))
            });
            let (end, len) = end.unwrap_or((content.len(), 0));
            close(&mut stack, content, end);
            pos = end + len;
        }
    }
    while stack.len() > 1 {
        close(&mut stack, content, content.len());
    }
    stack.pop().map_or(Value::Null, |root| root.into_value(content))
}

/// Arguments written as JSON may hold words with tags in them.
fn holds_json(tag: &Tag<'_>, inner: &str) -> bool {
    ["params", "parameters", "arguments"].iter().any(|name| tag.is(name))
        && inner.trim_start().starts_with('{')
}

fn close<'a>(stack: &mut Vec<Open<'a>>, content: &'a str, at: usize) {
    if let Some(open) = stack.pop()
        && let Some(parent) = stack.last_mut()
    {
        let words = &content[open.from..at];
        parent.add(open.name, open.into_value(words));
    }
}

/// The value of `name="…"`.
pub(super) fn attribute<'a>(attributes: &'a str, name: &str) -> Option<&'a str> {
    let rest =
        attributes.trim_start().strip_prefix(name)?.trim_start().strip_prefix('=')?.trim_start();
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    rest[1..].split(quote).next()
}
