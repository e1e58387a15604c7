//! Tests of the checks of message entities.

use super::*;

fn refused(text: &str, entities: Value) -> String {
    check(text, &entities, &Params::default()).unwrap_err().description
}

fn notes(text: &str, entities: Value) -> Vec<String> {
    let params = Params::default();
    check(text, &entities, &params).unwrap();
    params.take_notes()
}

#[test]
fn offsets_count_utf16_and_may_not_split_a_pair() {
    assert!(
        check("👉 x", &json!([{"type":"bold","offset":0,"length":2}]), &Params::default()).is_ok()
    );
    assert_eq!(
        refused("👉 x", json!([{"type":"bold","offset":1,"length":1}])),
        "Bad Request: entity begins in a middle of a UTF-16 symbol at byte offset 4"
    );
    assert_eq!(
        refused("👉 x", json!([{"type":"bold","offset":0,"length":1}])),
        "Bad Request: entity beginning at UTF-16 offset 0 ends in a middle of a UTF-16 symbol at byte offset 4"
    );
}

#[test]
fn ranges_lie_inside_the_text() {
    assert!(
        refused("aba caba", json!([{"type":"bold","offset":3,"length":6}]))
            .contains("ends after the end of the text at UTF-16 offset 9")
    );
    assert!(
        refused("aba caba", json!([{"type":"bold","offset":9,"length":1}]))
            .contains("begins after the end of the text")
    );
    assert!(
        refused("aba caba", json!([{"type":"bold","offset":-1,"length":1}]))
            .contains("incorrect offset -1")
    );
    assert!(
        refused("aba caba", json!([{"type":"bold","offset":0,"length":0}]))
            .contains("incorrect length 0")
    );
}

#[test]
fn types_and_their_fields_are_known() {
    assert!(
        refused("abc", json!([{"type":"blink","offset":0,"length":1}]))
            .contains("Unsupported type")
    );
    assert!(
        refused("abc", json!([{"type":"text_link","offset":0,"length":1}]))
            .contains("Can't find field \"url\"")
    );
    assert!(
        refused("abc", json!([{"type":"bold","offset":"0","length":1}]))
            .contains("must be of type Integer")
    );
    assert!(
        refused("abc", json!([{"type":"bold","offset":0,"length":1,"colour":1}]))
            .contains("no field")
    );
}

#[test]
fn nesting_follows_the_documented_rules() {
    let e =
        |kind: &str, offset: i64, length: i64| json!({"type":kind,"offset":offset,"length":length});
    assert!(notes("abcdef", json!([e("bold", 0, 6), e("italic", 1, 2)])).is_empty());
    assert!(notes("abcdef", json!([e("blockquote", 0, 6), e("code", 1, 2)])).is_empty());
    assert_eq!(
        notes("abcdef", json!([e("bold", 0, 3), e("italic", 2, 3)])).len(),
        1,
        "partial overlap"
    );
    assert_eq!(notes("abcdef", json!([e("bold", 0, 6), e("code", 1, 2)])).len(), 1, "code in bold");
    assert_eq!(
        notes("abcdef", json!([e("blockquote", 0, 6), e("blockquote", 1, 2)])).len(),
        1,
        "quote in quote"
    );
    let links =
        json!([{"type":"text_link","offset":0,"length":6,"url":"https://x.y"}, e("mention", 1, 2)]);
    assert_eq!(notes("abcdef", links).len(), 1, "mention in link");
}

#[test]
fn white_space_goes_and_entities_follow() {
    let made = trimmed(
        "  \nhi there \n",
        vec![
            json!({"type":"bold","offset":0,"length":5}),
            json!({"type":"code","offset":12,"length":1}),
        ],
    );
    assert_eq!(made.text, "hi there");
    assert_eq!(made.entities, [json!({"type":"bold","offset":0,"length":2})]);
}

#[test]
fn mentions_and_commands_are_found_by_the_server() {
    let found = detect("👋 @the_bot, /help@the_bot see https://a.b/c.", &[]);
    let kinds: Vec<_> = found
        .iter()
        .map(|e| {
            (
                e["type"].as_str().unwrap(),
                e["offset"].as_u64().unwrap(),
                e["length"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(kinds, [("mention", 3, 8), ("bot_command", 13, 13), ("url", 31, 13)]);
}
