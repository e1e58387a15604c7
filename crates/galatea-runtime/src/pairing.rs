//! Admits strangers: a stranger gets a code, the owner approves it, and from then on the stranger
//! is answered. Or the owner makes an invitation beforehand, and the friend writes its code.
//!
//! Each person who waits has a row of their own, in one of [`PLACES`] places of their platform. The
//! place is the row's id, so processes that share the store cannot fill more of them. A place holds
//! for ten minutes at least, however many others come: a platform's strangers get at most
//! [`REPLIES`] codes a minute, and the longest wait makes room for the next one.

mod admission;
mod invitation;

pub(crate) use admission::Stranger;
pub use invitation::{Invitation, invitations, invite};

use galatea_core::{
    AgentId, Clock, EntityId, Result, Source, Store, Task, TaskId, Timestamp, ids::uuid_of,
};
use serde_json::{Map, Value, json};
use std::{collections::HashSet, sync::Arc, time::Duration};

use self::admission::{admit, approved_key, random_code};

/// Time for which a code is good.
const LIFE: Duration = Duration::from_secs(60 * 60);
/// People of one platform who wait at once: ten minutes of [`REPLIES`].
pub const PLACES: u32 = 2_400;
/// Codes for strangers of one platform per minute: an eighth of what Telegram lets a bot send (30
/// messages a second; Bots FAQ, "My bot is hitting limits"), so that strangers cannot use up what
/// the answers to others need.
pub const REPLIES: u64 = 240;
const MINUTE: i64 = 60_000;
/// At most one notice per person in this time: a person who sends a hundred messages is answered
/// once.
const AGAIN: Duration = Duration::from_secs(10 * 60);
/// Time in which a process stores the code for which it reserved a place.
const RESERVED: Duration = Duration::from_secs(10);
/// Attempts to take a place or to count a reply while other processes do the same.
const ATTEMPTS: usize = 8;
const TAG: &str = "PAIRING";

/// True if the owner approved this person.
pub(crate) async fn is_approved(
    store: &Arc<dyn Store>,
    clock: &Arc<dyn Clock>,
    agent: AgentId,
    entity: EntityId,
) -> Result<bool> {
    Ok(store.cached(agent, &approved_key(entity), clock.now()).await?.is_some())
}

/// Answer to a stranger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Welcome {
    /// They wrote the code of an invitation, and are admitted.
    Invited,
    /// This code, to be shown to the owner.
    Code(String),
    /// Nothing: they had a notice a while ago.
    NoReply,
    /// Nothing: too many others wrote within this minute.
    TooMany,
}

/// The notice to a stranger; their code is stored before it is sent.
pub(crate) async fn welcome(
    store: &Arc<dyn Store>,
    clock: &Arc<dyn Clock>,
    agent: AgentId,
    stranger: &Stranger<'_>,
) -> Result<Welcome> {
    let (now, store) = (clock.now(), store.as_ref());
    if invitation::accept(store, agent, stranger, now).await? {
        return Ok(Welcome::Invited);
    }
    let mut waiting = pending(store, agent, now).await?;
    if let Some(known) = waiting.iter_mut().find(|p| p.entity == stranger.entity) {
        if now.since(known.sent_at) < AGAIN {
            return Ok(Welcome::NoReply);
        }
        known.sent_at = now;
        store.save_task(&known.stored(agent)).await?;
        return Ok(Welcome::Code(known.code.clone()));
    }
    if !may_reply(store, agent, stranger.source, now).await? {
        return Ok(Welcome::TooMany);
    }
    let mut avoided = HashSet::new();
    for _ in 0..ATTEMPTS {
        let place = place_for(&waiting, stranger, &avoided);
        let new = PendingPairing {
            code: random_code(8),
            entity: stranger.entity,
            source: stranger.source.clone(),
            name: stranger.name.chars().take(64).collect(),
            until: now.plus(LIFE),
            sent_at: now,
            row: id(agent, stranger.source, place),
            place,
        };
        if reserve(store, agent, &new, &waiting, now).await? {
            store.save_task(&new.stored(agent)).await?;
            return Ok(Welcome::Code(new.code));
        }
        avoided.insert(place);
    }
    Ok(Welcome::TooMany)
}

/// Reserves a place for a code, so that of two processes that choose it at the same moment one
/// continues. A place whose last code does not wait yet was reserved a moment ago.
async fn reserve(
    store: &dyn Store,
    agent: AgentId,
    new: &PendingPairing,
    waiting: &[PendingPairing],
    now: Timestamp,
) -> Result<bool> {
    let key = format!("pairing:place:{}:{}", new.source, new.place);
    let seen = store.cached(agent, &key, now).await?;
    let is_fresh = seen.as_ref().is_some_and(|seen| {
        let waits = waiting.iter().any(|p| seen["code"] == p.code.as_str());
        let at = seen["at"].as_i64().map_or(now, Timestamp);
        !waits && now.since(at) < RESERVED
    });
    if is_fresh {
        return Ok(false);
    }
    let next = json!({ "code": new.code, "at": now.0 });
    store.swap(agent, &key, seen.as_ref(), &next).await
}

/// The place of a person: a free one, from the number of their id on, so that processes rarely meet
/// at one; of full ones the place of the person who has waited longest. Never one of `avoided`.
fn place_for(waiting: &[PendingPairing], stranger: &Stranger<'_>, avoided: &HashSet<u32>) -> u32 {
    let is_open = |p: &&PendingPairing| !avoided.contains(&p.place);
    let here = || waiting.iter().filter(|p| p.source == *stranger.source).filter(is_open);
    let taken: HashSet<u32> = here().map(|p| p.place).chain(avoided.iter().copied()).collect();
    let bytes = stranger.entity.0.as_bytes();
    let first = u32::from_be_bytes([bytes[12], bytes[13], bytes[14], bytes[15]]) % PLACES;
    let free = (0..PLACES).map(|step| (first + step) % PLACES).find(|at| !taken.contains(at));
    let longest = || here().min_by_key(|p| p.until).map(|longest| longest.place);
    free.or_else(longest).unwrap_or(first)
}

/// Counts a reply to a stranger of this platform, in the store, so that the number holds for all
/// processes together. False when this minute's are used up.
async fn may_reply(
    store: &dyn Store,
    agent: AgentId,
    source: &Source,
    now: Timestamp,
) -> Result<bool> {
    let (key, minute) = (format!("pairing:replies:{source}"), now.0.div_euclid(MINUTE));
    for _ in 0..ATTEMPTS {
        let seen = store.cached(agent, &key, now).await?;
        let number = |name: &str| seen.as_ref().and_then(|seen| seen.get(name)?.as_i64());
        let many = if number("minute") == Some(minute) { number("many").unwrap_or(0) } else { 0 };
        if u64::try_from(many).unwrap_or(0) >= REPLIES {
            return Ok(false);
        }
        let next = json!({ "minute": minute, "many": many + 1 });
        if store.swap(agent, &key, seen.as_ref(), &next).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A stranger who waits for approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingPairing {
    /// The code that the owner types, eight characters.
    pub code: String,
    /// The person who asks to be admitted.
    pub entity: EntityId,
    /// Place from which they write.
    pub source: Source,
    /// Their own name.
    pub name: String,
    /// End of the code.
    pub until: Timestamp,
    /// Time at which their code was last sent.
    pub sent_at: Timestamp,
    /// The row of the place.
    row: TaskId,
    /// The place they have among those of their platform.
    place: u32,
}

/// The row of a place.
fn id(agent: AgentId, source: &Source, place: u32) -> TaskId {
    TaskId(uuid_of(&format!("pairing:{agent}:{source}:{place}")))
}

impl PendingPairing {
    /// The row in which they wait.
    pub fn row(&self) -> TaskId {
        self.row
    }

    fn stored(&self, agent: AgentId) -> Task {
        let metadata = [
            ("code", json!(self.code)),
            ("name", json!(self.name)),
            ("source", json!(self.source)),
            ("told", json!(self.sent_at)),
            ("place", json!(self.place)),
        ];
        Task {
            id: self.row,
            agent_id: agent,
            name: "PAIRING".to_owned(),
            description: "a person waits for the owner's approval".to_owned(),
            room_id: None,
            world_id: None,
            entity_id: Some(self.entity),
            tags: vec![TAG.to_owned()],
            metadata: metadata
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect::<Map<_, _>>(),
            due: self.until,
            run: None,
        }
    }

    fn read(task: &Task) -> Option<Self> {
        let text = |key: &str| task.metadata.get(key)?.as_str().map(str::to_owned);
        let source = serde_json::from_value(task.metadata.get("source")?.clone()).ok()?;
        let sent_at = task.metadata.get("told").and_then(Value::as_i64).map_or(task.due, Timestamp);
        Some(Self {
            code: text("code")?,
            entity: task.entity_id?,
            source,
            name: text("name")?,
            until: task.due,
            sent_at,
            row: task.id,
            place: task.metadata.get("place")?.as_u64()?.try_into().ok()?,
        })
    }
}

/// Strangers who wait, longest first; codes that have ended are removed.
///
/// # Errors
/// Whatever the store says.
pub async fn pending(
    store: &dyn Store,
    agent: AgentId,
    now: Timestamp,
) -> Result<Vec<PendingPairing>> {
    let mut waiting = Vec::new();
    for task in store.tasks(agent, &[TAG.to_owned()]).await? {
        match PendingPairing::read(&task).filter(|p| p.until > now) {
            Some(person) => waiting.push(person),
            None => drop(store.delete_task(agent, task.id).await?),
        }
    }
    Ok(waiting)
}

/// Approves a code; gives the person's name, or none when no such code waits.
///
/// # Errors
/// Whatever the store says.
pub async fn approve(
    store: &dyn Store,
    agent: AgentId,
    code: &str,
    now: Timestamp,
) -> Result<Option<String>> {
    let waiting = pending(store, agent, now).await?;
    let Some(person) = waiting.into_iter().find(|p| p.code.eq_ignore_ascii_case(code.trim()))
    else {
        return Ok(None);
    };
    admit(store, agent, person.entity, &person.name, now).await?;
    store.delete_task(agent, person.row).await?;
    Ok(Some(person.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    static HERE: Source = Source::new("here");

    fn stranger(entity: EntityId) -> Stranger<'static> {
        Stranger { entity, source: &HERE, name: "x", text: "hello" }
    }

    fn waits(place: u32, until: i64) -> PendingPairing {
        PendingPairing {
            code: String::new(),
            entity: EntityId::fresh(),
            source: HERE.clone(),
            name: String::new(),
            until: Timestamp(until),
            sent_at: Timestamp(0),
            row: id(AgentId::fresh(), &HERE, place),
            place,
        }
    }

    #[test]
    fn a_free_place_is_found_while_there_is_one_and_then_the_longest_wait_ends() {
        let person = EntityId::fresh();
        let first = place_for(&[], &stranger(person), &HashSet::new());
        assert!(first < PLACES);
        let mut waiting = vec![waits(first, 5)];
        assert_eq!(place_for(&waiting, &stranger(person), &HashSet::new()), (first + 1) % PLACES);
        // All but one, from the far end.
        let last = (first + PLACES - 1) % PLACES;
        waiting = (0..PLACES).filter(|at| *at != last).map(|at| waits(at, 1000)).collect();
        assert_eq!(place_for(&waiting, &stranger(person), &HashSet::new()), last);
        waiting.push(waits(last, 1000));
        waiting[77].until = Timestamp(3);
        let longest = waiting[77].place;
        assert_eq!(place_for(&waiting, &stranger(person), &HashSet::new()), longest);
        // Those of another platform take no place here.
        waiting.iter_mut().for_each(|p| p.source = Source::new("there"));
        assert_eq!(place_for(&waiting, &stranger(person), &HashSet::new()), first);
    }

    #[test]
    fn a_place_holds_for_ten_minutes_whoever_comes() {
        assert!(u64::from(PLACES) / REPLIES >= 10);
    }
}
