//! Reads the names of plugins from the nodes of a character file.

use serde_json::{Map, Value};

use super::{
    diagnostic::{KEY, OLD},
    fields::{as_text, list, wrong},
    node::{Kind, Node},
    notes::Notes,
};

/// The names of plugins. 0.x had whole plugins here, as objects: read by their name.
pub(super) fn names(
    node: &Node,
    extra: &mut Map<String, Value>,
    old: &mut bool,
    notes: &mut Notes<'_>,
) -> Vec<String> {
    let mut names = Vec::new();
    for (i, item) in list(node, "plugins", notes).iter().enumerate() {
        let Kind::Object(entries) = &item.kind else {
            match &item.kind {
                Kind::Text(name) => names.push(name.clone()),
                _ => wrong(item, &format!("plugins[{i}]"), "text", Some(as_text(item)), notes),
            }
            continue;
        };
        *old = true;
        if let Some(Kind::Text(name)) =
            entries.iter().find(|e| e.key == "name").map(|e| &e.value.kind)
        {
            let help = format!("write \"{name}\" in its place");
            notes.warn(
                OLD,
                &item.range,
                "a plugin is written as an object, as in elizaOS 0.x: read by its name",
                Some(help),
            );
            names.push(name.clone());
        } else {
            notes.warn(
                KEY,
                &item.range,
                "this plugin has no name",
                Some("it is kept and has no effect; plugins are listed by name".to_owned()),
            );
            extra.insert(format!("plugins.{i}"), item.to_value());
        }
    }
    names
}
