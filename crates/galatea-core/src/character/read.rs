//! Nodes → Character, field by field, every fault with its place.

use serde_json::{Map, Value};
use std::{collections::BTreeMap, ops::Range};

use super::{
    Character, Generation, Style, card,
    diagnostic::{EMPTY, ID, KEY, MISSING, VALUE},
    encrypted, examples,
    fields::{
        Fields, index, keep, object, secrets, suggestion, text, text_list, text_or_list, wrong,
    },
    keys::{self, nearest},
    knowledge, legacy,
    node::{Field, Kind, Node, to_map},
    notes::Notes,
    plugins,
};
use crate::{
    ids::string_to_uuid,
    world_settings::{MOST_WORLD_SETTINGS, WORLD_SETTINGS, WorldSetting},
};

/// Reads the root object of a character file.
pub(super) fn character(
    entries: &[Field],
    root: &Range<usize>,
    notes: &mut Notes<'_>,
) -> (Character, Generation) {
    if card::is_card(entries) {
        return (card::character(entries, root, notes), Generation::Card);
    }
    let fields = index(entries, notes);
    let mut old = false;
    let name = text(&fields, "name", notes).unwrap_or_default();
    let mut character = Character {
        id: text(&fields, "id", notes).or_else(|| blanks(&fields, &name, notes)),
        name: name.trim().to_owned(),
        username: text(&fields, "username", notes).map(|t| t.trim_start_matches('@').to_owned()),
        system: text(&fields, "system", notes),
        templates: templates(&fields, notes),
        bio: fields.get("bio").map(|e| text_or_list(&e.value, "bio", notes)).unwrap_or_default(),
        post_examples: texts(&fields, "postExamples", notes),
        topics: texts(&fields, "topics", notes),
        adjectives: texts(&fields, "adjectives", notes),
        ..Character::default()
    };
    if let Some(entry) = fields.get("plugins") {
        character.plugins = plugins::names(&entry.value, &mut character.extra, &mut old, notes);
    }
    if let Some(entry) = fields.get("messageExamples") {
        character.message_examples =
            examples::conversations(&entry.value, &mut character.extra, &mut old, notes);
    }
    if let Some(entry) = fields.get("knowledge") {
        character.knowledge = knowledge::read(&entry.value, &mut character.extra, notes);
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
        inner
            .iter()
            .filter(|entry| entry.key != "secrets")
            .for_each(|entry| encrypted::remark(entry, notes));
        inner
            .iter()
            .filter(|entry| entry.key == WORLD_SETTINGS)
            .for_each(|entry| world_settings(entry, notes));
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
    for (field, is_empty) in [
        ("name", character.name.is_empty()),
        ("bio", character.bio.iter().all(|line| line.trim().is_empty())),
    ] {
        match fields.get(field).filter(|e| e.value.kind != Kind::Null) {
            None if is_empty => {
                let misspelt = fields
                    .keys()
                    .find(|k| !keys::FIELDS.contains(k) && nearest(k, keys::FIELDS) == Some(field));
                let help = misspelt.map_or_else(
                    || format!("add \"{field}\""),
                    |wrong| format!("rename `{wrong}` to `{field}`"),
                );
                notes.error(
                    MISSING,
                    &(root.start..root.start + 1),
                    format!("`{field}` is missing"),
                    Some(help),
                );
            }
            Some(entry)
                if is_empty && matches!(entry.value.kind, Kind::Text(_) | Kind::List(_)) =>
            {
                if field == "name" {
                    notes.error(
                        EMPTY,
                        &entry.value.range,
                        "the name is empty",
                        Some("people call the character by it".to_owned()),
                    );
                } else {
                    notes.warn(
                        EMPTY,
                        &entry.value.range,
                        "the bio is empty",
                        Some("say in a few lines who this is".to_owned()),
                    );
                }
            }
            _ => {}
        }
    }
    if let (Some(id), Some(entry)) = (&character.id, fields.get("id"))
        && (id.len() != 36 || uuid::Uuid::try_parse(id).is_err())
    {
        notes.warn(
            ID,
            &entry.value.range,
            "`id` is not a UUID: elizaOS refuses it, here the agent's id is derived from the text",
            None,
        );
    }
}

/// Keeps unknown fields, each with a warning.
fn unknown(fields: &Fields<'_>, character: &mut Character, notes: &mut Notes<'_>) {
    for (key, entry) in fields {
        if *key == "$schema" {
            character.extra.insert((*key).to_owned(), entry.value.to_value());
        } else if !keys::FIELDS.contains(key) && !legacy::knows(key) {
            keep(entry, key, keys::FIELDS, &mut character.extra, notes);
        }
    }
}

/// elizaOS hashes the name as it is written, with the blanks around it: the id that follows from
/// that. None for a name without such.
fn blanks(fields: &Fields<'_>, name: &str, notes: &mut Notes<'_>) -> Option<String> {
    let entry = fields.get("name").filter(|_| !name.trim().is_empty() && name != name.trim())?;
    let help =
        "remove the blanks; or keep them, and the id is the one that elizaOS gives this file"
            .to_owned();
    notes.warn(ID, &entry.value.range, "there are blanks around the name: it is shown without them, and the agent's id follows from it with them", Some(help));
    Some(string_to_uuid(name))
}

fn texts(fields: &Fields<'_>, key: &str, notes: &mut Notes<'_>) -> Vec<String> {
    fields.get(key).map(|e| text_list(&e.value, key, notes)).unwrap_or_default()
}

fn templates(fields: &Fields<'_>, notes: &mut Notes<'_>) -> BTreeMap<String, String> {
    let Some(entries) = fields.get("templates").and_then(|e| object(&e.value, "templates", notes))
    else {
        return BTreeMap::new();
    };
    let mut out = BTreeMap::new();
    for (key, entry) in index(entries, notes) {
        let Kind::Text(text) = &entry.value.kind else {
            wrong(&entry.value, &format!("templates.{key}"), "text", None, notes);
            continue;
        };
        if !keys::TEMPLATES.contains(&key) {
            notes.warn(
                KEY,
                &entry.key_range,
                "no prompt uses this template",
                suggestion(key, keys::TEMPLATES, notes),
            );
        }
        out.insert(key.to_owned(), text.clone());
    }
    out
}

fn style(node: &Node, extra: &mut Map<String, Value>, notes: &mut Notes<'_>) -> Style {
    let mut style = Style::default();
    for (key, entry) in
        object(node, "style", notes).map(|entries| index(entries, notes)).unwrap_or_default()
    {
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

/// Remarks on declared settings of Worlds that cannot be used, or are never asked for.
fn world_settings(entry: &Field, notes: &mut Notes<'_>) {
    let Some(declared) = object(&entry.value, "settings.worldSettings", notes) else { return };
    let mut usable = Vec::new();
    for (n, setting) in declared.iter().enumerate() {
        let fault = match WorldSetting::read(&setting.key, &setting.value.to_value()) {
            _ if n >= MOST_WORLD_SETTINGS => {
                format!("only the first {MOST_WORLD_SETTINGS} are used")
            }
            Ok(read) => {
                usable.push((setting, read));
                continue;
            }
            Err(fault) => fault,
        };
        notes.warn(
            VALUE,
            &setting.key_range,
            format!("this setting of Worlds is left out: {fault}"),
            Some(
                "it is an object with `name`, `description` or `usageDescription` (the question), `required`, `options` and `dependsOn`"
                    .to_owned(),
            ),
        );
    }
    for (setting, read) in &usable {
        let unknown =
            read.depends_on.iter().find(|key| !usable.iter().any(|(_, other)| other.key == **key));
        if let Some(unknown) = unknown {
            notes.warn(
                VALUE,
                &setting.key_range,
                format!(
                    "this setting of Worlds is never asked for: its `dependsOn` names `{unknown}`, which is no setting here"
                ),
                Some("`dependsOn` lists keys of other settings in `worldSettings`".to_owned()),
            );
        }
    }
}
