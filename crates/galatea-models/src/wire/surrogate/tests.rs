//! Tests of single surrogates in every provider's text and tool calls, streamed and whole.

use galatea_core::model::TextAnswer;
use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::{
    anthropic, google, ollama, openai,
    wire::{Fail, Gather},
};

fn streamed<G: Gather>(mut pieces: G, frames: &[&str]) -> (TextAnswer, String) {
    let shown = std::sync::Mutex::new(String::new());
    for frame in frames {
        let taken = pieces.take(frame, &|text| shown.lock().unwrap().push_str(text));
        assert!(taken.is_ok(), "{frame}: {taken:?}");
    }
    (pieces.finish(), shown.into_inner().unwrap())
}

/// The argument `to` of the first call; the arguments must be valid JSON.
fn argument(answer: &TextAnswer) -> String {
    let call = answer.tool_calls.first().unwrap_or_else(|| panic!("no call in {answer:?}"));
    let value: Value = serde_json::from_str(&call.arguments)
        .unwrap_or_else(|error| panic!("{error} in {:?}", call.arguments));
    value["to"].as_str().unwrap_or_default().to_owned()
}

/// Replacements for `A` and `B` in the frames, and the expected text whether they arrive in one
/// piece or in two.
const CASES: [(&str, &str, &str); 5] = [
    (r"\ud83d", r"\ude00", "😀"),
    (r"\uD83D", r"\uDE00", "😀"),
    (r"\ud83d", "", "\u{fffd}"),
    ("", r"\ude00", "\u{fffd}"),
    (r"\ude00", r"\ud83d", "\u{fffd}\u{fffd}"),
];

fn assert_joined(name: &str, outcome: Result<TextAnswer, Fail>, expected: &str) {
    let answer = outcome.unwrap_or_else(|fail| panic!("{name}: {fail:?}"));
    assert_eq!((answer.text.as_str(), argument(&answer).as_str()), (expected, expected), "{name}");
}

#[test]
fn every_provider_joins_halves_in_text_and_tool_calls() {
    for (a, b, expected) in CASES {
        let fill = |frames: &[&str]| -> Vec<String> {
            frames.iter().map(|frame| frame.replace('A', a).replace('B', b)).collect()
        };
        let stream = |frames: &[&str]| fill(frames);
        let check = |name: &str, (answer, shown): (TextAnswer, String)| {
            // Whether a half stays single is known only at the end.
            assert!(expected.starts_with(&shown), "{name}: {shown:?} was shown of {expected:?}");
            assert_joined(name, Ok(answer), expected);
        };
        macro_rules! frames {
            ($list:expr) => {
                &stream($list).iter().map(String::as_str).collect::<Vec<_>>()
            };
        }
        check(
            "chat",
            streamed(
                openai::ChatPieces::default(),
                frames!(&[
                    r#"{"choices":[{"delta":{"content":"A"}}]}"#,
                    r#"{"choices":[{"delta":{"content":"B"}}]}"#,
                    r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"X","arguments":"{\"to\":\"A"}}]}}]}"#,
                    r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"B\"}"}}]}}]}"#,
                    r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#,
                ]),
            ),
        );
        check(
            "responses",
            streamed(
                openai::responses::ResponsesPieces::default(),
                frames!(&[
                    r#"{"type":"response.output_text.delta","output_index":0,"delta":"A"}"#,
                    r#"{"type":"response.output_text.delta","output_index":0,"delta":"B"}"#,
                    r#"{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","call_id":"c","name":"X","arguments":""}}"#,
                    r#"{"type":"response.function_call_arguments.delta","output_index":1,"delta":"{\"to\":\"A"}"#,
                    r#"{"type":"response.function_call_arguments.delta","output_index":1,"delta":"B\"}"}"#,
                    r#"{"type":"response.completed","response":{"status":"completed","output":[]}}"#,
                ]),
            ),
        );
        check(
            "anthropic",
            streamed(
                anthropic::AnthropicPieces::default(),
                frames!(&[
                    r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"A"}}"#,
                    r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"B"}}"#,
                    r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"X"}}"#,
                    r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"to\":\"A"}}"#,
                    r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"B\"}"}}"#,
                    r#"{"type":"message_stop"}"#,
                ]),
            ),
        );
        check(
            "google",
            streamed(
                google::GooglePieces::default(),
                frames!(&[
                    r#"{"candidates":[{"content":{"parts":[{"text":"A"}]}}]}"#,
                    r#"{"candidates":[{"content":{"parts":[{"text":"B"}]}}]}"#,
                    r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"X","args":{"to":"AB"}}}]},"finishReason":"STOP"}]}"#,
                ]),
            ),
        );
        check(
            "ollama",
            streamed(
                ollama::OllamaPieces::default(),
                frames!(&[
                    r#"{"message":{"content":"A"},"done":false}"#,
                    r#"{"message":{"content":"B"},"done":false}"#,
                    r#"{"message":{"content":"","tool_calls":[{"function":{"name":"X","arguments":{"to":"AB"}}}]},"done":true}"#,
                ]),
            ),
        );
        let whole = |body: &str| body.replace('A', a).replace('B', b);
        let body = whole(
            r#"{"choices":[{"message":{"content":"AB","tool_calls":[{"function":{"name":"X","arguments":"{\"to\":\"AB\"}"}}]}}]}"#,
        );
        assert_joined("chat, whole", openai::decode(body.as_bytes()), expected);
        let body = whole(
            r#"{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"AB"}]},{"type":"function_call","call_id":"c","name":"X","arguments":"{\"to\":\"AB\"}"}]}"#,
        );
        assert_joined("responses, whole", openai::responses::decode(body.as_bytes()), expected);
        let body = whole(
            r#"{"content":[{"type":"text","text":"AB"},{"type":"tool_use","id":"t","name":"X","input":{"to":"AB"}}],"stop_reason":"tool_use"}"#,
        );
        assert_joined("anthropic, whole", anthropic::decode(body.as_bytes()), expected);
        let body = whole(
            r#"{"candidates":[{"content":{"parts":[{"text":"AB"},{"functionCall":{"name":"X","args":{"to":"AB"}}}]},"finishReason":"STOP"}]}"#,
        );
        check("google, whole", streamed(google::GooglePieces::default(), &[&body]));
        let body = whole(
            r#"{"message":{"content":"AB","tool_calls":[{"function":{"name":"X","arguments":{"to":"AB"}}}]},"done":true}"#,
        );
        assert_joined("ollama, whole", ollama::decode_whole(body.as_bytes()), expected);
    }
}

#[test]
fn halves_inside_of_the_arguments_own_json_are_mended() {
    // Escaped twice: the outer text is valid, the arguments are not.
    let body = r#"{"choices":[{"message":{"content":null,"tool_calls":[{"function":{"name":"X","arguments":"{\"to\":\"a\\ud83db\"}"}}]}}]}"#;
    assert_eq!(argument(&openai::decode(body.as_bytes()).unwrap()), "a\u{fffd}b");
}

#[test]
fn other_escapes_are_left_alone() {
    for (json, expected) in [
        (r#""\\ud83d""#, r"\ud83d"),
        (r#""\u00e4\n\"""#, "ä\n\""),
        (r#""😀\ud83d\ude00""#, "😀😀"),
        (r#""\ud83dx\ude00""#, "\u{fffd}x\u{fffd}"),
        (r#""\ud83d\ud83d\ude00""#, "\u{fffd}😀"),
        (r#""\\\ud83d""#, "\\\u{fffd}"),
    ] {
        let parsed: String = parse(json).unwrap();
        assert_eq!(whole(&parsed), expected, "{json}");
    }
    assert_eq!(parse::<String>(r#""\ud83"#), None, "an incomplete escape is not JSON");
    assert_eq!(parse::<String>(r#""\ud8ä3""#), None);
}

proptest! {
    #[test]
    fn any_text_survives_in_any_pieces(text in "\\PC{0,40}", cuts in proptest::collection::vec(0..60_usize, 0..4)) {
        let units: Vec<u16> = text.encode_utf16().collect();
        let mut ends: Vec<usize> = cuts.into_iter().map(|cut| cut.min(units.len())).collect();
        ends.push(units.len());
        ends.sort_unstable();
        let (mut joined, mut from) = (Joined::default(), 0);
        for end in ends {
            let escaped: String = units[from..end].iter().map(|unit| format!("\\u{unit:04x}")).collect();
            let piece: String = parse(&format!("\"{escaped}\"")).unwrap();
            joined.push(&piece);
            from = end;
        }
        prop_assert_eq!(joined.finish(), text);
    }

    #[test]
    fn nothing_panics(text in "[\\\\ud8c0-9ä\"]{0,40}") {
        let _ = parse::<Value>(&format!("\"{text}\""));
        let _ = mended(text);
    }
}
