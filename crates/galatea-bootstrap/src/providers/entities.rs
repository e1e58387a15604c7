//! ENTITIES: the people in this room. The prompt names those who do not speak in the conversation
//! that the model reads anyway; the value for templates names all.

use async_trait::async_trait;
use galatea_core::{
    EntityId, Fragment, Provider, ProviderUse, Result, RoomId, Timestamp, Turn, rights::Authorship,
    speakers,
};
use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// Cached lists of people, by room.
#[derive(Default)]
pub(crate) struct Entities(Mutex<HashMap<RoomId, (Timestamp, Arc<People>)>>);

/// The people of a room: those that may be listed, and how many others there are.
struct People {
    known: Vec<(EntityId, String)>,
    more: usize,
}

/// Maximum number of people listed: some hundred tokens in every prompt of the room.
const PEOPLE: usize = 40;
/// How long a cached list is used. People who join or leave appear in prompts with this delay.
const GOOD: Duration = Duration::from_secs(300);
/// Entries in the cache before it is cleared: some megabytes.
const ROOMS: usize = 5_000;

#[async_trait]
impl Provider for Entities {
    fn name(&self) -> &'static str {
        "ENTITIES"
    }
    fn description(&self) -> &'static str {
        "Who is in this room"
    }
    fn position(&self) -> i32 {
        25
    }
    fn when(&self) -> ProviderUse {
        ProviderUse::Always
    }
    fn authorship(&self) -> Authorship {
        Authorship::Own
    }
    async fn provide(&self, turn: &Turn<'_>) -> Result<Fragment> {
        // In a direct chat the conversation names everyone.
        if turn.room.kind.is_direct() {
            return Ok(Fragment::default());
        }
        let (room, now) = (turn.room.id, turn.now());
        let known = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&room)
            .filter(|(at, _)| now.since(*at) < GOOD)
            .map(|(_, list)| Arc::clone(list));
        let list = match known {
            Some(list) => list,
            None => {
                let list = Arc::new(people(turn).await?);
                let mut rooms = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                if rooms.len() >= ROOMS {
                    rooms.clear();
                }
                rooms.insert(room, (now, Arc::clone(&list)));
                list
            }
        };
        let own = turn.agent.identity.entity();
        let speaking: HashSet<EntityId> = turn
            .recent
            .iter()
            .map(|memory| memory.entity_id)
            .chain(turn.merged.iter().map(|memory| memory.entity_id))
            .chain([turn.message.entity_id, own])
            .collect();
        let text = list.titled("# Others in this room", |id| !speaking.contains(&id));
        let all = list.titled("# People in this room", |_| true);
        Ok(Fragment::text(text).value("entities", all))
    }
}

impl People {
    /// A list of those people under a title; empty without any.
    fn titled(&self, title: &str, listed: impl Fn(EntityId) -> bool) -> String {
        let names = self.known.iter().filter(|(id, _)| listed(*id));
        let names: Vec<&str> = names.map(|(_, name)| name.as_str()).collect();
        if names.is_empty() {
            return String::new();
        }
        let more = if self.more > 0 { format!(" and {} more", self.more) } else { String::new() };
        format!("{title}\n{}{more}", names.join(", "))
    }
}

async fn people(turn: &Turn<'_>) -> Result<People> {
    let people = turn.store.entities_in_room(turn.room.id).await?;
    let others: Vec<_> =
        people.iter().filter(|entity| entity.id != turn.agent.identity.entity()).collect();
    let known = others
        .iter()
        .take(PEOPLE)
        .map(|entity| (entity.id, speakers::display(&entity.display_name())))
        .filter(|(_, name)| !name.is_empty())
        .collect();
    Ok(People { known, more: others.len().saturating_sub(PEOPLE) })
}
