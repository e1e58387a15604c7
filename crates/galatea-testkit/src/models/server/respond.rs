//! Sends a scripted reply: whole, in pieces, or faulty.

use std::{io, sync::atomic::Ordering};

use axum::{
    body::{Body, Bytes},
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use futures::StreamExt;
use serde_json::Value;

use super::{Dialect, Route, Shared};
use crate::models::reply::{Answer, Fault, Reply};

/// Builds the HTTP response for a reply.
pub(super) async fn respond<D: Dialect>(
    shared: &Shared<D>,
    route: &Route,
    reply: Reply,
    key: &str,
) -> Response {
    let dialect = &shared.dialect;
    let normal = |answer: &Answer| match route {
        Route::Chat { .. } | Route::Respond { .. } => dialect.answer(route, answer),
        _ => dialect
            .media(route, answer)
            .unwrap_or_else(|| (dialect.other(route).to_string().into_bytes(), "application/json")),
    };
    let auto =
        Answer { text: "A short answer with ümläuts and 🙂.".to_owned(), ..Answer::default() };
    if *route == Route::Unknown {
        let (status, body) = dialect.failure(&Fault::UnknownModel, route, key);
        return json(status, None, &body);
    }
    let fault = match reply {
        Reply::Auto => return whole(shared, normal(&auto)),
        Reply::Answer(answer) => return whole(shared, normal(&answer)),
        Reply::Json(value) => {
            return whole(shared, (value.to_string().into_bytes(), "application/json"));
        }
        Reply::Fault(fault) => fault,
    };
    match fault {
        Fault::Status { status, retry_after, body } => {
            build(status, retry_after, "application/json", Body::from(body))
        }
        Fault::Event(data) => {
            build(200, None, "text/event-stream", Body::from(format!("data: {data}\n\n")))
        }
        Fault::Garbage => build(200, None, "application/json", Body::from("{\"choices\": [CANARY")),
        Fault::Html => {
            build(200, None, "text/html", Body::from("<!doctype html><title>Sign in</title>CANARY"))
        }
        Fault::OtherShape => {
            build(200, None, "application/json", Body::from("{\"hello\": [\"CANARY\"]}"))
        }
        Fault::Empty => whole(shared, dialect.empty(route)),
        Fault::WrongContentType => {
            build(200, None, "application/octet-stream", Body::from(normal(&auto).0))
        }
        Fault::ErrorInStream => {
            let (body, content_type) = normal(&auto);
            let mut body = body[..body.len() / 2].to_vec();
            let end = body.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
            body.truncate(end);
            body.extend(dialect.stream_error(route));
            build(200, None, content_type, Body::from(body))
        }
        Fault::CutAfter(bytes) => {
            let (body, content_type) = normal(&auto);
            let first = Bytes::from(body[..bytes.min(body.len())].to_vec());
            let stream = futures::stream::iter([Ok(first)]).chain(futures::stream::once(async {
                // Lets the first part reach the wire before the connection breaks.
                tokio::task::yield_now().await;
                Err(io::Error::other("cut"))
            }));
            build(200, None, content_type, Body::from_stream(stream))
        }
        Fault::StallAfter(bytes) => {
            let (body, content_type) = normal(&auto);
            let first = Bytes::from(body[..bytes.min(body.len())].to_vec());
            let stop = shared.stop.clone();
            let end = futures::stream::once(async move {
                stop.cancelled().await;
                Err(io::Error::other("stopped"))
            });
            build(
                200,
                None,
                content_type,
                Body::from_stream(futures::stream::iter([Ok(first)]).chain(end)),
            )
        }
        Fault::Hang => {
            shared.stop.cancelled().await;
            build(503, None, "text/plain", Body::empty())
        }
        Fault::Endless => {
            let piece = Bytes::from_static(&[b' '; 65_536]);
            build(
                200,
                None,
                normal(&auto).1,
                Body::from_stream(futures::stream::repeat_with(move || {
                    Ok::<_, io::Error>(piece.clone())
                })),
            )
        }
        other => {
            let retry_after = if let Fault::RateLimited(value) = other { value } else { None };
            let (status, body) = dialect.failure(&other, route, key);
            json(status, retry_after, &body)
        }
    }
}

fn whole<D>(shared: &Shared<D>, (body, content_type): (Vec<u8>, &'static str)) -> Response {
    let size = shared.chunk.load(Ordering::Relaxed);
    if size == 0 {
        return build(200, None, content_type, Body::from(body));
    }
    let torn: Vec<io::Result<Bytes>> =
        body.chunks(size).map(|chunk| Ok(Bytes::copy_from_slice(chunk))).collect();
    build(200, None, content_type, Body::from_stream(futures::stream::iter(torn)))
}

/// A JSON answer.
pub(super) fn json(status: u16, retry_after: Option<&'static str>, body: &Value) -> Response {
    build(status, retry_after, "application/json", Body::from(body.to_string()))
}

fn build(
    status: u16,
    retry_after: Option<&'static str>,
    content_type: &'static str,
    body: Body,
) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    if let Some(value) = retry_after {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static(value));
    }
    response
}
