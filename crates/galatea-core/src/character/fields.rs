//! Fields of a character file: single values, with remarks about those that have the wrong type.

use serde_json::{Map, Value};
use std::collections::BTreeMap;

use super::{
    Secrets,
    diagnostic::{KEY, TWICE, TYPE},
    encrypted,
    keys::nearest,
    node::{Field, Kind, Node},
    notes::Notes,
};

/// Fields by name. A name written twice is remarked; the last one counts.
pub(super) type Fields<'a> = BTreeMap<&'a str, &'a Field>;

/// Keeps an unknown field under its dotted name, with a warning.
pub(super) fn keep(
    entry: &Field,
    path: &str,
    known: &[&str],
    extra: &mut Map<String, Value>,
    notes: &mut Notes<'_>,
) {
    let message = if entry.key.is_empty() {
        "a field without a name is ignored".to_owned()
    } else {
        format!("unknown field `{}`", brief(&entry.key))
    };
    notes.warn(KEY, &entry.key_range, message, suggestion(&entry.key, known, notes));
    extra.insert(path.to_owned(), entry.value.to_value());
}

/// A name from a file as it may stand in a sentence: one line, not long.
fn brief(key: &str) -> String {
    const LONGEST: usize = 40;
    let shown: String = key
        .chars()
        .take(LONGEST)
        .map(|c| if c.is_control() || c == '`' { ' ' } else { c })
        .collect();
    if key.chars().nth(LONGEST).is_some() { format!("{shown}…") } else { shown }
}

/// The known name that was probably meant. Not worked out when the remark would only be counted: a
/// file may hold 100,000 odd names.
pub(super) fn suggestion(key: &str, known: &[&str], notes: &Notes<'_>) -> Option<String> {
    (!notes.is_full()).then(|| {
        nearest(key, known).map_or_else(
            || "it is kept and has no effect".to_owned(),
            |known| format!("did you mean `{known}`?"),
        )
    })
}

pub(super) fn index<'a>(entries: &'a [Field], notes: &mut Notes<'_>) -> Fields<'a> {
    let mut fields = Fields::new();
    for entry in entries {
        if fields.insert(&entry.key, entry).is_some() {
            notes.warn(
                TWICE,
                &entry.key_range,
                "this field is written twice; the last one counts",
                Some("remove one of them".to_owned()),
            );
        }
    }
    fields
}

pub(super) fn wrong(
    node: &Node,
    path: &str,
    expected: &str,
    help: Option<&str>,
    notes: &mut Notes<'_>,
) {
    notes.error(
        TYPE,
        &node.range,
        format!("`{path}` must be {expected}, this is {}", node.sort()),
        help.map(str::to_owned),
    );
}

/// A text; a fault for anything but text or null.
pub(super) fn text(fields: &Fields<'_>, key: &str, notes: &mut Notes<'_>) -> Option<String> {
    let entry = fields.get(key)?;
    match &entry.value.kind {
        Kind::Text(text) => Some(text.clone()),
        Kind::Null => None,
        Kind::Number(_) | Kind::Bool(_) => {
            wrong(&entry.value, key, "text", Some("put it in double quotes"), notes);
            None
        }
        _ => {
            wrong(&entry.value, key, "text", None, notes);
            None
        }
    }
}

/// A list's nodes; nothing, with a fault, for anything else.
pub(super) fn list<'a>(node: &'a Node, path: &str, notes: &mut Notes<'_>) -> &'a [Node] {
    match &node.kind {
        Kind::List(list) => list,
        Kind::Null => &[],
        Kind::Text(_) => {
            wrong(node, path, "a list", Some("put it in [ ]"), notes);
            &[]
        }
        _ => {
            wrong(node, path, "a list", None, notes);
            &[]
        }
    }
}

/// An object's entries; a fault for anything but an object or null.
pub(super) fn object<'a>(node: &'a Node, path: &str, notes: &mut Notes<'_>) -> Option<&'a [Field]> {
    match &node.kind {
        Kind::Object(entries) => Some(entries),
        Kind::Null => None,
        _ => {
            wrong(node, path, "an object", Some("objects are written { \"key\": value }"), notes);
            None
        }
    }
}

/// Treatment of a field where text is expected and something else stands.
pub(super) fn as_text(node: &Node) -> &'static str {
    match node.kind {
        Kind::Object(_) => "write plain text in place of the object",
        Kind::List(_) => "take away the inner [ ]",
        Kind::Null => "remove it",
        Kind::Text(_) | Kind::Number(_) | Kind::Bool(_) => "put it in double quotes",
    }
}

/// A list of texts.
pub(super) fn text_list(node: &Node, path: &str, notes: &mut Notes<'_>) -> Vec<String> {
    let mut out = Vec::new();
    for (i, item) in list(node, path, notes).iter().enumerate() {
        match &item.kind {
            Kind::Text(text) => out.push(text.clone()),
            _ => wrong(item, &format!("{path}[{i}]"), "text", Some(as_text(item)), notes),
        }
    }
    out
}

/// A text, or a list of texts.
pub(super) fn text_or_list(node: &Node, path: &str, notes: &mut Notes<'_>) -> Vec<String> {
    match &node.kind {
        Kind::Text(text) => vec![text.clone()],
        Kind::List(_) => text_list(node, path, notes),
        Kind::Null => Vec::new(),
        _ => {
            let help = if matches!(node.kind, Kind::Object(_)) {
                "write a text, or a list of texts in [ ]"
            } else {
                as_text(node)
            };
            wrong(node, path, "text or a list of texts", Some(help), notes);
            Vec::new()
        }
    }
}

pub(super) fn secrets(node: &Node, path: &str, notes: &mut Notes<'_>) -> Secrets {
    let mut secrets = Secrets::default();
    for (key, entry) in
        object(node, path, notes).map(|entries| index(entries, notes)).unwrap_or_default()
    {
        match &entry.value.kind {
            Kind::List(_) | Kind::Object(_) => wrong(
                &entry.value,
                &format!("{path}.{key}"),
                "text, a number or a switch",
                None,
                notes,
            ),
            _ => {
                encrypted::remark(entry, notes);
                secrets.insert(key, entry.value.to_value());
            }
        }
    }
    secrets
}
