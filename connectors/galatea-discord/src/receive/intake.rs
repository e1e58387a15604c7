//! The parts that shards and workers share, and the events between them.

use galatea_core::{Backoff, Gateway, Result, SecretString, StateKeeper, message::WorldSync};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio::{sync::Mutex, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use super::{directs, session::Session};
use crate::{
    decode::{
        Me,
        directory::{Channel, Directory},
        is_private,
        places::guild_sync,
        raw::id,
        remote_id,
    },
    encode::disabled,
    send::{
        api::{Call, DiscordApi},
        escape,
        interaction::EPHEMERAL,
        send_state::{PendingAnswer, SendState},
    },
};

/// Key of the account's state with the direct message channels, because Discord does not list them.
pub(super) const DIRECT: &str = "direct";

/// Key of the account's state with the commands that wait for an answer.
pub(super) const ASKED: &str = "asked";

/// Parts that the shards and workers of one application need to receive events.
#[derive(Clone)]
pub(crate) struct ShardIntake {
    pub(crate) api: DiscordApi,
    pub(crate) send_state: Arc<SendState>,
    pub(crate) me: Arc<Me>,
    pub(crate) gateway: Gateway,
    pub(crate) stop: CancellationToken,
    pub(crate) directory: Arc<Directory>,
    pub(super) direct: Arc<Mutex<Option<Vec<u64>>>>,
}

/// An event on its way from a shard to its worker.
pub(crate) struct ShardEvent {
    /// The session, with this event's sequence number.
    pub(super) session: Session,
    pub(super) name: String,
    pub(super) data: Value,
    /// The task that acknowledges the interaction.
    pub(super) acknowledged: Option<JoinHandle<()>>,
}

impl ShardIntake {
    pub(crate) fn new(
        api: DiscordApi,
        send_state: Arc<SendState>,
        directory: Arc<Directory>,
        me: Arc<Me>,
        gateway: Gateway,
        stop: CancellationToken,
    ) -> Self {
        Self { api, send_state, me, gateway, stop, directory, direct: Arc::default() }
    }

    /// Acknowledges a command or a button press in a task of its own. Discord waits only three
    /// seconds ("Receiving and Responding"), and storing the event may take longer. The call
    /// bypasses the runtime's rate limits, because "Interaction endpoints are not bound to the
    /// bot's Global Rate Limit" ("Rate Limits") and each interaction has its own callback. The
    /// guard against address bans still applies.
    pub(super) fn acknowledge(&self, data: &Value) -> Option<JoinHandle<()>> {
        let (number, token) = (id(&data["id"])?, data["token"].as_str()?.to_owned());
        let kind = match data["type"].as_u64()? {
            // Command: the channel shows that an answer is being prepared.
            2 => 5,
            // Button press: the message does not change.
            3 => 6,
            _ => return None,
        };
        let asked = remote_id(data)?;
        let private = is_private(&asked);
        if let Some(application) = id(&data["application_id"]) {
            let who = id(&data["member"]["user"]["id"]).or_else(|| id(&data["user"]["id"]));
            let pending = PendingAnswer {
                application,
                token: Some(SecretString::from(token.clone())),
                who,
                at: self.gateway.clock().now(),
                used: (kind == 6).then(|| disabled(&data["message"]["components"])),
            };
            self.send_state.asked(asked.clone(), pending);
        }
        let (api, stop, send_state) =
            (self.api.clone(), self.stop.clone(), self.send_state.clone());
        Some(tokio::spawn(async move {
            let path = format!("/interactions/{number}/{}/callback", escape(&token));
            let body = if private {
                json!({ "type": kind, "data": { "flags": EPHEMERAL } })
            } else {
                json!({ "type": kind })
            };
            let call = Call::new("POST /interactions/{}/{}/callback", number, path)
                .json(body)
                .interaction();
            let Some(Err(failure)) = stop.run_until_cancelled(api.call(call)).await else { return };
            // 40060: already acknowledged, for example because the event came twice.
            if failure.code() == Some(40060) {
                return;
            }
            // After a timeout the acknowledgement may have arrived, so the answer is tried.
            if failure.had_no_effect() {
                send_state.ran_out(&asked);
            }
            let error = api.error(failure, "acknowledge");
            if private {
                tracing::warn!(error = %error, "failed to acknowledge a command whose answer is private; answering only where the caller alone can read it");
            } else {
                tracing::warn!(error = %error, "failed to acknowledge a command or button press; answering it with an ordinary message");
            }
        }))
    }

    /// Stores the commands that wait for an answer, so that another process can answer them. If
    /// they are lost, the answer becomes an ordinary message.
    pub(super) async fn keep_asked(&self) {
        let kept = self.send_state.keep(self.gateway.clock().now());
        StateKeeper::new(ASKED).keep_now(&self.gateway, Some(kept)).await;
    }

    /// Ensures that the directory knows the event's guild and channel. A session resumed in a new
    /// process receives no GUILD_CREATE, so they are fetched over REST, once. Returns the guild's
    /// rooms if the guild was new.
    pub(super) async fn look_up(&self, channel: u64, guild: Option<u64>) -> Option<WorldSync> {
        let guild = guild?;
        let mut sync = None;
        if self.directory.guild(guild).is_none() {
            self.load_guild(guild).await;
            sync = guild_sync(guild, &self.directory);
        }
        if self.directory.channel(channel).is_none() {
            let path = || Call::new("GET /channels/{}", channel, format!("/channels/{channel}"));
            match self.api.patient(path).await {
                Ok(value) => self.directory.put_channel(&value, Some(guild)),
                Err(failure) => {
                    tracing::warn!(channel, error = %self.api.error(failure, "get channel"), "failed to load a channel; treating it as an ordinary text channel");
                    self.directory.put(channel, Channel::unknown(guild));
                }
            }
        }
        sync
    }

    pub(super) async fn load_guild(&self, guild: u64) {
        let get = |template: &'static str, path: String| async move {
            match self.api.patient(|| Call::new(template, guild, path.clone())).await {
                Ok(value) => value,
                Err(failure) => {
                    tracing::warn!(guild, error = %self.api.error(failure, template), "failed to load part of a guild; continuing without it");
                    Value::Null
                }
            }
        };
        let mut about = get("GET /guilds/{}", format!("/guilds/{guild}")).await;
        if !about.is_object() {
            about = json!({ "id": guild.to_string() });
        }
        about["channels"] =
            get("GET /guilds/{}/channels", format!("/guilds/{guild}/channels")).await;
        about["threads"] = get(
            "GET /guilds/{}/threads/active",
            format!("/guilds/{guild}/threads/active"),
        )
        .await["threads"]
            .clone();
        let member =
            get("GET /guilds/{}/members/{}", format!("/guilds/{guild}/members/{}", self.me.id))
                .await;
        about["members"] = json!([member]);
        self.directory.put_guild(&about, self.me.id);
    }

    /// The known direct message channels. Waits until they can be read: without them, what people
    /// wrote there meanwhile would be lost.
    pub(super) async fn directs(&self) -> Vec<u64> {
        let (mut backoff, mut logged) = (storing(), false);
        loop {
            match self.known_directs().await {
                Ok(known) => return known,
                Err(error) => {
                    if !std::mem::replace(&mut logged, true) {
                        tracing::warn!(error = %error.report(), "failed to load the direct message channels; retrying before the events after them are read");
                    }
                    self.gateway.clock().sleep(backoff.next_pause()).await;
                }
            }
        }
    }

    /// Reads the direct message channels from the store on first use.
    pub(super) async fn known_directs(&self) -> Result<Vec<u64>> {
        let mut direct = self.direct.lock().await;
        if let Some(known) = &*direct {
            return Ok(known.clone());
        }
        let known: Vec<u64> =
            StateKeeper::new(DIRECT).restore(&self.gateway).await?.unwrap_or_default();
        *direct = Some(known.clone());
        Ok(known)
    }

    /// Stores direct message channels in the order of their use, so that a new session can catch up
    /// on them. False if that failed.
    pub(super) async fn remember_directs(&self, used: &[u64]) -> bool {
        let stored = self.store_directs(used).await;
        if let Err(error) = &stored {
            tracing::debug!(error = %error, "failed to store a direct message channel; retrying with the next commit");
        }
        stored.is_ok()
    }

    pub(super) async fn store_directs(&self, used: &[u64]) -> Result<()> {
        let mut known = self.known_directs().await?;
        if directs::note(&mut known, used) {
            self.gateway.save_state(DIRECT, json!(known)).await?;
            *self.direct.lock().await = Some(known);
        }
        Ok(())
    }
}

/// First and longest wait between attempts to store.
pub(super) const FIRST_PAUSE: Duration = Duration::from_millis(50);

pub(super) const MAX_PAUSE: Duration = Duration::from_secs(5);

/// The pauses between attempts to store.
pub(crate) fn storing() -> Backoff {
    Backoff::new(FIRST_PAUSE, MAX_PAUSE)
}
