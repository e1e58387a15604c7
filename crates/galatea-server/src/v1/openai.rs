//! OpenAI's chat completions.

use axum::{
    Router,
    extract::{FromRequest as _, Request, State},
    http::StatusCode,
    response::{IntoResponse as _, Response},
    routing::post,
};
use galatea_core::{Error, ErrorKind, Media};
use galatea_http::listen::Ending;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

use super::{
    conversation::{Conversation, Line, Who},
    persona::agent_of,
    talk::{Asked, Finished, Talk},
};
use crate::{
    app::App,
    attachment::of_data,
    auth::Caller,
    sse::{self, Events},
};

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new().route("/v1/chat/completions", post(complete))
}

/// What is read of a request. Sampling and tools are the persona's own.
#[derive(Deserialize)]
struct Body {
    model: String,
    messages: Vec<Message>,
    #[serde(default)]
    stream: bool,
    #[serde(default)]
    stream_options: Option<StreamOptions>,
    #[serde(default)]
    user: Option<String>,
    #[serde(default)]
    safety_identifier: Option<String>,
    #[serde(default)]
    n: Option<u32>,
}

#[derive(Deserialize, Default)]
struct StreamOptions {
    #[serde(default)]
    include_usage: bool,
}

#[derive(Deserialize)]
struct Message {
    role: String,
    #[serde(default)]
    content: Option<Content>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Value>),
}

/// An error in OpenAI's form.
pub(super) fn problem(error: &Error) -> Response {
    let (status, kind, code) = match error.kind() {
        ErrorKind::Unauthorized => {
            (StatusCode::UNAUTHORIZED, "invalid_request_error", "invalid_api_key")
        }
        ErrorKind::Forbidden => {
            (StatusCode::FORBIDDEN, "invalid_request_error", "insufficient_permissions")
        }
        ErrorKind::NotFound => (StatusCode::NOT_FOUND, "invalid_request_error", "model_not_found"),
        ErrorKind::Invalid | ErrorKind::Unsupported | ErrorKind::Conflict => {
            (StatusCode::BAD_REQUEST, "invalid_request_error", "invalid_value")
        }
        ErrorKind::TooLong => {
            (StatusCode::BAD_REQUEST, "invalid_request_error", "context_length_exceeded")
        }
        ErrorKind::RateLimited => {
            (StatusCode::TOO_MANY_REQUESTS, "rate_limit_error", "rate_limit_exceeded")
        }
        _ => (StatusCode::SERVICE_UNAVAILABLE, "server_error", "unavailable"),
    };
    (status, axum::Json(body(error, kind, code))).into_response()
}

fn body(error: &Error, kind: &str, code: &str) -> Value {
    json!({"error": {"message": error.to_string(), "type": kind, "param": null, "code": code}})
}

async fn complete(State(app): State<Arc<App>>, caller: Caller, request: Request) -> Response {
    match answer(app, caller, request).await {
        Ok(response) => response,
        Err(error) => problem(&error),
    }
}

async fn answer(app: Arc<App>, caller: Caller, request: Request) -> Result<Response, Error> {
    let by = caller.worker()?;
    let key = request.headers().get("idempotency-key").and_then(|key| key.to_str().ok());
    let key = key.map(str::to_owned);
    let ending = request.extensions().get::<Ending>().cloned();
    let axum::Json(asked) = axum::Json::<Body>::from_request(request, &())
        .await
        .map_err(|refused| Error::invalid(refused.body_text()))?;
    if asked.n.is_some_and(|n| n != 1) {
        return Err(Error::invalid("n: a persona gives one answer"));
    }
    let (agent, name) = agent_of(&app, &asked.model)?;
    let lines = asked.messages.into_iter().map(line).collect::<Result<Vec<_>, _>>()?;
    let conversation = Conversation::of(lines)
        .ok_or_else(|| Error::invalid("messages: the last message is the user's, with words"))?;
    let user = asked.user.or(asked.safety_identifier);
    let talk = Talk::begin(&app, &by, Asked { agent, conversation, user, key }).await?;
    let id = format!("chatcmpl-{}", galatea_core::MemoryId::fresh().0.simple());
    let head = Head { id, created: app.ops.clock().now().0 / 1000, model: name };
    if asked.stream {
        let usage = asked.stream_options.unwrap_or_default().include_usage;
        return Ok(sse::respond(ending, "", move |events| stream(talk, events, head, usage)));
    }
    let Finished { text, input, output, .. } = talk.finish().await?;
    Ok(axum::Json(json!({
        "id": head.id,
        "object": "chat.completion",
        "created": head.created,
        "model": head.model,
        "choices": [{
            "index": 0,
            "message": {"role": "assistant", "content": text, "refusal": null},
            "logprobs": null,
            "finish_reason": "stop",
        }],
        "usage": usage_of(input, output),
    }))
    .into_response())
}

fn usage_of(input: u64, output: u64) -> Value {
    json!({
        "prompt_tokens": input,
        "completion_tokens": output,
        "total_tokens": input.saturating_add(output),
    })
}

struct Head {
    id: String,
    created: i64,
    model: String,
}

impl Head {
    fn chunk(&self, choices: &Value, usage: Option<Value>) -> Value {
        let mut chunk = json!({
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.model,
            "choices": choices,
        });
        if let (Some(usage), Some(map)) = (usage, chunk.as_object_mut()) {
            map.insert("usage".to_owned(), usage);
        }
        chunk
    }

    fn delta(&self, delta: &Value, finish: Option<&str>) -> Value {
        self.chunk(&json!([{"index": 0, "delta": delta, "finish_reason": finish}]), None)
    }
}

async fn stream(mut talk: Talk, events: Events, head: Head, usage: bool) {
    events.data(&head.delta(&json!({"role": "assistant", "content": ""}), None)).await;
    let finished = async {
        while let Some(piece) = talk.piece().await? {
            events.data(&head.delta(&json!({ "content": piece }), None)).await;
        }
        talk.finish().await
    };
    match finished.await {
        Ok(Finished { rest, input, output, .. }) => {
            if !rest.is_empty() {
                events.data(&head.delta(&json!({ "content": rest }), None)).await;
            }
            events.data(&head.delta(&json!({}), Some("stop"))).await;
            if usage {
                events.data(&head.chunk(&json!([]), Some(usage_of(input, output)))).await;
            }
        }
        Err(error) => events.data(&body(&error, "server_error", "unavailable")).await,
    }
    events.write("data: [DONE]\n\n".to_owned()).await;
}

fn line(message: Message) -> Result<Line, Error> {
    let who = match message.role.as_str() {
        "system" | "developer" => Who::System,
        "user" => Who::User,
        "assistant" => Who::Persona,
        other => {
            return Err(Error::invalid(format!(
                "messages: the role `{other}` is not known; tools are the persona's own"
            )));
        }
    };
    let (text, files) = match message.content {
        None => (String::new(), Vec::new()),
        Some(Content::Text(text)) => (text, Vec::new()),
        Some(Content::Parts(parts)) => read(&parts)?,
    };
    Ok(Line { who, text, files })
}

fn read(parts: &[Value]) -> Result<(String, Vec<Media>), Error> {
    let (mut words, mut files) = (Vec::new(), Vec::new());
    for part in parts {
        let text = |path: &str| part.pointer(path).and_then(Value::as_str);
        match text("/type") {
            Some("text" | "input_text" | "refusal") => {
                words.extend(text("/text").or_else(|| text("/refusal")));
            }
            Some("image_url") => {
                let url = text("/image_url/url").unwrap_or_default();
                files.push(of_data(url).ok_or_else(|| {
                    Error::invalid("messages: a picture is a data: address in base64")
                })?);
            }
            other => {
                let kind = other.unwrap_or("none");
                return Err(Error::invalid(format!(
                    "messages: parts of type `{kind}` are not read"
                )));
            }
        }
    }
    Ok((words.join("\n"), files))
}
