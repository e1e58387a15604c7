//! Connects a shard, and identifies or resumes.

use galatea_core::{Error, ErrorKind, Result, secret::ExposeSecret};
use serde_json::json;
use std::time::Duration;

use super::{HELLO, IDENTIFY, RESUME, Shard};
use crate::{
    error::codes,
    receive::{
        quota::braked,
        socket::{Frame, Got, Socket},
    },
};

impl Shard {
    /// Connects, waits for HELLO, and identifies or resumes. Returns the socket and the heartbeat
    /// interval.
    pub(super) async fn begin(&mut self) -> Result<(Socket, Duration)> {
        let fleet = self.fleet.clone();
        let turn = match &self.session {
            Some(_) => None,
            None => Some(fleet.quota.permit(self.number, |wait| self.wait_for_turn(wait)).await?),
        };
        // The session's own address may be out of order, so every other attempt uses the general
        // one.
        let own = self.session.as_ref().filter(|_| self.misses.is_multiple_of(2));
        let address = own.map_or(&fleet.address, |s| &s.address);
        let mut socket = Socket::connect(address, &self.fleet.tunnels).await?;
        let silent = || {
            Error::new(ErrorKind::Unavailable, "Discord's gateway does not greet")
                .with_code(codes::CONNECT)
        };
        let greeting = tokio::time::timeout(self.fleet.patience.greeting, socket.next())
            .await
            .map_err(|_| silent())?;
        let interval = match greeting {
            Got::Frame(Frame { op: HELLO, d, .. }) => {
                d["heartbeat_interval"].as_u64().filter(|ms| *ms > 0)
            }
            _ => None,
        };
        let interval = interval.map(Duration::from_millis).ok_or_else(silent)?;
        let token = self.fleet.token.expose_secret();
        let sent = match &self.session {
            Some(session) => {
                self.unheard += 1;
                socket.send(RESUME, &json!({ "token": token, "session_id": session.id, "seq": session.sequence })).await
            }
            None => {
                if let Some(turn) = turn {
                    turn.take().await?;
                }
                let properties = json!({ "os": std::env::consts::OS, "browser": "galatea", "device": "galatea" });
                let identify = json!({ "token": token, "intents": self.fleet.intents, "properties": properties, "shard": [self.number, self.fleet.shards], "large_threshold": 50 });
                socket.send(IDENTIFY, &identify).await
            }
        };
        if sent { Ok((socket, interval)) } else { Err(silent()) }
    }

    fn wait_for_turn(&self, wait: Duration) {
        tracing::warn!(
            shard = self.number,
            code = codes::IDENTIFY,
            seconds = wait.as_secs(),
            "too many recent session starts; delaying the next one"
        );
        self.fleet.shard_health.down(self.number, &braked(), wait);
    }
}
