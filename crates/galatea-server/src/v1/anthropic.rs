//! Anthropic's messages.

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
    Router::new().route("/v1/messages", post(create))
}

/// What is read of a request. Sampling, length and tools are the persona's own.
#[derive(Deserialize)]
struct Body {
    model: String,
    messages: Vec<Message>,
    #[serde(default)]
    system: Option<Content>,
    #[serde(default)]
    stream: bool,
    #[serde(default)]
    metadata: Option<Metadata>,
}

#[derive(Deserialize)]
struct Metadata {
    #[serde(default)]
    user_id: Option<String>,
}

#[derive(Deserialize)]
struct Message {
    role: String,
    content: Content,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Blocks(Vec<Value>),
}

/// An error in Anthropic's form.
pub(super) fn problem(error: &Error) -> Response {
    let (status, kind) = match error.kind() {
        ErrorKind::Unauthorized => (StatusCode::UNAUTHORIZED, "authentication_error"),
        ErrorKind::Forbidden => (StatusCode::FORBIDDEN, "permission_error"),
        ErrorKind::NotFound => (StatusCode::NOT_FOUND, "not_found_error"),
        ErrorKind::Invalid | ErrorKind::Unsupported | ErrorKind::Conflict => {
            (StatusCode::BAD_REQUEST, "invalid_request_error")
        }
        ErrorKind::TooLong => (StatusCode::PAYLOAD_TOO_LARGE, "request_too_large"),
        ErrorKind::RateLimited => (StatusCode::TOO_MANY_REQUESTS, "rate_limit_error"),
        _ => (StatusCode::SERVICE_UNAVAILABLE, "api_error"),
    };
    (status, axum::Json(body(error, kind))).into_response()
}

fn body(error: &Error, kind: &str) -> Value {
    json!({"type": "error", "error": {"type": kind, "message": error.to_string()}})
}

async fn create(State(app): State<Arc<App>>, caller: Caller, request: Request) -> Response {
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
    let (agent, name) = agent_of(&app, &asked.model)?;
    let mut lines = Vec::new();
    if let Some(system) = asked.system {
        let (text, files) = read(system)?;
        lines.push(Line { who: Who::System, text, files });
    }
    for Message { role, content } in asked.messages {
        let who = match role.as_str() {
            "user" => Who::User,
            "assistant" => Who::Persona,
            other => {
                return Err(Error::invalid(format!("messages: the role `{other}` is not known")));
            }
        };
        let (text, files) = read(content)?;
        lines.push(Line { who, text, files });
    }
    let conversation = Conversation::of(lines)
        .ok_or_else(|| Error::invalid("messages: the last message is the user's, with words"))?;
    let user = asked.metadata.and_then(|metadata| metadata.user_id);
    let talk = Talk::begin(&app, &by, Asked { agent, conversation, user, key }).await?;
    let id = format!("msg_{}", galatea_core::MemoryId::fresh().0.simple());
    if asked.stream {
        return Ok(sse::respond(ending, "", move |events| stream(talk, events, id, name)));
    }
    let Finished { text, input, output, .. } = talk.finish().await?;
    let content = json!([{"type": "text", "text": text}]);
    let usage = json!({"input_tokens": input, "output_tokens": output});
    Ok(axum::Json(message(&id, &name, &content, Some("end_turn"), &usage)).into_response())
}

fn message(id: &str, model: &str, content: &Value, stop: Option<&str>, usage: &Value) -> Value {
    json!({
        "id": id,
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": null,
        "usage": usage,
    })
}

async fn stream(mut talk: Talk, events: Events, id: String, model: String) {
    let none = json!({"input_tokens": 0, "output_tokens": 0});
    let begun = message(&id, &model, &json!([]), None, &none);
    events.send("message_start", &json!({"type": "message_start", "message": begun})).await;
    let block = json!({"type": "text", "text": ""});
    let start = json!({"type": "content_block_start", "index": 0, "content_block": block});
    events.send("content_block_start", &start).await;
    let delta = |text: &str| {
        let delta = json!({"type": "text_delta", "text": text});
        json!({"type": "content_block_delta", "index": 0, "delta": delta})
    };
    let finished = async {
        while let Some(piece) = talk.piece().await? {
            events.send("content_block_delta", &delta(&piece)).await;
        }
        talk.finish().await
    };
    match finished.await {
        Ok(Finished { rest, input, output, .. }) => {
            if !rest.is_empty() {
                events.send("content_block_delta", &delta(&rest)).await;
            }
            let stop = json!({"type": "content_block_stop", "index": 0});
            events.send("content_block_stop", &stop).await;
            let last = json!({
                "type": "message_delta",
                "delta": {"stop_reason": "end_turn", "stop_sequence": null},
                "usage": {"input_tokens": input, "output_tokens": output},
            });
            events.send("message_delta", &last).await;
            events.send("message_stop", &json!({"type": "message_stop"})).await;
        }
        Err(error) => events.send("error", &body(&error, "api_error")).await,
    }
}

fn read(content: Content) -> Result<(String, Vec<Media>), Error> {
    let blocks = match content {
        Content::Text(text) => return Ok((text, Vec::new())),
        Content::Blocks(blocks) => blocks,
    };
    let (mut words, mut files) = (Vec::new(), Vec::new());
    for block in &blocks {
        let text = |path: &str| block.pointer(path).and_then(Value::as_str);
        match (text("/type"), text("/source/type")) {
            (Some("text"), _) => words.extend(text("/text").map(str::to_owned)),
            (Some("image"), Some("base64")) => {
                let kind = text("/source/media_type").unwrap_or_default();
                let data = text("/source/data").unwrap_or_default();
                files.push(of_data(&format!("data:{kind};base64,{data}")).ok_or_else(|| {
                    Error::invalid("messages: a picture has a media type and data in base64")
                })?);
            }
            (Some("thinking" | "redacted_thinking"), _) => {}
            (kind, _) => {
                let kind = kind.unwrap_or("none");
                return Err(Error::invalid(format!(
                    "messages: blocks of type `{kind}` are not read"
                )));
            }
        }
    }
    Ok((words.join("\n"), files))
}
