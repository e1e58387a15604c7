//! Secrets stay out of stored characters, debug output and messages.

use super::loaded;
use crate::character::{Character, load};

const TEXT: &str = r#"{"name": "N", "bio": "b", "secrets": {"A": "hush1"},
    "settings": {"secrets": {"B": "hush2"}, "OPENAI_API_KEY": "hush3", "x": {"botToken": "hush4", "open": "seen"}, "MODEL_MAX_TOKEN": "200"}}"#;

#[test]
fn a_stored_character_holds_no_secret() {
    let character = loaded(TEXT).character;
    let stored = serde_json::to_string(&character).unwrap();
    assert!(!stored.contains("hush"), "{stored}");
    assert!(stored.contains("seen") && stored.contains("200"), "{stored}");
    let built: Character = serde_json::from_str(TEXT).unwrap();
    assert!(
        !serde_json::to_string(&built).unwrap().contains("hush"),
        "also when it was not read by the loader"
    );
}

#[test]
fn debug_output_names_secrets_only() {
    let shown = format!("{:?}", loaded(TEXT));
    assert!(!shown.contains("hush"), "{shown}");
    assert!(shown.contains("OPENAI_API_KEY"), "{shown}");
}

#[test]
fn messages_hold_no_secret() {
    for text in [
        r#"{"name": "N", "bio": "b", "secrets": {"A": ["hush"], "B_TOKEN": "hush"}}"#,
        r#"{"name": "N", "bio": "b", "settings": {"secrets": {"A": {"B": "hush"}}}}"#,
        "{\"name\": \"N\", \"secrets\": {\"A\": \"hush\" \"B\": 1}}",
        "{\"OPENAI_API_KEY\": \"hush",
    ] {
        let refused = load("c.json", text).unwrap_err();
        assert!(!refused.to_string().contains("hush"), "{refused}");
        assert!(!serde_json::to_string(&refused).unwrap().contains("hush"), "{refused}");
    }
    let refused = load("c.toml", "secrets.A = 'hush' x").unwrap_err();
    assert!(!refused.to_string().contains("hush"), "{refused}");
}
