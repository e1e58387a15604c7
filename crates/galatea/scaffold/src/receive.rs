//! Asks, stores, and only then asks for what comes after. That order is all there is to "no message
//! lost".

use galatea_core::{Batch, Cursor, Error, Gateway, Health, Result};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

use crate::{
    decode::decode,
    send::{Api, Sender},
};

/// Name of the stream whose cursor is the number of the last event stored.
const STREAM: &str = "events";

/// Polls until stopped.
///
/// # Errors
/// The first failure. It is not tried again in here: the runtime starts the connector again, with
/// growing waits.
pub(crate) async fn run(api: &Arc<Api>, gateway: Gateway, stop: CancellationToken) -> Result<()> {
    gateway.register_send_handler(Arc::new(Sender(api.clone())));
    let Some(name) = stop.run_until_cancelled(api.who()).await.transpose()? else { return Ok(()) };
    gateway.report(Health::Up { detail: format!("{name}, polling") });
    let mut last = position(&gateway).await?;
    loop {
        // Only the poll is given up on stop: a batch that is being stored is stored to the end.
        let Some(lines) = stop.run_until_cancelled(api.events(last)).await.transpose()? else {
            return Ok(());
        };
        last = store(&lines, last, api.me, &gateway).await?;
    }
}

/// How far the stream was read before this start.
async fn position(gateway: &Gateway) -> Result<u64> {
    let Some(cursor) = gateway.cursor(STREAM).await? else { return Ok(0) };
    cursor.position.parse().map_err(|_| {
        Error::unexpected("the stored place in the event stream is not a number")
            .with("position", cursor.position)
    })
}

/// Hands a page over. When this returns, events and cursor are on the disk; the next poll tells the
/// server to forget them.
async fn store(lines: &str, mut last: u64, me: u64, gateway: &Gateway) -> Result<u64> {
    let mut events = Vec::new();
    for line in lines.lines().filter(|line| !line.trim().is_empty()) {
        let (seq, event) = decode(line, me)?;
        if event.is_none() {
            tracing::warn!(seq, "an event could not be read and is skipped");
        }
        events.extend(event);
        // A page may repeat old events: duplicates are the runtime's to drop, but the cursor never
        // goes back.
        last = last.max(seq);
    }
    if lines.trim().is_empty() {
        return Ok(last);
    }
    gateway
        .receive(Batch {
            events,
            cursor: Some(Cursor { stream: STREAM.to_owned(), position: last.to_string() }),
            ..Batch::default()
        })
        .await?;
    Ok(last)
}
