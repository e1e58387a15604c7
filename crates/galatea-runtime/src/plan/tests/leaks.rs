//! What leaks out of models, and answers that only look like it. Each is a record of a data file:
//! `leaks.txt` holds answers with what is left of them, `legitimate.txt` those that stay as they are.

use galatea_core::model::TextAnswer;
use serde_json::Value;

use super::known;
use crate::plan::{AnswerForm, Parsed, Talk, parse, take_name_off, tidy};

const LEAKS: &str = include_str!("leaks.txt");
const LEGITIMATE: &str = include_str!("legitimate.txt");

fn talk(place: &str, question: &str) -> Talk {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Talk {
        own: names(&["Juniper", "juniper_bot"]),
        others: names(&["Ada", "Bo", "Dora Lane"]),
        asker: names(&["Ada", "77"]),
        here: names(&["tea room"]),
        direct: place == "private",
        question: question.to_owned(),
        said: names(&["I live in Ghent.", question]),
        heads: names(&["# Dogs of this club", "[1] Rules of the kiln"]),
    }
}

fn read(place: &str, question: &str, answer: &str, form: AnswerForm) -> Parsed {
    let answer = TextAnswer { text: answer.to_owned(), ..TextAnswer::default() };
    let mut parsed = parse(&answer, &known(), form);
    take_name_off(&mut parsed, ["Juniper", "juniper_bot"].into_iter());
    tidy(&mut parsed, &talk(place, question), &known());
    parsed
}

/// What is done and said, as the data file writes it.
fn shown(parsed: &Parsed) -> String {
    if !parsed.usable {
        return "AGAIN".to_owned();
    }
    let calls = parsed.plan.actions.iter().filter(|action| action.name != "REPLY");
    let calls = calls.map(|action| format!("CALL {} {}", action.name, action.params));
    let said = Some(parsed.plan.text.clone()).filter(|text| !text.is_empty());
    said.into_iter().chain(calls).collect::<Vec<_>>().join("\n")
}

fn records(data: &str) -> Vec<(&str, &str)> {
    let records = data.trim().split("\n=====\n");
    records.map(|record| record.split_once("\n<<<\n").unwrap()).collect()
}

#[test]
fn what_leaks_is_taken_off_or_asked_again() {
    let records = records(LEAKS);
    assert!(records.len() >= 60, "{} forms", records.len());
    let mut wrong = Vec::new();
    for (head, body) in records {
        let (name, place) = head.split_once('\n').unwrap();
        let (place, question) = place.split_once(" | ").unwrap();
        let (answer, wanted) = body.split_once("\n>>>\n").unwrap();
        let parsed = read(place, question, answer, AnswerForm::Words);
        if shown(&parsed) != wanted {
            wrong.push(format!("## {name}\n{}\n-- instead of --\n{wanted}\n", shown(&parsed)));
        }
        let said = parsed.plan.actions.iter().find(|action| action.name == "REPLY");
        let said = said.and_then(|reply| reply.params.get("text")).and_then(Value::as_str);
        assert!(said.is_none_or(|said| said == parsed.plan.text), "{name}: REPLY says {said:?}");
        // Whatever is left stays as it is when it comes back as an answer.
        if parsed.usable && !parsed.plan.text.is_empty() {
            let again = read(place, question, &parsed.plan.text, AnswerForm::Words);
            assert_eq!(again.plan.text, parsed.plan.text, "{name} is not stable");
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn what_only_looks_like_a_leak_stays() {
    let records = records(LEGITIMATE);
    assert!(records.len() >= 40, "{} answers", records.len());
    let mut wrong = Vec::new();
    for (head, answer) in records {
        let (place, question) = head.split_once(" | ").unwrap();
        for form in [AnswerForm::Words, AnswerForm::JsonOrWords] {
            let parsed = read(place, question, answer, form);
            if shown(&parsed) != answer {
                wrong.push(format!(
                    "## {question} {form:?}\n{}\n-- instead of --\n{answer}\n",
                    shown(&parsed)
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// A filter that takes everything away would pass the first test; one that does nothing would pass
/// the second. Pieces of both, put together, have to be free of marks and must not panic.
#[test]
fn pieces_in_any_order_leave_no_mark() {
    let marks = [
        "<|im_end|>",
        "[Notes]\n",
        "<tool_call>",
        "Juniper: ",
        "> ",
        "{{\"name\": \"MUTE_ROOM\", \"arguments\": {}}}",
    ];
    for first in marks {
        for second in marks {
            let answer = format!("{first}{second}Your dog is called Pip.<|im_end|>");
            let said = read("private", "And the dog?", &answer, AnswerForm::Words).plan.text;
            for mark in ["<|", "[Notes]", "Juniper:", "{\"name\""] {
                assert!(!said.contains(mark), "{answer:?} says {said:?}");
            }
        }
    }
}

/// The work stays linear in the answer's length: a megabyte of any of these would take hours
/// otherwise.
#[test]
fn a_long_answer_of_one_piece_ends() {
    for piece in [
        "User: x\n",
        "Ada: x\n",
        "Juniper: x\n",
        "no. ",
        "no ",
        "> a\n",
        "- a\n",
        "\n\n",
        "[",
        "{{",
        "# a\n",
        "It is ",
        "REPLY: ",
        "```\n",
        "<tool_call>",
        "<function=a>",
        "[TOOL_CALLS]",
        "a\n\n",
        "MUTE_ROOM()\n",
        "Action: ",
        "<|im_end|>",
        "a|",
        "Ada [",
        "thought: ",
    ] {
        let answer = piece.repeat((1 << 17) / piece.len());
        read("group", "hello?", &answer, AnswerForm::Words);
    }
}
