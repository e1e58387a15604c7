//! Fields of elizaOS 0.x and early 1.x, mapped to today's; what has no counterpart is kept.

use serde_json::Value;

use super::{
    Character,
    diagnostic::{OLD, TYPE},
    fields::{Fields, object, secrets, text_list, text_or_list},
    node::{Field, Kind, to_map},
    notes::Notes,
};

/// Old fields that become something else.
const MAPPED: &[&str] = &[
    "lore",
    "clients",
    "modelProvider",
    "imageModelProvider",
    "modelEndpointOverride",
    "clientConfig",
];
/// Old fields without a counterpart.
const KEPT: &[&str] = &[
    "people",
    "twitterProfile",
    "instagramProfile",
    "twitterSpaces",
    "nft",
    "extends",
    "simsaiProfile",
    "slack",
];

/// True for a field that [`apply`] takes care of.
pub(super) fn knows(key: &str) -> bool {
    MAPPED.contains(&key) || KEPT.contains(&key)
}

/// Maps old fields into the character. True when there were any.
pub(super) fn apply(fields: &Fields<'_>, character: &mut Character, notes: &mut Notes<'_>) -> bool {
    let mut any = renamed_plugins(fields, character, notes);
    for (key, entry) in fields {
        if !knows(key) || entry.value.kind == Kind::Null {
            continue;
        }
        any = true;
        match *key {
            "lore" => {
                character.bio.extend(text_or_list(&entry.value, key, notes));
                warn_legacy(
                    entry,
                    "`lore` is an old field: its lines are appended to the bio",
                    notes,
                );
            }
            "clients" => clients(entry, character, notes),
            "modelProvider" => setting(entry, "MODEL_PROVIDER", character, notes),
            "imageModelProvider" => setting(entry, "IMAGE_MODEL_PROVIDER", character, notes),
            "modelEndpointOverride" => setting(entry, "MODEL_ENDPOINT_OVERRIDE", character, notes),
            "clientConfig" => client_config(entry, character, notes),
            _ => {
                character.extra.insert((*key).to_owned(), entry.value.to_value());
                warn_legacy(
                    entry,
                    format!("`{key}` is an old field: it is kept and has no effect"),
                    notes,
                );
            }
        }
    }
    any
}

fn warn_legacy(entry: &Field, message: impl Into<String>, notes: &mut Notes<'_>) {
    notes.warn(
        OLD,
        &entry.key_range,
        message,
        Some("`galatea character convert` writes the present format".to_owned()),
    );
}

fn clients(entry: &Field, character: &mut Character, notes: &mut Notes<'_>) {
    let mut mapped = Vec::new();
    for client in text_list(&entry.value, "clients", notes) {
        let name = client.to_ascii_lowercase();
        // `direct` was the built-in web chat, `auto` a trading loop that never left 0.x.
        if matches!(name.as_str(), "direct" | "auto") {
            continue;
        }
        let plugin = format!("@elizaos/plugin-{name}");
        if !character.plugins.contains(&plugin) {
            character.plugins.push(plugin.clone());
        }
        mapped.push(format!("`{plugin}`"));
    }
    let into = if mapped.is_empty() {
        "nothing is needed for them".to_owned()
    } else {
        format!("read as the plugins {}", mapped.join(", "))
    };
    warn_legacy(entry, format!("`clients` is an old field: {into}"), notes);
}

/// 0.x plugin packages of clients had other names.
fn renamed_plugins(fields: &Fields<'_>, character: &mut Character, notes: &mut Notes<'_>) -> bool {
    let mut renamed = false;
    for plugin in &mut character.plugins {
        let client = plugin
            .strip_prefix("@elizaos-plugins/client-")
            .or_else(|| plugin.strip_prefix("@elizaos/client-"));
        if let Some(name) = client {
            *plugin = format!("@elizaos/plugin-{name}");
            renamed = true;
        }
    }
    if renamed && let Some(entry) = fields.get("plugins") {
        warn_legacy(
            entry,
            "clients are listed under their old package names: read as `@elizaos/plugin-…`",
            notes,
        );
    }
    renamed
}

fn setting(entry: &Field, name: &str, character: &mut Character, notes: &mut Notes<'_>) {
    match &entry.value.kind {
        Kind::Text(text) => {
            character.settings.entry(name).or_insert_with(|| Value::String(text.clone()));
            warn_legacy(
                entry,
                format!("`{}` is an old field: read as `settings.{name}`", entry.key),
                notes,
            );
        }
        _ => notes.error(
            TYPE,
            &entry.value.range,
            format!("`{}` must be text, this is {}", entry.key, entry.value.sort()),
            None,
        ),
    }
}

/// `clientConfig.discord.x` moved to `settings.discord.x`; what is there already stays.
fn client_config(entry: &Field, character: &mut Character, notes: &mut Notes<'_>) {
    let Some(clients) = object(&entry.value, "clientConfig", notes) else { return };
    for client in clients {
        if client.key == "secrets" {
            // It becomes `settings.secrets`, so it has to be what that is.
            for (name, value) in secrets(&client.value, "clientConfig.secrets", notes).iter() {
                if !character.settings_secrets.contains_key(name) {
                    character.settings_secrets.insert(name.clone(), value.clone());
                }
            }
            continue;
        }
        let Some(options) = object(&client.value, &format!("clientConfig.{}", client.key), notes)
        else {
            continue;
        };
        let place = character
            .settings
            .entry(client.key.clone())
            .or_insert_with(|| Value::Object(serde_json::Map::new()));
        if let Value::Object(place) = place {
            for (name, value) in to_map(options) {
                place.entry(name).or_insert(value);
            }
        } else {
            character.extra.insert(format!("clientConfig.{}", client.key), client.value.to_value());
        }
    }
    warn_legacy(entry, "`clientConfig` is an old field: read as `settings`", notes);
}
