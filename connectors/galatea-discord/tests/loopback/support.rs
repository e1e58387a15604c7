//! Runs the connector between a loopback Discord and a recording gateway.

use galatea_core::{
    Account, Address, Clock, Delivery, Outgoing, Receipt, RemoteId, Result, RoomId, SecretString,
    SendHandler, Source, SystemClock,
};
use galatea_discord::{DiscordConfig, DiscordConnector};
use galatea_testkit::{
    connector_suite::{RecordingGateway, running},
    discord::Handle,
};
use std::{path::Path, sync::Arc};

/// A running connector.
pub(crate) type Running = running::Running<DiscordConnector>;

pub(crate) fn config(api: &Handle) -> DiscordConfig {
    let mut config = DiscordConfig::new(SecretString::from(api.token()));
    config.api_root = api.url().parse().unwrap();
    config
}

pub(crate) fn build(
    config: DiscordConfig,
    folder: &Path,
    clock: Arc<dyn Clock>,
) -> DiscordConnector {
    config.connector(&running::host(folder, clock)).unwrap()
}

/// Starts a connector with a new gateway and a new data folder.
pub(crate) fn start(config: DiscordConfig) -> Running {
    with(config, RecordingGateway::new(running::identity()), Arc::new(SystemClock))
}

/// Starts a connector with a gateway that outlives it.
pub(crate) fn with(
    config: DiscordConfig,
    gateway: Arc<RecordingGateway>,
    clock: Arc<dyn Clock>,
) -> Running {
    let folder = tempfile::tempdir().unwrap();
    Running::start(build(config, folder.path(), clock.clone()), gateway, clock).keeping(folder)
}

pub(crate) fn gateway() -> Arc<RecordingGateway> {
    RecordingGateway::new(running::identity())
}

pub(crate) fn address(room: &str) -> Address {
    Address {
        source: Source::new("discord"),
        account: Account("112233445566778899".into()),
        room: RoomId::fresh(),
        remote: RemoteId(room.to_owned()),
    }
}

/// The deliveries of an outgoing message to a room.
pub(crate) fn deliveries(
    handler: &dyn SendHandler,
    room: &str,
    outgoing: &Outgoing,
) -> Vec<Delivery> {
    running::deliveries(handler, &address(room), outgoing)
}

/// Sends every part once.
pub(crate) async fn send(
    handler: &dyn SendHandler,
    room: &str,
    outgoing: &Outgoing,
) -> Vec<Result<Receipt>> {
    running::send(handler, &address(room), outgoing).await
}
