//! Faults are found, named and placed.

use super::{error, errors, loaded};
use crate::{
    Error, ErrorKind,
    character::{CODES, MAX_SIZE, load, load_bytes},
    error::finding::Severity,
};

#[test]
fn a_fault_is_shown_with_its_line_and_a_caret_below() {
    let shown = error("{\n  \"name\": \"Bob\",\n  \"bio\": 42\n}").to_string();
    let expected = "error[GAL-CHAR-TYPE]: `bio` must be text or a list of texts, this is a number\n  \
                      where: c.json:3:10\n  \
                      3 |   \"bio\": 42\n    \
                        |          ^^\n  \
                      fix:   put it in double quotes\n  \
                      more:  galatea explain GAL-CHAR-TYPE";
    assert_eq!(shown, expected);
}

#[test]
fn wrong_types_are_refused_where_they_stand() {
    for (field, code, place) in [
        (r#""name": 7"#, "GAL-CHAR-TYPE", "`name` must be text"),
        (r#""system": ["a"]"#, "GAL-CHAR-TYPE", "`system` must be text"),
        (r#""topics": "fog""#, "GAL-CHAR-TYPE", "`topics` must be a list"),
        (r#""topics": ["fog", 3]"#, "GAL-CHAR-TYPE", "`topics[1]` must be text"),
        (r#""style": ["a"]"#, "GAL-CHAR-TYPE", "`style` must be an object"),
        (r#""style": {"chat": "a"}"#, "GAL-CHAR-TYPE", "`style.chat` must be a list"),
        (r#""settings": []"#, "GAL-CHAR-TYPE", "`settings` must be an object"),
        (
            r#""secrets": {"A": {}}"#,
            "GAL-CHAR-TYPE",
            "`secrets.A` must be text, a number or a switch",
        ),
        (r#""settings": {"secrets": {"A": []}}"#, "GAL-CHAR-TYPE", "`settings.secrets.A`"),
        (
            r#""templates": {"replyTemplate": 1}"#,
            "GAL-CHAR-TYPE",
            "`templates.replyTemplate` must be text",
        ),
        (r#""knowledge": [7]"#, "GAL-CHAR-TYPE", "`knowledge[0]` must be text, a file or a folder"),
        (
            r#""knowledge": [{"shared": true}]"#,
            "GAL-CHAR-MISSING",
            "names neither a file nor a folder",
        ),
        (
            r#""knowledge": [{"path": "a", "shared": "yes"}]"#,
            "GAL-CHAR-TYPE",
            "`knowledge[0].shared`",
        ),
        (r#""messageExamples": {}"#, "GAL-CHAR-TYPE", "`messageExamples` must be a list"),
        (
            r#""messageExamples": [{"name": "a"}]"#,
            "GAL-CHAR-TYPE",
            "`messageExamples[0]` must be a list",
        ),
        (
            r#""messageExamples": [["hi"]]"#,
            "GAL-CHAR-TYPE",
            "`messageExamples[0][0]` must be an object",
        ),
        (
            r#""messageExamples": [[{"name": "a"}]]"#,
            "GAL-CHAR-MISSING",
            "does not say what is said",
        ),
        (
            r#""messageExamples": [[{"content": {}}]]"#,
            "GAL-CHAR-MISSING",
            "does not say who speaks",
        ),
        (
            r#""messageExamples": [[{"name": "a", "content": "hi"}]]"#,
            "GAL-CHAR-TYPE",
            "`messageExamples[0][0].content` must be an object",
        ),
        (
            r#""messageExamples": [[{"name": "a", "content": {"text": 5}}]]"#,
            "GAL-CHAR-TYPE",
            "a string is expected",
        ),
        (r#""modelProvider": 5"#, "GAL-CHAR-TYPE", "`modelProvider` must be text"),
        (r#""lore": {}"#, "GAL-CHAR-TYPE", "`lore` must be text or a list"),
        (
            r#""clientConfig": {"discord": 5}"#,
            "GAL-CHAR-TYPE",
            "`clientConfig.discord` must be an object",
        ),
        (r#""name": " ""#, "GAL-CHAR-EMPTY", "the name is empty"),
    ] {
        let rest = if field.contains("\"name\": 7")
            || field.contains("\"name\": \"") && !field.contains("Examples")
        {
            "\"bio\": \"b\""
        } else {
            "\"name\": \"N\", \"bio\": \"b\""
        };
        let error = error(&format!("{{{rest},\n{field}}}"));
        assert_eq!((error.code, error.line), (code, 2), "{field}: {error}");
        assert!(error.message.contains(place), "{field}: {error}");
    }
}

#[test]
fn every_fault_is_reported_not_only_the_first() {
    let found = errors(r#"{"name": 1, "bio": 2, "topics": 3, "style": 4}"#);
    assert_eq!(found.iter().map(|d| d.column).collect::<Vec<_>>(), [10, 20, 33, 45]);
}

#[test]
fn name_and_bio_must_be_there() {
    let found = errors("{}");
    assert_eq!(
        found.iter().map(|d| d.message.as_str()).collect::<Vec<_>>(),
        ["`name` is missing", "`bio` is missing"]
    );
    assert_eq!(error(r#"{"name": "N", "bio": null}"#).code, "GAL-CHAR-MISSING");
    assert_eq!(
        error(r#"{"nmae": "N", "bio": "b"}"#).help.as_deref(),
        Some("rename `nmae` to `name`")
    );
    assert_eq!(
        loaded(r#"{"name": "N", "lore": ["grew up here"]}"#).character.bio,
        ["grew up here"]
    );
    assert_eq!(loaded(r#"{"name": "N", "bio": []}"#).warnings[0].code, "GAL-CHAR-EMPTY");
}

#[test]
fn broken_json_is_refused_at_the_fault() {
    for (text, line, column, message) in [
        ("", 0, 0, "the file is empty"),
        ("{\n \"name\": \"a\"\n \"bio\": \"b\"}", 2, 13, "a comma is missing here"),
        ("{\n \"name\": \"a,\n \"bio\": \"b\"}", 2, 10, "this text is not closed on its line"),
        ("{\"name\" \"a\"}", 1, 9, "a colon is missing after the key"),
        ("{\"name\": }", 1, 10, "a } stands where a value is expected"),
        ("{\"name\": \"a\"", 1, 1, "this { is never closed"),
        ("{\"bio\": [\"a\"", 1, 9, "this [ is never closed"),
        ("{'name': 1}", 1, 2, "JSON uses double quotes"),
        ("{name: 1}", 1, 2, "keys stand in double quotes"),
        ("{\"name\": Bob}", 1, 10, "text stands in double quotes"),
        ("{} {}", 1, 4, "the file goes on after its end"),
        ("{\"a\": \"\\q\"}", 1, 8, "JSON has no such escape"),
        ("{\"a\": \"\\u00\"}", 1, 8, "\\u needs four hexadecimal digits"),
        ("{\"a\": /* ", 1, 7, "this comment is never closed"),
        ("{\"a\": 1e999}", 1, 7, "this number is too large"),
        ("{\"a\": +1}", 1, 7, "not valid JSON"),
        ("[]", 1, 1, "a character file holds an object, this is a list"),
        ("\"x\"", 1, 1, "a character file holds an object, this is text"),
    ] {
        let error = error(text);
        assert_eq!((error.line, error.column), (line, column), "{text:?}\n{error}");
        assert!(error.message.contains(message), "{text:?}\n{error}");
    }
}

#[test]
fn broken_toml_is_refused_at_the_fault() {
    let refused = load("c.toml", "name = \"N\"\nbio = \n").unwrap_err();
    assert_eq!(
        (refused.diagnostics[0].code, refused.diagnostics[0].line),
        ("GAL-CHAR-SYNTAX", 2),
        "{refused}"
    );
    let refused = load("c.toml", "name = \"N\"\nbio = 5\n").unwrap_err();
    assert_eq!(
        (refused.diagnostics[0].code, refused.diagnostics[0].line, refused.diagnostics[0].column),
        ("GAL-CHAR-TYPE", 2, 7),
        "{refused}"
    );
    let refused = load("c.toml", "name = \"N\"\nbio = \"b\"\n[settings]\nx = nan\n").unwrap_err();
    assert_eq!(
        (refused.diagnostics[0].code, refused.diagnostics[0].line),
        ("GAL-CHAR-VALUE", 4),
        "{refused}"
    );
}

#[test]
fn misspelt_fields_are_remarked_and_kept() {
    let loaded = loaded(
        "{\"name\": \"N\", \"bio\": \"b\",\n  \"adjetives\": [\"x\"], \"style\": {\"chats\": [\"y\"]}, \"mood\": 7}",
    );
    let reported: Vec<_> = loaded
        .warnings
        .iter()
        .map(|d| (d.code, d.line, d.column, d.help.as_deref().unwrap()))
        .collect();
    assert_eq!(
        reported,
        [
            ("GAL-CHAR-KEY", 2, 3, "did you mean `adjectives`?"),
            ("GAL-CHAR-KEY", 2, 33, "did you mean `chat`?"),
            ("GAL-CHAR-KEY", 2, 50, "it is kept and has no effect"),
        ]
    );
    assert_eq!(loaded.character.extra.keys().collect::<Vec<_>>().len(), 3);
    assert_eq!(loaded.character.extra["style.chats"][0], "y");
    assert!(loaded.warnings.iter().all(|d| d.severity == Severity::Warning));
}

#[test]
fn other_remarks() {
    let codes = |text: &str| loaded(text).warnings.iter().map(|d| d.code).collect::<Vec<_>>();
    assert_eq!(codes(r#"{"name": "A", "name": "B", "bio": "b"}"#), ["GAL-CHAR-TWICE"]);
    assert_eq!(loaded(r#"{"name": "A", "name": "B", "bio": "b"}"#).character.name, "B");
    assert_eq!(
        codes("{\"name\": \"A\", // me\n\"bio\": [\"b\",],}"),
        ["GAL-CHAR-LOOSE", "GAL-CHAR-LOOSE"]
    );
    assert_eq!(codes("{\"name\": \"A\", \"bio\": \"a\tb\"}"), ["GAL-CHAR-LOOSE"]);
    assert_eq!(codes(r#"{"name": "A", "bio": "b", "id": "me"}"#), ["GAL-CHAR-ID"]);
    assert_eq!(
        codes(r#"{"name": "A", "bio": "b", "id": "b850bc30-45f8-0041-a00a-83df46d8555d"}"#),
        [""; 0]
    );
    assert_eq!(
        codes(r#"{"name": "A", "bio": "b", "templates": {"replyTemplat": ""}}"#),
        ["GAL-CHAR-KEY"]
    );
    let iv = "0123456789abcdef0123456789abcdef";
    assert_eq!(
        codes(&format!(r#"{{"name": "A", "bio": "b", "secrets": {{"K": "{iv}:{iv}"}}}}"#)),
        ["GAL-CHAR-ENCRYPTED"]
    );
    assert_eq!(codes(r#"{"name": "A", "bio": "b", "secrets": {"K": "123456:AAHdq"}}"#), [""; 0]);
}

#[test]
fn settings_of_worlds_that_are_never_asked_for_are_remarked() {
    let reported = |settings: &str| {
        let text = format!(
            r#"{{"name": "N", "bio": "b", "settings": {{"worldSettings": {{{settings}}}}}}}"#
        );
        loaded(&text).warnings.into_iter().map(|d| d.message).collect::<Vec<_>>()
    };
    assert_eq!(reported(r#""tone": {}, "rules room": {"dependsOn": ["Tone"]}"#), [""; 0]);
    let unknown = reported(r#""tone": {}, "rules room": {"dependsOn": ["tone", "moood"]}"#);
    assert_eq!(unknown.len(), 1, "{unknown:?}");
    assert!(
        unknown[0].contains("never asked for") && unknown[0].contains("`moood`"),
        "{unknown:?}"
    );
    // A setting that is left out cannot be set.
    let left_out = reported(r#""tone": {"options": 7}, "rules room": {"dependsOn": ["tone"]}"#);
    assert_eq!(left_out.len(), 2, "{left_out:?}");
}

#[test]
fn sizes_depth_and_encodings_are_bounded() {
    let big = format!("{{\"name\": \"N\", \"bio\": \"{}\"}}", "x".repeat(MAX_SIZE));
    assert_eq!(error(&big).code, "GAL-CHAR-SIZE");
    for text in [
        format!("{{\"a\": {}", "[".repeat(100_000)),
        format!("{{\"name\": \"N\", \"bio\": \"b\", \"a\": {}{}}}", "[".repeat(65), "]".repeat(65)),
    ] {
        assert_eq!(error(&text).code, "GAL-CHAR-DEEP");
    }
    assert!(
        load(
            "c.toml",
            &format!("name = \"N\"\nbio = \"b\"\na = {}{}", "[".repeat(70), "]".repeat(70))
        )
        .is_err()
    );
    for half in ["\\ud83d", "\\udd16", "\\ud83dx", "\\ud83d\\ud83d"] {
        assert_eq!(
            error(&format!("{{\"name\": \"N\", \"bio\": \"{half}\"}}")).code,
            "GAL-CHAR-TEXT",
            "{half}"
        );
    }
    assert_eq!(loaded(r#"{"name": "\ud83e\udd16", "bio": "b"}"#).character.name, "🤖");
    let bom = "\u{FEFF}{\"name\": \"N\", \"bio\": \"b\"}";
    assert_eq!(load_bytes("c.json", bom.as_bytes()).unwrap().character.name, "N");
    assert_eq!(
        load_bytes("c.json", b"{\n\xff}").unwrap_err().diagnostics[0].message,
        "line 2 is not UTF-8 text"
    );
    assert_eq!(
        load_bytes("c.json", b"\xff\xfe{\0").unwrap_err().diagnostics[0].message,
        "the file is UTF-16"
    );
}

#[test]
fn a_flood_of_faults_is_cut_and_errors_survive_it() {
    let fields: String = (0..200).map(|i| format!("\"zz{i}\": 1, ")).collect();
    let refused = load("c.json", &format!("{{{fields}\"name\": 5, \"bio\": \"b\"}}")).unwrap_err();
    assert_eq!(refused.diagnostics.len(), 50);
    assert!(refused.diagnostics.iter().any(|d| d.code == "GAL-CHAR-TYPE"));
    assert!(refused.to_string().contains("more)"));
}

#[test]
fn a_refusal_becomes_our_error() {
    let error = Error::from(load("c.json", "{\"name\": \"N\",\n\"bio\": 5}").unwrap_err());
    assert_eq!((error.kind(), error.code()), (ErrorKind::Invalid, Some("GAL-CHAR-TYPE")));
    assert!(error.to_string().contains("where=c.json:2:8"), "{error}");
    assert_eq!(error.fix(), Some("put it in double quotes"));
}

#[test]
fn every_code_is_explained_once() {
    let mut codes: Vec<_> = CODES.iter().map(|e| e.code).collect();
    codes.sort_unstable();
    let count = codes.len();
    codes.dedup();
    assert_eq!(codes.len(), count);
    assert!(CODES.iter().all(|e| e.code.starts_with("GAL-CHAR-")
        && !e.title.is_empty()
        && !e.cause.is_empty()
        && !e.fix.is_empty()));
}
