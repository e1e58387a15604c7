//! Rewrites a request whose field or role a service refuses. Pure.
//!
//! Services of one format differ in the fields that they take: one refuses names of speakers,
//! another the system role, a third the name of the limit. No list of them is complete, so a
//! refusal is read ([`recognise`]) and the request is made again without its cause.

pub(crate) mod recognise;

use serde_json::{Map, Value, json};

use crate::choices::adjustment::Adjustment;

/// Stands before an own message where the conversation has to begin with a person's.
const EARLIER: &str = "(Earlier messages are not shown.)";
/// Stands for a picture that a model does not take.
const NO_PICTURE: &str = "(a picture that cannot be shown)";

/// Applies adjustments to a request, in their order.
pub(crate) fn adjust(body: &mut Value, adjustments: &[Adjustment]) {
    let mut ordered: Vec<&Adjustment> = adjustments.iter().collect();
    ordered.sort();
    for adjustment in ordered {
        match adjustment {
            Adjustment::Renamed(from, to) => {
                if let Some(body) = body.as_object_mut()
                    && let Some(value) = body.remove(from)
                {
                    body.insert(to.clone(), value);
                }
            }
            Adjustment::SystemInFront => system_in_front(body),
            Adjustment::LateSystem => late_system(body),
            Adjustment::Turns => turns(body),
            Adjustment::NoPictures => without_pictures(body),
            Adjustment::Without(field) => {
                let path: Vec<&str> = field.split('.').collect();
                without(body, &path);
            }
        }
    }
}

/// True if an adjustment would change this request.
pub(crate) fn changes(body: &Value, adjustment: &Adjustment) -> bool {
    let mut adjusted = body.clone();
    adjust(&mut adjusted, std::slice::from_ref(adjustment));
    adjusted != *body
}

fn without(value: &mut Value, path: &[&str]) {
    match (value, path) {
        (Value::Array(list), path) => list.iter_mut().for_each(|item| without(item, path)),
        (Value::Object(object), [last]) => {
            object.remove(*last);
        }
        (Value::Object(object), [first, rest @ ..]) => {
            if let Some(inner) = object.get_mut(*first) {
                without(inner, rest);
            }
        }
        _ => {}
    }
}

/// The name of the list of messages: OpenAI's and Anthropic's, Google's, that of Responses.
fn list_name(body: &Value) -> Option<&'static str> {
    ["messages", "contents", "input"].into_iter().find(|name| body[*name].is_array())
}

/// The field of a message that holds what it says.
fn said_in(list: &str) -> &'static str {
    if list == "contents" { "parts" } else { "content" }
}

/// A piece of text in a list of pieces.
fn text_piece(list: &str, text: &str) -> Value {
    match list {
        "contents" => json!({ "text": text }),
        "input" => json!({ "type": "input_text", "text": text }),
        _ => json!({ "type": "text", "text": text }),
    }
}

fn message(list: &str, role: &str, text: &str) -> Value {
    let said = if list == "contents" { json!([text_piece(list, text)]) } else { Value::from(text) };
    json!({ "role": role, said_in(list): said })
}

/// True if a message holds instructions.
fn is_system(message: &Value) -> bool {
    matches!(message["role"].as_str(), Some("system" | "developer"))
}

/// All text of a content: a string, a piece, or a list of pieces.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(pieces) => pieces
            .iter()
            .map(text_of)
            .filter(|text| !text.is_empty())
            .collect::<Vec<_>>()
            .join("\n\n"),
        Value::Object(piece) => {
            piece.get("text").or(piece.get("parts")).map(text_of).unwrap_or_default()
        }
        _ => String::new(),
    }
}

/// Joins two contents into one.
fn joined(list: &str, first: Value, second: Value, between: &str) -> Value {
    let pieces = |content: Value| match content {
        Value::Array(pieces) => pieces,
        Value::String(text) => vec![text_piece(list, &text)],
        other => vec![other],
    };
    match (first, second) {
        (Value::String(first), Value::String(second)) => {
            Value::from(format!("{first}{between}{second}"))
        }
        (first, second) => Value::Array(pieces(first).into_iter().chain(pieces(second)).collect()),
    }
}

/// Fields of a body that hold instructions apart from the messages.
const INSTRUCTIONS: [&str; 3] = ["system", "systemInstruction", "instructions"];

fn system_in_front(body: &mut Value) {
    late_system(body);
    let Some(list) = list_name(body) else { return };
    let Some(object) = body.as_object_mut() else { return };
    let mut texts: Vec<String> = INSTRUCTIONS
        .into_iter()
        .filter_map(|name| object.remove(name))
        .map(|content| text_of(&content))
        .collect();
    let Some(Value::Array(messages)) = object.get_mut(list) else { return };
    let said = said_in(list);
    while messages.first().is_some_and(is_system) {
        texts.push(text_of(&messages.remove(0)[said]));
    }
    texts.retain(|text| !text.trim().is_empty());
    if texts.is_empty() {
        return;
    }
    let text = texts.join("\n\n");
    match messages.first_mut().filter(|first| first["role"] == "user") {
        Some(first) => {
            let instructions = message(list, "user", &text);
            first[said] = joined(list, instructions[said].clone(), first[said].take(), "\n\n");
        }
        None => messages.insert(0, message(list, "user", &text)),
    }
}

fn late_system(body: &mut Value) {
    let Some(list) = list_name(body) else { return };
    let apart = INSTRUCTIONS.iter().any(|name| body.get(name).is_some());
    let Some(messages) = body[list].as_array_mut() else { return };
    let said = said_in(list);
    // A chat template takes one system message at the beginning.
    let late = messages.iter_mut().skip(usize::from(!apart));
    for instructions in late.filter(|message| is_system(message)) {
        // Parentheses tell them from what people say, and the line break from what follows.
        let text = format!("({})\n", text_of(&instructions[said]).trim());
        *instructions = message(list, "user", &text);
    }
}

fn turns(body: &mut Value) {
    let Some(list) = list_name(body) else { return };
    let said = said_in(list);
    let Some(messages) = body[list].as_array_mut() else { return };
    let mut taken: Vec<Value> = Vec::with_capacity(messages.len() + 1);
    for mut message in std::mem::take(messages) {
        let only_words = |message: &Value| {
            message.as_object().is_some_and(|fields: &Map<String, Value>| {
                fields.keys().all(|key| ["role", "name"].contains(&key.as_str()) || key == said)
            })
        };
        let last = taken.last_mut().filter(|last| {
            last["role"] == message["role"] && only_words(last) && only_words(&message)
        });
        let Some(last) = last else {
            taken.push(message);
            continue;
        };
        // The text of a message names its author where several people speak.
        last.as_object_mut().map(|fields| fields.remove("name"));
        last[said] = joined(list, last[said].take(), message[said].take(), "\n");
    }
    let first = taken.iter().position(|message| !is_system(message));
    if let Some(first) = first.filter(|at| taken[*at]["role"] != "user") {
        taken.insert(first, message(list, "user", EARLIER));
    }
    *messages = taken;
}

/// True if a piece of a content is a picture.
fn is_picture(piece: &Value) -> bool {
    let named = piece["type"].as_str().is_some_and(|kind| kind.contains("image"));
    named || piece["inlineData"].is_object()
}

fn without_pictures(body: &mut Value) {
    let Some(list) = list_name(body) else { return };
    let said = said_in(list);
    let Some(messages) = body[list].as_array_mut() else { return };
    for message in messages {
        if let Some(fields) = message.as_object_mut() {
            fields.remove("images");
        }
        let Some(pieces) = message[said].as_array_mut() else { continue };
        if !pieces.iter().any(is_picture) {
            continue;
        }
        for piece in pieces.iter_mut().filter(|piece| is_picture(piece)) {
            *piece = text_piece(list, NO_PICTURE);
        }
        // A model without pictures may take no list at all.
        if list == "messages" {
            message[said] = Value::from(text_of(&message[said]));
        }
    }
}

#[cfg(test)]
mod tests;
