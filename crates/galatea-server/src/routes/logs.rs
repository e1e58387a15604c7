//! The newest lines of the log: as a list, or as a stream that goes on.

use axum::{
    body::Body,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use futures::stream;
use galatea_host::ops::logs::{LogLevel, LogLine};
use galatea_http::listen::Ending;
use serde::Deserialize;
use std::{collections::VecDeque, convert::Infallible, sync::Arc, time::Duration};
use tokio::{
    sync::broadcast::{Receiver, error::RecvError},
    time::timeout,
};
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    app::App,
    auth::Worker,
    error::Problem,
    extract::{Query, limit},
    presented::Presented,
    view::{LogLineView, LogList},
};

/// Between two comments of a quiet stream.
const COMMENT: Duration = Duration::from_secs(15);

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(list_logs))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct LogsAsked {
    /// Only lines after this number.
    after: Option<u64>,
    /// The least level: `trace`, `debug`, `info`, `warn` or `error`; `info` if absent.
    level: Option<String>,
    /// Lines of a page, the newest.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
}

/// The newest lines of the log of this process, oldest first. With `Accept: text/event-stream` the answer
/// goes on with each new line.
#[utoipa::path(
    get,
    path = "/api/v1/logs",
    operation_id = "listLogs",
    tag = "logs",
    params(LogsAsked),
    responses((status = 200, description = "Done", body = LogList), Problem)
)]
async fn list_logs(
    State(app): State<Arc<App>>,
    Worker(by): Worker,
    presented: Option<Presented>,
    ending: Option<axum::Extension<Ending>>,
    headers: HeaderMap,
    Query(asked): Query<LogsAsked>,
) -> Result<Response, Problem> {
    let least = match asked.level.as_deref() {
        None => LogLevel::Info,
        Some(name) => LogLevel::from_name(name).ok_or_else(|| {
            Problem::input(StatusCode::BAD_REQUEST, "level: trace, debug, info, warn or error")
        })?,
    };
    let most = usize::try_from(limit(asked.limit)?).unwrap_or(usize::MAX);
    let streams = headers
        .get_all(header::ACCEPT)
        .iter()
        .any(|accept| accept.to_str().is_ok_and(|accept| accept.contains("text/event-stream")));
    if !streams {
        let lines = app.ops.logs(&by, asked.after, least, most)?;
        let items = lines.iter().map(|line| LogLineView::from(&**line)).collect();
        return Ok(axum::Json(LogList { items, next: None }).into_response());
    }
    let seen = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    // Subscribed first: a line in between is in both, and is left out by its number.
    let receiver = app.ops.follow_logs(&by)?;
    let ready: VecDeque<Arc<LogLine>> =
        app.ops.logs(&by, seen.or(asked.after), least, most)?.into();
    let feed = Feed { app, presented, receiver, ready, least, last: 0 };
    let ending = ending.map(|axum::Extension(ending)| ending);
    let pieces = stream::unfold(feed, move |mut feed| {
        let ending = ending.clone();
        async move {
            let ends = async {
                match ending {
                    Some(ending) => ending.begins().await,
                    None => std::future::pending().await,
                }
            };
            let piece = tokio::select! {
                () = ends => None,
                piece = feed.piece() => piece,
            };
            piece.map(|piece| (Ok::<_, Infallible>(Bytes::from(piece)), feed))
        }
    });
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    Ok((headers, Body::from_stream(pieces)).into_response())
}

/// One reader's stream.
struct Feed {
    app: Arc<App>,
    presented: Option<Presented>,
    receiver: Receiver<Arc<LogLine>>,
    ready: VecDeque<Arc<LogLine>>,
    least: LogLevel,
    last: u64,
}

impl Feed {
    /// The next piece; none at the end of the process, or when the session has ended.
    async fn piece(&mut self) -> Option<String> {
        loop {
            if let Some(line) = self.ready.pop_front() {
                self.last = line.seq;
                return Some(written(&line));
            }
            match timeout(COMMENT, self.receiver.recv()).await {
                Ok(Ok(line)) if line.level >= self.least && line.seq > self.last => {
                    self.ready.push_back(line);
                }
                // Who is behind goes on with the newest.
                Ok(Ok(_) | Err(RecvError::Lagged(_))) => {}
                Ok(Err(RecvError::Closed)) => return None,
                Err(_) => {
                    let presented = self.presented.as_ref()?;
                    let allowed = matches!(presented.identify(&self.app).await, Ok(Some(_)));
                    return allowed.then(|| ":\n\n".to_owned());
                }
            }
        }
    }
}

fn written(line: &LogLine) -> String {
    let data = serde_json::to_string(&LogLineView::from(line)).unwrap_or_default();
    format!("id: {}\nevent: line\ndata: {data}\n\n", line.seq)
}
