//! Invitations: codes that an owner makes beforehand and gives to a friend. They have places of their
//! own, so that no crowd of strangers keeps a friend out.

use galatea_core::{
    AgentId, Error, ErrorKind, Result, Store, Task, TaskId, Timestamp, ids::uuid_of,
};
use serde_json::{Map, Value};
use std::time::Duration;

use super::admission::{Stranger, admit, approved_key, random_code};

/// Characters of a code: 59 bits, since a stranger may try as many as they like.
const LENGTH: usize = 12;
/// Invitations that are open at once.
const MOST: usize = 100;
/// Words of a message that are compared with codes.
const WORDS: usize = 8;
const TAG: &str = "PAIRING_INVITATION";

/// An invitation that nobody has used yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invitation {
    /// Code that the friend writes to the agent, in a private message.
    pub code: String,
    /// End of the invitation.
    pub until: Timestamp,
}

fn id(agent: AgentId, code: &str) -> TaskId {
    TaskId(uuid_of(&format!("pairing-invitation:{agent}:{code}")))
}

/// Makes an invitation for one person, good for `life`.
///
/// # Errors
/// `Conflict` (`GAL-PAIR-INVITATIONS`) when a hundred are open, and whatever the store says.
pub async fn invite(
    store: &dyn Store,
    agent: AgentId,
    life: Duration,
    now: Timestamp,
) -> Result<Invitation> {
    if invitations(store, agent, now).await?.len() >= MOST {
        return Err(Error::new(
            ErrorKind::Conflict,
            format!("{MOST} invitations are open already"),
        )
        .with_code("GAL-PAIR-INVITATIONS")
        .with_fix("use one of those that `galatea pairing ls` lists, or wait until some end"));
    }
    let new = Invitation { code: random_code(LENGTH), until: now.plus(life) };
    let metadata = Map::from_iter([("code".to_owned(), Value::from(new.code.as_str()))]);
    store
        .save_task(&Task {
            id: id(agent, &new.code),
            agent_id: agent,
            name: TAG.to_owned(),
            description: "an invitation of the owner".to_owned(),
            room_id: None,
            world_id: None,
            entity_id: None,
            tags: vec![TAG.to_owned()],
            metadata,
            due: new.until,
            run: None,
        })
        .await?;
    Ok(new)
}

/// Open invitations, the one that ends first before the others; those that have ended are removed.
///
/// # Errors
/// Whatever the store says.
pub async fn invitations(
    store: &dyn Store,
    agent: AgentId,
    now: Timestamp,
) -> Result<Vec<Invitation>> {
    let mut open = Vec::new();
    for task in store.tasks(agent, &[TAG.to_owned()]).await? {
        match task.metadata.get("code").and_then(Value::as_str).filter(|_| task.due > now) {
            Some(code) => open.push(Invitation { code: code.to_owned(), until: task.due }),
            None => drop(store.delete_task(agent, task.id).await?),
        }
    }
    Ok(open)
}

/// Admits a stranger who wrote the code of an open invitation, which is used up then.
pub(super) async fn accept(
    store: &dyn Store,
    agent: AgentId,
    stranger: &Stranger<'_>,
    now: Timestamp,
) -> Result<bool> {
    let words: Vec<String> = stranger
        .text
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| word.len() == LENGTH)
        .take(WORDS)
        .map(str::to_ascii_uppercase)
        .collect();
    if words.is_empty() {
        return Ok(false);
    }
    let open = invitations(store, agent, now).await?;
    let Some(used) = open.into_iter().find(|open| words.contains(&open.code)) else {
        return Ok(false);
    };
    // Admitted first: if the process ends in between, the friend is in, and the code stays open.
    admit(store, agent, stranger.entity, stranger.name, now).await?;
    if store.delete_task(agent, id(agent, &used.code)).await? {
        return Ok(true);
    }
    // Another person used it in the same moment.
    store.forget(agent, &approved_key(stranger.entity)).await?;
    Ok(false)
}
