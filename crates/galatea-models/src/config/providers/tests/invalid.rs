//! Invalid settings are refused, and the error names the variable.

use super::*;

#[test]
fn a_folder_for_embeddings_is_read_or_refused_but_not_ignored() {
    let error = configured_by(&[("LOCAL_EMBEDDING_FOLDER", "/nonexistent")]).err().unwrap();
    let text = error.report().to_string();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(text.contains("/nonexistent/model.safetensors"), "{text}");
}

#[test]
fn bad_values_name_their_variable_and_repeat_no_secret() {
    for (name, value) in [
        ("OPENAI_BASE_URL", "not a url CANARY"),
        ("OPENAI_BASE_URL", "ftp://CANARY/"),
        ("OPENAI_BASE_URL", "https://user:CANARY@host/v1"),
        ("OPENAI_BASE_URL", "https://host/v1?key=CANARY"),
        ("MODEL_TOTAL_TIMEOUT", "CANARY"),
        ("MODEL_IDLE_TIMEOUT", "-1"),
        ("MODEL_TOOLS", "CANARY"),
        ("MODEL_STREAM", "CANARY"),
        ("MODEL_FALLBACK", "CANARY"),
        ("OPENAI_EMBEDDING_DIMENSIONS", "CANARY"),
    ] {
        let error = configured_by(&[
            ("OPENAI_API_KEY", "k"),
            ("OPENAI_EMBEDDING_MODEL", "e"),
            (name, value),
        ])
        .err()
        .unwrap();
        let text = format!("{error} {error:?}");
        assert!(text.contains(name) && !text.contains("CANARY"), "{name}: {text}");
    }
}

#[test]
fn a_script_of_ones_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rules.txt");
    std::fs::write(&path, "greeting: Ahoy.\nnone:\n  say: Arr.\n").unwrap();
    let text = path.to_str().unwrap();
    assert!(of(&[("OFFLINE_SCRIPT", text)]).description.contains("own rules"));
    std::fs::write(&path, "greeting: Ahoy.\nnone:\n  say: {1}\n").unwrap();
    let error = configured_by(&[("OFFLINE_SCRIPT", text)]).err().unwrap();
    assert!(error.to_string().contains("line=3, column=8"), "{error}");
    assert!(
        configured_by(&[("OFFLINE_SCRIPT", "/nowhere/at/all")])
            .err()
            .unwrap()
            .to_string()
            .contains("OFFLINE_SCRIPT")
    );
}
