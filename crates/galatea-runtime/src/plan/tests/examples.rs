//! One example per way models write.

use galatea_core::model::{Finish, TextAnswer, ToolCall};
use serde_json::json;

use super::{called, cut, known, names, parse, read};
use crate::plan::{AnswerForm, PlanFormat, RespondDecision, parse_should_respond};

#[test]
fn plain_words_are_a_reply() {
    let parsed = read("  Hello *there*.\n\nBye  ");
    assert_eq!((parsed.format, parsed.usable), (PlanFormat::Plain, true));
    assert_eq!(parsed.plan.text, "Hello *there*.\n\nBye");
    assert_eq!(names(&parsed), ["REPLY"]);
    assert_eq!(parsed.plan.actions[0].params, json!({ "text": "Hello *there*.\n\nBye" }));
    assert!(parsed.repairs.is_empty());
}

#[test]
fn elizaos_xml_flat() {
    let parsed = read(
        "<response>\n  <thought>be kind</thought>\n  <actions>REPLY, MUTE_ROOM</actions>\n  <providers>FACTS, WORLD</providers>\n  <text>Fine &amp; dandy: 1 < 2</text>\n</response>",
    );
    assert_eq!(parsed.format, PlanFormat::Xml);
    assert_eq!(parsed.plan.text, "Fine & dandy: 1 < 2");
    assert_eq!(parsed.plan.thought.as_deref(), Some("be kind"));
    assert_eq!(names(&parsed), ["REPLY", "MUTE_ROOM"]);
    assert_eq!(parsed.plan.providers, ["FACTS", "WORLD"]);
    assert!(parsed.repairs.is_empty(), "{:?}", parsed.repairs);
}

#[test]
fn xml_actions_with_arguments_in_every_known_shape() {
    let want = json!({ "target": "ops", "text": "a <b> c", "copies": 2 });
    for xml in [
        "<response><text>ok</text><actions><action><name>SEND_MESSAGE</name><params><target>ops</target><text>a <b> c</text><copies>2</copies></params></action></actions></response>",
        "<actions>SEND_MESSAGE</actions><params><SEND_MESSAGE><target>ops</target><text>a <b> c</text><copies>2</copies></SEND_MESSAGE></params><text>ok</text>",
        "<response><text>ok</text><action>send message</action><params><target>ops</target><text>a <b> c</text><copies>2</copies></params></response>",
        "<response><actions><SEND_MESSAGE><target>ops</target><text>a &lt;b&gt; c</text><copies>2</copies></SEND_MESSAGE></actions><text>ok</text></response>",
        "<response><actions><action name=\"SEND_MESSAGE\"><params>{\"target\":\"ops\",\"text\":\"a <b> c\",\"copies\":\"2\"}</params></action></actions><text>ok</text></response>",
        "<response><actions>[\"SEND_MESSAGE\"]</actions><params>{\"SEND_MESSAGE\":{\"target\":\"ops\",\"text\":\"a <b> c\",\"copies\":2}}</params><text>ok</text></response>",
    ] {
        let parsed = read(xml);
        assert_eq!(parsed.plan.text, "ok", "{xml}");
        assert_eq!(names(&parsed), ["SEND_MESSAGE"], "{xml}");
        assert_eq!(parsed.plan.actions[0].params, want, "{xml}");
    }
}

#[test]
fn xml_damaged() {
    for (xml, text) in [
        (
            "```xml\n<response><thought>t</thought><actions>REPLY</actions><text>hi</text></response>\n```",
            "hi",
        ),
        ("<response><thought>t</thought><actions>REPLY</actions><text>hi", "hi"),
        ("<response><text>hi</te", "hi"),
        ("<response><text>hi &am", "hi"),
        ("<response><text>hi</response>", "hi"),
        ("<response><text>hi <actions>REPLY</actions></response>", "hi"),
        ("<response><thought>unclosed<text>hi</text></response>", "hi"),
        ("<response>Hello <b>you</b></response>", "Hello <b>you</b>"),
        ("<response><thought>t</thought>Hello</response>", "Hello"),
        ("<response><thought>t</thought><actions>REPLY</actions></response>\nHello", "Hello"),
        (
            "Sure, here you go:\n<response><thought>t</thought><text>hi</text></response>\nAnything else?",
            "hi",
        ),
        ("<response><text><![CDATA[<b>x</b> && y]]></text></response>", "<b>x</b> && y"),
        ("<RESPONSE><Text>hi</Text></RESPONSE>", "hi"),
        (
            "<response><text>Write <text>x</text> like so</text><actions>REPLY</actions></response>",
            "Write <text>x</text> like so",
        ),
        (
            "<response><emotion>happy</emotion><text>hi</text><emotion>sad</emotion></response>",
            "hi",
        ),
        ("hi there</response>", "hi there"),
    ] {
        let parsed = read(xml);
        assert_eq!(parsed.plan.text, text, "{xml}");
        assert_eq!(names(&parsed), ["REPLY"], "{xml}");
        assert!(parsed.usable, "{xml}");
    }
}

#[test]
fn json_in_every_known_shape() {
    for json in [
        r#"{"thought":"t","text":"hi","actions":["REPLY","MUTE_ROOM"]}"#,
        "```json\n{\"thought\":\"t\",\"text\":\"hi\",\"actions\":\"REPLY, MUTE_ROOM\"}\n```",
        "Here it is: {\"thought\":\"t\",\"text\":\"hi\",\"actions\":[{\"name\":\"REPLY\"},{\"name\":\"MUTE_ROOM\",\"params\":{}}]} Done.",
        "{'thought': 't', 'text': 'hi', 'actions': ['REPLY', 'MUTE_ROOM'],}",
        "{thought: 't', text: \"hi\", actions: [REPLY, MUTE_ROOM]}",
        r#"{"response":{"thought":"t","text":"hi","actions":["REPLY","MUTE_ROOM"]}}"#,
        r#"{"thought":"t" "text":"hi" "actions":["REPLY","MUTE_ROOM"}"#,
        r#"{“thought”: “t”, “text”: “hi”, “actions”: [“REPLY”, “MUTE_ROOM”]}"#,
    ] {
        let parsed = read(json);
        assert_eq!(parsed.format, PlanFormat::Json, "{json}");
        assert_eq!(parsed.plan.text, "hi", "{json}");
        assert_eq!(parsed.plan.thought.as_deref(), Some("t"), "{json}");
        assert_eq!(names(&parsed), ["REPLY", "MUTE_ROOM"], "{json}");
    }
}

#[test]
fn json_damaged_strings() {
    for (json, text) in [
        ("{\"text\": \"two\nlines\", \"actions\": [\"REPLY\"]}", "two\nlines"),
        (
            r#"{"text": "He said "hi" to me, "ok"", "actions": ["REPLY"]}"#,
            r#"He said "hi" to me, "ok""#,
        ),
        ("{'text': 'it's fine', 'actions': ['REPLY']}", "it's fine"),
        (r#"{"text": "\(x\) and \ud83d\ude00", "actions": ["REPLY",]}"#, "\\(x\\) and 😀"),
        (r#"{"text": "cut of"#, "cut of"),
        (r#"{"text": "cut \u00"#, "cut"),
    ] {
        let parsed = read(json);
        assert_eq!(parsed.plan.text, text, "{json}");
        assert!(!parsed.repairs.is_empty(), "{json}");
    }
}

#[test]
fn an_answer_cut_off_before_its_words_is_asked_for_again() {
    for torn in [
        "{",
        "{\"",
        "{\"thou",
        "{\"thought\": \"hm",
        "```json",
        "```json\n{\"te",
        "<",
        "<resp",
        "<response>",
        "<response><thou",
        "<response><thought>I wil",
        "",
        " \n",
    ] {
        let parsed = cut(torn);
        assert!(!parsed.usable, "{torn}: {parsed:?}");
        assert_eq!(parsed.plan.text, "", "{torn}");
    }
}

#[test]
fn reasoning_is_never_shown() {
    for (answer, text) in [
        ("<think>hm {\"text\":\"draft\"}</think>\nHello", "Hello"),
        ("<thinking>a</thinking><think>b</think>{\"text\":\"Hello\"}", "Hello"),
        ("<THINK>hm</THINK><response><text>Hello</text></response>", "Hello"),
        ("hm, what to say\n</think>\n\nHello", "Hello"),
        ("hm {\"thought\":\"x\"} </think><response><text>Hello</text></response>", "Hello"),
        ("Hello<think>psst</think>", "Hello"),
        ("Hello\n<thinking>and then it never", "Hello"),
        ("Hello <thought>psst</thought>", "Hello"),
        ("<think>hm<response><text>Hello</text></response>", "Hello"),
    ] {
        let parsed = read(answer);
        assert_eq!(parsed.plan.text, text, "{answer}");
        assert!(parsed.plan.thought.is_some(), "{answer}");
    }
    for all_thought in [
        "<think>and on and on",
        "<think>maybe <response><text>draft</text></response>",
        "<think>x</think>",
    ] {
        let parsed = cut(all_thought);
        assert!(!parsed.usable && parsed.plan.text.is_empty(), "{all_thought}");
        assert!(parsed.plan.thought.is_some());
    }
}

#[test]
fn talk_about_markup_is_left_alone() {
    for text in [
        "Use the <response> tag for that.",
        "POST {\"text\": \"hi\"} to /messages.",
        "```json\n{\"foo\": 1}\n```",
        "```rust\nfn main() { let x = 1 < 2; }\n```",
        "I <3 you & {you} love me",
        "<svg><text x=\"1\">hi</text></svg>",
        "An inline `<think>` has no end here.",
        "{name} is a placeholder",
    ] {
        let parsed = read(text);
        assert_eq!(parsed.plan.text, text);
        assert_eq!(parsed.format, PlanFormat::Plain, "{text}");
        assert!(parsed.repairs.is_empty(), "{text}: {:?}", parsed.repairs);
    }
}

#[test]
fn tool_calls_are_actions() {
    let parsed = called("", &[("REPLY", r#"{"text":"hi"}"#), ("mute_room", "")]);
    assert_eq!((parsed.format, parsed.plan.text.as_str()), (PlanFormat::ToolCalls, "hi"));
    assert_eq!(names(&parsed), ["REPLY", "MUTE_ROOM"]);

    let parsed = called("<think>x</think>Muting.", &[("MUTE_ROOM", "{}")]);
    assert_eq!(names(&parsed), ["REPLY", "MUTE_ROOM"]);
    assert_eq!(parsed.plan.text, "Muting.");

    let parsed = called("I shall reply.", &[("REPLY", "{\"text\": \"hi\nyou\",")]);
    assert_eq!(parsed.plan.text, "hi\nyou");
    assert_eq!(parsed.plan.thought.as_deref(), Some("I shall reply."));
    assert!(!parsed.repairs.is_empty());

    let parsed = called(
        "",
        &[("respond_to_user", r#"{"thought":"t","text":"hi","actions":["MUTE_ROOM"]}"#)],
    );
    assert_eq!((parsed.plan.text.as_str(), names(&parsed)), ("hi", vec!["MUTE_ROOM"]));

    let parsed = called("", &[("delete_everything", "{}")]);
    assert!(!parsed.usable);
    assert_eq!(parsed.repairs, ["call of an unknown tool dropped"]);

    let parsed = called("They were not talking to me.", &[("IGNORE", "{}")]);
    assert_eq!(names(&parsed), ["IGNORE"]);
}

#[test]
fn tool_calls_written_as_words_are_understood() {
    let parsed = read(r#"{"name": "SEND_MESSAGE", "arguments": {"target": "ops", "copies": "3"}}"#);
    assert_eq!(names(&parsed), ["SEND_MESSAGE"]);
    assert_eq!(parsed.plan.actions[0].params, json!({ "target": "ops", "copies": 3 }));
    let parsed = read(
        r#"[{"name":"MUTE_ROOM","arguments":{}},{"name":"REPLY","arguments":{"text":"done"}}]"#,
    );
    assert_eq!((names(&parsed), parsed.plan.text.as_str()), (vec!["MUTE_ROOM", "REPLY"], "done"));
}

#[test]
fn names_match_exactly_first_then_by_simile_then_in_part() {
    for (written, name) in [
        ("mute room", "MUTE_ROOM"),
        ("Mute-Room", "MUTE_ROOM"),
        ("QUIET", "MUTE_ROOM"),
        ("MUTE", "MUTE_ROOM"),
        ("UNMUTE", "UNMUTE_ROOM"),
        ("unmute_channel", "UNMUTE_ROOM"),
        ("SEND_MESSAGES", "SEND_MESSAGE"),
        ("NONE", "REPLY"),
    ] {
        assert_eq!(
            names(&read(&format!("<actions>{written}</actions><text>x</text>"))),
            [name],
            "{written}"
        );
    }
    let parsed = read("<actions>LAUNCH, MUTE_ROOM</actions><text>x</text>");
    assert_eq!(names(&parsed), ["MUTE_ROOM"]);
    assert_eq!(parsed.repairs, ["unknown action dropped"]);
}

#[test]
fn arguments_fit_the_schema() {
    let parsed = read(
        "<response><actions><action><name>SET</name><params><ON>yes</ON><tags><tag>a</tag><tag>b</tag></tags><size>1.5</size></params></action></actions></response>",
    );
    assert_eq!(
        parsed.plan.actions[0].params,
        json!({ "on": true, "tags": ["a", "b"], "size": 1.5 })
    );
    let parsed = called("", &[("SET", r#"{"on":"null","tags":"a, b","size":"2"}"#)]);
    assert_eq!(parsed.plan.actions[0].params, json!({ "on": null, "tags": ["a", "b"], "size": 2 }));
    let parsed = called("", &[("SEND_MESSAGE", r#"{"target":123}"#)]);
    assert_eq!(parsed.plan.actions[0].params, json!({ "target": "123" }));
}

#[test]
fn fixed_values_are_brought_to_their_own_spelling() {
    let schema = json!({ "properties": { "role": { "$ref": "#/$defs/Role" }, "way": { "enum": ["up", "down"] } },
        "$defs": { "Role": { "oneOf": [{ "const": "ADMIN", "type": "string" }, { "const": "NONE", "type": "string" }] } } });
    let fitted =
        crate::plan::coerce::object(json!({ "role": "admin", "way": "UP", "more": "x" }), &schema);
    assert_eq!(fitted, json!({ "role": "ADMIN", "way": "up", "more": "x" }));
}

#[test]
fn none_with_words_speaks_and_providers_can_be_asked_for_by_a_tool() {
    let parsed = read("<response><actions>NONE</actions><text>hi</text></response>");
    assert_eq!((names(&parsed), parsed.plan.text.as_str()), (vec!["REPLY"], "hi"));
    let parsed = read("<response><actions>IGNORE, NONE</actions><text>hi</text></response>");
    assert_eq!(names(&parsed), ["IGNORE", "NONE"]);
    let parsed = called("", &[("LOOK_UP", r#"{"providers":["FACTS"]}"#)]);
    assert!(parsed.usable);
    assert_eq!(parsed.plan.providers, ["FACTS"]);
}

#[test]
fn silence_needs_no_words() {
    let parsed = read(
        "<response><thought>not for me</thought><actions>IGNORE</actions><text></text></response>",
    );
    assert!(parsed.usable && parsed.plan.text.is_empty());
    assert!(!read("<response><actions>REPLY</actions></response>").usable);
}

#[test]
fn should_respond_is_read_from_every_shape() {
    use RespondDecision::{Ignore, Respond, Stop};
    for (text, decision) in [
        (
            "<response><name>Eliza</name><reasoning>x</reasoning><action>RESPOND</action></response>",
            Some(Respond),
        ),
        ("<action> ignore </action>", Some(Ignore)),
        ("<response>\n<action>STOP</action>", Some(Stop)),
        ("```json\n{\"action\": \"STOP\"}\n```", Some(Stop)),
        ("{\"response\": {\"action\": \"IGNORE\"}}", Some(Ignore)),
        ("{'should_respond': True}", Some(Respond)),
        ("<think>RESPOND or STOP?</think> **RESPOND**", Some(Respond)),
        ("ignore.", Some(Ignore)),
        ("[STOP]", Some(Stop)),
        ("NONE", Some(Ignore)),
        ("I would RESPOND here.", Some(Respond)),
        ("Either RESPOND or IGNORE.", None),
        ("Well, hello.", None),
        ("", None),
        ("<think>RESPOND", None),
    ] {
        assert_eq!(parse_should_respond(text), decision, "{text}");
    }
}

#[test]
fn a_call_that_was_cut_off_is_not_carried_out() {
    let read = |finish, text: &str, calls: &[(&str, &str)]| {
        let tool_calls = calls
            .iter()
            .map(|(name, arguments)| ToolCall {
                id: String::new(),
                name: (*name).into(),
                arguments: (*arguments).into(),
            })
            .collect();
        parse(
            &TextAnswer { text: text.into(), tool_calls, finish, ..TextAnswer::default() },
            &known(),
            AnswerForm::Envelope,
        )
    };
    let (whole, torn) =
        (("MUTE_ROOM", "{}"), ("SEND_MESSAGE", r#"{"target":"ops","text":"do not de"#));
    let parsed = read(Finish::Length, "On it.", &[whole, torn]);
    assert_eq!((names(&parsed), parsed.plan.text.as_str()), (vec!["REPLY", "MUTE_ROOM"], "On it."));
    assert_eq!(parsed.repairs, ["tool call cut off in the middle dropped"]);
    assert!(!read(Finish::Length, "", &[torn]).usable, "it is asked for again");
    assert_eq!(
        names(&read(Finish::Length, "", &[("SEND_MESSAGE", r#"{"target":"ops"}"#)])),
        ["SEND_MESSAGE"]
    );
    assert_eq!(
        names(&read(Finish::Tools, "", &[torn])),
        ["SEND_MESSAGE"],
        "a careless model is understood as before"
    );
    assert_eq!(
        read(Finish::Length, "", &[("REPLY", r#"{"text":"Once upon"#)]).plan.text,
        "Once upon"
    );
    assert_eq!(names(&read(Finish::Filtered, "On it.", &[whole, torn])), ["REPLY", "MUTE_ROOM"]);
    assert!(
        !read(Finish::Length, "", &[("SEND_MESSAGE", "")]).usable,
        "it ends before the first argument"
    );
    for text in [
        r#"{"thought":"t","actions":["MUTE_ROOM",{"name":"SEND_MESSAGE","params":{"target":"ops","text":"do not de"#,
        r#"{"response":{"thought":"t","actions":["MUTE_ROOM",{"name":"SEND_MESSAGE"#,
        "<response><thought>t</thought><actions><action><name>MUTE_ROOM</name></action><action><name>SEND_MESSAGE</name><params><target>ops</target><body>do not de",
    ] {
        let parsed = read(Finish::Length, text, &[]);
        assert_eq!(
            (names(&parsed), parsed.repairs.contains(&"action cut off in the middle dropped")),
            (vec!["MUTE_ROOM"], true),
            "{text}"
        );
        assert_eq!(
            names(&read(Finish::Stop, text, &[])),
            ["MUTE_ROOM", "SEND_MESSAGE"],
            "a careless model is understood as before: {text}"
        );
    }
    for text in [
        r#"{"actions":["MUTE_ROOM"],"text":"Once upon"#,
        "<response><actions>REPLY,MUTE_ROOM</actions><text>Once upon",
    ] {
        let parsed = read(Finish::Length, text, &[]);
        assert!(
            names(&parsed).contains(&"MUTE_ROOM") && parsed.plan.text == "Once upon",
            "the action was whole: {parsed:?}"
        );
    }
}
