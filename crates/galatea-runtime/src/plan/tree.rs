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

/// What an element holds: a text, or other elements.
pub(super) enum Node {
    /// Words.
    Leaf(String),
    /// Elements, in order.
    Branch(Vec<(String, Node)>),
}

struct Open<'a> {
    name: &'a str,
    children: Vec<(String, Node)>,
    from: usize,
}

impl Node {
    pub(super) fn is_branch(&self) -> bool {
        matches!(self, Self::Branch(_))
    }

    /// As JSON: elements become keys, repeated ones a list.
    pub(super) fn into_value(self) -> Value {
        match self {
            Self::Leaf(text) => Value::String(text),
            Self::Branch(children) => {
                let mut map: Map<String, Value> = Map::new();
                let mut lists: Vec<String> = Vec::new();
                for (name, node) in children {
                    let value = node.into_value();
                    match map.get_mut(&name) {
                        None => {
                            map.insert(name, value);
                        }
                        Some(Value::Array(list)) if lists.contains(&name) => list.push(value),
                        Some(first) => {
                            *first = Value::Array(vec![first.take(), value]);
                            lists.push(name);
                        }
                    }
                }
                Value::Object(map)
            }
        }
    }
}

/// Reads an element's content.
pub(super) fn parse(content: &str) -> Node {
    let mut stack = vec![Open { name: "", children: Vec::new(), from: 0 }];
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
        let attributes: Vec<(String, Node)> = attribute(tag.attributes, "name")
            .map(|name| ("name".to_owned(), Node::Leaf(name.to_owned())))
            .into_iter()
            .collect();
        stack.push(Open { name: tag.name, children: attributes, from: pos });
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
    match stack.pop() {
        Some(root) if !root.children.is_empty() => Node::Branch(root.children),
        _ => Node::Leaf(element_text(content, false)),
    }
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
        let node = if open.children.is_empty() {
            Node::Leaf(element_text(&content[open.from..at], false))
        } else {
            Node::Branch(open.children)
        };
        parent.children.push((open.name.to_owned(), node));
    }
}

/// The value of `name="…"`.
pub(super) fn attribute<'a>(attributes: &'a str, name: &str) -> Option<&'a str> {
    let rest =
        attributes.trim_start().strip_prefix(name)?.trim_start().strip_prefix('=')?.trim_start();
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    rest[1..].split(quote).next()
}
