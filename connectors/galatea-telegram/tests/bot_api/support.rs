//! Runs the connector between a loopback Bot API server and a recording gateway.

use galatea_core::{
    Account, Address, Clock, Delivery, Outgoing, Receipt, RemoteId, Result, RoomId, SecretString,
    SendHandler, Source, SystemClock,
};
use galatea_telegram::{TelegramConfig, TelegramConnector};
use galatea_testkit::{
    connector_suite::{RecordingGateway, running},
    telegram::BotApi,
};
use std::{path::Path, sync::Arc};

/// A running connector.
pub(crate) type Running = running::Running<TelegramConnector>;

pub(crate) fn config(api: &BotApi) -> TelegramConfig {
    let mut config = TelegramConfig::new(SecretString::from(api.token()));
    config.api_root = api.url().parse().unwrap();
    config
}

pub(crate) fn build(
    config: TelegramConfig,
    folder: &Path,
    clock: Arc<dyn Clock>,
) -> TelegramConnector {
    config.connector(&running::host(folder, clock)).unwrap()
}

/// Starts a connector with a new gateway and a new data folder.
pub(crate) fn start(config: TelegramConfig) -> Running {
    with(config, RecordingGateway::new(running::identity()), Arc::new(SystemClock))
}

/// Starts a connector with a gateway that outlives it.
pub(crate) fn with(
    config: TelegramConfig,
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
        source: Source::new("telegram"),
        account: Account("7000000001".into()),
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
