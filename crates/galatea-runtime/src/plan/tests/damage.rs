//! Properties: no input makes the parser fail, show markup it should not, or take long.

use proptest::prelude::*;
use serde_json::Value;

use super::{called, cut, read, read_as, render};
use crate::plan::{
    AnswerForm, MAX_ACTIONS, MAX_ANSWER, MAX_PROVIDERS, Parsed, parse_should_respond,
};

/// Pieces of every format, put together without sense.
fn rubble() -> impl Strategy<Value = String> {
    let pieces = [
        "<response>",
        "</response>",
        "<text>",
        "</text>",
        "<thought>",
        "</thought>",
        "<actions>",
        "</actions>",
        "<action>",
        "</action>",
        "<name>",
        "</name>",
        "<params>",
        "</params>",
        "<providers>",
        "</providers>",
        "<think>",
        "</think>",
        "<![CDATA[",
        "]]>",
        "&#x41;",
        "&#99999999;",
        "```json\n",
        "```",
        "{",
        "}",
        "[",
        "]",
        "\"text\"",
        "\"actions\"",
        "\"thought\"",
        ":",
        ",",
        "\"",
        "'",
        "\\",
        "\\u",
        "\\ud83d",
        "REPLY",
        "MUTE_ROOM",
        " ",
        "\n",
        "1e999",
        "-",
        "null",
        "<",
        ">",
        "</",
        "<a/>",
        "é",
        "😀",
        "“",
        "”",
        "<action name=\"REPLY\">",
    ];
    let piece = prop_oneof![4 => proptest::sample::select(pieces.to_vec()).prop_map(str::to_owned), 1 => "(?s).{0,6}"];
    proptest::collection::vec(piece, 0..40).prop_map(|p| p.concat())
}

fn sound(parsed: &Parsed) -> Result<(), TestCaseError> {
    prop_assert_eq!(parsed.plan.text.trim(), &parsed.plan.text);
    prop_assert!(
        parsed.plan.actions.len() <= MAX_ACTIONS && parsed.plan.providers.len() <= MAX_PROVIDERS
    );
    prop_assert!(parsed.plan.actions.iter().all(|a| a.params.is_object()));
    prop_assert!(parsed.plan.text.is_empty() || parsed.usable);
    prop_assert!(parsed.plan.text.is_empty() || !parsed.plan.actions.is_empty());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rubble_never_breaks_it(text in rubble(), name in rubble(), arguments in rubble()) {
        sound(&read(&text))?;
        sound(&cut(&text))?;
        sound(&read_as(AnswerForm::JsonOrWords, &text))?;
        sound(&called(&text, &[("REPLY", arguments.as_str()), (name.as_str(), text.as_str())]))?;
        parse_should_respond(&text);
    }

    #[test]
    fn arbitrary_text_never_breaks_it(text in "(?s).{0,200}", arguments in any::<String>()) {
        sound(&read(&text))?;
        sound(&called(&text, &[("MUTE_ROOM", arguments.as_str())]))?;
        parse_should_respond(&text);
    }

    #[test]
    fn a_torn_envelope_leaves_nothing_behind(thought in "[a-z ]{1,20}", text in "[a-zA-Z ,.]{1,20}", drop in 0_usize..6, fenced: bool) {
        let mut elements = vec!["<response>", "<thought>", &thought, "</thought>", "<actions>REPLY</actions>", "<text>", &text, "</text>", "</response>"];
        // Each of the tags may be missing (but for the one that says which words are for the chat).
        let missing = [0, 1, 3, 4, 7, 8][drop];
        elements.remove(missing);
        let body = elements.concat();
        let answer = if fenced { format!("```xml\n{body}\n```") } else { body };
        let shown = read(&answer).plan.text;
        for markup in ["<response", "</response", "<text", "</text", "<thought", "</thought", "<actions", "```"] {
            prop_assert!(!shown.contains(markup), "{answer} shows {shown}");
        }
        prop_assert!(text.trim().is_empty() || shown.contains(text.trim()), "{answer} shows {shown}");
    }

    #[test]
    fn should_respond_survives_reasoning(thought in render::any_text(), n in 0_usize..3) {
        prop_assume!(!thought.contains("</think>"));
        let word = ["RESPOND", "IGNORE", "STOP"][n];
        let answers = [
            format!("<think>{thought}</think>{word}"),
            format!("<think>{thought}</think><response><action>{word}</action></response>"),
            format!("<think>{thought}</think>{{\"action\":\"{word}\"}}"),
        ];
        for answer in answers {
            prop_assert_eq!(parse_should_respond(&answer), parse_should_respond(word));
        }
    }
}

/// A quadratic parser would read these for an hour.
#[test]
fn hostile_repetition_ends() {
    const SIZE: usize = MAX_ANSWER / 32;
    let patterns = [
        "<",
        "<a",
        "<a>",
        "<text>",
        "<thought><text>",
        "<text></text>x",
        "<think>",
        "<think></think>",
        "   <",
        "</text>",
        "<response>",
        "<![CDATA[",
        "<![CDATA[]]>",
        "&",
        "{",
        "{\"text\":",
        "[",
        "\"",
        "'",
        "{\"a\":\"",
        "\\",
        "\\\"",
        "\\u",
        ",\"",
        "{\"text\":\"a\"}",
        "<action><name>",
        "<text>a</text>",
        "```",
        " ",
        "\n",
        "“",
        "<response><text>a</text></response>",
        "{'text':'\"",
        "</think>",
        "\n{\"thought\":1,",
        "\n[{",
        "<thought>",
        "x<think>",
        "x<think>a b</think>",
        "\n<think>",
        "`<think>",
        "{\"actions\":[",
        "{\"text\":\"a\", \"",
    ];
    for pattern in patterns {
        let text = pattern.repeat(SIZE / pattern.len());
        for front in [
            "",
            "x",
            "<response><text>",
            "<response><actions>",
            "{\"text\":\"",
            "{\"actions\":",
            "{'a':",
        ] {
            let parsed = read(&format!("{front}{text}"));
            assert!(parsed.plan.actions.iter().all(|a| a.params.is_object()));
        }
        for front in ["", "x"] {
            read_as(AnswerForm::JsonOrWords, &format!("{front}{text}"));
        }
        called("", &[("REPLY", &format!("{{{text}"))]);
        parse_should_respond(&text);
    }
}

#[test]
fn deep_nesting_is_bounded() {
    let json = format!("{{\"text\":\"hi\",\"params\":{}", "{\"a\":[".repeat(100_000));
    assert_eq!(read(&json).plan.text, "hi");
    let xml =
        format!("<response><text>hi</text><params>{}</params></response>", "<a>".repeat(100_000));
    let parsed = read(&xml);
    assert_eq!(parsed.plan.text, "hi");
    fn depth(value: &Value) -> usize {
        1 + value
            .as_object()
            .into_iter()
            .flat_map(|m| m.values())
            .chain(value.as_array().into_iter().flatten())
            .map(depth)
            .max()
            .unwrap_or(0)
    }
    let parsed = read(&format!(
        "<response><actions>MUTE_ROOM</actions><params>{}</params></response>",
        "<a>".repeat(1_000)
    ));
    assert!(depth(&parsed.plan.actions[0].params) < 20);
}
