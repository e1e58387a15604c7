//! Server-sent events (WHATWG HTML §9.2) of one piece of work: it sends while it runs, and the stream ends with
//! it. A reader that is gone ends the work.

use axum::{
    body::Body,
    http::header,
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use futures::stream;
use galatea_http::listen::Ending;
use serde::Serialize;
use std::{convert::Infallible, time::Duration};
use tokio::{sync::mpsc, time::timeout};

/// Between two comments of a quiet stream. Proxies close what is silent for half a minute or more.
const COMMENT: Duration = Duration::from_secs(15);
/// Events that wait for a slow reader; the work waits for it beyond that.
const WAITING: usize = 64;

/// Sends events to the reader.
#[derive(Clone)]
pub(crate) struct Events(mpsc::Sender<String>);

impl Events {
    /// An event with a name.
    pub(crate) async fn send(&self, name: &str, data: &impl Serialize) {
        let data = serde_json::to_string(data).unwrap_or_default();
        self.write(format!("event: {name}\ndata: {data}\n\n")).await;
    }

    /// An event without a name.
    pub(crate) async fn data(&self, data: &impl Serialize) {
        let data = serde_json::to_string(data).unwrap_or_default();
        self.write(format!("data: {data}\n\n")).await;
    }

    /// Text in the format of the stream.
    pub(crate) async fn write(&self, text: String) {
        // Nobody reads any more: the work is about to be dropped.
        let _ = self.0.send(text).await;
    }
}

/// Answers with a stream. `last` is written if the process stops before the work has ended.
pub(crate) fn respond<F: Future<Output = ()> + Send + 'static>(
    ending: Option<Ending>,
    last: &'static str,
    work: impl FnOnce(Events) -> F,
) -> Response {
    let (sender, receiver) = mpsc::channel(WAITING);
    let (gone, work) = (sender.clone(), work(Events(sender.clone())));
    tokio::spawn(async move {
        let ends = async {
            match ending {
                Some(ending) => ending.begins().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = work => {}
            () = gone.closed() => {}
            () = ends => {
                let _ = sender.send(last.to_owned()).await;
            }
        }
    });
    let pieces = stream::unfold(receiver, async |mut receiver| {
        let piece = match timeout(COMMENT, receiver.recv()).await {
            Ok(piece) => piece?,
            Err(_) => ":\n\n".to_owned(),
        };
        Some((Ok::<_, Infallible>(Bytes::from(piece)), receiver))
    });
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
        // nginx gathers answers unless it is told not to.
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    (headers, Body::from_stream(pieces)).into_response()
}
