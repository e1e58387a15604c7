//! The Room into which the messages of a chat log go.

use galatea_core::Room;

use crate::{Input, read::log::SOURCE};

/// A Room that exists, or a name for one of chat logs.
#[derive(Debug, Clone)]
pub struct Place {
    /// The Room's name among those of chat logs; of another Room its id. Ids of messages are derived
    /// from it.
    pub(crate) name: String,
    /// A Room that chat logs did not make.
    pub(crate) room: Option<Room>,
}

impl Place {
    /// The Room of chat logs that has the file's name.
    pub fn of_file(file: &Input) -> Self {
        Self::named(&file.stem().unwrap_or_else(|| "import".to_owned()))
    }

    /// The Room of chat logs with this name.
    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned(), room: None }
    }

    /// A Room that is stored already.
    pub fn stored(room: &Room) -> Self {
        match room.remote.as_str().strip_prefix("import/").filter(|_| room.source == SOURCE) {
            Some(name) => Self::named(name),
            None => Self { name: room.id.to_string(), room: Some(room.clone()) },
        }
    }

    /// The note for a Room of chat logs, in which no conversation takes place; `None` for other Rooms.
    pub fn note(&self) -> Option<String> {
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
    use galatea_core::{Account, AgentId, ChannelType, RemoteId, RoomId, Source, WorldId};

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
        let place = Place::stored(&room);
        assert_eq!((place.name, place.room), (room.id.to_string(), Some(room.clone())));
        (room.source, room.remote) = (SOURCE, RemoteId::new("import/Club"));
        let place = Place::stored(&room);
        assert_eq!((place.name.as_str(), place.room.is_none()), ("Club", true));
        let place = Place::named("club");
        assert_eq!((place.name.as_str(), place.room.is_none()), ("club", true));
        assert!(place.note().unwrap().contains("memory search"));
    }
}
