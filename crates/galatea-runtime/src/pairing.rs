//! Admits strangers: a stranger gets a code, the owner approves it, and from then on the stranger
//! is answered.
//!
//! Each person who waits is a row of their own, so several processes never overwrite each other's.
//! The list of a platform is bounded, and the longest wait makes room for the next one, so
//! strangers cannot close the door for others.

use galatea_core::{
    AgentId, Clock, EntityId, Result, Source, Store, Task, TaskId, Timestamp, ids::uuid_of,
};
use rand::RngExt;
use serde_json::{Map, Value, json};
use std::{sync::Arc, time::Duration};

/// How long a code is good.
const LIFE: Duration = Duration::from_secs(60 * 60);
/// People of one platform who wait at once: as many as an owner can look through.
const MOST: usize = 50;
/// A code is good for so long however many others come.
const SURE: Duration = Duration::from_secs(10 * 60);
/// At most one notice per person in this time: a person who sends a hundred messages is answered
/// once.
const AGAIN: Duration = Duration::from_secs(10 * 60);
/// People of one platform who are asked to come back later, per [`SURE`].
const REFUSALS: u64 = 20;
/// Without letters and digits that look alike.
const ALPHABET: &[u8] = b"23456789ABCDEFGHJKMNPQRSTUVWXYZ";
const TAG: &str = "PAIRING";

fn approved_key(entity: EntityId) -> String {
    format!("pairing:approved:{entity}")
}

/// Whether the owner approved this person.
pub(crate) async fn is_approved(
    store: &Arc<dyn Store>,
    clock: &Arc<dyn Clock>,
    agent: AgentId,
    entity: EntityId,
) -> Result<bool> {
    Ok(store.cached(agent, &approved_key(entity), clock.now()).await?.is_some())
}

/// What a stranger hears.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Welcome {
    /// This code, to be shown to the owner.
    Code(String),
    /// Too many wait at the moment.
    Later,
    /// Nothing: they had a notice a while ago, or too many had one already.
    NoReply,
}

/// A stranger at the door.
pub(crate) struct Stranger<'a> {
    pub(crate) entity: EntityId,
    pub(crate) source: &'a Source,
    pub(crate) name: &'a str,
}

/// The notice to a stranger; their code is stored before it is sent.
pub(crate) async fn welcome(
    store: &Arc<dyn Store>,
    clock: &Arc<dyn Clock>,
    agent: AgentId,
    stranger: &Stranger<'_>,
) -> Result<Welcome> {
    let now = clock.now();
    let mut waiting = pending(store.as_ref(), agent, now).await?;
    if let Some(known) = waiting.iter_mut().find(|p| p.entity == stranger.entity) {
        if now.since(known.sent_at) < AGAIN {
            return Ok(Welcome::NoReply);
        }
        known.sent_at = now;
        store.save_task(&known.stored(agent)).await?;
        return Ok(Welcome::Code(known.code.clone()));
    }
    waiting.retain(|p| p.source == *stranger.source);
    if waiting.len() >= MOST {
        let longest = waiting.iter().min_by_key(|p| p.until);
        match longest.filter(|p| now.since(p.since()) >= SURE) {
            Some(longest) => drop(store.delete_task(agent, id(agent, longest.entity)).await?),
            None => return later(store, agent, stranger, now).await,
        }
    }
    let code: String = {
        let mut rng = rand::rng();
        (0..8).map(|_| char::from(ALPHABET[rng.random_range(0..ALPHABET.len())])).collect()
    };
    let name = stranger.name.chars().take(64).collect();
    let new = Pending {
        code,
        entity: stranger.entity,
        source: stranger.source.clone(),
        name,
        until: now.plus(LIFE),
        sent_at: now,
    };
    store.save_task(&new.stored(agent)).await?;
    Ok(Welcome::Code(new.code))
}

/// Says once to a person that they may come back later, and not to more people than the platform
/// lets us write to anyway.
async fn later(
    store: &Arc<dyn Store>,
    agent: AgentId,
    stranger: &Stranger<'_>,
    now: Timestamp,
) -> Result<Welcome> {
    let (key, count) = (
        format!("pairing:later:{}", stranger.entity),
        format!("pairing:refusals:{}", stranger.source),
    );
    if store.cached(agent, &key, now).await?.is_some() {
        return Ok(Welcome::NoReply);
    }
    let known = store.cached(agent, &count, now).await?.unwrap_or_default();
    let many = known.get("many").and_then(Value::as_u64).unwrap_or(0);
    if many >= REFUSALS {
        return Ok(Welcome::NoReply);
    }
    let until = known.get("until").and_then(Value::as_i64).map_or(now.plus(SURE), Timestamp);
    store.cache(agent, &count, &json!({ "many": many + 1, "until": until }), Some(until)).await?;
    store.cache(agent, &key, &json!(true), Some(now.plus(LIFE))).await?;
    Ok(Welcome::Later)
}

/// A stranger who waits for approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pending {
    /// The code that the owner types, eight characters.
    pub code: String,
    /// The person who asks to be admitted.
    pub entity: EntityId,
    /// Where they write from.
    pub source: Source,
    /// As they call themselves.
    pub name: String,
    /// When the code ends.
    pub until: Timestamp,
    /// When their code was last sent.
    pub sent_at: Timestamp,
}

fn id(agent: AgentId, entity: EntityId) -> TaskId {
    TaskId(uuid_of(&format!("pairing:{agent}:{entity}")))
}

impl Pending {
    /// When the code was made.
    fn since(&self) -> Timestamp {
        Timestamp(self.until.0 - i64::try_from(LIFE.as_millis()).unwrap_or(0))
    }

    fn stored(&self, agent: AgentId) -> Task {
        let metadata = [
            ("code", json!(self.code)),
            ("name", json!(self.name)),
            ("source", json!(self.source)),
            ("told", json!(self.sent_at)),
        ];
        Task {
            id: id(agent, self.entity),
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
        })
    }
}

/// Strangers who wait, longest first; codes that have ended are removed.
///
/// # Errors
/// Whatever the store says.
pub async fn pending(store: &dyn Store, agent: AgentId, now: Timestamp) -> Result<Vec<Pending>> {
    let mut waiting = Vec::new();
    for task in store.tasks(agent, &[TAG.to_owned()]).await? {
        match Pending::read(&task).filter(|p| p.until > now) {
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
    store
        .cache(
            agent,
            &approved_key(person.entity),
            &json!({ "at": now, "name": person.name }),
            None,
        )
        .await?;
    store.delete_task(agent, id(agent, person.entity)).await?;
    Ok(Some(person.name))
}
