//! The Room of a message, how it is reached, and when the agent answers there.

use galatea_core::{Error, ErrorKind, Result};
use std::sync::Arc;

use super::{engine::Engine, message::Waiting};
use crate::{config::Policy, directory::RoomInfo, outbox::Route};

/// A Room as turns see it.
#[derive(Clone)]
pub(super) struct TurnPlace {
    pub(super) info: Arc<RoomInfo>,
    pub(super) route: Arc<Route>,
    pub(super) policy: Arc<Policy>,
}

impl TurnPlace {
    /// The place of a message; none when its Room is not stored.
    ///
    /// # Errors
    /// `Unavailable` while its account is not connected.
    pub(super) async fn of(engine: &Engine, message: &Waiting) -> Result<Option<Self>> {
        let room = message.entry.memory.room_id;
        let Some(info) = engine.directory.rooms.load(&*engine.store, room).await? else {
            return Ok(None);
        };
        let (source, account) = (&message.entry.source, &message.entry.account);
        let route = engine.outbox.routes.ready(source, account).ok_or_else(|| {
            Error::new(ErrorKind::Unavailable, "the platform's connector is not running yet")
        })?;
        let policy = engine.policies.of(source, account)?;
        Ok(Some(Self { info, route, policy }))
    }
}
