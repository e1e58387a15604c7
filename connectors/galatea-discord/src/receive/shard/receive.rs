//! What a shard does with one payload of the gateway.

use galatea_core::Result;
use rand::RngExt;
use std::time::Duration;

use super::{DISPATCH, End, HEARTBEAT, HEARTBEAT_ACK, INVALID_SESSION, RECONNECT, Shard};
use crate::receive::{
    socket::{Got, Socket},
    watchdog::Watchdog,
};

/// What follows from a payload.
pub(super) enum Next {
    /// The connection goes on.
    Read,
    /// The connection has ended.
    End(End),
    /// The shard ends the connection.
    Leave(End),
}

/// What is known of a connection while it lasts.
pub(super) struct Alive {
    /// Discord has answered the last heartbeat.
    pub(super) acknowledged: bool,
    /// The session is begun or resumed.
    pub(super) ready: bool,
    pub(super) watchdog: Watchdog,
}

impl Alive {
    pub(super) fn new(watchdog: Watchdog) -> Self {
        Self { acknowledged: true, ready: false, watchdog }
    }
}

impl Shard {
    /// Handles what the gateway sent.
    pub(super) async fn receive(
        &mut self,
        got: Got,
        socket: &mut Socket,
        alive: &mut Alive,
    ) -> Result<Next> {
        let frame = match got {
            Got::Frame(frame) => frame,
            Got::Unreadable(bytes) => {
                tracing::warn!(
                    shard = self.number,
                    bytes,
                    "malformed gateway payload; skipping it"
                );
                self.note_unread("what the gateway sent cannot be read and is skipped").await;
                return Ok(Next::Read);
            }
            Got::Poison => return Ok(Next::End(self.poisoned(alive.ready).await)),
            Got::Closed(code) => return self.closed(code, alive.ready).map(Next::End),
        };
        match frame.op {
            DISPATCH => {
                self.held = self.dispatch(frame, &mut alive.ready, &mut alive.watchdog);
            }
            HEARTBEAT => {
                let sent = socket.send(HEARTBEAT, &self.sequence()).await;
                if !sent {
                    return Ok(Next::End(self.broken(alive.ready)));
                }
            }
            HEARTBEAT_ACK => alive.acknowledged = true,
            RECONNECT => return Ok(Next::Leave(End::Resume(Duration::ZERO))),
            INVALID_SESSION => {
                // Discord asks for a pause of one to five seconds ("Resuming").
                let pause = Duration::from_secs(1).mul_f64(rand::rng().random_range(1.0..5.0));
                let resumable = frame.d == true;
                let end = if resumable { End::Resume(pause) } else { End::Fresh(pause) };
                return Ok(Next::Leave(end));
            }
            _ => {}
        }
        Ok(Next::Read)
    }
}
