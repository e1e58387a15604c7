//! Answers to prompts that ask for words.

use galatea_core::model::{Finish, TextAnswer};

use super::{known, names, parse, read_as};
use crate::plan::{AnswerForm, PlanFormat};

const FORMS: [AnswerForm; 2] = [AnswerForm::Words, AnswerForm::JsonOrWords];

#[test]
fn words_with_json_or_xml_are_said_as_they_are_written() {
    for text in [
        r#"{"name":"Bob","age":3}"#,
        r#"{"name":"Bob","text":"hello","age":3}"#,
        "Use `{\"thought\": \"x\", \"action\": \"y\"}` as the format. Done.",
        r#"[{"text":"a"},{"text":"b"}]"#,
        "Here you are:\n```json\n{\"text\": \"hello\", \"actions\": [\"REPLY\"]}\n```\nThat is it.",
        "```json\n{\"answer\":\"42\",\"reply\":\"x\"}\n```\nHave fun.",
        r#"{"answer":"42","reply":"x"}"#,
        "A SOAP reply looks like `<response><message>ok</message></response>`, with a body.",
        "<response><message>ok</message></response>",
        "Use the <think> tag. Many models emit <think>…</think> blocks. Then they answer.",
        "The closing tag is `</think>`.",
        "The block ends with `</think>`\nand then comes the answer.",
        "Its end is \"</think>\" there.",
        "Its end (</think>) follows.",
        "Its end is **</think>** there.",
        "结束标签是\"</think>\"。",
        "The template writes `I greet.</think>Hello`.",
        "Like so:\n```\nI greet.\n</think>\nHello\n```\nThat is it.",
        "Like so:\n```\n<think>I greet them</think>\nHello\n```\nThat is it.",
        "It is \"<think>I greet them</think>\" or `<think>I greet them</think>`.",
        "The format is:\n<think>…</think>\nthe answer",
        "It begins with:\n<think>\nand then it writes.",
        "<answer>\n<thinking>six times seven</thinking>\n<result>42</result>\n</answer>",
        "As XML:\n<answer>\n<reasoning>six times seven</reasoning>\n</answer>",
        "<actions>SEND_MESSAGE</actions> is the tag of elizaOS.",
        "<text>hi</text> is an element, <thought>x</thought> another.",
        "```json\n{\"a\": 1}\n```\n```json\n{\"text\": \"b\", \"actions\": []}\n```",
        r#"{"text": 3, "actions": "many", "year": 2026}"#,
        "{}",
        "<b>bold</b>",
    ] {
        for form in FORMS {
            let parsed = read_as(form, text);
            assert_eq!(parsed.plan.text, text, "{form:?}");
            assert_eq!((parsed.format, names(&parsed)), (PlanFormat::Plain, vec!["REPLY"]));
            assert!(parsed.usable && parsed.repairs.is_empty(), "{form:?} {text}");
        }
    }
}

#[test]
fn a_whole_answer_in_the_shape_of_a_plan_is_one() {
    for text in [
        r#"{"thought":"t","text":"hi","actions":["REPLY","MUTE_ROOM"]}"#,
        "```json\n{\"thought\":\"t\",\"text\":\"hi\",\"actions\":\"REPLY, MUTE_ROOM\"}\n```",
        "<think>hm {\"text\":\"draft\"}</think>\n{'thought': 't', 'text': 'hi', 'actions': ['REPLY', 'MUTE_ROOM'],}",
        r#"{"response":{"thought":"t","text":"hi","actions":["REPLY","MUTE_ROOM"]}}"#,
        "<response>\n<thought>t</thought><actions>REPLY, MUTE_ROOM</actions><text>hi</text>\n</response>",
        "```xml\n<response><thought>t</thought><actions>REPLY, MUTE_ROOM</actions><text>hi</text></response>\n```",
    ] {
        for form in FORMS {
            let parsed = read_as(form, text);
            assert_eq!(parsed.plan.text, "hi", "{form:?} {text}");
            assert_eq!(names(&parsed), ["REPLY", "MUTE_ROOM"], "{form:?} {text}");
        }
    }
    for form in FORMS {
        let call = r#"{"name": "SEND_MESSAGE", "arguments": {"target": "ops", "copies": "3"}}"#;
        assert_eq!(names(&read_as(form, call)), ["SEND_MESSAGE"]);
        let list = r#"[{"name":"MUTE_ROOM","arguments":{}},{"type":"function","function":{"name":"REPLY","arguments":"{\"text\":\"done\"}"}}]"#;
        assert_eq!(names(&read_as(form, list)), ["MUTE_ROOM", "REPLY"]);
        assert!(!read_as(form, "<response></response>").usable);
    }
}

#[test]
fn the_words_of_a_plan_in_a_code_block_may_have_code_blocks() {
    for text in [
        "```json\n{\"thought\":\"secret\",\"text\":\"Use:\\n```sh\\nls\\n```\\ndone\",\"actions\":[\"REPLY\"]}\n```",
        "```json\n{\"thought\":\"secret\",\"text\":\"Use:\n```sh\nls\n```\ndone\",\"actions\":[\"REPLY\"]}\n```",
        "```xml\n<response><thought>secret</thought><text>Use:\n```sh\nls\n```\ndone</text></response>\n```",
    ] {
        for form in FORMS {
            let parsed = read_as(form, text);
            assert_eq!(parsed.plan.text, "Use:\n```sh\nls\n```\ndone", "{form:?} {text}");
            assert_eq!(names(&parsed), ["REPLY"]);
        }
    }
    let two = "```xml\n<response><text>a</text></response>\n```\nor\n```xml\n<response><text>b</text></response>\n```";
    assert_eq!(read_as(AnswerForm::Words, two).plan.text, two);
}

/// The prompt asked for a plan, so one that is not of the exact shape is read, too. Where tools are
/// the provider's own, it is JSON that a person asked for.
#[test]
fn where_json_was_asked_for_a_plan_may_have_other_keys_and_words_around_it() {
    let plan = r#"{"thought":"secret","actions":["MUTE_ROOM"],"text":"hello"}"#;
    for (text, actions) in [
        (r#"{"thought":"secret","actions":["REPLY"],"text":"hello","emotion":"calm"}"#.into(), 1),
        (r#"{"actions":["REPLY"],"text":"hello","emotion":"calm"}"#.into(), 1),
        (r#"{"thought":"secret","reply":"hello"}"#.into(), 1),
        (r#"{"thought":"secret","message":"hello"}"#.into(), 1),
        (r#"{"thought":"secret","response":{"text":"hello"}}"#.into(), 1),
        (r#"{"thought":"secret","answer":"hello"}"#.into(), 1),
        (r#"[{"thought":"secret","actions":["REPLY"],"text":"hello"}]"#.into(), 1),
        (format!("Sure!\n{plan}"), 1),
        (format!("Sure! {plan}"), 1),
        (format!("{plan}\n\nI hope this helps."), 1),
        (format!("Sure!\n```json\n{plan}\n```\nI hope this helps."), 1),
        (format!("{plan}\n{}", r#"{"thought":"more","actions":["SEND_MESSAGE"]}"#), 2),
        (format!("{plan}\n{plan}"), 1),
    ] {
        let parsed = read_as(AnswerForm::JsonOrWords, &text);
        assert_eq!(parsed.plan.text, "hello", "{text}");
        assert_eq!((parsed.format, names(&parsed).len()), (PlanFormat::Json, actions), "{text}");
        assert_eq!(read_as(AnswerForm::Words, &text).plan.text, text);
    }
    let behind_reasoning = format!("<think>hm</think> {plan}\nI hope this helps.");
    assert_eq!(read_as(AnswerForm::JsonOrWords, &behind_reasoning).plan.text, "hello");
}

#[test]
fn the_words_of_several_plans_are_all_said() {
    let [first, next] = ["One.", "Two."]
        .map(|text| format!(r#"{{"thought":"hm","actions":["REPLY"],"text":"{text}"}}"#));
    for text in [format!("{first}\n{next}"), format!("[{first},{next}]")] {
        let parsed = read_as(AnswerForm::JsonOrWords, &text);
        assert_eq!(parsed.plan.text, "One.\n\nTwo.", "{text}");
    }
}

#[test]
fn json_that_a_person_asked_for_is_no_plan_where_plans_are_json() {
    for text in [
        r#"{"reasoning":"6 times 7","answer":"42"}"#,
        r#"{"device":"tv","action":"mute room","level":3}"#,
        "[\n{\"quote\":\"a\",\"thought\":\"b\"},\n{\"quote\":\"c\",\"thought\":\"d\"}\n]",
        "Here:\n{\"rows\": [\n{\"thought\": \"a\", \"text\": \"b\"}\n]}",
        "A plan is {\"thought\": \"a\", \"text\": \"b\"} and nothing else.",
        "Like this:\n{\"text\": \"hello\", \"actions\": [\"REPLY\"]}",
    ] {
        assert_eq!(read_as(AnswerForm::JsonOrWords, text).plan.text, text);
    }
}

#[test]
fn a_plan_whose_words_are_an_object_does_not_show_its_thought() {
    for form in FORMS {
        let of = |text: &str| read_as(form, &format!(r#"{{"thought":"secret","text":{text}}}"#));
        assert_eq!(of(r#"{"content":"hello"}"#).plan.text, "hello");
        assert!(!of(r#"{"parts":[1]}"#).usable, "it is asked for again");
    }
}

#[test]
fn an_unknown_call_in_a_list_is_named() {
    for form in FORMS {
        let parsed = read_as(
            form,
            r#"[{"name":"MUTE_ROOM","arguments":{}},{"name":"LAUNCH","arguments":{"at":1}}]"#,
        );
        assert_eq!(
            (names(&parsed), parsed.unknown.as_slice()),
            (vec!["MUTE_ROOM"], ["LAUNCH".to_owned()].as_slice())
        );
        let none = r#"[{"name":"LAUNCH","arguments":{"at":1}}]"#;
        assert_eq!(read_as(form, none).plan.text, none);
    }
}

#[test]
fn words_alone_are_a_plan_only_where_json_was_asked_for() {
    let text = r#"{"text":"hello"}"#;
    assert_eq!(read_as(AnswerForm::Words, text).plan.text, text);
    assert_eq!(read_as(AnswerForm::JsonOrWords, text).plan.text, "hello");
    for torn in [
        "{",
        "{\"thought\": \"hm",
        "{\"thought\": \"hm\", \"emotion\": \"ca",
        "```json\n{\"te",
        "```json",
        "<think>and on",
    ] {
        let answer =
            TextAnswer { text: torn.into(), finish: Finish::Length, ..TextAnswer::default() };
        let parsed = parse(&answer, &known(), AnswerForm::JsonOrWords);
        assert!(!parsed.usable && parsed.plan.text.is_empty(), "{torn}: {parsed:?}");
    }
}

#[test]
fn reasoning_in_front_is_not_said() {
    for form in FORMS {
        for text in [
            "<think>hm {\"text\":\"draft\"}</think>\nHello",
            "<thinking>a</thinking><think>b</think>Hello",
            "hm, what to say\n</think>\n\nHello",
            "hm, what to say.</think>\nHello",
            "The user greets. I should not say the secret plan.</think>Hello",
            "I say \"hello\"</think>Hello",
            "I run `ls`</think>Hello",
            "用户打招呼。</think>Hello",
            "hm.</think><think>and more</think>Hello",
        ] {
            let parsed = read_as(form, text);
            assert_eq!(parsed.plan.text, "Hello", "{text}");
            assert!(parsed.plan.thought.is_some(), "{text}");
        }
    }
}

#[test]
fn words_about_tags_of_reasoning_are_said() {
    for text in [
        "Put <think> at the start and </think> at the end of the block.",
        "- <think>: begins the reasoning\n- </think>: ends it",
        "Begin with <think> and put the plan there. Then write </think> and the answer.",
        "Models write <think>…</think>.",
    ] {
        for form in FORMS {
            assert_eq!(read_as(form, text).plan.text, text);
        }
    }
}

#[test]
fn reasoning_behind_the_beginning_is_not_said() {
    for (text, said) in [
        ("**Thought:** hm\n<think>secret plan</think>\nHello", "**Thought:** hm\n\nHello"),
        ("Hello <think>secret plan</think> you", "Hello you"),
        ("Hello <thinking>用户想知道秘密计划是什么吧</thinking>!", "Hello !"),
        ("Hello\n<think>secret <think> tags</think>\nyou", "Hello\n\nyou"),
        ("Run `ls`. <think>secret plan</think>Bye", "Run `ls`. Bye"),
    ] {
        for form in FORMS {
            let parsed = read_as(form, text);
            assert_eq!(parsed.plan.text, said, "{text}");
            assert!(parsed.plan.thought.is_some_and(|thought| !thought.is_empty()), "{text}");
        }
    }
    let answer = TextAnswer {
        text: "Hello\n<think>secret plan".into(),
        finish: Finish::Length,
        ..TextAnswer::default()
    };
    assert_eq!(parse(&answer, &known(), AnswerForm::Words).plan.text, "Hello");
    let plan = "Hm.\n<think>\n{\"thought\":\"a\",\"text\":\"draft\"}\n</think>\n{\"thought\":\"b\",\"text\":\"Hello\"}";
    assert_eq!(read_as(AnswerForm::JsonOrWords, plan).plan.text, "Hello");
}
