//! A text model's answer as JSON that fits a schema (elizaOS `OBJECT_SMALL`, `OBJECT_LARGE`).
//! Broken JSON is mended; what does not fit is asked for again, with what is wrong.

use serde_json::Value;
use std::sync::Arc;

use super::{ChatMessage, Finish, TextAnswer, TextModel, TextRequest, Usage, schema::misfits};
use crate::{
    error::{Error, ErrorKind, Result},
    mended_json,
};

/// Times a model is asked for an object: once, and twice more with what was wrong.
const ASKS: usize = 3;
/// Characters of an unfit answer that the model is shown again.
const SHOWN: usize = 4_000;

/// What came of asking for an object.
#[derive(Debug, Clone, PartialEq)]
pub struct Object {
    /// It fits the schema.
    pub value: Value,
    /// What all calls used together.
    pub usage: Usage,
    /// How often the model was asked.
    pub asks: usize,
}

/// Asks a model for an object that fits a JSON Schema. The request says what the object is about;
/// the schema is added to its instructions.
///
/// # Errors
/// Those of the model; `Unexpected` with the code `GAL-MODEL-UNUSABLE` and the last misfits when
/// its third answer does not fit either.
pub async fn generate(
    model: &dyn TextModel,
    request: &TextRequest,
    schema: &Value,
) -> Result<Object> {
    let form = form_of(schema);
    let system = request.system.as_deref().map(|own| format!("{own}\n\n{form}"));
    let request = TextRequest {
        system: Some(system.unwrap_or(form)),
        tools: Arc::default(),
        ..request.clone()
    };
    let read = |answer: &TextAnswer| match read(&answer.text) {
        Some(_) if answer.finish == Finish::Length => Err(cut_off()),
        Some(value) => {
            let wrong = misfits(&value, schema);
            if wrong.is_empty() { Ok(value) } else { Err(wrong) }
        }
        None => Err(no_json()),
    };
    let Asked { value, usage, asks, .. } = ask(model, &request, ASKS, read).await?;
    Ok(Object { value, usage, asks })
}

/// What came of asking for an answer of a form that the instructions describe.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked<T> {
    /// The value, which fits the schema.
    pub value: T,
    /// The model's last answer, for its usage.
    pub answer: TextAnswer,
    /// What all calls used together.
    pub usage: Usage,
    /// How often the model was asked.
    pub asks: usize,
}

/// Asks a model for an answer that `read` takes, at most `asks` times. The request's instructions
/// describe the form; nothing is added to them. What `read` finds wrong is put to the model together
/// with its answer, and it is asked again.
///
/// # Errors
/// Those of the model; `Unexpected` with the code `GAL-MODEL-UNUSABLE` and what was wrong with the
/// last answer.
pub async fn ask<T>(
    model: &dyn TextModel,
    request: &TextRequest,
    asks: usize,
    read: impl Fn(&TextAnswer) -> std::result::Result<T, Vec<String>>,
) -> Result<Asked<T>> {
    let mut request = request.clone();
    let mut usage = Usage::default();
    let mut wrong = Vec::new();
    for nth in 1..=asks {
        let answer = model.generate(&request, &|_| {}).await?;
        usage.input = usage.input.saturating_add(answer.usage.input);
        usage.cached = usage.cached.saturating_add(answer.usage.cached);
        usage.stored = usage.stored.saturating_add(answer.usage.stored);
        usage.stored_long = usage.stored_long.saturating_add(answer.usage.stored_long);
        usage.output = usage.output.saturating_add(answer.usage.output);
        wrong = match read(&answer) {
            Ok(value) => return Ok(Asked { value, answer, usage, asks: nth }),
            Err(wrong) => wrong,
        };
        let said: String = answer.text.chars().take(SHOWN).collect();
        let messages = Arc::make_mut(&mut request.messages);
        if !said.trim().is_empty() {
            messages.push(ChatMessage::assistant(said));
        }
        messages.push(ChatMessage::user(format!(
            "That does not fit the schema:\n- {}\nWrite the whole JSON value again, and nothing else.",
            wrong.join("\n- ")
        )));
    }
    Err(Error::new(ErrorKind::Unexpected, "the model gave no object that fits its schema")
        .with_code("GAL-MODEL-UNUSABLE")
        .with("asks", asks)
        .with("misfits", wrong.join("; ")))
}

/// What is wrong with an answer that was cut off.
pub fn cut_off() -> Vec<String> {
    vec!["the answer: was cut off, make it shorter".to_owned()]
}

/// What is wrong with an answer without JSON.
pub fn no_json() -> Vec<String> {
    vec!["the answer: holds no JSON".to_owned()]
}

fn form_of(schema: &Value) -> String {
    format!("Answer with one JSON value only, which fits this JSON Schema:\n{schema}")
}

/// The first object or list in an answer, which may have words and a fence around it.
fn read(text: &str) -> Option<Value> {
    let at = text.find(['{', '['])?;
    let value = mended_json::value_at(&text[at..]).value;
    (value.is_object() || value.is_array()).then_some(value)
}
