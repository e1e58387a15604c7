//! The small model's decision whether to answer at all.

use serde_json::Value;

use super::{
    json,
    tag::tag_at,
    think, tree,
    types::{AnswerForm, MAX_ANSWER, Repairs},
};
use galatea_core::model::Finish;

/// The small model's verdict on a message that was not addressed to the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RespondDecision {
    /// The agent joins in.
    Respond,
    /// The agent leaves this message alone.
    Ignore,
    /// The agent was asked to be quiet: skip the message. (elizaOS answers here; that is a fault.)
    Stop,
}

/// Keys and elements that hold the decision.
const PLACES: [&str; 6] =
    ["action", "actions", "decision", "answer", "should_respond", "shouldrespond"];

/// Reads a shouldRespond answer: `<action>RESPOND</action>`, `{"action": "RESPOND"}` or the bare
/// word, reasoning in front allowed. `None` when it decides nothing or contradicts itself.
pub fn parse_should_respond(text: &str) -> Option<RespondDecision> {
    let text = &text[..text.floor_char_boundary(MAX_ANSWER)];
    let body =
        think::split(text, Finish::Stop, AnswerForm::Envelope, &mut Repairs::default()).rest.trim();
    from_xml(body).or_else(|| from_json(body)).or_else(|| from_words(body))
}

fn from_xml(body: &str) -> Option<RespondDecision> {
    let at = body
        .match_indices('<')
        .map(|(at, _)| at)
        .find(|at| tag_at(&body[*at..]).is_some_and(|t| !t.closing))?;
    find(&tree::parse(&body[at..]), 4)
}

fn from_json(body: &str) -> Option<RespondDecision> {
    let at = body.find('{')?;
    let value = json::arguments(&body[at..], &mut Repairs::default());
    find(&value, 4)
}

fn find(value: &Value, depth: usize) -> Option<RespondDecision> {
    let map = value.as_object().filter(|_| depth > 0)?;
    let named = map.iter().filter(|(key, _)| PLACES.iter().any(|p| key.eq_ignore_ascii_case(p)));
    named.filter_map(|(_, v)| decision(v)).next().or_else(|| {
        let inner = map.iter().filter(|(key, _)| key.eq_ignore_ascii_case("response"));
        inner.filter_map(|(_, v)| decision(v).or_else(|| find(v, depth - 1))).next()
    })
}

fn decision(value: &Value) -> Option<RespondDecision> {
    match value {
        Value::Bool(true) => Some(RespondDecision::Respond),
        Value::Bool(false) => Some(RespondDecision::Ignore),
        Value::String(text) => word(text),
        Value::Array(items) => items.first().and_then(decision),
        _ => None,
    }
}

fn word(text: &str) -> Option<RespondDecision> {
    let text = text.trim_matches(|c: char| !c.is_alphanumeric());
    let is = |words: &[&str]| words.iter().any(|w| text.eq_ignore_ascii_case(w));
    if is(&["RESPOND", "REPLY", "ANSWER", "YES", "TRUE"]) {
        Some(RespondDecision::Respond)
    } else if is(&["IGNORE", "NONE", "SKIP", "NO", "FALSE"]) {
        Some(RespondDecision::Ignore)
    } else if is(&["STOP"]) {
        Some(RespondDecision::Stop)
    } else {
        None
    }
}

/// The bare word, or a sentence in which exactly one of the three is written in capitals.
fn from_words(body: &str) -> Option<RespondDecision> {
    if let Some(bare) = word(body) {
        return Some(bare);
    }
    let mut found = None;
    for candidate in body.split(|c: char| !c.is_alphanumeric() && c != '_') {
        let this = match candidate {
            "RESPOND" => RespondDecision::Respond,
            "IGNORE" => RespondDecision::Ignore,
            "STOP" => RespondDecision::Stop,
            _ => continue,
        };
        if found.is_some_and(|other| other != this) {
            return None;
        }
        found = Some(this);
    }
    found
}
