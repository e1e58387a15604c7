//! Errors in files and variables: unknown names, malformed text, missing files.

use super::{Scene, findings, reports, says};

const UNKNOWN: &str = "{\n  \"name\": \"Ada\",\n  \"bio\": \"x\",\n  \"topcs\": [\"tea\"]\n}\n";

/// Faulty character files: name, text, code, what is shown with a caret, and the place.
const FAULTY: &[(&str, &str, &str, &[&str], &str)] = &[
    (
        "broken.json",
        "{\n  \"name\": \"Ada\"\n  \"bio\": \"x\"\n}\n",
        "GAL-CHAR-SYNTAX",
        &[
            "error[GAL-CHAR-SYNTAX]: a comma is missing here",
            "--> broken.json:2:16",
            "2| \"name\": \"Ada\"",
            "| ^",
            "fix: put a comma between the two items",
        ],
        "broken.json:2:16",
    ),
    (
        "wrong.json",
        "{\n  \"name\": \"Ada\",\n  \"bio\": 7\n}\n",
        "GAL-CHAR-TYPE",
        &[
            "error[GAL-CHAR-TYPE]: `bio` must be text or a list of texts, this is a number",
            "--> wrong.json:3:10",
            "3| \"bio\": 7",
            "| ^",
            "fix:",
        ],
        "wrong.json:3:10",
    ),
    (
        "wrong.toml",
        "name = \"Ada\"\nbio =\n",
        "GAL-CHAR-SYNTAX",
        &["error[GAL-CHAR-SYNTAX]: not valid TOML", "--> wrong.toml:2:6", "2| bio =", "| ^"],
        "wrong.toml:2:6",
    ),
];

#[tokio::test]
async fn a_faulty_character_file_is_shown_with_a_caret() {
    let scene = Scene::set().await;
    let mut files = Vec::new();
    for (file, text, ..) in FAULTY {
        scene.stage.home.write(file, text);
        files.push(*file);
    }
    let (file, _, _, form, _) = FAULTY[0];
    let commands =
        [&["start", "--character", file][..], &["chat", "--character", file, "-m", "Q1"]];
    for args in commands {
        let refused = scene.run(args).await;
        assert_eq!(refused.code, Some(3), "{args:?}: {}", refused.stderr);
        says(&refused.stderr, form);
    }
    let validate = scene.run(&[&["character", "validate"], &files[..]].concat()).await;
    assert_eq!(validate.code, Some(7));
    for (file, _, code, form, place) in FAULTY {
        let doctor = scene.run(&["doctor", "--character", file]).await;
        assert_eq!(doctor.code, Some(7));
        let found = findings(&scene.run(&["doctor", "--json", "--character", file]).await);
        reports(&doctor.stdout, &[code, "where:", place]);
        assert!(found.iter().any(|f| f["id"] == *code && f["origin"] == *place), "{code}");
        says(&validate.stdout, form);
    }
    assert!(!scene.stage.home.path().join(".galatea").exists(), "nothing was made");
}

#[tokio::test]
async fn an_unknown_key_is_kept_and_reported() {
    let scene = Scene::set().await;
    scene.stage.home.write("ada.json", UNKNOWN);
    let form = [
        "warning[GAL-CHAR-KEY]: unknown field `topcs`",
        "--> ada.json:4:3",
        "4| \"topcs\": [\"tea\"]",
        "| ^^^^^^^",
        "fix: did you mean `topics`?",
    ];
    let running = scene.program().args(["start", "--character", "ada.json"]).spawn();
    running.wait_for_line("ready in").await;
    says(&scene.end(running).await.stderr, &form);
    let doctor = scene.run(&["doctor", "--character", "ada.json"]).await;
    assert_eq!(doctor.code, Some(0), "it is not an error: {}", doctor.stdout);
    says(
        &doctor.stdout,
        &[
            "unknown field `topcs`",
            "GAL-CHAR-KEY",
            "where: ada.json:4:3",
            "fix: did you mean `topics`?",
        ],
    );
    let validate = scene.run(&["character", "validate", "ada.json"]).await;
    assert_eq!(validate.code, Some(0));
    says(&validate.stdout, &form);
}

#[tokio::test]
async fn a_missing_character_is_reported_with_its_path() {
    let scene = Scene::set().await;
    let expected = [
        "GAL-CHAR-FILE",
        "cause: No such file or directory",
        "where:",
        "characters/none.json",
        "fix: check the path given with --character",
    ];
    let refused = scene.run(&["start", "--character", "characters/none.json"]).await;
    assert_eq!(refused.code, Some(3));
    says(&refused.stderr, &["error[GAL-CHAR-FILE]: the character file none.json cannot be read"]);
    says(&refused.stderr, &expected);
    let doctor = scene.run(&["doctor", "--character", "characters/none.json"]).await;
    assert_eq!(doctor.code, Some(7));
    says(&doctor.stdout, &expected);
}

#[tokio::test]
async fn an_unknown_variable_is_shown_with_a_caret_and_what_was_meant() {
    let mut scene = Scene::set().await;
    scene.env("TELEGRAM_BOT_TOKN", "123456:canary-in-a-wrong-name");
    scene.canary("canary-in-a-wrong-name");
    scene.env("CHARACTER.ELIZA.OPENAI_API_KYE", "canary-of-one-character");
    scene.canary("canary-of-one-character");
    let form = [
        "warning[GAL-CFG-UNKNOWN]: TELEGRAM_BOT_TOKN is not a setting of Galatea",
        "--> .env:5:1",
        "5| TELEGRAM_BOT_TOKN=•",
        "| ^^^^^^^^^^^^^^^^^",
        "fix: did you mean TELEGRAM_BOT_TOKEN?",
        "--> .env:6:1",
        "fix: did you mean CHARACTER.ELIZA.OPENAI_API_KEY?",
    ];
    let running = scene.start().await;
    says(&scene.end(running).await.stderr, &form);
    let doctor = scene.run(&["doctor"]).await;
    assert_eq!(doctor.code, Some(0), "{}", doctor.stdout);
    says(
        &doctor.stdout,
        &[
            "TELEGRAM_BOT_TOKN is not a setting of Galatea",
            "GAL-CFG-UNKNOWN",
            "where: .env:5:1",
            "fix: did you mean TELEGRAM_BOT_TOKEN?",
        ],
    );
}

#[tokio::test]
async fn a_line_that_is_no_setting_is_shown_without_its_value() {
    let mut scene = Scene::set().await;
    // A token pasted over the whole line.
    scene.canary("AAcanary-of-a-pasted-token");
    let program = scene.program();
    let text = scene.stage.home.read(".env").unwrap();
    scene.stage.home.write(".env", &format!("{text}7000000001:AAcanary-of-a-pasted-token\n"));
    let refused = program.arg("start").run().await;
    assert_eq!(refused.code, Some(3));
    says(
        &refused.stderr,
        &["error[GAL-CFG-ENV]: this line has no =", "--> .env:5:1", "| ^", "fix: write NAME=value"],
    );
    assert!(!refused.stderr.contains("canary"), "{}", refused.stderr);
}

#[tokio::test]
async fn a_missing_secrets_file_is_reported_with_its_variable() {
    let mut scene = Scene::set().await;
    scene.env("OPENAI_API_KEY", "");
    scene.env("OPENAI_API_KEY_FILE", "/run/secrets/none");
    let refused = scene.run(&["start"]).await;
    assert_eq!(refused.code, Some(3));
    let expected = [
        "the secret OPENAI_API_KEY cannot be read from /run/secrets/none",
        "cause: No such file",
        "where: OPENAI_API_KEY_FILE from .env line 5",
        "fix:",
    ];
    says(&refused.stderr, &expected);
    let doctor = scene.run(&["doctor"]).await;
    assert_eq!(doctor.code, Some(7));
    says(&doctor.stdout, &["GAL-CFG-SECRET-FILE", "where: OPENAI_API_KEY_FILE from .env line 5"]);
}

#[tokio::test]
async fn a_value_that_makes_no_sense_is_reported_with_its_line() {
    let mut scene = Scene::set().await;
    scene.env("TELEGRAM_MODE", "canary-push");
    let refused = scene.run(&["start"]).await;
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    says(
        &refused.stderr,
        &[
            "error[GAL-CFG-VALUE]: TELEGRAM_MODE is neither polling nor webhook",
            "where: .env line 5",
            "fix:",
        ],
    );
    assert!(!refused.stderr.contains("canary"), "{}", refused.stderr);
}
