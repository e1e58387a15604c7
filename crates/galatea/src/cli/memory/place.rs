//! The Room into which the messages of a chat log go.

use galatea_core::{AgentId, Room, Store};

use super::{input::Input, past::log::SOURCE, select};
use crate::failure::{Failure, Result};

/// A Room that exists, or a name for one of chat logs.
#[derive(Debug)]
pub(super) struct Place {
    /// The Room's name among those of chat logs; of another Room its id. Ids of messages are derived
    /// from it.
    pub(super) name: String,
    /// A Room that chat logs did not make.
    pub(super) room: Option<Room>,
}

impl Place {
    /// Looks up what `--room` asks for. A name that no Room has becomes a Room of its own, as does the
    /// file's name without `--room`.
    ///
    /// # Errors
    /// If several Rooms have this name, and for an empty name.
    pub(super) async fn of(
        store: &dyn Store,
        agent: AgentId,
        asked: Option<&str>,
        file: &Input,
    ) -> Result<Self> {
        let Some(asked) = asked.map(str::trim) else {
            let name = file.stem().unwrap_or_else(|| "import".to_owned());
            return Ok(Self { name, room: None });
        };
        if asked.is_empty() {
            return Err(Failure::usage(
                "--room is empty",
                "give the name or the id of a room, or leave --room out: then the file's name is the room's",
            ));
        }
        let rooms = select::rooms(store, agent).await?;
        Ok(Self::among(asked, select::named(&rooms, asked)?))
    }

    /// The place for this Room, or for a new one of this name.
    fn among(asked: &str, found: Option<&Room>) -> Self {
        let Some(room) = found else { return Self { name: asked.to_owned(), room: None } };
        match room.remote.as_str().strip_prefix("import/").filter(|_| room.source == SOURCE) {
            Some(name) => Self { name: name.to_owned(), room: None },
            None => Self { name: room.id.to_string(), room: Some(room.clone()) },
        }
    }

    /// The note for a Room of chat logs, in which no conversation takes place; `None` for other Rooms.
    pub(super) fn note(&self) -> Option<String> {
        self.room.is_none().then(|| {
            format!(
                "the room \"{}\" is for chat logs only: `galatea memory search` finds what is in it, and conversations elsewhere do not show it; --room with the id or name of another room imports into that one",
                self.name
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use galatea_core::{Account, ChannelType, RemoteId, RoomId, Source, WorldId};

    #[test]
    fn a_room_of_a_platform_is_used_and_one_of_chat_logs_is_the_same_again() {
        let mut room = Room {
            id: RoomId::fresh(),
            agent_id: AgentId::fresh(),
            world_id: WorldId::fresh(),
            parent_id: None,
            source: Source::new("telegram"),
            account: Account("1".into()),
            remote: RemoteId::new("-100"),
            kind: ChannelType::Group,
            name: "Club".into(),
            metadata: serde_json::Map::new(),
        };
        let place = Place::among("club", Some(&room));
        assert_eq!((place.name, place.room), (room.id.to_string(), Some(room.clone())));
        (room.source, room.remote) = (SOURCE, RemoteId::new("import/Club"));
        let place = Place::among("club", Some(&room));
        assert_eq!((place.name.as_str(), place.room.is_none()), ("Club", true));
        let place = Place::among("club", None);
        assert_eq!((place.name.as_str(), place.room.is_none()), ("club", true));
        assert!(place.note().unwrap().contains("memory search"));
    }
}
