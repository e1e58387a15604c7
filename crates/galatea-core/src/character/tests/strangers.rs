//! Files that are something else, or almost right: what is said leads to a file that works.

use super::{error, errors, loaded};
use crate::{
    Settings,
    character::{MAX_SIZE, convert, is_schema, load, load_bytes, settings_layers},
    ids::AgentIdentity,
};

fn refusal(name: &str, text: &str) -> (String, String) {
    let refused = load(name, text).unwrap_err();
    let first = refused.diagnostics.first().unwrap();
    (first.message.clone(), first.help.clone().unwrap_or_default())
}

#[test]
fn typescript_is_named_and_the_remedy_shown() {
    let text = "import { type Character } from '@elizaos/core';\nexport const character: Character = {\n  name: 'Ada',\n};\n";
    for name in ["character.ts", "src/character.js", "c.mts", "c.json"] {
        let (message, help) = refusal(name, text);
        assert!(message.contains("program"), "{name}: {message}");
        assert!(help.contains(".json") && help.contains("double quotes"), "{name}: {help}");
    }
    for begin in [
        "export default {",
        "const character = {",
        "module.exports = {",
        "// mine\nimport x from 'y'",
        "/* a\n b */ export const c = {",
    ] {
        assert!(refusal("c.json", begin).0.contains("program"), "{begin}");
    }
}

#[test]
fn yaml_and_swapped_formats_are_named() {
    for (name, text) in [
        ("c.yaml", "name: Ada\nbio: x\n"),
        ("c.yml", "{}"),
        ("c.json", "---\nname: Ada\n"),
        ("c.json", "# me\nname: Ada\nbio:\n  - x\n"),
    ] {
        let (message, help) = refusal(name, text);
        assert!(message.contains("YAML"), "{name}: {message}");
        assert!(help.contains("JSON"), "{help}");
    }
    let (message, help) = refusal("c.json", "# me\nname = \"Ada\"\n[style]\n");
    assert!(message.contains("TOML") && help.contains(".toml"), "{message}: {help}");
    let (message, help) = refusal("c.toml", "{\n  \"name\": \"Ada\"\n}");
    assert!(message.contains("JSON") && help.contains(".json"), "{message}: {help}");
}

#[test]
fn a_quote_inside_a_text_is_reported_with_its_place() {
    for (text, line, column) in [
        ("{\n \"name\": \"N\",\n \"bio\": \"He said \"hello\" to me\"\n}", 3, 18),
        ("{\n \"name\": \"N\",\n \"bio\": \"He said \"hello to me\"\n}", 3, 18),
        ("{\"bio\": [\"a \"b\", \"c\"]}", 1, 13),
        ("{\"bio\": \"\"Ada\" is\"}", 1, 10),
    ] {
        let error = error(text);
        assert_eq!((error.line, error.column), (line, column), "{text}\n{error}");
        assert!(error.message.contains("quote inside a text"), "{text}\n{error}");
        assert!(error.help.as_deref().unwrap().contains("\\\""), "{error}");
    }
    // Any other text keeps its own advice.
    assert!(error("{'name': 'say \"x\"'}").message.contains("JSON uses double quotes"));
    assert!(error("{\"name\":\"a\"\"bio\":\"b\"}").message.contains("comma"));
}

#[test]
fn advice_about_a_wrong_value_can_be_followed() {
    let advice = |field: &str| error(&format!("{{\"name\": \"N\", \"bio\": \"b\", {field}}}")).help;
    assert_eq!(advice(r#""topics": [3]"#).as_deref(), Some("put it in double quotes"));
    for field in [
        r#""topics": [{"a": 1}]"#,
        r#""topics": [["a"]]"#,
        r#""topics": [null]"#,
        r#""postExamples": [{"text": "x"}]"#,
    ] {
        let advice = advice(field).unwrap();
        assert!(!advice.contains("double quotes"), "{field}: {advice}");
    }
    let bio = errors(r#"{"name": "N", "bio": {"text": "b"}}"#).remove(0).help.unwrap();
    assert!(bio.contains("[ ]") && !bio.contains("put it in"), "{bio}");
}

#[test]
fn the_size_is_reported_in_words_that_differ() {
    let text = format!("{{\"name\": \"N\", \"bio\": \"{}\"}}", "x".repeat(MAX_SIZE));
    let message = error(&text).message;
    assert_eq!(
        message,
        "the file is larger than 1 MiB (1048576 bytes), the most a character file may have"
    );
}

#[test]
fn a_schema_is_no_character() {
    let schema = crate::character::schema().to_string();
    assert!(
        is_schema(schema.as_bytes())
            && !is_schema(b"{\"$schema\": \"./character.schema.json\", \"name\": \"N\"}")
            && !is_schema(b"\xff{")
    );
    let refused = load_bytes("character.schema.json", schema.as_bytes()).unwrap_err();
    assert_eq!(refused.diagnostics.len(), 1, "{refused}");
    assert!(refused.diagnostics[0].message.contains("schema"), "{refused}");
}

#[test]
fn ids_follow_from_the_name_as_it_is_written() {
    // elizaOS hashes the name with its blanks.
    let ada = loaded(r#"{"name": " Ada ", "bio": "b"}"#);
    assert_eq!(ada.character.name, "Ada");
    assert_eq!(ada.character.identity(), AgentIdentity::new(None, " Ada "));
    assert_eq!(ada.warnings.iter().map(|d| d.code).collect::<Vec<_>>(), ["GAL-CHAR-ID"]);
    let again = loaded(&convert(&ada.character));
    assert_eq!(again.character.identity(), ada.character.identity());
    let own =
        loaded(r#"{"name": " Ada ", "bio": "b", "id": "b850bc30-45f8-0041-a00a-83df46d8555d"}"#);
    assert_eq!(own.character.id.as_deref(), Some("b850bc30-45f8-0041-a00a-83df46d8555d"));
    assert!(own.warnings.is_empty(), "{:?}", own.warnings);
}

#[test]
fn plugins_as_objects_are_read_by_their_name() {
    let read = loaded(
        r#"{"name": "N", "bio": "b", "plugins": ["@elizaos/plugin-openai", {"name": "@elizaos/plugin-telegram", "actions": []}, {"x": 1}]}"#,
    );
    assert_eq!(read.character.plugins, ["@elizaos/plugin-openai", "@elizaos/plugin-telegram"]);
    let reported: Vec<_> = read.warnings.iter().map(|d| (d.code, d.column)).collect();
    assert_eq!(reported, [("GAL-CHAR-OLD", 65), ("GAL-CHAR-KEY", 118)], "{:?}", read.warnings);
    assert_eq!(read.character.extra["plugins.2"]["x"], 1);
    assert_eq!(error(r#"{"name": "N", "bio": "b", "plugins": [3]}"#).code, "GAL-CHAR-TYPE");
}

#[test]
fn what_elizaos_encrypted_is_reported_and_hides_no_other_value() {
    let cipher = "0123456789abcdef0123456789abcdef:0123456789abcdef0123456789abcdef";
    let text = format!(
        r#"{{"name": "N", "bio": "b", "secrets": {{"OPENAI_API_KEY": "{cipher}"}}, "settings": {{"A": "{cipher}", "deep": {{"B": "{cipher}"}}}}}}"#
    );
    let read = loaded(&text);
    let reported: Vec<_> =
        read.warnings.iter().map(|d| (d.code, d.help.as_deref().unwrap_or_default())).collect();
    assert_eq!(reported.len(), 3, "{reported:?}");
    assert!(
        reported.iter().all(|(code, help)| *code == "GAL-CHAR-ENCRYPTED" && help.contains("plain")),
        "{reported:?}"
    );
    let settings = Settings::new(settings_layers(&read.character, None));
    assert!(
        ["OPENAI_API_KEY", "A", "deep.B"].iter().all(|name| settings.raw(name).is_none()),
        "a cipher is not a key, and must not hide the one in .env"
    );
    assert!(convert(&read.character).contains(cipher), "nothing is lost");
}
