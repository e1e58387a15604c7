//! A shard of the gateway connection. It identifies or resumes, sends heartbeats, passes events
//! on in order, and reconnects after every disconnect that is not final.

mod begin;
mod poison;
mod stall;

use galatea_core::{Backoff, Error, ErrorKind, Result};
use rand::RngExt;
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio::{sync::mpsc, time::Instant};
use url::Url;

use super::{
    ShardEvent,
    fleet::Fleet,
    session::{Committed, Position, Session, guild_of, stream},
    socket::{Frame, Got},
    watchdog::Watchdog,
};
use crate::{
    decode::raw::id,
    error::{codes, fatal_close},
};

/// Opcodes (Discord, "Gateway Opcodes").
const DISPATCH: u64 = 0;
const HEARTBEAT: u64 = 1;
const IDENTIFY: u64 = 2;
const RESUME: u64 = 6;
const RECONNECT: u64 = 7;
const REQUEST_MEMBERS: u64 = 8;
const INVALID_SESSION: u64 = 9;
const HELLO: u64 = 10;
const HEARTBEAT_ACK: u64 = 11;

/// After this many resumes in a row that Discord neither accepted nor refused, a new session is
/// begun.
const MAX_UNHEARD: u32 = 5;
/// Number of faults in a row that cost short pauses only: together less than 7 s.
const SOON: u32 = 8;
/// First and longest of the short pauses.
const SHORT_PAUSE: Duration = Duration::from_millis(250);
const MAX_SHORT_PAUSE: Duration = Duration::from_secs(1);
/// Longest pause between connection attempts, after more faults.
const MAX_PAUSE: Duration = Duration::from_secs(8);
/// A connection that ends sooner counts as brief; see [`pause_after_brief`].
const BRIEF: Duration = Duration::from_secs(10);
/// Most events that wait for the store. When the queue is full, nothing more is read from Discord.
const QUEUE: usize = 1024;

/// End of a connection.
enum ConnectionEnd {
    /// The process is stopping.
    Stop,
    /// Resume the session after this pause.
    Resume(Duration),
    /// Begin a new session after this pause.
    Fresh(Duration),
    /// The connection failed before READY or RESUMED.
    Failed(Error),
}

struct Shard {
    fleet: Fleet,
    number: u16,
    session: Option<Session>,
    committed: Arc<Committed>,
    items: mpsc::Sender<ShardEvent>,
    /// A received event that waits for room in the queue. It outlives its connection, because a
    /// resume continues after it.
    held: Option<ShardEvent>,
    misses: u32,
    /// Resumes in a row that Discord neither accepted nor refused.
    unheard: u32,
    /// Brief connections in a row; see [`BRIEF`].
    brief: u32,
    /// Connections in a row whose session brought no events, even after a probe.
    deaf: u32,
    /// A guild of this shard, for probing a quiet session.
    guild: Option<u64>,
    /// The session as it was when a payload that is too large or not text broke the connection. If
    /// the next one breaks at the same sequence number, the event is skipped.
    poison: Option<Session>,
}

/// Runs one shard until stopped.
///
/// # Errors
/// An error that needs a person (`Retry::Never`), one of the store, or `RateLimited` if no session
/// may be begun for now.
pub(crate) async fn run(fleet: Fleet, number: u16) -> Result<()> {
    let stored = fleet.intake.gateway.cursor(&stream(number)).await?;
    let position = Position::read(stored, fleet.intake.api.root(), fleet.shards);
    let guild = position.guild;
    let session = position.session.clone().filter(|s| trusted(&s.address, &fleet.address));
    let committed = Arc::new(Committed::new(session.clone()));
    let (items, queue) = mpsc::channel(QUEUE);
    let quit = fleet.intake.stop.child_token();
    let worker =
        super::work::run(fleet.clone(), number, position, committed.clone(), queue, quit.clone());
    let shard = Shard {
        fleet,
        number,
        session,
        committed,
        items,
        held: None,
        misses: 0,
        unheard: 0,
        brief: 0,
        deaf: 0,
        guild,
        poison: None,
    };
    let receiving = async {
        let outcome = shard.run().await;
        // Events that the worker still holds are not committed, so Discord sends them again.
        quit.cancel();
        outcome
    };
    tokio::join!(receiving, worker).0
}

/// True if the resume address that Discord named is at least as secure as the gateway's address.
fn trusted(resume: &Url, address: &Url) -> bool {
    resume.scheme() == "wss" || (resume.scheme() == "ws" && address.scheme() == "ws")
}

/// The pause after this many brief connections in a row. A single one is normal; several mean that
/// the gateway is out of order.
fn pause_after_brief(brief: u32) -> Duration {
    brief.checked_sub(2).map_or(Duration::ZERO, pause_after)
}

/// The pause after a fault, with so many before it: short at first, because faults come in bursts that
/// end soon.
fn pause_after(faults: u32) -> Duration {
    match faults.checked_sub(SOON) {
        None => Backoff::pause_after(SHORT_PAUSE, MAX_SHORT_PAUSE, faults),
        Some(more) => Backoff::pause_after(2 * MAX_SHORT_PAUSE, MAX_PAUSE, more),
    }
}

impl Shard {
    async fn run(mut self) -> Result<()> {
        let stop = self.fleet.intake.stop.clone();
        let clock = self.fleet.intake.gateway.clock().clone();
        loop {
            let begun = clock.now();
            let end = self.once().await?;
            if !stop.is_cancelled() {
                self.fleet.shard_health.between(self.number);
            }
            self.brief =
                if clock.now().since(begun) < BRIEF { self.brief.saturating_add(1) } else { 0 };
            let pause = match end {
                ConnectionEnd::Stop => return Ok(()),
                ConnectionEnd::Resume(pause) => pause.max(pause_after_brief(self.brief)),
                ConnectionEnd::Fresh(pause) => {
                    (self.session, self.unheard) = (None, 0);
                    pause.max(pause_after_brief(self.brief))
                }
                ConnectionEnd::Failed(error) => {
                    tracing::warn!(shard = self.number, error = %error, "failed to connect to Discord's gateway; reconnecting");
                    // An unreachable gateway does not end the session. Discord says if it is gone,
                    // and a resume costs nothing.
                    if self.unheard >= MAX_UNHEARD {
                        (self.session, self.unheard) = (None, 0);
                    }
                    let most = pause_after(self.misses);
                    self.misses = self.misses.saturating_add(1);
                    let pause = most.mul_f64(rand::rng().random_range(0.5..1.0));
                    self.fleet.shard_health.down(self.number, &error, pause);
                    pause
                }
            };
            let waited = stop.run_until_cancelled(clock.sleep(pause)).await;
            if waited.is_none() {
                return Ok(());
            }
        }
    }

    /// Runs one connection until it ends.
    async fn once(&mut self) -> Result<ConnectionEnd> {
        let stop = self.fleet.intake.stop.clone();
        let begun = stop.run_until_cancelled(self.begin()).await;
        let (mut socket, interval) = match begun {
            None => return Ok(ConnectionEnd::Stop),
            Some(Ok(begun)) => begun,
            Some(Err(error)) if error.code() == Some(codes::IDENTIFY) => return Err(error),
            Some(Err(error)) => {
                return Ok(ConnectionEnd::Failed(self.fleet.intake.api.placed(error)));
            }
        };
        let clock = self.fleet.intake.gateway.clock().clone();
        // A random first delay, so that not all clients beat at once after an outage (Discord,
        // "Sending Heartbeats").
        let mut beat = clock.sleep(interval.mul_f64(rand::rng().random_range(0.0..1.0)));
        let (mut acknowledged, mut ready) = (true, false);
        let mut watchdog = Watchdog::new(self.fleet.patience, Instant::now());
        let items = self.items.clone();
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => {
                    socket.leave().await;
                    return Ok(ConnectionEnd::Stop);
                }
                () = &mut beat => {
                    // While an event is held nothing is read, so the acknowledgement may have
                    // arrived unread.
                    if !acknowledged && self.held.is_none() {
                        tracing::info!(shard = self.number, "Discord does not answer heartbeats; reconnecting");
                        socket.leave().await;
                        return Ok(ConnectionEnd::Resume(Duration::ZERO));
                    }
                    acknowledged = false;
                    if !socket.send(HEARTBEAT, &self.sequence()).await {
                        return Ok(self.broken(ready));
                    }
                    beat = clock.sleep(interval);
                }
                room = items.reserve(), if self.held.is_some() => match (room, self.held.take()) {
                    (Ok(room), Some(item)) => {
                        room.send(item);
                        watchdog.resume_reading(Instant::now());
                    }
                    // The worker has ended, so no event can be stored any more.
                    _ => return Err(Error::unexpected("events of Discord are not stored any more").with("shard", self.number)),
                },
                got = socket.next(), if self.held.is_none() => {
                    let frame = match got {
                        Got::Frame(frame) => frame,
                        Got::Unreadable(bytes) => {
                            tracing::warn!(shard = self.number, bytes, "malformed gateway payload; skipping it");
                            self.note_unread("what the gateway sent cannot be read and is skipped").await;
                            continue;
                        }
                        Got::Poison => return Ok(self.poisoned(ready).await),
                        Got::Closed(code) => return self.closed(code, ready),
                    };
                    match frame.op {
                        DISPATCH => {
                            self.held = self.dispatch(frame, &mut ready, &mut watchdog);
                        }
                        HEARTBEAT => {
                            let alive = socket.send(HEARTBEAT, &self.sequence()).await;
                            if !alive {
                                return Ok(self.broken(ready));
                            }
                        }
                        HEARTBEAT_ACK => acknowledged = true,
                        RECONNECT => {
                            socket.leave().await;
                            return Ok(ConnectionEnd::Resume(Duration::ZERO));
                        }
                        INVALID_SESSION => {
                            socket.leave().await;
                            // Discord asks for a pause of one to five seconds ("Resuming").
                            let pause = Duration::from_secs(1).mul_f64(rand::rng().random_range(1.0..5.0));
                            return Ok(if frame.d == true { ConnectionEnd::Resume(pause) } else { ConnectionEnd::Fresh(pause) });
                        }
                        _ => {}
                    }
                }
                // Last in the select, because a readable payload ends the silence.
                () = tokio::time::sleep_until(watchdog.until()), if self.held.is_none() => {
                    if let Some(end) = self.handle_stall(&mut socket, &mut watchdog, ready).await {
                        socket.leave().await;
                        return Ok(end);
                    }
                }
            }
        }
    }

    /// The sequence number for heartbeats: that of the last stored event, so that Discord keeps the
    /// later ones for a resume.
    fn sequence(&self) -> Value {
        self.session
            .as_ref()
            .and_then(|session| self.committed.of(session))
            .map_or(Value::Null, |sequence| json!(sequence))
    }

    fn dispatch(
        &mut self,
        frame: Frame,
        ready: &mut bool,
        watchdog: &mut Watchdog,
    ) -> Option<ShardEvent> {
        let (sequence, name) = (frame.s?, frame.t?);
        let now = Instant::now();
        match name.as_str() {
            "READY" => {
                let session = frame.d["session_id"].as_str()?.to_owned();
                let resume = frame.d["resume_gateway_url"]
                    .as_str()
                    .and_then(|u| Url::parse(u).ok())
                    .filter(|u| trusted(u, &self.fleet.address));
                let address = resume.unwrap_or_else(|| self.fleet.address.clone());
                self.session = Some(Session { id: session, address, sequence });
                self.guild =
                    frame.d["guilds"].as_array().into_iter().flatten().find_map(|g| id(&g["id"]));
                watchdog.begin(now);
                self.arrived(ready, "gateway session started");
            }
            "RESUMED" => {
                watchdog.begin(now);
                self.arrived(ready, "gateway session resumed");
            }
            _ => {
                watchdog.hear(now);
                self.deaf = 0;
                self.guild = guild_of(&name, &frame.d, self.guild);
            }
        }
        let session = self.session.as_mut()?;
        session.sequence = sequence;
        let acknowledged = (name == "INTERACTION_CREATE")
            .then(|| self.fleet.intake.acknowledge(&frame.d))
            .flatten();
        Some(ShardEvent { session: session.clone(), name, data: frame.d, acknowledged })
    }

    fn arrived(&mut self, ready: &mut bool, what: &'static str) {
        (*ready, self.misses, self.unheard) = (true, 0, 0);
        tracing::info!(shard = self.number, "{what}");
        self.fleet.shard_health.up(self.number);
    }

    fn broken(&mut self, ready: bool) -> ConnectionEnd {
        if ready {
            return ConnectionEnd::Resume(Duration::ZERO);
        }
        let error = Error::new(ErrorKind::Unavailable, "Discord's gateway closed the connection")
            .with_code(codes::CONNECT);
        ConnectionEnd::Failed(self.fleet.intake.api.placed(error))
    }

    fn closed(&mut self, code: Option<u16>, ready: bool) -> Result<ConnectionEnd> {
        let Some(code) = code else { return Ok(self.broken(ready)) };
        if let Some(error) = fatal_close(code) {
            return Err(error);
        }
        tracing::info!(shard = self.number, code, "Discord closed the connection");
        Ok(match code {
            // The session is lost: not authenticated (4003), invalid sequence (4007). 1000 and 1001
            // end it, too.
            4003 | 4007 | 1000 | 1001 => ConnectionEnd::Fresh(Duration::from_millis(500)),
            _ => self.broken(ready),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_of_faults_costs_seconds_and_a_long_outage_is_not_hammered() {
        let burst: Duration = (0..SOON).map(pause_after).sum();
        assert!(burst < Duration::from_secs(7), "{burst:?}");
        let brief: Duration = (1..=SOON).map(pause_after_brief).sum();
        assert!(brief < burst);
        assert_eq!(pause_after(100), MAX_PAUSE);
        assert!((0..99).all(|n| pause_after(n) <= pause_after(n + 1)));
    }
}
