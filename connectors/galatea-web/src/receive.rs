//! The run of the connector. Messages come in by calls of the server, which are as many as people write:
//! nothing has to be polled.

use galatea_core::{Gateway, Health, Result};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

use crate::send::Sender;

/// Registers the outbound side, and waits for the end.
pub(crate) async fn run(gateway: Gateway, stop: CancellationToken) -> Result<()> {
    gateway.register_send_handler(Arc::new(Sender));
    gateway.report(Health::Up { detail: "served by this program".to_owned() });
    stop.cancelled().await;
    Ok(())
}
