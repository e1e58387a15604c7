//! WORLD: the server or chat of this conversation.

use async_trait::async_trait;
use galatea_core::{Fragment, Provider, ProviderUse, Result, Role, Turn, rights::Authorship};

use crate::{rights, words};

pub(crate) struct WorldProvider;

/// Maximum number of rooms listed.
const ROOMS: usize = 50;

#[async_trait]
impl Provider for WorldProvider {
    fn name(&self) -> &'static str {
        "WORLD"
    }
    fn description(&self) -> &'static str {
        "The server or chat this room is in; for admins also its other rooms"
    }
    fn position(&self) -> i32 {
        20
    }
    fn when(&self) -> ProviderUse {
        ProviderUse::OnRequest
    }
    fn authorship(&self) -> Authorship {
        Authorship::Own
    }
    async fn provide(&self, turn: &Turn<'_>) -> Result<Fragment> {
        let Some(world) = turn.world else { return Ok(Fragment::default()) };
        let mut text = format!(
            "# {}\nThis room: {} ({})",
            words::name(&world.name),
            words::name(&turn.room.name),
            turn.room.kind.as_str()
        );
        // Only admins see the names of all rooms, because other speakers may not see the rooms
        // themselves.
        if rights::of_speaker(turn) >= Role::Admin {
            let rooms = turn.store.rooms(world.id).await?;
            let list: Vec<String> = rooms
                .iter()
                .take(ROOMS)
                .map(|room| format!("- {} ({})", words::name(&room.name), room.kind.as_str()))
                .collect();
            text.push_str("\nRooms:\n");
            text.push_str(&list.join("\n"));
        }
        Ok(Fragment::text(text.clone())
            .value("world", text)
            .value("worldName", words::name(&world.name)))
    }
}
