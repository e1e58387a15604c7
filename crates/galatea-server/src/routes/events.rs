//! Live events as server-sent events (WHATWG HTML §9.2): each with its number, so that a browser that
//! was away goes on where it stopped.

use axum::{
    body::Body,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use futures::stream;
use galatea_core::store::LiveEvent;
use galatea_host::ops::live::{Followed, Follower};
use galatea_http::listen::Ending;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{convert::Infallible, fmt::Write as _, sync::Arc, time::Duration};
use tokio::time::{Instant, timeout_at};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use crate::{app::App, auth::Reader, error::Problem, extract::Query, presented::Presented};

/// Between two comments of a quiet stream. Proxies close what is silent for half a minute or more.
const COMMENT: Duration = Duration::from_secs(15);
/// Most kinds in a subscription.
const KINDS: usize = 64;
/// How long a browser waits before it connects again, in milliseconds.
const RETRY: &str = "retry: 2000\n\n";

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(follow_events))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct EventsAsked {
    /// The number of the last event that was seen; absent: from now on. The header `Last-Event-ID`, which
    /// browsers send by themselves, is stronger.
    after: Option<i64>,
    /// Only these kinds, separated by commas.
    kinds: Option<String>,
}

/// An event. Ids and figures only: what it is about is read from its resource.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct LiveEventView {
    /// Its number.
    seq: i64,
    at: i64,
    /// Whose it is; absent for the process.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<Uuid>,
    /// Such as `turn_finished`. `missed` tells that events up to `seq` are not kept any more, so lists have
    /// to be read again.
    kind: String,
    /// Ids and figures.
    #[schema(value_type = Object)]
    data: Value,
}

/// Follows live events. Numbers have gaps where other kinds are.
#[utoipa::path(
    get,
    path = "/api/v1/events",
    operation_id = "followEvents",
    tag = "events",
    params(EventsAsked),
    responses((status = 200, description = "The stream", body = LiveEventView, content_type = "text/event-stream"), Problem)
)]
async fn follow_events(
    State(app): State<Arc<App>>,
    Reader(by): Reader,
    presented: Option<Presented>,
    ending: Option<axum::Extension<Ending>>,
    headers: HeaderMap,
    Query(asked): Query<EventsAsked>,
) -> Result<Response, Problem> {
    let seen = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let kinds: Vec<String> =
        asked.kinds.iter().flat_map(|kinds| kinds.split(',')).map(str::to_owned).collect();
    if kinds.len() > KINDS {
        return Err(Problem::input(StatusCode::BAD_REQUEST, "kinds: 64 at most"));
    }
    let follower = app.live.follow(&by, seen.or(asked.after)).await?;
    let reader = Feed { app, presented, kinds, follower, begun: false, ended: false };
    let ending = ending.map(|axum::Extension(ending)| ending);
    let pieces = stream::unfold((reader, ending), async |(mut reader, ending)| {
        let piece = reader.piece(ending.clone()).await?;
        Some((Ok::<_, Infallible>(Bytes::from(piece)), (reader, ending)))
    });
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
        // nginx gathers answers unless it is told not to.
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    Ok((headers, Body::from_stream(pieces)).into_response())
}

/// One reader's stream.
struct Feed {
    app: Arc<App>,
    presented: Option<Presented>,
    kinds: Vec<String>,
    follower: Follower,
    begun: bool,
    ended: bool,
}

impl Feed {
    /// The next piece of the stream; none at its end.
    async fn piece(&mut self, ending: Option<Ending>) -> Option<String> {
        if self.ended {
            return None;
        }
        if !std::mem::replace(&mut self.begun, true) {
            return Some(RETRY.to_owned());
        }
        let ends = async {
            match ending {
                Some(ending) => ending.begins().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = ends => {
                self.ended = true;
                Some(format!("{RETRY}event: end\ndata: {{}}\n\n"))
            }
            piece = self.next() => piece,
        }
    }

    async fn next(&mut self) -> Option<String> {
        let until = Instant::now() + COMMENT;
        loop {
            match timeout_at(until, self.follower.next()).await {
                Ok(Ok(Some(Followed::Event(event)))) => {
                    if self.kinds.is_empty() || self.kinds.contains(&event.kind) {
                        return Some(written(&view(&event)));
                    }
                }
                Ok(Ok(Some(Followed::Missed(seq)))) => {
                    let at = self.app.ops.clock().now().0;
                    let kind = "missed".to_owned();
                    return Some(written(&LiveEventView {
                        seq,
                        at,
                        agent: None,
                        kind,
                        data: Value::Object(serde_json::Map::new()),
                    }));
                }
                // The browser connects again, and goes on where this one stopped.
                Ok(Ok(None) | Err(_)) => return None,
                Err(_) => return self.still_allowed().await.then(|| ":\n\n".to_owned()),
            }
        }
    }

    /// Whether the session or token still signs somebody in: one that was ended, or whose user was
    /// disabled, sees no more.
    async fn still_allowed(&self) -> bool {
        match &self.presented {
            Some(presented) => matches!(presented.identify(&self.app).await, Ok(Some(_))),
            None => false,
        }
    }
}

fn view(event: &LiveEvent) -> LiveEventView {
    LiveEventView {
        seq: event.seq,
        at: event.at.0,
        agent: event.agent.map(|id| id.0),
        kind: event.kind.clone(),
        data: event.data.clone(),
    }
}

/// An event in the format of the stream. JSON has no line breaks, so one `data` line is enough; kinds
/// are words of the program.
fn written(event: &LiveEventView) -> String {
    let mut text = format!("id: {}\nevent: {}\ndata: ", event.seq, event.kind);
    let data = serde_json::to_string(event).unwrap_or_default();
    let _ = write!(text, "{data}\n\n");
    text
}
