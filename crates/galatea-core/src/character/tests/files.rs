//! The character files that come with the program, and the one `character new` writes.

use serde_json::Value;
use std::{fs, path::PathBuf};

use super::loaded;
use crate::character::{Generation, Loaded, convert, load_bytes, schema, template};

fn shipped() -> Vec<(String, Loaded)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../characters");
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|f| f.unwrap().path())
        .filter(|p| p.is_file() && !p.ends_with("README.md"))
        .collect();
    files.sort();
    files
        .iter()
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let loaded = load_bytes(&name, &fs::read(path).unwrap())
                .unwrap_or_else(|refused| panic!("{refused}"));
            (name, loaded)
        })
        .collect()
}

#[test]
fn shipped_characters_load_without_a_remark_and_are_complete() {
    let files = shipped();
    for name in ["doctor.json", "eliza.json", "gardener.toml", "helper.json", "poster.json"] {
        assert!(files.iter().any(|(file, _)| file == name), "{name} is missing");
    }
    for (file, loaded) in &files {
        let c = &loaded.character;
        assert!(loaded.warnings.is_empty(), "{file}: {:#?}", loaded.warnings);
        assert_eq!(loaded.generation, Generation::Present, "{file}");
        assert!(c.system.as_ref().is_some_and(|s| s.len() > 100), "{file}: system");
        assert!(c.bio.len() >= 3 && c.topics.len() >= 5 && c.adjectives.len() >= 4, "{file}");
        assert!(c.message_examples.len() >= 2 && c.post_examples.len() >= 2, "{file}");
        assert!(
            !c.style.all.is_empty() && !c.style.chat.is_empty() && !c.style.post.is_empty(),
            "{file}"
        );
        assert!(
            c.post_examples.iter().all(|p| p.chars().count() <= 280),
            "{file}: a post is too long for X"
        );
        assert!(
            c.message_examples.iter().flatten().any(|e| e.name == c.name),
            "{file}: it never speaks in its examples"
        );
        assert!(
            c.secrets.is_empty() && c.settings_secrets.is_empty(),
            "{file}: secrets do not belong into the repository"
        );
    }
    let mut names: Vec<_> = files.iter().map(|(_, l)| &l.character.name).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), files.len(), "two characters share a name, so an id");
}

#[test]
fn the_template_loads_without_a_remark_for_any_name() {
    for name in ["Ada", "Zoë \"the\" Owl\\", "🤖"] {
        let loaded = loaded(&template(name));
        assert_eq!(loaded.character.name, name);
        assert!(loaded.warnings.is_empty(), "{:#?}", loaded.warnings);
    }
}

#[test]
fn the_schema_lists_exactly_the_fields_the_loader_reads() {
    let schema = schema();
    let mut listed: Vec<_> =
        schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
    let mut read = crate::character::keys::FIELDS.to_vec();
    listed.sort_unstable();
    read.sort_unstable();
    assert_eq!(listed, read);
    assert_eq!(schema["required"], serde_json::json!(["name", "bio"]));
    assert_eq!(schema["additionalProperties"], false);
    assert_eq!(schema["properties"]["bio"]["$ref"], "#/$defs/TextOrList");
    assert_eq!(schema["$defs"]["TextOrList"]["anyOf"].as_array().unwrap().len(), 2);
    for (file, loaded) in shipped() {
        let converted: Value = serde_json::from_str(&convert(&loaded.character)).unwrap();
        assert!(
            converted.as_object().unwrap().keys().all(|k| listed.contains(&k.as_str())),
            "{file}"
        );
    }
}
