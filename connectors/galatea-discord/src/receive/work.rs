//! A shard's worker: decodes events in order and commits them together with the sequence number.
//! Heartbeats confirm only committed events, so Discord sends the others again.

use galatea_core::{Batch, Cursor, Gap, Incoming, Result, message::WorldSync};
use std::{collections::HashSet, sync::Arc, time::Duration};
use tokio::{sync::mpsc, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{
    ShardEvent, ShardIntake,
    intake::storing,
    session::{Committed, Position},
    shard_health::ShardHealth,
};
use crate::{
    decode::{
        decode_surely, place_of,
        places::{changes_permissions, forget, learn},
        raw::id,
    },
    receive::{fleet::Fleet, session::guild_of},
    snowflake_at,
};

/// Most events of one commit.
const BATCH: usize = 100;
/// Longest delay of a commit that would hold only echoes of our own messages. Echoes come with
/// every answer, nothing of them is stored, and Discord may send them again.
const COMPANY: Duration = Duration::from_millis(200);
/// Distance before the newest known message at which catching up begins, as a difference of ids
/// (one minute): ids of different channels are not in perfect order.
const OVERLAP: u64 = 60_000 << 22;

/// Kind of a taken event.
#[derive(PartialEq)]
enum TakenEvent {
    /// An echo of our own message.
    Echo,
    /// Something to store, or a change of the session.
    News,
}

/// State of one shard's worker.
struct Work {
    intake: ShardIntake,
    shard_health: Arc<ShardHealth>,
    shard: u16,
    position: Position,
    committed: Arc<Committed>,
    /// Guilds that READY listed and whose GUILD_CREATE has not come yet.
    awaited: HashSet<u64>,
    events: Vec<Incoming>,
    syncs: Vec<WorldSync>,
    /// Direct message channels used since the last commit.
    directs: Vec<u64>,
}

/// Runs until stopped or until the queue is closed.
pub(super) async fn run(
    fleet: Fleet,
    shard: u16,
    position: Position,
    committed: Arc<Committed>,
    mut queue: mpsc::Receiver<ShardEvent>,
    stop: CancellationToken,
) {
    let Fleet { intake, shard_health, .. } = fleet;
    let mut work = Work {
        intake,
        shard_health,
        shard,
        position,
        committed,
        awaited: HashSet::new(),
        events: Vec::new(),
        syncs: Vec::new(),
        directs: Vec::new(),
    };
    let mut items = Vec::with_capacity(BATCH);
    let working = async {
        // Since when a commit of echoes is delayed.
        let mut waits: Option<Instant> = None;
        loop {
            let more = queue.recv_many(&mut items, BATCH);
            let count = match waits {
                Some(since) => tokio::time::timeout_at(since + COMPANY, more).await.unwrap_or(0),
                None => more.await,
            };
            if count == 0 && waits.is_none() {
                return;
            }
            let mut echoes = count > 0;
            for item in items.drain(..) {
                echoes &= work.take(item).await == TakenEvent::Echo;
            }
            if echoes && waits.is_none_or(|since| since.elapsed() < COMPANY) {
                waits = waits.or_else(|| Some(Instant::now()));
            } else {
                waits = None;
                work.commit().await;
            }
        }
    };
    // Events interrupted here are not committed, so Discord sends them again.
    stop.run_until_cancelled(working).await;
}

impl Work {
    async fn take(&mut self, item: ShardEvent) -> TakenEvent {
        let fresh = self.position.session.as_ref().is_none_or(|s| s.id != item.session.id);
        if fresh && item.name != "READY" {
            // Left over from a lost session. Catching up reads its messages if they were not
            // stored.
            return TakenEvent::News;
        }
        self.position.session = Some(item.session);
        if item.name == "READY" {
            self.shard_health.servers(self.shard, "READY", &item.data);
            self.begin(&item.data).await;
            return TakenEvent::News;
        }
        let (intake, data) = (self.intake.clone(), item.data);
        self.position.guild = guild_of(&item.name, &data, self.position.guild);
        learn(&item.name, &data, &intake.directory, &intake.me);
        if let Some((channel, guild)) = place_of(&data) {
            self.syncs.extend(intake.look_up(channel, guild).await);
        }
        let now = intake.gateway.clock().now();
        let decoded = decode_surely(&item.name, &data, &intake.directory, &intake.me, now);
        if decoded.unreadable {
            let place = place_of(&data).map(|(channel, _)| format!("channel {channel}"));
            let which = id(&data["id"]).map_or_else(String::new, |id| format!(" {id}"));
            tracing::warn!(
                id = id(&data["id"]),
                place,
                "malformed message from Discord; skipping it"
            );
            self.note(Gap {
                place,
                ..Gap::new(now, format!("message{which} cannot be read and is skipped"))
            })
            .await;
        }
        if let Some(why) = decoded.left_out {
            tracing::debug!(
                id = id(&data["id"]),
                kind = data["type"].as_u64(),
                why,
                "a message from Discord is not stored"
            );
        }
        if let Some(acknowledged) = item.acknowledged {
            // The answer replaces the message that the acknowledgement creates.
            let _ = acknowledged.await;
            // Before the command is stored, because from then on another process may have to answer
            // it.
            intake.keep_asked().await;
        }
        let echo = decoded.echo.is_some()
            && decoded.events.is_empty()
            && decoded.syncs.is_empty()
            && self.events.is_empty()
            && self.syncs.is_empty();
        if let Some((nonce, message)) = decoded.echo {
            intake.send_state.echo(nonce, message);
        }
        self.heard_up_to(decoded.newest.unwrap_or(0));
        if let Some(channel) = decoded.direct {
            self.directs.push(channel);
        }
        self.syncs.extend(decoded.syncs);
        self.events.extend(decoded.events);
        forget(&item.name, &data, &intake.directory);
        self.shard_health.servers(self.shard, &item.name, &data);
        if changes_permissions(&item.name) {
            intake
                .send_state
                .muted
                .recheck(|channel| intake.directory.missing(channel, intake.me.id, now).is_some());
        }
        if item.name == "GUILD_CREATE"
            && let Some(guild) = id(&data["id"])
        {
            self.guild_came(guild).await;
        }
        if echo { TakenEvent::Echo } else { TakenEvent::News }
    }

    /// Begins a new session and catches up on direct messages since the last event of the old one.
    /// Guild channels follow with each GUILD_CREATE.
    async fn begin(&mut self, ready: &serde_json::Value) {
        self.awaited =
            ready["guilds"].as_array().into_iter().flatten().filter_map(|g| id(&g["id"])).collect();
        if self.position.newest == 0 {
            // The bot's first session. Messages from now on arrive as events, or the next session
            // catches up on them.
            self.position.newest = snowflake_at(self.intake.gateway.clock().now());
            self.position.first = self.position.newest;
            self.position.assumed = true;
            return;
        }
        let newest = self.position.newest.saturating_sub(OVERLAP).max(self.position.first);
        let gap = self.position.gap.map_or(newest, |gap| gap.min(newest));
        self.position.gap = Some(gap);
        if self.shard == 0 {
            for channel in self.intake.directs().await {
                self.catch_up(channel, None, gap, None).await;
            }
        }
        if self.awaited.is_empty() {
            self.position.gap = None;
        }
    }

    /// Advances `newest`. The first message id replaces the assumed start time even if it is older,
    /// because clocks differ.
    fn heard_up_to(&mut self, newest: u64) {
        if newest > 0 {
            if self.position.assumed {
                // It came as an event, so it belongs to the session whatever our clock says.
                self.position.first = self.position.first.min(newest - 1);
                self.position.newest = newest;
            }
            self.position.newest = self.position.newest.max(newest);
            self.position.assumed = false;
        }
    }

    async fn guild_came(&mut self, guild: u64) {
        if let Some(gap) = self.position.gap {
            // Store the guild's rooms first, because messages refer to them.
            self.commit_events().await;
            for (channel, about) in self.intake.directory.channels_of(guild) {
                if about.holds_messages() && about.newest.is_some_and(|newest| newest > gap) {
                    self.catch_up(channel, Some(guild), gap, about.newest).await;
                }
            }
        }
        self.awaited.remove(&guild);
        if self.awaited.is_empty() {
            self.position.gap = None;
        }
    }

    async fn catch_up(&mut self, channel: u64, guild: Option<u64>, after: u64, last: Option<u64>) {
        let caught_up = super::catch_up::catch_up(&self.intake, channel, guild, after, last).await;
        self.heard_up_to(caught_up.newest);
        self.events.extend(caught_up.events);
        if let Some(gap) = caught_up.gap {
            self.note(gap).await;
        }
        if self.events.len() >= BATCH {
            self.commit_events().await;
        }
    }

    /// Records a gap; retries until it is stored.
    async fn note(&self, gap: Gap) {
        let (gateway, mut backoff) = (&self.intake.gateway, storing());
        while let Err(error) = gateway.note_gap(gap.clone()).await {
            tracing::debug!(error = %error, "failed to record a gap; retrying");
            gateway.clock().sleep(backoff.next_pause()).await;
        }
    }

    /// Stores the events together with the sequence number; retries until they are stored.
    async fn commit(&mut self) {
        let cursor = self.position.cursor(self.shard);
        self.store(Some(cursor)).await;
        self.committed.set(self.position.session.clone());
    }

    async fn commit_events(&mut self) {
        self.store(None).await;
    }

    async fn store(&mut self, cursor: Option<Cursor>) {
        // Before the events: once those are committed, Discord does not send them again.
        let directs = std::mem::take(&mut self.directs);
        if !directs.is_empty() && !self.intake.remember_directs(&directs).await {
            self.directs.extend(directs);
        }
        let (events, syncs) = (std::mem::take(&mut self.events), std::mem::take(&mut self.syncs));
        if events.is_empty() && syncs.is_empty() && cursor.is_none() {
            return;
        }
        let (gateway, mut backoff, mut logged) = (&self.intake.gateway, storing(), false);
        loop {
            let attempt: Result<()> = async {
                for sync in &syncs {
                    gateway.ensure_connections(sync.clone()).await?;
                }
                gateway
                    .receive(Batch {
                        events: events.clone(),
                        cursor: cursor.clone(),
                        ..Batch::default()
                    })
                    .await
                    .map(drop)
            }
            .await;
            let Err(error) = attempt else { break };
            if !logged {
                logged = true;
                tracing::warn!(error = %error.report(), events = events.len(), "failed to store events from Discord; keeping them and retrying");
                self.shard_health.unstored(self.shard, &error);
            }
            gateway.clock().sleep(backoff.next_pause()).await;
        }
        if logged {
            self.shard_health.stored(self.shard);
        }
    }
}
