//! Test support: builds models from settings and asks them a question.

use std::{
    pin::Pin,
    sync::{Arc, Mutex},
    time::Duration,
};

use galatea_core::{
    Clock, Error, Settings, TextModel, Timestamp,
    model::{Bill, CacheFor, ChatMessage, ChatPart, ChatRole, Sampling, TextRequest, ToolSpec},
};
use galatea_http::{HttpClient, HttpOptions};
use galatea_models::{Configured, Dependencies, build};
use serde_json::{Value, json};

pub(crate) const KEY: &str = "CANARY-key-1234567890";

/// Time limit in seconds for all limits that a test does not wait for: longer than any answer of a
/// loopback server takes, however busy the machine is, and no longer than embeddings may take.
const LONG: u64 = 30;

/// A clock whose waits between attempts end at once. The deadline of the whole call never passes,
/// because the client's own time limits are tested.
pub(crate) struct Patient;

impl Clock for Patient {
    fn now(&self) -> Timestamp {
        Timestamp(0)
    }
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        if duration >= Duration::from_secs(LONG) {
            Box::pin(std::future::pending())
        } else {
            Box::pin(std::future::ready(()))
        }
    }
}

/// Builds models from settings, without fallbacks or internal streaming. The last value of a
/// repeated setting applies.
pub(crate) fn configure(pairs: &[(&str, &str)]) -> Configured {
    let long = LONG.to_string();
    let plain = [
        ("MODEL_FIRST_TOKEN_TIMEOUT", long.as_str()),
        ("MODEL_IDLE_TIMEOUT", &long),
        ("MODEL_TOTAL_TIMEOUT", &long),
        ("MODEL_FALLBACK", "none"),
        ("MODEL_STREAM", "false"),
    ];
    let settings = Settings::from_pairs(
        plain.iter().chain(pairs).map(|(k, v)| ((*k).to_owned(), Value::from(*v))),
    );
    build(
        &settings,
        &HttpClient::new(HttpOptions::default()).unwrap(),
        Arc::new(Patient),
        &Dependencies::default(),
    )
    .unwrap()
}

/// Checks that an error exposes no secret, and that the name of its service reads well in every
/// sentence: a server of one's own is called `the model server`, and a text with an article in
/// front of the name would say "the the model server".
pub(crate) fn clean(error: &Error) {
    let all = format!("{error} {error:?} {} {:?}", error.report(), error.fix());
    assert!(!all.contains("CANARY"), "a secret is exposed: {all}");
    let words: Vec<&str> = all.split_whitespace().collect();
    let twice = words
        .windows(2)
        .find(|pair| pair[0] == pair[1] && pair[0].chars().all(char::is_alphabetic));
    assert_eq!(twice, None, "a word twice: {all}");
}

pub(crate) fn request(stream: bool) -> TextRequest {
    let picture = ChatPart::Image { mime: "image/png".into(), data: "iVBORw0KGgo=".into() };
    TextRequest {
        conversation: Some("room".to_owned()),
        system: Some("You are kind.".into()),
        messages: vec![
            ChatMessage::assistant("Welcome."),
            ChatMessage::user("Hi."),
            ChatMessage { role: ChatRole::User, parts: vec![ChatPart::Text { text: "Look:".into() }, picture], name: None },
            ChatMessage::assistant("A picture. "),
            ChatMessage::assistant(" "),
            ChatMessage::user("Go on."),
        ]
        .into(),
        tools: vec![
            ToolSpec {
                name: "SEND_MESSAGE".into(),
                description: "Sends.".into(),
                parameters: json!({ "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "properties": { "to": { "type": "string" } }, "additionalProperties": false }).into(),
            },
            ToolSpec { name: "NONE".into(), description: "Nothing.".into(), parameters: json!({ "type": "null" }).into() },
        ]
        .into(),
        params: Sampling {
            max_tokens: Some(500),
            temperature: Some(0.5),
            top_p: Some(0.9),
            top_k: Some(40),
            min_p: Some(0.1),
            seed: Some(7),
            repetition_penalty: Some(1.1),
            frequency_penalty: Some(0.1),
            presence_penalty: Some(0.2),
            stop: ["a", "b", "c", "d", "e", "f"].map(str::to_owned).to_vec(),
            effort: None,
        },
        stream,
        tool_choice: Default::default(),
        deadline: None,
        first_within: None,
        length: None,
        partial: false,
        cache_instructions: CacheFor::Nothing,
        opening: 0,
        stable: 0,
        drafts: galatea_core::model::Drafts::default(),
        bill: Bill::default(),
    }
}

pub(crate) async fn ask(
    model: &Arc<dyn TextModel>,
    request: &TextRequest,
) -> (galatea_core::Result<galatea_core::model::TextAnswer>, Vec<String>) {
    let pieces = Mutex::new(Vec::new());
    let answer =
        model.generate(request, &|text| pieces.lock().unwrap().push(text.to_owned())).await;
    (answer, pieces.into_inner().unwrap())
}
