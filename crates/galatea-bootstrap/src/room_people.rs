//! Caches the people of rooms, for the list in prompts and for the names in questions.

use galatea_core::{
    Entity, EntityId, Result, RoomId, Timestamp, Turn,
    fusion::{self, Named},
    speakers,
};
use std::{
    collections::HashMap,
    iter,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::OnceCell;

/// Maximum number of people listed: some hundred tokens in every prompt of the room.
const LISTED: usize = 40;
/// Names of a room that are looked for in questions, besides those of who speaks. They take some 40
/// KiB, and half of [`fusion::MOST_KNOWN`]: the rest is for the people of facts.
const NAMES: usize = fusion::MOST_KNOWN / 2;
/// How long a cached room is used. People who join or leave appear with this delay.
const GOOD: Duration = Duration::from_secs(300);
/// Rooms in the cache before it is cleared, and names in it: some megabytes each.
const ROOMS: usize = 5_000;
const NAMES_OF_ALL: usize = 100_000;

/// The people of rooms, each room read once in five minutes however many providers ask.
#[derive(Default)]
pub(crate) struct RoomPeople(Mutex<Rooms>);

/// The people of a room, read by the first provider that asks.
type Reading = Arc<OnceCell<Arc<People>>>;

#[derive(Default)]
struct Rooms {
    rooms: HashMap<RoomId, (Timestamp, Reading)>,
    names: usize,
}

/// The people of a room without the agent.
pub(crate) struct People {
    /// Those that a prompt may list.
    pub(crate) listed: Vec<(EntityId, String)>,
    /// How many others there are.
    pub(crate) more: usize,
    /// The names by which they are asked for.
    names: Vec<(EntityId, String)>,
}

impl RoomPeople {
    /// The people of the turn's room.
    pub(crate) async fn of(&self, turn: &Turn<'_>) -> Result<Arc<People>> {
        let (room, now) = (turn.room.id, turn.now());
        let cell = {
            let mut cached = self.lock();
            let known = cached.rooms.get(&room).filter(|(at, _)| now.since(*at) < GOOD);
            match known.map(|(_, cell)| Arc::clone(cell)) {
                Some(cell) => cell,
                None => {
                    if cached.rooms.len() >= ROOMS || cached.names >= NAMES_OF_ALL {
                        *cached = Rooms::default();
                    }
                    let cell = Arc::new(OnceCell::new());
                    let before = cached.rooms.insert(room, (now, Arc::clone(&cell)));
                    let names = before.and_then(|(_, old)| Some(old.get()?.names.len()));
                    cached.names = cached.names.saturating_sub(names.unwrap_or(0));
                    cell
                }
            }
        };
        let read = async || {
            let people = Arc::new(read(turn).await?);
            self.lock().names += people.names.len();
            Ok(people)
        };
        cell.get_or_try_init(read).await.map(Arc::clone)
    }

    /// The people whom a question of this turn names, of those who speak or take part in its room,
    /// and of `others` who may be seen there. No person of another place is among them.
    ///
    /// The agent is addressed by its name rather than asked for: its name is found, and its
    /// messages do not rise.
    ///
    /// # Errors
    /// Of the store, if the room has to be read.
    pub(crate) async fn named(
        &self,
        turn: &Turn<'_>,
        question: &str,
        others: &[(EntityId, String)],
    ) -> Result<Named> {
        let own = turn.agent.identity.entity();
        let at_hand = iter::once(turn.message)
            .chain(turn.merged.iter().rev())
            .chain(turn.recent.iter().rev().map(AsRef::as_ref));
        // A list is enough: a prompt has few speakers.
        let mut speaking: Vec<(EntityId, &str)> = Vec::new();
        for memory in at_hand {
            if let Some(name) = speakers::name_in(memory)
                && !speaking.contains(&(memory.entity_id, name))
            {
                speaking.push((memory.entity_id, name));
            }
        }
        // In a direct chat all speak.
        let room = match turn.room.kind.is_direct() {
            true => None,
            false => Some(self.of(turn).await?),
        };
        let room = room.iter().flat_map(|people| &people.names).chain(others);
        let all = iter::once(turn.agent.character.name.as_str())
            .chain(turn.handle)
            .map(|name| (own, name))
            .chain(speaking)
            .chain(room.map(|(person, name)| (*person, name.as_str())));
        let mut named = fusion::named(question, all);
        named.people.retain(|person| *person != own);
        Ok(named)
    }

    fn lock(&self) -> MutexGuard<'_, Rooms> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn read(turn: &Turn<'_>) -> Result<People> {
    let mut people = turn.store.entities_in_room(turn.room.id).await?;
    people.retain(|entity| entity.id != turn.agent.identity.entity());
    let listed = people
        .iter()
        .take(LISTED)
        .map(|entity| (entity.id, speakers::display(&entity.display_name())))
        .filter(|(_, name)| !name.is_empty())
        .collect();
    let names = people
        .iter()
        .flat_map(Entity::called)
        .map(|(person, name)| (person, speakers::display(name)))
        .take(NAMES)
        .collect();
    Ok(People { listed, more: people.len().saturating_sub(LISTED), names })
}
