//! A proxy in front of the model server that remembers what was asked and how long it took.

use anyhow::{Context, Result};
use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    response::{IntoResponse, Response},
};
use futures::StreamExt as _;
use parking_lot::Mutex;
use serde_json::Value;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// Longest request and answer, in bytes.
const LONGEST: usize = 16 << 20;

/// A call of the program.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) path: String,
    pub(super) request: Value,
    pub(super) status: u16,
    pub(super) answer: String,
    pub(super) took: Duration,
}

impl Call {
    /// A number of the answer's `usage` or `timings`, in the whole body or in the last part of a stream that
    /// has it.
    pub(super) fn number(&self, group: &str, name: &str) -> Option<u64> {
        let find = |text: &str| {
            let value: Value = serde_json::from_str(text).ok()?;
            value.get(group)?.get(name)?.as_f64().map(|n| n as u64)
        };
        let parts = self.answer.lines().rev().filter_map(|line| line.strip_prefix("data:"));
        find(&self.answer).or_else(|| parts.map(str::trim).find_map(find))
    }
}

struct Upstream {
    origin: String,
    client: reqwest::Client,
    calls: Mutex<Vec<Call>>,
}

/// The running proxy.
pub(super) struct Wiretap {
    upstream: Arc<Upstream>,
    address: String,
}

impl Wiretap {
    /// Listens on a free loopback port and passes everything on to `origin`.
    pub(super) async fn start(origin: &str) -> Result<Self> {
        let client = reqwest::Client::builder().no_proxy().build()?;
        let upstream = Arc::new(Upstream {
            origin: origin.trim_end_matches('/').to_owned(),
            client,
            calls: Mutex::default(),
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .context("no loopback port for the proxy")?;
        let address = format!("http://{}", listener.local_addr()?);
        let router = Router::new().fallback(pass).with_state(Arc::clone(&upstream));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Ok(Self { upstream, address })
    }

    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// The calls since the last time.
    pub(super) fn take(&self) -> Vec<Call> {
        std::mem::take(&mut *self.upstream.calls.lock())
    }
}

async fn pass(State(upstream): State<Arc<Upstream>>, request: Request) -> Response {
    match forward(&upstream, request).await {
        Ok(response) => response,
        Err(error) => (axum::http::StatusCode::BAD_GATEWAY, format!("{error:#}")).into_response(),
    }
}

async fn forward(upstream: &Arc<Upstream>, request: Request) -> Result<Response> {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, LONGEST).await?;
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
    let started = Instant::now();
    let mut call = upstream
        .client
        .request(parts.method, format!("{}{path}", upstream.origin))
        .body(body.clone());
    for name in ["authorization", "content-type", "x-api-key", "accept"] {
        if let Some(value) = parts.headers.get(name) {
            call = call.header(name, value);
        }
    }
    let response = call.send().await?;
    let status = response.status();
    let kind = response.headers().get("content-type").cloned();
    let request = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let mut record = Record {
        upstream: Arc::clone(upstream),
        call: Call {
            path,
            request,
            status: status.as_u16(),
            answer: String::new(),
            took: Duration::ZERO,
        },
        started,
    };
    let parts = response.bytes_stream().inspect(move |part| {
        if let Ok(part) = part {
            record.call.answer.push_str(&String::from_utf8_lossy(part));
        }
    });
    let mut reply = Response::new(Body::from_stream(parts));
    *reply.status_mut() = status;
    if let Some(kind) = kind {
        reply.headers_mut().insert("content-type", kind);
    }
    Ok(reply)
}

/// A call that is under way; it is remembered at its end, also if the program gives it up.
struct Record {
    upstream: Arc<Upstream>,
    call: Call,
    started: Instant,
}

impl Drop for Record {
    fn drop(&mut self) {
        if self.call.request.is_null() {
            return;
        }
        self.call.took = self.started.elapsed();
        let mut calls = self.upstream.calls.lock();
        calls.push(self.call.clone());
    }
}
