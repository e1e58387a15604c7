//! Which memories a command is about: agent, kind, room, person, time.

use clap::{Args, ValueEnum};
use galatea_core::{
    AgentId, EntityId, Error, MemoryId, MemoryKind, Room, RoomId, Store, Timestamp,
    store::MemoryQuery,
};

use crate::report::failure::Result;

/// Names of rooms or people that an error lists at most.
const LISTED: usize = 8;

/// Selects memories.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Which {
    /// The agent; needed if several have run here
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Only this kind; repeatable
    #[arg(long = "kind", value_name = "KIND")]
    pub(crate) kinds: Vec<Kind>,
    /// Only this room: its name or its id
    // Telegram's ids of groups begin with a hyphen, and those of topics are no numbers (-100:5).
    #[arg(long, value_name = "ROOM", allow_hyphen_values = true)]
    pub(crate) room: Option<String>,
    /// Only what this person said, or what is known about them: a name or an id
    #[arg(long, value_name = "PERSON", allow_hyphen_values = true)]
    pub(crate) person: Option<String>,
    /// Not before this day (UTC), such as 2026-01-31
    #[arg(long, value_name = "DAY")]
    pub(crate) since: Option<String>,
    /// Before this day (UTC)
    #[arg(long, value_name = "DAY")]
    pub(crate) until: Option<String>,
    /// At most this many; an export has no limit unless it is set
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u32>,
}

/// Kinds of memories that people look for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    Messages,
    Facts,
    Summaries,
    Profiles,
    Documents,
    Fragments,
}

impl From<Kind> for MemoryKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Messages => Self::Messages,
            Kind::Facts => Self::Facts,
            Kind::Summaries => Self::Summaries,
            Kind::Profiles => Self::Profiles,
            Kind::Documents => Self::Documents,
            Kind::Fragments => Self::Fragments,
        }
    }
}

/// The same with ids.
#[derive(Debug, Clone)]
pub(crate) struct Selection {
    pub(crate) agent: AgentId,
    pub(crate) name: String,
    pub(crate) kinds: Vec<MemoryKind>,
    pub(crate) room: Option<RoomId>,
    /// Every person of that name.
    pub(crate) people: Vec<EntityId>,
    pub(crate) since: Option<Timestamp>,
    pub(crate) until: Option<Timestamp>,
}

impl Selection {
    /// A page of what is selected, the newest first.
    pub(crate) fn query(&self, limit: u32) -> MemoryQuery {
        MemoryQuery {
            kinds: self.kinds.clone(),
            room: self.room,
            entity: self.people.first().copied().filter(|_| self.people.len() == 1),
            since: self.since,
            before: self.until,
            ..MemoryQuery::new(self.agent, limit)
        }
    }

    /// Whether a person was asked for and it is not this one. A query has room for one person only.
    pub(crate) fn excludes(&self, person: EntityId) -> bool {
        !self.people.is_empty() && !self.people.contains(&person)
    }
}

impl Which {
    /// Whether it leaves out memories of the agent.
    pub(crate) fn is_narrow(&self) -> bool {
        let Self { agent: _, kinds, room, person, since, until, limit } = self;
        let given = [room, person, since, until].into_iter().any(Option::is_some);
        given || !kinds.is_empty() || limit.is_some()
    }

    /// Looks names up.
    ///
    /// # Errors
    /// `NotFound` or `Invalid` for a name that is unknown or ambiguous, and for a day.
    pub(crate) async fn select(&self, store: &dyn Store) -> Result<Selection> {
        let (agent, name) = agent(store, self.agent.as_deref()).await?;
        let rooms = if self.room.is_some() || self.person.is_some() {
            rooms(store, agent).await?
        } else {
            Vec::new()
        };
        let room = self.room.as_deref().map(|asked| room(&rooms, asked)).transpose()?;
        let people = match &self.person {
            Some(asked) => people(store, &rooms, asked).await?,
            None => Vec::new(),
        };
        Ok(Selection {
            agent,
            name,
            kinds: self.kinds.iter().map(|kind| MemoryKind::from(*kind)).collect(),
            room,
            people,
            since: self.since.as_deref().map(|text| day("--since", text)).transpose()?,
            until: self.until.as_deref().map(|text| day("--until", text)).transpose()?,
        })
    }
}

/// The agent of this name, or the only one.
pub(crate) async fn agent(store: &dyn Store, asked: Option<&str>) -> Result<(AgentId, String)> {
    let mut agents = store.agents().await?;
    let names = agents.iter().map(|(_, name)| name.clone()).collect::<Vec<_>>().join(", ");
    if let Some(asked) = asked {
        agents.retain(|(id, name)| name.eq_ignore_ascii_case(asked) || id.to_string() == asked);
    }
    match (agents.len(), agents.pop()) {
        (1, Some(one)) => Ok(one),
        (0, _) => Err(Error::not_found("no such agent has run here")
            .with_code("GAL-MEMORY-AGENT")
            .with("there are", if names.is_empty() { "none".to_owned() } else { names })
            .with_fix("start it once, or give the name of one that has run with --agent")
            .into()),
        _ => Err(Error::invalid("several agents have run here")
            .with_code("GAL-MEMORY-AGENT")
            .with("they are", names)
            .with_fix("name one of them with --agent")
            .into()),
    }
}

/// Every room of an agent.
pub(crate) async fn rooms(store: &dyn Store, agent: AgentId) -> Result<Vec<Room>> {
    let mut rooms = Vec::new();
    for world in store.worlds(agent).await? {
        rooms.extend(store.rooms(world.id).await?);
    }
    Ok(rooms)
}

fn room(rooms: &[Room], asked: &str) -> Result<RoomId> {
    named(rooms, asked)?.map(|room| room.id).ok_or_else(|| {
        Error::not_found("the agent knows no such room")
            .with_code("GAL-MEMORY-ROOM")
            .with("asked for", asked)
            .with_fix("give its name as the platform shows it, or its id from the log")
            .into()
    })
}

/// The Room with this id or name, if there is one.
///
/// # Errors
/// `Invalid` (`GAL-MEMORY-ROOM`) if several have the name.
pub(super) fn named<'a>(rooms: &'a [Room], asked: &str) -> Result<Option<&'a Room>> {
    let is_it = |room: &&Room| {
        room.id.to_string() == asked
            || room.remote.as_str() == asked
            || room.name.eq_ignore_ascii_case(asked.trim_start_matches('#'))
    };
    let found: Vec<&Room> = rooms.iter().filter(is_it).collect();
    if let [] | [_] = found.as_slice() {
        return Ok(found.first().copied());
    }
    let list = found.iter().take(LISTED).map(|room| format!("{} ({})", room.id, room.source));
    Err(Error::invalid("several rooms have this name")
        .with_code("GAL-MEMORY-ROOM")
        .with("they are", list.collect::<Vec<_>>().join(", "))
        .with_fix("give the id of one of them")
        .into())
}

/// Every person with this id or name: one person has an id per platform.
async fn people(store: &dyn Store, rooms: &[Room], asked: &str) -> Result<Vec<EntityId>> {
    if let Ok(id) = asked.parse::<EntityId>() {
        return Ok(vec![id]);
    }
    let asked_name = asked.trim_start_matches('@');
    let mut found = Vec::new();
    for room in rooms {
        for entity in store.entities_in_room(room.id).await? {
            let named = entity.names.iter().any(|name| name.eq_ignore_ascii_case(asked_name));
            if named && !found.contains(&entity.id) {
                found.push(entity.id);
            }
        }
    }
    if found.is_empty() {
        return Err(Error::not_found("the agent knows no person of this name")
            .with_code("GAL-MEMORY-PERSON")
            .with("asked for", asked)
            .with_fix(
                "give the name as the platform shows it, or the id that `memory ls --json` shows",
            )
            .into());
    }
    Ok(found)
}

/// The beginning of a text, with a sign if it is longer.
pub(super) fn clipped(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or(text)),
        None => text.to_owned(),
    }
}

/// The beginning of a day.
fn day(flag: &'static str, text: &str) -> Result<Timestamp> {
    let format = &time::format_description::well_known::Iso8601::DATE;
    let date = time::Date::parse(text.trim(), format).map_err(|_| {
        Error::invalid(format!("{flag} is not a date"))
            .with_code("GAL-MEMORY-DAY")
            .with("asked for", text)
            .with_fix("write it as 2026-01-31")
    })?;
    Ok(Timestamp(date.midnight().assume_utc().unix_timestamp() * 1000))
}

/// The memory with this id, or the only one whose id begins like this.
pub(crate) async fn memory(store: &dyn Store, asked: &str) -> Result<MemoryId> {
    let asked = asked.trim();
    if let Ok(id) = asked.parse::<MemoryId>() {
        return Ok(id);
    }
    crate::cli::explain::begins(store, asked).await?.ok_or_else(|| {
        Error::not_found("no memory has this id")
            .with_code("GAL-MEMORY-UNKNOWN")
            .with("asked for", asked)
            .with_fix(
                "give the id that `galatea memory ls` shows, or at least its first four characters",
            )
            .into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use galatea_core::{Account, ChannelType, RemoteId, Source, WorldId};

    fn a_room(id: u32, name: &str) -> Room {
        Room {
            id: format!("00000000-0000-4000-8000-{id:012}").parse().unwrap(),
            agent_id: AgentId::fresh(),
            world_id: WorldId::fresh(),
            parent_id: None,
            source: Source::new("telegram"),
            account: Account("1".into()),
            remote: RemoteId::new(id),
            kind: ChannelType::Group,
            name: name.into(),
            metadata: serde_json::Map::new(),
        }
    }

    #[test]
    fn a_room_is_found_by_name_and_ids_unless_several_have_it() {
        let rooms = [a_room(1, "General"), a_room(2, "news"), a_room(3, "news")];
        assert_eq!(room(&rooms, "#general").unwrap(), rooms[0].id);
        assert_eq!(room(&rooms, "2").unwrap(), rooms[1].id);
        assert_eq!(room(&rooms, &rooms[2].id.to_string()).unwrap(), rooms[2].id);
        for (asked, reason) in [("news", "several rooms"), ("staff", "no such room")] {
            let failure = room(&rooms, asked).unwrap_err();
            assert!(format!("{failure:?}").contains(reason), "{failure:?}");
        }
    }

    #[test]
    fn rooms_and_people_may_begin_with_a_hyphen() {
        use clap::FromArgMatches as _;
        let given = ["ls", "--room", "-100:5", "--person", "-7"];
        let found = Which::augment_args(clap::Command::new("ls")).try_get_matches_from(given);
        let which = Which::from_arg_matches(&found.unwrap()).unwrap();
        assert_eq!((which.room.as_deref(), which.person.as_deref()), (Some("-100:5"), Some("-7")));
    }

    #[test]
    fn days_begin_at_midnight() {
        assert_eq!(day("--since", " 1970-01-02 ").unwrap(), Timestamp(86_400_000));
        assert!(day("--since", "yesterday").is_err());
    }
}
