//! Test support: a connector between a loopback server of X and a recording gateway.

use galatea_core::{
    Account, Address, Clock, Content, Delivery, Outgoing, Receipt, RemoteId, Result, RoomId,
    SendHandler, Source, SystemClock,
};
use galatea_testkit::{
    connector_suite::{RecordingGateway, running},
    x::XApi,
};

use galatea_x::{Credentials, PollPace, Usd, XConfig, XConnector};
use std::{path::Path, sync::Arc, time::Duration};

/// A running X connector.
pub(crate) type Running = running::Running<XConnector>;

/// Settings that post for real, poll ten times a second and permit spending.
pub(crate) fn config(api: &XApi) -> XConfig {
    let keys = api.keys();
    let credentials = Credentials::OAuth1 {
        api_key: keys.api_key.into(),
        api_secret: keys.api_secret.into(),
        token: keys.token.into(),
        token_secret: keys.token_secret.into(),
    };
    with(credentials, api)
}

/// Starts the connector with other credentials.
pub(crate) fn with(credentials: Credentials, api: &XApi) -> XConfig {
    let mut config = XConfig::new(credentials);
    config.api_root = api.url().parse().unwrap();
    config.dry_run = false;
    config.daily_limit = Usd::from_cents(10_000);
    config.poll =
        PollPace { fastest: Duration::from_millis(200), slowest: Duration::from_millis(200) };
    config
}

/// Starts the connector with a folder and a gateway that outlive it.
pub(crate) fn start(config: XConfig, folder: &Path, gateway: &Arc<RecordingGateway>) -> Running {
    at(config, folder, gateway, Arc::new(SystemClock))
}

pub(crate) fn at(
    config: XConfig,
    folder: &Path,
    gateway: &Arc<RecordingGateway>,
    clock: Arc<dyn Clock>,
) -> Running {
    Running::start(
        config.connector(&running::host(folder, clock.clone())).unwrap(),
        gateway.clone(),
        clock,
    )
}

pub(crate) fn gateway() -> Arc<RecordingGateway> {
    RecordingGateway::new(running::identity())
}

/// A gateway of another process: it has the stored state and cursors, and no handler yet.
pub(crate) fn successor(of: &RecordingGateway) -> Arc<RecordingGateway> {
    let gateway = gateway();
    of.states().into_iter().for_each(|(key, value)| gateway.put_state(&key, value));
    of.stored_cursor("mentions").into_iter().for_each(|cursor| gateway.put_cursor(cursor));
    gateway
}

fn address(api: &XApi, room: &str) -> Address {
    Address {
        source: Source::new("x"),
        account: Account(api.account().to_string()),
        room: RoomId::fresh(),
        remote: RemoteId(room.to_owned()),
    }
}

/// The deliveries of a message to a conversation.
pub(crate) fn deliveries(
    handler: &dyn SendHandler,
    api: &XApi,
    room: &str,
    outgoing: &Outgoing,
) -> Vec<Delivery> {
    running::deliveries(handler, &address(api, room), outgoing)
}

pub(crate) fn reply(text: &str, to: u64) -> Outgoing {
    Outgoing::Message { content: Content::text(text), reply_to: Some(RemoteId::new(to)) }
}

pub(crate) fn say(text: &str) -> Outgoing {
    Outgoing::Message { content: Content::text(text), reply_to: None }
}

/// Sends each part once.
pub(crate) async fn send(
    handler: &dyn SendHandler,
    api: &XApi,
    room: &str,
    outgoing: &Outgoing,
) -> Vec<Result<Receipt>> {
    running::send(handler, &address(api, room), outgoing).await
}
