//! Step of a shard when the gateway has sent nothing for too long.

use galatea_core::{Error, ErrorKind};
use serde_json::json;
use std::time::Duration;
use tokio::time::Instant;

use super::{ConnectionEnd, REQUEST_MEMBERS, Shard};
use crate::{
    error::codes,
    receive::{
        socket::Socket,
        watchdog::{Stall, Watchdog},
    },
};

impl Shard {
    /// Handles a silence that has lasted too long: probes the gateway, or ends the connection.
    /// Returns `None` if the connection goes on.
    pub(super) async fn handle_stall(
        &mut self,
        socket: &mut Socket,
        watchdog: &mut Watchdog,
        ready: bool,
    ) -> Option<ConnectionEnd> {
        let now = Instant::now();
        let seconds = |wait: Duration| wait.as_secs();
        let patience = self.fleet.patience;
        match watchdog.due(now)? {
            Stall::NoSession if self.session.is_some() => {
                tracing::warn!(
                    shard = self.number,
                    seconds = seconds(patience.beginning),
                    "Discord accepted a resume but sent no RESUMED; beginning a new session"
                );
                Some(ConnectionEnd::Fresh(Duration::ZERO))
            }
            Stall::NoSession => {
                let error = Error::new(
                    ErrorKind::Timeout,
                    "Discord's gateway took the bot in and did not begin its session",
                )
                .with_code(codes::CONNECT);
                Some(ConnectionEnd::Failed(self.fleet.intake.api.placed(
                    error.with(
                        "cause",
                        format!("no READY within {} s", seconds(patience.beginning)),
                    ),
                )))
            }
            Stall::ProbeDue => {
                // The probe: Discord answers it with GUILD_MEMBERS_CHUNK. A request by id needs no
                // privileged intent (Discord, "Request Guild Members").
                let Some(guild) = self.guild else {
                    watchdog.cannot_ask(now);
                    return None;
                };
                watchdog.ask(now);
                let asked = json!({ "guild_id": guild.to_string(), "user_ids": [self.fleet.intake.me.id.to_string()] });
                if socket.send(REQUEST_MEMBERS, &asked).await {
                    None
                } else {
                    Some(self.broken(ready))
                }
            }
            Stall::ProbeUnanswered => {
                self.deaf = self.deaf.saturating_add(1);
                // Resume first, because it costs nothing. Then drop the guild: if the bot has left
                // it, Discord does not answer the probe either.
                let fresh = self.deaf > 1;
                self.guild = self.guild.filter(|_| !fresh);
                tracing::warn!(
                    shard = self.number,
                    fresh,
                    "Discord answers heartbeats but sends no events; reconnecting"
                );
                Some(if fresh {
                    ConnectionEnd::Fresh(Duration::ZERO)
                } else {
                    ConnectionEnd::Resume(Duration::ZERO)
                })
            }
        }
    }
}
