//! NATS core: publish and subscribe, at most once.

use async_nats::{Client, ConnectOptions, Event, Subscriber, connection::State};
use futures::StreamExt as _;
use galatea_core::{Hint, Hints, secret::ExposeSecret as _};
use std::{fmt, sync::Arc, time::Duration};
use tokio::sync::watch;

use crate::{
    address::{Address, Login},
    codes,
};

/// Subjects are `galatea.hint.<what>`. Somebody else's hint costs a look.
const PREFIX: &str = "galatea.hint.";
/// Longest pause between two attempts to connect.
const LONGEST: Duration = Duration::from_secs(8);

/// How often something was told or heard, by the places of [`Hint::ALL`].
type Counts = [u64; Hint::ALL.len()];

/// A connection to a NATS server.
pub(crate) struct Nats {
    told: watch::Sender<Counts>,
    heard: Arc<[watch::Sender<u64>]>,
    up: watch::Receiver<bool>,
}

impl fmt::Debug for Nats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nats").field("up", &*self.up.borrow()).finish_non_exhaustive()
    }
}

impl Nats {
    /// Connects in the background until it is dropped.
    pub(crate) fn open(address: Address) -> Self {
        let (told, telling) = watch::channel(Counts::default());
        let heard: Arc<[_]> = Hint::ALL.map(|_| watch::Sender::new(0)).into();
        let (is_up, up) = watch::channel(false);
        tokio::spawn(run(address, telling, Arc::clone(&heard), is_up));
        Self { told, heard, up }
    }
}

impl Hints for Nats {
    fn is_up(&self) -> bool {
        *self.up.borrow()
    }

    fn tell(&self, hint: Hint) {
        self.told.send_modify(|counts| counts[place(hint)] += 1);
    }

    fn heard(&self, hint: Hint) -> watch::Receiver<u64> {
        self.heard[place(hint)].subscribe()
    }
}

fn place(hint: Hint) -> usize {
    hint as usize
}

async fn run(address: Address, telling: watch::Receiver<Counts>, heard: Arc<[watch::Sender<u64>]>, is_up: watch::Sender<bool>) {
    let (client, subscriber) = match connect(address, is_up.clone(), Arc::clone(&heard)).await {
        Ok(connected) => connected,
        // With an address that was read it waits for the server in the background.
        Err(error) => return tracing::error!(code = codes::UNREACHED, error, "NATS cannot be used; processes look for work ten times a second instead"),
    };
    let ended = tokio::select! {
        ended = listen(subscriber, &heard) => ended,
        ended = tell(client, telling) => ended,
    };
    is_up.send_replace(false);
    tracing::debug!(ended, "the connection to NATS is over");
}

async fn connect(address: Address, is_up: watch::Sender<bool>, heard: Arc<[watch::Sender<u64>]>) -> Result<(Client, Subscriber), String> {
    let options = ConnectOptions::new().name("galatea").no_echo().retry_on_initial_connect();
    let options = options.reconnect_delay_callback(|attempts| Duration::from_millis(100 << attempts.min(10)).min(LONGEST));
    let options = match address.login {
        Login::None => options,
        Login::Token(token) => options.token(token.expose_secret().to_owned()),
        Login::Password(user, password) => options.user_and_password(user, password.expose_secret().to_owned()),
    };
    let options = options.event_callback(move |event| {
        note(&event, &is_up, &heard);
        std::future::ready(())
    });
    let client = options.connect(address.servers).await.map_err(|error| error.to_string())?;
    let subscriber = client.subscribe(format!("{PREFIX}*")).await.map_err(|error| error.to_string())?;
    Ok((client, subscriber))
}

/// Told once each time it changes.
fn note(event: &Event, is_up: &watch::Sender<bool>, heard: &[watch::Sender<u64>]) {
    match event {
        Event::Connected => {
            is_up.send_replace(true);
            tracing::info!("processes tell each other of new work through NATS");
            // Whatever was told meanwhile.
            heard.iter().for_each(|heard| heard.send_modify(|count| *count += 1));
        }
        Event::Disconnected | Event::Closed => {
            if is_up.send_replace(false) {
                tracing::warn!(code = codes::UNREACHED, "the connection to NATS broke; processes look for work ten times a second until it is back");
            }
        }
        Event::ServerError(error) => tracing::warn!(code = codes::UNREACHED, %error, "NATS refuses"),
        Event::ClientError(error) => tracing::debug!(code = codes::UNREACHED, %error, "NATS cannot be reached"),
        other => tracing::debug!(%other, "NATS"),
    }
}

async fn listen(mut subscriber: Subscriber, heard: &[watch::Sender<u64>]) -> &'static str {
    while let Some(message) = subscriber.next().await {
        if let Some(hint) = message.subject.strip_prefix(PREFIX).and_then(Hint::from_name) {
            heard[place(hint)].send_modify(|count| *count += 1);
        }
    }
    "nothing is heard any more"
}

async fn tell(client: Client, mut telling: watch::Receiver<Counts>) -> &'static str {
    let mut told = Counts::default();
    while telling.changed().await.is_ok() {
        let counts = *telling.borrow_and_update();
        // What is told while nobody can hear is made up for when they can.
        if client.connection_state() == State::Connected {
            for hint in Hint::ALL.into_iter().filter(|hint| counts[place(*hint)] != told[place(*hint)]) {
                if client.publish(format!("{PREFIX}{}", hint.as_str()), Vec::new().into()).await.is_err() {
                    return "nothing can be told any more";
                }
            }
        }
        told = counts;
    }
    "nobody tells any more"
}
