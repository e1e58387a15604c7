//! Links two accounts of one person, who shows on both platforms that they are the same. A code
//! from one side is sent on the other; then the sender and the owner of the code agree, in this
//! order. Codes and questions are tasks, so they outlive a restart and every process sees them.

use galatea_core::{
    AgentId, EntityId, Result, RoomId, Store, Task, TaskId, Timestamp, ids::uuid_of,
    store::RequestedChange,
};
use rand::RngExt;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::time::Duration;

/// Time for which a code is good and a question waits.
pub(crate) const LIFE: Duration = Duration::from_secs(10 * 60);
/// Wrong codes of one person in [`LIFE`]: of 31^8 codes, five tries find none.
const TRIES: u64 = 5;
/// Without letters and digits that look alike.
const ALPHABET: &[u8] = b"23456789ABCDEFGHJKMNPQRSTUVWXYZ";
const LENGTH: usize = 8;
/// Letters of a question's word, as those of confirmations of actions.
const WORD: usize = 5;
/// Old codes and questions that one new code removes.
const MOST_EXPIRED: usize = 100;
const CODE: &str = "IDENTITY_LINK_CODE";
const QUESTION: &str = "IDENTITY_LINK_QUESTION";

/// A code that is good: who asked for it, and where they did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Code {
    task: TaskId,
    pub(crate) owner: EntityId,
    pub(crate) room: RoomId,
}

/// Side whose answer a question waits for. A code alone proves nothing of its sender: a stranger
/// may have told them to send it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LinkStep {
    SenderAsked,
    /// The sender has agreed.
    OwnerAsked,
}

/// An account in the Room where it is asked, and the accounts that it speaks for: itself and all
/// that it is linked with, sorted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Side {
    pub(crate) entity: EntityId,
    pub(crate) room: RoomId,
    pub(crate) accounts: Vec<EntityId>,
}

/// The question whether two entities are the same person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Question {
    task: TaskId,
    pub(crate) step: LinkStep,
    /// Owner of the code.
    pub(crate) owner: Side,
    /// The side that sent the code.
    pub(crate) sender: Side,
    /// The word that the answer names.
    pub(crate) word: String,
    pub(crate) until: Timestamp,
}

/// A new code for this person, and the changes that keep it. It takes the place of their last one
/// and of a question that waits for them: one person has one at a time.
pub(crate) async fn code(
    store: &dyn Store,
    agent: AgentId,
    owner: EntityId,
    room: RoomId,
    now: Timestamp,
) -> Result<(String, Vec<RequestedChange>)> {
    let code = random(LENGTH);
    let mut changes = vec![RequestedChange::DeleteTask { task: question_id(agent, owner) }];
    changes.extend(expired(store, agent, now).await?);
    let task = Task {
        id: TaskId(uuid_of(&format!("link-code:{agent}:{owner}"))),
        agent_id: agent,
        name: CODE.to_owned(),
        description: "a code by which a person links another platform".to_owned(),
        room_id: Some(room),
        world_id: None,
        entity_id: Some(owner),
        tags: vec![CODE.to_owned(), hash(agent, &code)],
        metadata: Map::new(),
        due: now.plus(LIFE),
        run: None,
    };
    changes.push(RequestedChange::SaveTask { task: Box::new(task) });
    Ok((code, changes))
}

/// Finds a code that a person sends. None: it is wrong, used or too old.
pub(crate) async fn find(
    store: &dyn Store,
    agent: AgentId,
    sent: &str,
    now: Timestamp,
) -> Result<Option<Code>> {
    let sent: String = sent.chars().filter(char::is_ascii_alphanumeric).take(64).collect();
    let tags = [CODE.to_owned(), hash(agent, &sent.to_ascii_uppercase())];
    let found = store.tasks(agent, &tags).await?.into_iter().find(|task| now < task.due);
    Ok(found
        .and_then(|task| Some(Code { task: task.id, owner: task.entity_id?, room: task.room_id? })))
}

/// True if this has the form of a code: as many letters and digits, whatever stands between them.
/// Letters that no code has are likely misread ones.
pub(crate) fn looks_like_code(sent: &str) -> bool {
    let mut letters = 0_usize;
    sent.chars().take(64).all(|c| {
        letters += usize::from(c.is_ascii_alphanumeric());
        c.is_ascii()
    }) && letters == LENGTH
}

/// Uses a code up; false if it was used meanwhile.
pub(crate) async fn take(store: &dyn Store, agent: AgentId, code: &Code) -> Result<bool> {
    store.delete_task(agent, code.task).await
}

/// True if this person has sent too many wrong codes.
pub(crate) async fn is_blocked(
    store: &dyn Store,
    agent: AgentId,
    entity: EntityId,
    now: Timestamp,
) -> Result<bool> {
    let wrong = store.cached(agent, &tries_key(entity), now).await?;
    Ok(wrong.as_ref().and_then(tries).is_some_and(|(many, _)| many >= TRIES))
}

/// Counts a wrong code. The count ends [`LIFE`] after the first of them.
pub(crate) async fn count_wrong(
    store: &dyn Store,
    agent: AgentId,
    entity: EntityId,
    now: Timestamp,
) -> Result<()> {
    let key = tries_key(entity);
    let (many, until) = store
        .cached(agent, &key, now)
        .await?
        .as_ref()
        .and_then(tries)
        .unwrap_or((0, now.plus(LIFE)));
    let value = json!({ "many": many.saturating_add(1), "until": until });
    store.cache(agent, &key, &value, Some(until)).await
}

fn tries_key(entity: EntityId) -> String {
    format!("link:tries:{entity}")
}

fn tries(stored: &Value) -> Option<(u64, Timestamp)> {
    Some((stored.get("many")?.as_u64()?, Timestamp(stored.get("until")?.as_i64()?)))
}

impl Side {
    /// The present state.
    pub(crate) async fn of(
        store: &dyn Store,
        agent: AgentId,
        entity: EntityId,
        room: RoomId,
    ) -> Result<Self> {
        let mut accounts = store.linked(agent, entity).await?;
        accounts.push(entity);
        accounts.sort_by_key(|entity| entity.0);
        accounts.dedup();
        Ok(Self { entity, room, accounts })
    }

    /// True if it still speaks for the same accounts.
    async fn stands(&self, store: &dyn Store, agent: AgentId) -> Result<bool> {
        Ok(Self::of(store, agent, self.entity, self.room).await? == *self)
    }
}

impl Question {
    /// The first question, which goes to the sender.
    pub(crate) fn new(agent: AgentId, owner: Side, sender: Side, now: Timestamp) -> Self {
        Self {
            task: question_id(agent, owner.entity),
            step: LinkStep::SenderAsked,
            owner,
            sender,
            word: random(WORD),
            until: now.plus(LIFE),
        }
    }

    /// The second one, which goes to the owner. The word of the first answers it no more.
    pub(crate) fn agreed(self, now: Timestamp) -> Self {
        Self { step: LinkStep::OwnerAsked, word: random(WORD), until: now.plus(LIFE), ..self }
    }

    /// The asked side now, and the other side.
    pub(crate) fn sides(&self) -> (&Side, &Side) {
        match self.step {
            LinkStep::SenderAsked => (&self.sender, &self.owner),
            LinkStep::OwnerAsked => (&self.owner, &self.sender),
        }
    }

    /// All accounts that would be one person.
    pub(crate) fn accounts(&self) -> Vec<EntityId> {
        let mut all = [&self.owner.accounts[..], &self.sender.accounts[..]].concat();
        all.sort_by_key(|entity| entity.0);
        all.dedup();
        all
    }

    /// True if it still names exactly the accounts that would be linked.
    pub(crate) async fn stands(&self, store: &dyn Store, agent: AgentId) -> Result<bool> {
        Ok(self.owner.stands(store, agent).await? && self.sender.stands(store, agent).await?)
    }

    /// The change that stores the question.
    pub(crate) fn save(&self, agent: AgentId) -> RequestedChange {
        let metadata = Map::from_iter([
            ("word".to_owned(), json!(self.word)),
            ("step".to_owned(), json!(self.step)),
            ("owner".to_owned(), json!(self.owner)),
            ("sender".to_owned(), json!(self.sender)),
        ]);
        let (owner, sender) = (self.owner.entity, self.sender.entity);
        let task = Task {
            id: self.task,
            agent_id: agent,
            name: QUESTION.to_owned(),
            description: "whether two entities are one person".to_owned(),
            room_id: Some(self.owner.room),
            world_id: None,
            entity_id: Some(owner),
            tags: vec![QUESTION.to_owned(), owner.to_string(), sender.to_string()],
            metadata,
            due: self.until,
            run: None,
        };
        RequestedChange::SaveTask { task: Box::new(task) }
    }

    /// Change that makes both sides one person, and ends the question.
    pub(crate) fn link(&self) -> RequestedChange {
        RequestedChange::LinkPeople { question: self.task, entities: self.accounts() }
    }

    /// The change that removes the question.
    pub(crate) fn delete(&self) -> RequestedChange {
        RequestedChange::DeleteTask { task: self.task }
    }

    /// Questions that wait for this person, or are about them. One that is too old is among them.
    pub(crate) async fn of(
        store: &dyn Store,
        agent: AgentId,
        entity: EntityId,
    ) -> Result<Vec<Self>> {
        let tasks = store.tasks(agent, &[QUESTION.to_owned(), entity.to_string()]).await?;
        Ok(tasks.iter().filter_map(Self::read).collect())
    }

    fn read(task: &Task) -> Option<Self> {
        let value = |key: &str| task.metadata.get(key).cloned();
        Some(Self {
            task: task.id,
            step: serde_json::from_value(value("step")?).ok()?,
            owner: serde_json::from_value(value("owner")?).ok()?,
            sender: serde_json::from_value(value("sender")?).ok()?,
            word: value("word")?.as_str()?.to_owned(),
            until: task.due,
        })
    }
}

/// Changes that drop the codes and questions of a person, on both sides.
pub(crate) async fn withdraw(
    store: &dyn Store,
    agent: AgentId,
    entity: EntityId,
) -> Result<Vec<RequestedChange>> {
    let questions = Question::of(store, agent, entity).await?;
    let code = TaskId(uuid_of(&format!("link-code:{agent}:{entity}")));
    let code = RequestedChange::DeleteTask { task: code };
    Ok(questions.iter().map(Question::delete).chain([code]).collect())
}

async fn expired(
    store: &dyn Store,
    agent: AgentId,
    now: Timestamp,
) -> Result<Vec<RequestedChange>> {
    let mut tasks = store.tasks(agent, &[CODE.to_owned()]).await?;
    tasks.extend(store.tasks(agent, &[QUESTION.to_owned()]).await?);
    tasks.retain(|task| task.due <= now);
    tasks.truncate(MOST_EXPIRED);
    Ok(tasks.into_iter().map(|task| RequestedChange::DeleteTask { task: task.id }).collect())
}

fn question_id(agent: AgentId, owner: EntityId) -> TaskId {
    TaskId(uuid_of(&format!("link-question:{agent}:{owner}")))
}

fn random(length: usize) -> String {
    let mut rng = rand::rng();
    (0..length).map(|_| char::from(ALPHABET[rng.random_range(0..ALPHABET.len())])).collect()
}

/// Only this is stored of a code.
fn hash(agent: AgentId, code: &str) -> String {
    let digest = Sha256::digest(format!("link:{agent}:{code}"));
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
