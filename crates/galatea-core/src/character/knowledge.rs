//! Knowledge of a character: nodes → texts, files and folders, in the forms of every generation.

use serde_json::{Map, Value};

use super::{
    Knowledge,
    diagnostic::MISSING,
    fields::{index, keep, list, wrong},
    node::{Field, Kind, Node},
    notes::Notes,
};

const FORMS: &str = "write text, { \"path\": \"file\" } or { \"directory\": \"folder\" }";
/// Names of one piece of knowledge.
const PIECE: [&str; 7] = ["path", "directory", "dir", "item", "text", "content", "shared"];
/// Names under which a list of pieces stands.
const LISTS: [&str; 6] = ["items", "documents", "sources", "files", "entries", "facts"];

/// Reads the field: a list of pieces, one piece, or an object that holds them by topic.
pub(super) fn read(
    node: &Node,
    extra: &mut Map<String, Value>,
    notes: &mut Notes<'_>,
) -> Vec<Knowledge> {
    let Kind::Object(entries) = &node.kind else {
        return list(node, "knowledge", notes)
            .iter()
            .enumerate()
            .filter_map(|(i, node)| piece(node, &i.to_string(), extra, notes))
            .collect();
    };
    if !entries.is_empty() && entries.iter().all(|entry| PIECE.contains(&entry.key.as_str())) {
        return piece(node, "0", extra, notes).into_iter().collect();
    }
    let mut pieces = Vec::new();
    for (topic, entry) in index(entries, notes) {
        let about = (!LISTS.contains(&topic)).then_some(topic);
        match &entry.value.kind {
            Kind::List(items) => {
                for (i, item) in items.iter().enumerate() {
                    let found = piece(item, &format!("{topic}.{i}"), extra, notes);
                    pieces.extend(found.map(|piece| under(about, piece)));
                }
            }
            Kind::Text(_) | Kind::Object(_) => {
                let found = piece(&entry.value, topic, extra, notes);
                pieces.extend(found.map(|piece| under(about, piece)));
            }
            Kind::Null => {}
            Kind::Bool(_) | Kind::Number(_) => {
                keep(entry, &format!("knowledge.{topic}"), &LISTS, extra, notes);
            }
        }
    }
    pieces
}

/// A text with the topic that it stands under. An empty one says nothing of its topic.
fn under(topic: Option<&str>, piece: Knowledge) -> Knowledge {
    match (topic, piece) {
        (Some(topic), Knowledge::Text(text)) if !text.trim().is_empty() => {
            Knowledge::Text(format!("{topic}: {text}"))
        }
        (_, piece) => piece,
    }
}

fn piece(
    node: &Node,
    at: &str,
    extra: &mut Map<String, Value>,
    notes: &mut Notes<'_>,
) -> Option<Knowledge> {
    let path = format!("knowledge[{at}]");
    let entries = match &node.kind {
        Kind::Text(text) => return Some(Knowledge::Text(text.clone())),
        Kind::Object(entries) => entries,
        _ => {
            wrong(node, &path, "text, a file or a folder", Some(FORMS), notes);
            return None;
        }
    };
    let mut shared = false;
    let mut found = None;
    for (key, entry) in index(entries, notes) {
        match (key, &entry.value.kind) {
            ("shared", Kind::Bool(flag)) => shared = *flag,
            ("shared", _) => {
                wrong(&entry.value, &format!("{path}.shared"), "true or false", None, notes)
            }
            ("text" | "content", Kind::Text(text)) => found = Some(("text", text.clone())),
            ("path", Kind::Text(text)) => found = Some(("path", text.clone())),
            ("directory" | "dir", Kind::Text(text)) => found = Some(("directory", text.clone())),
            // elizaOS 2 names the sort of a piece beside its value.
            ("item", Kind::Object(item)) => found = case(item).or(found),
            ("path" | "directory" | "dir" | "text" | "content" | "item", _) => {
                wrong(&entry.value, &format!("{path}.{key}"), "text", None, notes)
            }
            _ => keep(
                entry,
                &format!("knowledge.{at}.{key}"),
                &["path", "directory", "shared"],
                extra,
                notes,
            ),
        }
    }
    match found {
        Some(("text", text)) => Some(Knowledge::Text(text)),
        Some(("path", path)) => Some(Knowledge::File { path, shared }),
        Some((_, directory)) => Some(Knowledge::Directory { directory, shared }),
        None => {
            let message = format!("`{path}` names neither a file nor a folder");
            notes.error(MISSING, &node.range, message, Some(FORMS.to_owned()));
            None
        }
    }
}

/// The sort and value of `{ "case": "path", "value": "…" }`; the value may be an object with a path.
fn case(item: &[Field]) -> Option<(&'static str, String)> {
    let field = |name: &str| item.iter().find(|entry| entry.key == name).map(|e| &e.value.kind);
    let value = match field("value")? {
        Kind::Text(text) => text.clone(),
        Kind::Object(inner) => inner.iter().find_map(|entry| match &entry.value.kind {
            Kind::Text(text) => Some(text.clone()),
            _ => None,
        })?,
        _ => return None,
    };
    let Some(Kind::Text(sort)) = field("case") else { return None };
    Some((
        match sort.as_str() {
            "path" | "file" => "path",
            "directory" => "directory",
            "text" | "content" => "text",
            _ => return None,
        },
        value,
    ))
}
