//! A character's settings as layers, in the order of elizaOS's `getSetting`.

use serde_json::{Map, Value};
use std::path::Path;

use super::{Character, MAX_DEPTH, encrypted::is_encrypted};
use crate::settings::{Layer, Origin, Setting};

/// `secrets`, `settings`, `settings.secrets`: the strongest first. A stored `false` or `0` counts
/// (elizaOS loses them).
///
/// Values that elizaOS encrypted are left out: they cannot be used, and would override a plain
/// value from another source.
///
/// Lists and objects are kept as JSON; what is inside an object is there under a dotted name too
/// (`discord.allowedChannelIds`). `file` is where the character came from, for messages.
pub fn settings_layers(character: &Character, file: Option<&Path>) -> Vec<Layer> {
    [
        ("secrets", &*character.secrets),
        ("settings", &character.settings),
        ("settings.secrets", &*character.settings_secrets),
    ]
    .into_iter()
    .map(|(field, map)| {
        let origin = Origin::Character { file: file.map(Path::to_path_buf), field };
        let mut layer = Layer::new();
        flatten("", map, &origin, &mut layer, 0);
        layer
    })
    .collect()
}

fn flatten(
    prefix: &str,
    map: &Map<String, Value>,
    origin: &Origin,
    layer: &mut Layer,
    depth: usize,
) {
    for (key, value) in map {
        let name = format!("{prefix}{key}");
        // Secrets never arrive through `settings`: a character built in code may still hold them
        // there.
        if name == "secrets" && value.is_object() {
            continue;
        }
        if is_encrypted(value) {
            continue;
        }
        if let Value::Object(inner) = value
            && depth < MAX_DEPTH
        {
            flatten(&format!("{name}."), inner, origin, layer, depth + 1);
        }
        layer.insert(name, Setting { value: value.clone(), origin: origin.clone() });
    }
}
