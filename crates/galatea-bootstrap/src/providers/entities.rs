//! ENTITIES: the people in this room.

use async_trait::async_trait;
use galatea_core::{
    Fragment, Provider, ProviderUse, Result, RoomId, Timestamp, Turn, rights::Authorship, speakers,
};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// Cached lists of people, by room.
#[derive(Default)]
pub(crate) struct Entities(Mutex<HashMap<RoomId, (Timestamp, Arc<str>)>>);

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
                let list: Arc<str> = people(turn).await?.into();
                let mut rooms = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                if rooms.len() >= ROOMS {
                    rooms.clear();
                }
                rooms.insert(room, (now, Arc::clone(&list)));
                list
            }
        };
        if list.is_empty() {
            return Ok(Fragment::default());
        }
        let text = format!("# People in this room\n{list}");
        Ok(Fragment::text(text.clone()).value("entities", text))
    }
}

async fn people(turn: &Turn<'_>) -> Result<String> {
    let people = turn.store.entities_in_room(turn.room.id).await?;
    let others: Vec<_> =
        people.iter().filter(|entity| entity.id != turn.agent.identity.entity()).collect();
    let names: Vec<String> = others
        .iter()
        .take(PEOPLE)
        .map(|entity| speakers::display(&entity.display_name()))
        .filter(|name| !name.is_empty())
        .collect();
    let more = if others.len() > PEOPLE {
        format!(" and {} more", others.len() - PEOPLE)
    } else {
        String::new()
    };
    Ok(if names.is_empty() { String::new() } else { format!("{}{more}", names.join(", ")) })
}
