//! Posts updates to a webhook: one at a time, in order, repeated until it answers 2xx.

use std::{sync::Arc, time::Duration};

use reqwest::header::CONTENT_TYPE;
use tokio_util::sync::CancellationToken;

use super::{
    state::{Shared, State},
    updates,
};

/// Backoff after the first failed post; it doubles up to [`LONGEST`]. The real server's values are
/// not published; these follow the server's clock.
const FIRST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(60);
/// Header with the secret (Bot API, setWebhook.secret_token).
const SECRET: &str = "X-Telegram-Bot-Api-Secret-Token";

/// Data that the posting task needs.
pub(crate) struct Job {
    url: String,
    secret: Option<String>,
    stop: CancellationToken,
}

/// Data for the current webhook.
pub(crate) fn job(state: &State) -> Option<Job> {
    state.webhook.as_ref().map(|w| Job {
        url: w.url.clone(),
        secret: w.secret.clone(),
        stop: w.stop.clone(),
    })
}

/// Posts updates until the webhook is deleted or replaced, or the server stops.
pub(crate) async fn run(shared: Arc<Shared>, job: Job) {
    // Neither proxy nor certificates: only the loopback is reached, and loading the system's roots
    // takes longer than a test.
    let built = reqwest::Client::builder().no_proxy().tls_certs_only([]).build();
    let client = built.unwrap_or_else(|e| panic!("no HTTP client for the webhook: {e}"));
    let clock = shared.lock().options.clock.clone();
    let mut changes = shared.changed.subscribe();
    let mut wait = FIRST;
    loop {
        let next = shared.lock().updates.first();
        let Some(update) = next else {
            tokio::select! {
                () = job.stop.cancelled() => return,
                () = shared.stop.cancelled() => return,
                _ = changes.changed() => continue,
            }
        };
        let mut post = client
            .post(&job.url)
            .header(CONTENT_TYPE, "application/json")
            .body(updates::wire(&update));
        if let Some(secret) = &job.secret {
            post = post.header(SECRET, secret);
        }
        let outcome = tokio::select! {
            () = job.stop.cancelled() => return,
            () = shared.stop.cancelled() => return,
            outcome = post.send() => outcome,
        };
        match outcome {
            Ok(response) if response.status().is_success() => {
                wait = FIRST;
                let id = update["update_id"].as_i64().unwrap_or_default();
                shared.lock().updates.confirm(id + 1);
            }
            failed => {
                let why = failed.map_or_else(
                    |e| {
                        if e.is_connect() {
                            "Connection refused".to_owned()
                        } else {
                            "Read error".to_owned()
                        }
                    },
                    |r| format!("Wrong response from the webhook: {}", r.status()),
                );
                {
                    let mut state = shared.lock();
                    let date = state.date();
                    if let Some(webhook) = state.webhook.as_mut().filter(|w| w.url == job.url) {
                        webhook.last_error = Some((date, why));
                    }
                }
                shared.bump();
                tokio::select! {
                    () = job.stop.cancelled() => return,
                    () = shared.stop.cancelled() => return,
                    () = clock.sleep(wait) => {}
                }
                wait = (wait * 2).min(LONGEST);
                continue;
            }
        }
        shared.bump();
    }
}
