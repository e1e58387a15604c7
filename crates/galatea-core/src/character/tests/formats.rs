//! Every generation of elizaOS's format is read, and the present one written.

use serde_json::{Value, json};

use super::{V0, loaded};
use crate::{
    AgentId, Settings, Variable,
    character::{Generation, Knowledge, convert, diff, load, settings_layers},
};
use std::path::Path;

#[test]
fn the_oldest_format_is_mapped() {
    let loaded = loaded(V0);
    let c = &loaded.character;
    assert_eq!(loaded.generation, Generation::Legacy);
    assert_eq!(c.bio.len(), 4);
    assert_eq!(c.bio[2], "once followed a diver for an hour");
    assert_eq!(
        c.plugins,
        ["@elizaos/plugin-twitter", "@elizaos/plugin-discord", "@elizaos/plugin-telegram"]
    );
    assert_eq!(c.settings["MODEL_PROVIDER"], "openai");
    assert_eq!(c.settings["IMAGE_MODEL_PROVIDER"], "openai");
    assert_eq!(c.settings["model"], "gpt-4o");
    assert_eq!(
        c.settings["discord"],
        json!({"shouldIgnoreBotMessages": true, "allowedChannelIds": ["42"]})
    );
    assert_eq!(c.settings_secrets["OPENAI_API_KEY"], "not-a-key");
    assert!(!c.settings.contains_key("secrets"));
    assert_eq!(c.message_examples[0][1].name, "Trumpetfish");
    assert_eq!(c.message_examples[0][1].content.actions, ["CONTINUE"]);
    assert!(c.message_examples[0][0].content.actions.is_empty());
    assert_eq!(
        c.knowledge,
        [
            Knowledge::Text("Aulostomus maculatus".to_owned()),
            Knowledge::File { path: "reef.md".to_owned(), shared: true },
            Knowledge::Directory { directory: "logs".to_owned(), shared: false },
        ]
    );
    assert_eq!(c.extra["people"], json!(["Anemone"]));
    assert_eq!(c.extra["twitterProfile"]["username"], "trumpetfish");
    for said in [
        "`lore`",
        "`clients`",
        "`modelProvider`",
        "`clientConfig`",
        "`people`",
        "`twitterProfile`",
        "`user` in examples",
        "old package names",
    ] {
        assert!(
            loaded.warnings.iter().any(|d| d.code == "GAL-CHAR-OLD" && d.message.contains(said)),
            "{said} is not told"
        );
    }
}

#[test]
fn the_present_format_is_read_without_a_word() {
    let text = r#"{"name": "Eliza", "bio": "b", "plugins": ["@elizaos/plugin-discord"],
        "messageExamples": [[{"name": "{{user1}}", "content": {"text": "hi", "actions": ["REPLY"]}}]],
        "templates": {"replyTemplate": "{{bio}}"}, "knowledge": [{"directory": "d", "shared": true}]}"#;
    let loaded = loaded(text);
    assert_eq!((loaded.generation, loaded.warnings.len()), (Generation::Present, 0));
    assert_eq!(
        loaded.character.identity().id(),
        "b850bc30-45f8-0041-a00a-83df46d8555d".parse::<AgentId>().unwrap()
    );
}

#[test]
fn wrapped_examples_and_toml_are_read_alike() {
    let json = loaded(
        r#"{"name": "N", "bio": ["b"], "messageExamples": [{"examples": [{"name": "N", "content": {"text": "hi"}}]}], "settings": {"a": {"b": 1}}}"#,
    );
    let toml =
        load("c.toml", "name = \"N\"\nbio = \"b\"\n[[messageExamples]]\nexamples = [{ name = \"N\", content = { text = \"hi\" } }]\n[settings.a]\nb = 0x1\n")
            .unwrap();
    assert_eq!(json.character, toml.character);
}

#[test]
fn conversion_loses_nothing_and_is_stable() {
    let first = convert(&loaded(V0).character);
    let again = loaded(&first);
    assert_eq!((again.generation, again.warnings.len()), (Generation::Present, 0), "{first}");
    assert_eq!(convert(&again.character), first);
    let value: Value = serde_json::from_str(&first).unwrap();
    assert_eq!(value["settings"]["secrets"]["OPENAI_API_KEY"], "not-a-key");
    assert_eq!(value["settings"]["unmapped"]["people"], json!(["Anemone"]));
    // Exactly the fields elizaOS 1.7.2 accepts.
    let known = [
        "id",
        "name",
        "username",
        "system",
        "templates",
        "bio",
        "messageExamples",
        "postExamples",
        "topics",
        "adjectives",
        "knowledge",
        "plugins",
    ];
    assert!(
        value.as_object().unwrap().keys().all(|k| known.contains(&k.as_str())
            || ["settings", "secrets", "style"].contains(&k.as_str()))
    );
}

#[test]
fn conversion_leaves_a_setting_named_unmapped_alone() {
    let first = convert(
        &loaded(r#"{"name": "N", "bio": "b", "settings": {"unmapped": 3}, "mood": 1}"#).character,
    );
    let value: Value = serde_json::from_str(&first).unwrap();
    assert_eq!(value["settings"]["unmapped"], json!({"unmapped": 3, "mood": 1}));
}

#[test]
fn settings_come_in_the_order_of_get_setting() {
    let text = r#"{"name": "N", "bio": "b", "secrets": {"A": "1"}, "settings": {"A": "2", "B": false, "secrets": {"A": "3", "B": true, "C": 0},
        "discord": {"allowedChannelIds": [1, "2"], "deep": {"x": "y"}}}}"#;
    let layers = settings_layers(&loaded(text).character, Some(Path::new("n.json")));
    let origins: Vec<_> =
        layers.iter().map(|l| l.values().next().unwrap().origin.to_string()).collect();
    assert_eq!(origins, ["secrets in n.json", "settings in n.json", "settings.secrets in n.json"]);
    let settings = Settings::new(layers);
    assert_eq!(settings.raw("A").unwrap().value, "1");
    assert_eq!(settings.raw("B").unwrap().value, false, "a stored false counts");
    assert_eq!(settings.raw("C").unwrap().value, 0, "a stored 0 counts");
    assert_eq!(settings.raw("discord.deep.x").unwrap().value, "y");
    assert_eq!(
        settings
            .list(&Variable::new("CHANNEL_IDS", "").alias(&["discord.allowedChannelIds"]))
            .unwrap()
            .unwrap(),
        ["1", "2"]
    );
    assert!(settings.raw("discord").unwrap().value.is_object());
    assert!(settings.raw("secrets").is_none());
}

#[test]
fn a_diff_names_what_changed() {
    let before = loaded(r#"{"name": "N", "bio": ["a", "b"], "style": {"all": ["x"]}, "secrets": {"K": "one"}, "settings": {"n": 1}}"#).character;
    let after = loaded(r#"{"name": "N", "bio": ["a", "new", "b"], "style": {"all": ["y"]}, "secrets": {"K": "two"}, "topics": ["t"]}"#).character;
    let mut lines: Vec<_> = diff(&before, &after).iter().map(ToString::to_string).collect();
    lines.sort();
    assert_eq!(
        lines,
        [
            "+ bio[1]: \"new\"",
            "+ topics: [\"t\"]",
            "- settings: {\"n\":1}",
            "~ secrets.K: \"•••\" -> \"•••\"",
            "~ style.all[0]: \"x\" -> \"y\""
        ]
    );
    assert!(diff(&before, &before).is_empty());
}
