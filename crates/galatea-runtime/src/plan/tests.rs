//! Examples and properties of the plan parser.

mod damage;
mod examples;
mod leaks;
mod render;
mod whole;

use galatea_core::{
    action::ActionDocs,
    model::{Finish, TextAnswer, ToolCall},
};
use serde_json::json;
use std::sync::Arc;

use super::{AnswerForm, Parsed, parse};

/// The actions most tests offer.
fn known() -> Vec<Arc<ActionDocs>> {
    let docs = |name: &str, similes: &[&str], properties: serde_json::Value| {
        Arc::new(ActionDocs {
            name: name.to_owned(),
            similes: similes.iter().map(|s| (*s).to_owned()).collect(),
            description: String::new(),
            parameters: Arc::new(json!({ "type": "object", "properties": properties })),
        })
    };
    vec![
        docs("REPLY", &["GREET", "RESPOND"], json!({ "text": { "type": "string" } })),
        docs("IGNORE", &["STOP_TALKING"], json!({})),
        docs("UNMUTE_ROOM", &["UNMUTE_CHANNEL"], json!({})),
        docs("MUTE_ROOM", &["MUTE_CHANNEL", "QUIET"], json!({})),
        docs(
            "SEND_MESSAGE",
            &["DM"],
            json!({ "target": { "type": "string" }, "text": { "type": "string" }, "copies": { "type": "integer" } }),
        ),
        docs(
            "SET",
            &[],
            json!({ "on": { "type": ["boolean", "null"] }, "tags": { "type": "array", "items": { "type": "string" } }, "size": { "type": "number" } }),
        ),
    ]
}

fn read(text: &str) -> Parsed {
    read_as(AnswerForm::Envelope, text)
}

fn read_as(form: AnswerForm, text: &str) -> Parsed {
    parse(&TextAnswer { text: text.to_owned(), ..TextAnswer::default() }, &known(), form)
}

fn cut(text: &str) -> Parsed {
    parse(
        &TextAnswer { text: text.to_owned(), finish: Finish::Length, ..TextAnswer::default() },
        &known(),
        AnswerForm::Envelope,
    )
}

fn called(text: &str, calls: &[(&str, &str)]) -> Parsed {
    let tool_calls = calls.iter().map(|(name, arguments)| ToolCall {
        id: String::new(),
        name: (*name).to_owned(),
        arguments: (*arguments).to_owned(),
    });
    parse(
        &TextAnswer {
            text: text.to_owned(),
            tool_calls: tool_calls.collect(),
            ..TextAnswer::default()
        },
        &known(),
        AnswerForm::Words,
    )
}

fn names(parsed: &Parsed) -> Vec<&str> {
    parsed.plan.actions.iter().map(|a| a.name.as_str()).collect()
}
