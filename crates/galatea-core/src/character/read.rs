//! Nodes → Character, field by field, every fault with its place.

use serde_json::{Map, Value};
use std::{collections::BTreeMap, ops::Range};

use super::{
    Character, Generation, Knowledge, MessageExample, Secrets, Style,
    diagnostic::{EMPTY, ENCRYPTED, ID, KEY, MISSING, OLD, TWICE, TYPE},
    keys::{self, nearest},
    legacy,
    node::{Entry, Kind, Node, to_map},
    notes::Notes,
};
use crate::content::Content;

/// Fields by name. A name written twice is remarked; the last one counts.
pub(super) type Fields<'a> = BTreeMap<&'a str, &'a Entry>;

/// Reads the root object of a character file.
pub(super) fn character(entries: &[Entry], root: &Range<usize>, notes: &mut Notes<'_>) -> (Character, Generation) {
    let fields = index(entries, notes);
    let mut old = false;
    let mut character = Character {
        id: text(&fields, "id", notes),
        name: text(&fields, "name", notes).unwrap_or_default().trim().to_owned(),
        username: text(&fields, "username", notes).map(|t| t.trim_start_matches('@').to_owned()),
        system: text(&fields, "system", notes),
        templates: templates(&fields, notes),
        bio: fields.get("bio").map(|e| text_or_list(&e.value, "bio", notes)).unwrap_or_default(),
        post_examples: texts(&fields, "postExamples", notes),
        topics: texts(&fields, "topics", notes),
        adjectives: texts(&fields, "adjectives", notes),
        plugins: texts(&fields, "plugins", notes),
        ..Character::default()
    };
    if let Some(entry) = fields.get("messageExamples") {
        character.message_examples = conversations(&entry.value, &mut character.extra, &mut old, notes);
    }
    if let Some(entry) = fields.get("knowledge") {
        character.knowledge =
            list(&entry.value, "knowledge", notes).iter().enumerate().filter_map(|(i, n)| knowledge(n, i, &mut character.extra, notes)).collect();
    }
    if let Some(entry) = fields.get("style") {
        character.style = style(&entry.value, &mut character.extra, notes);
    }
    if let Some(entry) = fields.get("secrets") {
        character.secrets = secrets(&entry.value, "secrets", notes);
    }
    if let Some(entry) = fields.get("settings")
        && let Some(inner) = object(&entry.value, "settings", notes)
    {
        character.settings = to_map(inner);
        character.settings.remove("secrets");
        if let Some(entry) = index(inner, notes).get("secrets") {
            character.settings_secrets = secrets(&entry.value, "settings.secrets", notes);
        }
    }
    old |= legacy::apply(&fields, &mut character, notes);
    unknown(&fields, &mut character, notes);
    check(&fields, root, &character, notes);
    (character, if old { Generation::Legacy } else { Generation::Present })
}

/// Name and bio must be there; an id should be a UUID.
fn check(fields: &Fields<'_>, root: &Range<usize>, character: &Character, notes: &mut Notes<'_>) {
    for (field, is_empty) in [("name", character.name.is_empty()), ("bio", character.bio.iter().all(|line| line.trim().is_empty()))] {
        match fields.get(field).filter(|e| e.value.kind != Kind::Null) {
            None if is_empty => {
                let misspelt = fields.keys().find(|k| !keys::FIELDS.contains(k) && nearest(k, keys::FIELDS) == Some(field));
                let help = misspelt.map_or_else(|| format!("add \"{field}\""), |wrong| format!("rename `{wrong}` to `{field}`"));
                notes.error(MISSING, &(root.start..root.start + 1), format!("`{field}` is missing"), Some(help));
            }
            Some(entry) if is_empty && matches!(entry.value.kind, Kind::Text(_) | Kind::List(_)) => {
                if field == "name" {
                    notes.error(EMPTY, &entry.value.range, "the name is empty", Some("people call the character by it".to_owned()));
                } else {
                    notes.warn(EMPTY, &entry.value.range, "the bio is empty", Some("say in a few lines who this is".to_owned()));
                }
            }
            _ => {}
        }
    }
    if let (Some(id), Some(entry)) = (&character.id, fields.get("id"))
        && (id.len() != 36 || uuid::Uuid::try_parse(id).is_err())
    {
        notes.warn(ID, &entry.value.range, "`id` is not a UUID: elizaOS refuses it, here the agent's id is derived from the text", None);
    }
}

/// Keeps and remarks what nobody reads.
fn unknown(fields: &Fields<'_>, character: &mut Character, notes: &mut Notes<'_>) {
    for (key, entry) in fields {
        if *key == "$schema" {
            character.extra.insert((*key).to_owned(), entry.value.to_value());
        } else if !keys::FIELDS.contains(key) && !legacy::knows(key) {
            keep(entry, key, keys::FIELDS, &mut character.extra, notes);
        }
    }
}

/// Keeps a field nobody reads under its dotted name, and remarks it.
fn keep(entry: &Entry, path: &str, known: &[&str], extra: &mut Map<String, Value>, notes: &mut Notes<'_>) {
    let message =
        if entry.key.is_empty() { "nobody reads a field without a name".to_owned() } else { format!("nobody reads the field `{}`", brief(&entry.key)) };
    notes.warn(KEY, &entry.key_range, message, suggestion(&entry.key, known, notes));
    extra.insert(path.to_owned(), entry.value.to_value());
}

/// A name from a file as it may stand in a sentence: one line, not long.
fn brief(key: &str) -> String {
    const LONGEST: usize = 40;
    let shown: String = key.chars().take(LONGEST).map(|c| if c.is_control() || c == '`' { ' ' } else { c }).collect();
    if key.chars().nth(LONGEST).is_some() { format!("{shown}…") } else { shown }
}

/// The known name that was probably meant. Not worked out when the remark would only be counted: a file may hold 100,000 odd names.
fn suggestion(key: &str, known: &[&str], notes: &Notes<'_>) -> Option<String> {
    (!notes.is_full()).then(|| nearest(key, known).map_or_else(|| "it is kept and has no effect".to_owned(), |known| format!("did you mean `{known}`?")))
}

pub(super) fn index<'a>(entries: &'a [Entry], notes: &mut Notes<'_>) -> Fields<'a> {
    let mut fields = Fields::new();
    for entry in entries {
        if fields.insert(&entry.key, entry).is_some() {
            notes.warn(TWICE, &entry.key_range, "this field is written twice; the last one counts", Some("remove one of them".to_owned()));
        }
    }
    fields
}

fn wrong(node: &Node, path: &str, expected: &str, help: Option<&str>, notes: &mut Notes<'_>) {
    notes.error(TYPE, &node.range, format!("`{path}` must be {expected}, this is {}", node.sort()), help.map(str::to_owned));
}

fn text(fields: &Fields<'_>, key: &str, notes: &mut Notes<'_>) -> Option<String> {
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
pub(super) fn object<'a>(node: &'a Node, path: &str, notes: &mut Notes<'_>) -> Option<&'a [Entry]> {
    match &node.kind {
        Kind::Object(entries) => Some(entries),
        Kind::Null => None,
        _ => {
            wrong(node, path, "an object", Some("objects are written { \"key\": value }"), notes);
            None
        }
    }
}

fn texts(fields: &Fields<'_>, key: &str, notes: &mut Notes<'_>) -> Vec<String> {
    fields.get(key).map(|e| text_list(&e.value, key, notes)).unwrap_or_default()
}

/// A list of texts.
pub(super) fn text_list(node: &Node, path: &str, notes: &mut Notes<'_>) -> Vec<String> {
    let mut out = Vec::new();
    for (i, item) in list(node, path, notes).iter().enumerate() {
        match &item.kind {
            Kind::Text(text) => out.push(text.clone()),
            _ => wrong(item, &format!("{path}[{i}]"), "text", Some("put it in double quotes"), notes),
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
            wrong(node, path, "text or a list of texts", Some("put it in double quotes"), notes);
            Vec::new()
        }
    }
}

fn templates(fields: &Fields<'_>, notes: &mut Notes<'_>) -> BTreeMap<String, String> {
    let Some(entries) = fields.get("templates").and_then(|e| object(&e.value, "templates", notes)) else { return BTreeMap::new() };
    let mut out = BTreeMap::new();
    for (key, entry) in index(entries, notes) {
        let Kind::Text(text) = &entry.value.kind else {
            wrong(&entry.value, &format!("templates.{key}"), "text", None, notes);
            continue;
        };
        if !keys::TEMPLATES.contains(&key) {
            notes.warn(KEY, &entry.key_range, "no prompt uses this template", suggestion(key, keys::TEMPLATES, notes));
        }
        out.insert(key.to_owned(), text.clone());
    }
    out
}

fn conversations(node: &Node, extra: &mut Map<String, Value>, old: &mut bool, notes: &mut Notes<'_>) -> Vec<Vec<MessageExample>> {
    let mut out = Vec::new();
    for (i, conversation) in list(node, "messageExamples", notes).iter().enumerate() {
        let path = format!("messageExamples[{i}]");
        // elizaOS 2 wraps each conversation: {"examples": [...]}; TOML files are more readable that way too.
        let lines = match &conversation.kind {
            Kind::Object(entries) if entries.len() == 1 && entries[0].key == "examples" => &entries[0].value,
            _ => conversation,
        };
        let mut examples = Vec::new();
        for (j, line) in list(lines, &path, notes).iter().enumerate() {
            examples.extend(example(line, [i, j], extra, old, notes));
        }
        out.push(examples);
    }
    out
}

fn example(node: &Node, [i, j]: [usize; 2], extra: &mut Map<String, Value>, old: &mut bool, notes: &mut Notes<'_>) -> Option<MessageExample> {
    let path = format!("messageExamples[{i}][{j}]");
    let fields = index(object(node, &path, notes)?, notes);
    let mut name = None;
    let mut content = None;
    for (key, entry) in &fields {
        match (*key, &entry.value.kind) {
            ("name", Kind::Text(text)) => name = Some(text.clone()),
            ("user", Kind::Text(text)) => {
                if !std::mem::replace(old, true) {
                    notes.warn(OLD, &entry.key_range, "`user` in examples is the old name of `name`", Some("read as `name`".to_owned()));
                }
                name = name.or_else(|| Some(text.clone()));
            }
            ("name" | "user", _) => {
                wrong(&entry.value, &format!("{path}.{key}"), "text", None, notes);
                return None;
            }
            ("content", _) => content = Some(&entry.value),
            (other, _) => keep(entry, &format!("messageExamples.{i}.{j}.{other}"), &["name", "content"], extra, notes),
        }
    }
    let Some(name) = name else {
        notes.error(MISSING, &node.range, format!("`{path}` does not say who speaks"), Some("add \"name\"".to_owned()));
        return None;
    };
    let Some(content) = content else {
        notes.error(MISSING, &node.range, format!("`{path}` does not say what is said"), Some("add \"content\": { \"text\": \"…\" }".to_owned()));
        return None;
    };
    Some(MessageExample { name, content: spoken(content, &path, old, notes)? })
}

fn spoken(node: &Node, path: &str, old: &mut bool, notes: &mut Notes<'_>) -> Option<Content> {
    let Kind::Object(entries) = &node.kind else {
        wrong(node, &format!("{path}.content"), "an object", Some("write { \"text\": \"…\" }"), notes);
        return None;
    };
    let mut map = to_map(entries);
    // 0.x wrote one `action`, often null.
    if !map.contains_key("actions")
        && let Some(action) = map.remove("action")
        && action.is_string()
    {
        *old = true;
        map.insert("actions".to_owned(), Value::Array(vec![action]));
    }
    match serde_json::from_value(Value::Object(map)) {
        Ok(content) => Some(content),
        Err(error) => {
            // serde repeats the value it met; only what it expected is told.
            let reason = error.to_string();
            let reason = reason.rsplit_once("expected ").map_or("a field has the wrong type", |(_, expected)| expected);
            notes.error(TYPE, &node.range, format!("`{path}.content` cannot be used: {reason} is expected"), None);
            None
        }
    }
}

fn knowledge(node: &Node, i: usize, extra: &mut Map<String, Value>, notes: &mut Notes<'_>) -> Option<Knowledge> {
    let path = format!("knowledge[{i}]");
    let help = Some("write text, { \"path\": \"file\" } or { \"directory\": \"folder\" }");
    let entries = match &node.kind {
        Kind::Text(text) => return Some(Knowledge::Text(text.clone())),
        Kind::Object(entries) => entries,
        _ => {
            wrong(node, &path, "text, a file or a folder", help, notes);
            return None;
        }
    };
    let mut shared = false;
    let mut found = None;
    for (key, entry) in index(entries, notes) {
        match (key, &entry.value.kind) {
            ("shared", Kind::Bool(flag)) => shared = *flag,
            ("shared", _) => wrong(&entry.value, &format!("{path}.shared"), "true or false", None, notes),
            ("path" | "directory" | "dir", Kind::Text(text)) => found = Some((key == "path", text.clone())),
            ("path" | "directory" | "dir", _) => wrong(&entry.value, &format!("{path}.{key}"), "text", None, notes),
            _ => keep(entry, &format!("knowledge.{i}.{key}"), &["path", "directory", "shared"], extra, notes),
        }
    }
    match found {
        Some((true, path)) => Some(Knowledge::File { path, shared }),
        Some((false, directory)) => Some(Knowledge::Directory { directory, shared }),
        None => {
            notes.error(MISSING, &node.range, format!("`{path}` names neither a file nor a folder"), help.map(str::to_owned));
            None
        }
    }
}

fn style(node: &Node, extra: &mut Map<String, Value>, notes: &mut Notes<'_>) -> Style {
    let mut style = Style::default();
    for (key, entry) in object(node, "style", notes).map(|entries| index(entries, notes)).unwrap_or_default() {
        let path = format!("style.{key}");
        match key {
            "all" => style.all = text_list(&entry.value, &path, notes),
            "chat" => style.chat = text_list(&entry.value, &path, notes),
            "post" => style.post = text_list(&entry.value, &path, notes),
            _ => keep(entry, &path, keys::STYLE, extra, notes),
        }
    }
    style
}

pub(super) fn secrets(node: &Node, path: &str, notes: &mut Notes<'_>) -> Secrets {
    let mut secrets = Secrets::default();
    for (key, entry) in object(node, path, notes).map(|entries| index(entries, notes)).unwrap_or_default() {
        match &entry.value.kind {
            Kind::List(_) | Kind::Object(_) => wrong(&entry.value, &format!("{path}.{key}"), "text, a number or a switch", None, notes),
            Kind::Text(text) if looks_encrypted(text) => {
                notes.warn(
                    ENCRYPTED,
                    &entry.key_range,
                    "this secret looks encrypted by elizaOS",
                    Some("write the plain value into the environment or `.env`".to_owned()),
                );
                secrets.insert(key, text.clone());
            }
            _ => secrets.insert(key, entry.value.to_value()),
        }
    }
    secrets
}

/// elizaOS writes `iv:cipher` in hexadecimal, AES-256-CBC: an iv of 16 bytes, a cipher in blocks of 16.
fn looks_encrypted(text: &str) -> bool {
    let hex = |part: &str| part.bytes().all(|b| b.is_ascii_hexdigit());
    text.split_once(':').is_some_and(|(iv, cipher)| iv.len() == 32 && !cipher.is_empty() && cipher.len() % 32 == 0 && hex(iv) && hex(cipher))
}
