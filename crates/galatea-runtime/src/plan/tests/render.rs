//! Properties: a plan rendered as any model would render it is read back exactly.

use proptest::{prelude::*, sample::subsequence, strategy::Union};
use serde_json::{Map, Value, json};

use super::{called, names, read};
use crate::plan::{Parsed, PlanFormat};

/// Words that look like our own markup, and what breaks parsers.
pub(super) const NASTY: [&str; 34] = [
    "</text>",
    "<text>",
    "<response>",
    "</response>",
    "<thought>",
    "<actions>REPLY</actions>",
    "```json",
    "```",
    "{\"text\":\"x\"}",
    "}",
    "{",
    "]]>",
    "<![CDATA[",
    "&lt;",
    "&amp;",
    "&",
    "<think>",
    "\"",
    "\",",
    "\"}",
    "\\",
    "\\n",
    "\\\"",
    "'",
    "\n",
    "\r\n",
    "\t",
    "\u{0}",
    "😀",
    "\u{202e}",
    ", \"actions\":",
    "a < b",
    "<b>",
    "é",
];

fn piece() -> impl Strategy<Value = String> {
    Union::new_weighted(vec![
        (3, "(?s).{0,12}".boxed()),
        (2, "[a-zA-Z ,.!?]{1,20}".boxed()),
        (2, proptest::sample::select(&NASTY[..]).prop_map(str::to_owned).boxed()),
    ])
}

/// Any words, trimmed, not empty.
pub(super) fn any_text() -> impl Strategy<Value = String> {
    proptest::collection::vec(piece(), 1..6)
        .prop_map(|p| p.concat().trim().to_owned())
        .prop_filter("empty", |t| !t.is_empty())
}

/// What a person might write without any markup of ours.
fn plain_words() -> impl Strategy<Value = String> {
    let harmless = [
        "a < b",
        "1<2",
        "{ x }",
        "`code`",
        "i <3 u",
        "if (a<1) {}",
        "\n\n",
        "- item\n",
        "**bold**",
        "[link](https://x.y/?a=b&c)",
        "&lt;",
        "{{name}}",
    ];
    let piece = Union::new(vec![
        "[^<{`]{0,20}".boxed(),
        proptest::sample::select(harmless.to_vec()).prop_map(str::to_owned).boxed(),
    ]);
    proptest::collection::vec(piece, 1..6)
        .prop_map(|p| p.concat().trim().to_owned())
        .prop_filter("empty or fence", |t| !t.is_empty() && !t.starts_with("```"))
}

#[derive(Debug, Clone)]
struct Rendered {
    /// What is rendered, envelope only.
    body: String,
    /// Just behind the text element.
    text_end: usize,
}

#[derive(Debug, Clone)]
struct Sample {
    thought: String,
    text: String,
    actions: Vec<&'static str>,
    providers: Vec<&'static str>,
    order: Vec<usize>,
}

fn sample() -> impl Strategy<Value = Sample> {
    let actions =
        subsequence(vec!["REPLY", "MUTE_ROOM", "SEND_MESSAGE", "SET", "UNMUTE_ROOM"], 0..=4);
    let providers = subsequence(vec!["FACTS", "WORLD", "TIME"], 0..=3);
    let order = Just(vec![0, 1, 2, 3]).prop_shuffle();
    (any_text(), any_text(), actions, providers, order).prop_map(
        |(thought, text, actions, providers, order)| Sample {
            thought,
            text,
            actions,
            providers,
            order,
        },
    )
}

fn as_json(sample: &Sample, spaced: bool) -> Rendered {
    let gap = if spaced { "\n  " } else { "" };
    let actions: Vec<Value> = sample
        .actions
        .iter()
        .map(|a| if spaced { json!({ "name": a, "params": {} }) } else { json!(a) })
        .collect();
    let fields = [
        format!("\"thought\":{}", json!(sample.thought)),
        format!("\"text\":{}", json!(sample.text)),
        format!("\"actions\":{}", Value::Array(actions)),
        format!("\"providers\":{}", json!(sample.providers)),
    ];
    let mut body = "{".to_owned();
    let mut text_end = 0;
    for (n, field) in sample.order.iter().enumerate() {
        body.push_str(gap);
        body.push_str(&fields[*field]);
        if *field == 1 {
            text_end = body.len();
        }
        if n < 3 {
            body.push(',');
        }
    }
    body.push_str(gap);
    body.push('}');
    Rendered { body, text_end }
}

#[derive(Debug, Clone, Copy)]
enum Spelling {
    Escaped,
    Cdata,
    Raw,
}

fn spell(text: &str, spelling: Spelling) -> String {
    match spelling {
        Spelling::Escaped => text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"),
        Spelling::Cdata => format!("<![CDATA[{}]]>", text.replace("]]>", "]]]]><![CDATA[>")),
        Spelling::Raw => text.to_owned(),
    }
}

fn as_xml(sample: &Sample, spelling: Spelling, spaced: bool, wrapped: bool) -> Rendered {
    let gap = if spaced { "\n  " } else { "" };
    let actions = if spaced {
        sample
            .actions
            .iter()
            .map(|a| format!("<action><name>{a}</name></action>"))
            .collect::<String>()
    } else {
        sample.actions.join(", ")
    };
    let fields = [
        format!("<thought>{}</thought>", spell(&sample.thought, Spelling::Escaped)),
        format!("<text>{}</text>", spell(&sample.text, spelling)),
        format!("<actions>{actions}</actions>"),
        format!("<providers>{}</providers>", sample.providers.join(",")),
    ];
    let mut body = if wrapped { "<response>".to_owned() } else { String::new() };
    let mut text_end = 0;
    for field in &sample.order {
        body.push_str(gap);
        body.push_str(&fields[*field]);
        if *field == 1 {
            text_end = body.len();
        }
    }
    if wrapped {
        body.push_str(gap);
        body.push_str("</response>");
    }
    Rendered { body, text_end }
}

#[derive(Debug, Clone)]
enum Around {
    Nothing,
    Fence(&'static str),
    Think(&'static str, String),
    Prose,
    Truncated(prop::sample::Index),
    ThinkFenceTruncated(prop::sample::Index),
}

fn around() -> impl Strategy<Value = Around> {
    prop_oneof![
        Just(Around::Nothing),
        prop_oneof![Just(""), Just("json"), Just("xml")].prop_map(Around::Fence),
        (
            prop_oneof![Just("think"), Just("thinking")],
            any_text().prop_map(|w| w.replace("</", ""))
        )
            .prop_map(|(tag, thought)| Around::Think(tag, thought)),
        Just(Around::Prose),
        any::<prop::sample::Index>().prop_map(Around::Truncated),
        any::<prop::sample::Index>().prop_map(Around::ThinkFenceTruncated),
    ]
}

fn cut_behind_text(rendered: &Rendered, at: prop::sample::Index) -> &str {
    let end = rendered.text_end + at.index(rendered.body.len() - rendered.text_end + 1);
    &rendered.body[..rendered.body.floor_char_boundary(end).max(rendered.text_end)]
}

fn dress(rendered: &Rendered, around: &Around) -> String {
    let body = &rendered.body;
    match around {
        Around::Nothing => body.clone(),
        Around::Fence(label) => format!("```{label}\n{body}\n```"),
        Around::Think(tag, thought) => format!("<{tag}>{thought}</{tag}>\n\n{body}"),
        Around::Prose => format!("Sure, here is my answer:\n{body}\nHope that helps."),
        Around::Truncated(at) => cut_behind_text(rendered, *at).to_owned(),
        Around::ThinkFenceTruncated(at) => {
            format!("<think>hm</think>```json\n{}", cut_behind_text(rendered, *at))
        }
    }
}

fn check(
    parsed: &Parsed,
    sample: &Sample,
    around: &Around,
    format: PlanFormat,
) -> Result<(), TestCaseError> {
    prop_assert_eq!(&parsed.plan.text, &sample.text);
    prop_assert_eq!(parsed.format, format);
    prop_assert!(parsed.usable);
    if !matches!(around, Around::Truncated(_) | Around::ThinkFenceTruncated(_)) {
        let expected =
            if sample.actions.is_empty() { vec!["REPLY"] } else { sample.actions.clone() };
        prop_assert_eq!(names(parsed), expected);
        prop_assert_eq!(&parsed.plan.providers, &sample.providers);
        prop_assert!(parsed.plan.thought.as_deref().is_some_and(|t| t.contains(&sample.thought)));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn json_is_read_back(sample in sample(), around in around(), spaced: bool) {
        let answer = dress(&as_json(&sample, spaced), &around);
        check(&read(&answer), &sample, &around, PlanFormat::Json)?;
    }

    #[test]
    fn xml_is_read_back(sample in sample(), around in around(), cdata: bool, spaced: bool, wrapped: bool) {
        let spelling = if cdata { Spelling::Cdata } else { Spelling::Escaped };
        let answer = dress(&as_xml(&sample, spelling, spaced, wrapped), &around);
        check(&read(&answer), &sample, &around, PlanFormat::Xml)?;
    }

    #[test]
    fn raw_angle_brackets_survive(sample in sample(), around in around(), spaced: bool) {
        let mut sample = sample;
        sample.text = ["</text", "<text>", "<![CDATA[", "&"].iter().fold(sample.text, |text, marker| text.replace(marker, "<3")).trim().to_owned();
        prop_assume!(!sample.text.contains("</text"));
        let answer = dress(&as_xml(&sample, Spelling::Raw, spaced, true), &around);
        check(&read(&answer), &sample, &around, PlanFormat::Xml)?;
    }

    #[test]
    fn tool_calls_are_read_back(sample in sample(), plain in plain_words(), in_content: bool, params in any::<bool>()) {
        let mut calls: Vec<(&str, String)> = Vec::new();
        if !in_content {
            calls.push(("REPLY", json!({ "text": sample.text }).to_string()));
        }
        for action in sample.actions.iter().filter(|a| **a != "REPLY") {
            let arguments: Map<String, Value> = if params { Map::from_iter([("note".to_owned(), json!(sample.thought))]) } else { Map::new() };
            calls.push((action, Value::Object(arguments).to_string()));
        }
        if calls.is_empty() {
            calls.push(("MUTE_ROOM", String::new()));
        }
        let borrowed: Vec<(&str, &str)> = calls.iter().map(|(n, a)| (*n, a.as_str())).collect();
        let parsed = called(if in_content { &plain } else { "" }, &borrowed);
        prop_assert_eq!(&parsed.plan.text, if in_content { &plain } else { &sample.text });
        prop_assert_eq!(parsed.format, PlanFormat::ToolCalls);
        prop_assert!(parsed.repairs.is_empty(), "{:?}", parsed.repairs);
        let others = calls.iter().map(|(name, _)| *name).filter(|name| *name != "REPLY");
        prop_assert_eq!(names(&parsed), std::iter::once("REPLY").chain(others).collect::<Vec<_>>());
        if params && calls.iter().all(|(_, arguments)| !arguments.is_empty()) {
            for action in parsed.plan.actions.iter().filter(|a| a.name != "REPLY") {
                prop_assert_eq!(&action.params, &json!({ "note": sample.thought }));
            }
        }
    }

    #[test]
    fn plain_words_are_kept_exactly(text in plain_words()) {
        let parsed = read(&text);
        prop_assert_eq!(&parsed.plan.text, &text);
        prop_assert_eq!(parsed.format, PlanFormat::Plain);
        prop_assert_eq!(names(&parsed), ["REPLY"]);
    }

    #[test]
    fn plain_words_after_reasoning_are_kept_exactly(text in plain_words(), thought in any_text()) {
        prop_assume!(!thought.contains("</think>"));
        let parsed = read(&format!("<think>{thought}</think>\n{text}"));
        prop_assert_eq!(&parsed.plan.text, &text);
        prop_assert_eq!(parsed.plan.thought, Some(thought));
    }

    #[test]
    fn cut_anywhere_the_words_are_a_beginning(sample in sample(), xml: bool, cdata: bool, spaced: bool, at: prop::sample::Index) {
        let rendered = match (xml, cdata) {
            (false, _) => as_json(&sample, spaced),
            (true, false) => as_xml(&sample, Spelling::Escaped, spaced, true),
            (true, true) => as_xml(&sample, Spelling::Cdata, spaced, true),
        };
        let end = rendered.body.floor_char_boundary(at.index(rendered.body.len() + 1));
        let parsed = super::cut(&rendered.body[..end]);
        prop_assert!(sample.text.starts_with(&parsed.plan.text), "{:?} is not the beginning of {:?}", parsed.plan.text, sample.text);
        if end >= rendered.text_end {
            prop_assert_eq!(&parsed.plan.text, &sample.text);
        }
    }
}
