//! Agents. Secrets of a character never reach the database.

use async_trait::async_trait;
use galatea_core::{AgentId, Character, Error, Result, store::AgentStore};
use serde_json::Value as Json;
use uuid::Uuid;

use crate::{
    Database,
    change::{Change, Write},
    convert::to_json,
    dialect::{Dialects, Value, values},
    doomed, neighbour,
};

pub(crate) const SAVE: Dialects = Dialects::same(
    "INSERT INTO agents (id, name, character) VALUES ($1, $2, $3) \
     ON CONFLICT (id) DO UPDATE SET name = excluded.name, character = excluded.character",
);
pub(crate) const AGENTS: Dialects = Dialects::same("SELECT id, name FROM agents ORDER BY name, id");

/// Asked once an hour: Worlds are few.
pub(crate) const WITH_RETENTION: Dialects = Dialects {
    sqlite: "SELECT DISTINCT agent_id FROM worlds WHERE metadata ->> '$.settings.retention_days' IS NOT NULL",
    postgres: "SELECT DISTINCT agent_id FROM worlds WHERE metadata -> 'settings' ->> 'retention_days' IS NOT NULL",
};
/// Memories of one change of [`AgentStore::clear_agent`]: some 50 ms of the writer.
const STEP: i64 = 500;

/// Some memories of an agent. What was made of them is the agent's too.
const SOME_DOOMED: Dialects = Dialects::same(
    "INSERT INTO doomed (id) SELECT id FROM memories WHERE agent_id = $1 ORDER BY seq DESC LIMIT +$2",
);
const LEFT: Dialects = Dialects::same("SELECT count(*) FROM memories WHERE agent_id = $1");
macro_rules! of_agent {
    ($table:literal) => {
        Dialects::same(concat!("DELETE FROM ", $table, " WHERE agent_id = $1"))
    };
}
/// By the agent's Rooms and messages, so these go first.
const PARTICIPANTS: Dialects = Dialects::same(
    "DELETE FROM participants WHERE room_id IN (SELECT r.id FROM worlds w JOIN rooms r ON r.world_id = w.id WHERE w.agent_id = $1)",
);
const STEPS: Dialects = Dialects::same(
    "DELETE FROM step WHERE message_id IN (SELECT i.id FROM inbox i WHERE i.agent_id = $1)",
);
const ROOMS: Dialects = Dialects::same(
    "DELETE FROM rooms WHERE agent_id = $1 AND world_id IN (SELECT w.id FROM worlds w WHERE w.agent_id = $1)",
);
const OUTBOX: Dialects = of_agent!("outbox");
const INBOX: Dialects = of_agent!("inbox");
const WORLDS: Dialects = of_agent!("worlds");
const ENTITIES: Dialects = of_agent!("entities");
const RELATIONSHIPS: Dialects = of_agent!("relationships");
const LINKS: Dialects = of_agent!("identity_links");
const MARKS: Dialects = of_agent!("embedding_marks");
const TASKS: Dialects = of_agent!("tasks");
const CACHE: Dialects = of_agent!("cache");
const TRACES: Dialects = of_agent!("traces");
const TRACE_BOUNDS: Dialects = of_agent!("trace_bounds");
const BLOCKS: Dialects = of_agent!("blocks");
const CURSORS: Dialects = of_agent!("cursors");
const CONNECTOR_STATE: Dialects = of_agent!("connector_state");
const USAGE: Dialects = of_agent!("usage");
const ITSELF: Dialects = Dialects::same("DELETE FROM agents WHERE id = $1");

/// Statements that clear an agent. A reset may read the tables whole.
#[cfg(test)]
pub(crate) const CLEARS: &[crate::dialect::Listed] = crate::dialect::listed![
    SOME_DOOMED,
    LEFT,
    PARTICIPANTS,
    STEPS,
    ROOMS,
    OUTBOX,
    INBOX,
    WORLDS,
    ENTITIES,
    RELATIONSHIPS,
    LINKS,
    MARKS,
    TASKS,
    CACHE,
    TRACES,
    TRACE_BOUNDS,
    BLOCKS,
    CURSORS,
    CONNECTOR_STATE,
    USAGE,
    ITSELF,
];

impl Database {
    /// Deletes some memories of an agent, the newest first: what replaced a fact goes before it.
    async fn clear_memories(&self, id: AgentId) -> Result<()> {
        let mut statements = vec![SOME_DOOMED.with(values![id.0, STEP])];
        statements.extend(neighbour::forget_words());
        statements.extend(doomed::unindex());
        statements.extend(doomed::remove(None));
        statements.extend(crate::index::keep());
        let mut change = Change { scrub: true, changed: true, ..Change::default() };
        change.push(Write::Other { statements, counted: None })?;
        self.write(change).await.map(drop)
    }

    async fn left(&self, id: AgentId) -> Result<u64> {
        let row = self.fetch_one::<(i64,)>(LEFT.with(values![id.0])).await?;
        Ok(row.and_then(|(count,)| u64::try_from(count).ok()).unwrap_or(0))
    }
}

#[async_trait]
impl AgentStore for Database {
    async fn save_agent(&self, id: AgentId, character: &Character) -> Result<()> {
        let mut value = serde_json::to_value(character).map_err(|e| {
            Error::invalid("this character cannot be written as JSON").with_source(e)
        })?;
        if let Some(settings) = value.get_mut("settings") {
            remove_secrets(settings);
        }
        let mut values = values![id.0, character.name.as_str()];
        values.push(Value::Json(Some(to_json(&value)?)));
        self.write_one(SAVE.with(values)).await.map(drop)
    }

    async fn agents(&self) -> Result<Vec<(AgentId, String)>> {
        let rows = self.all::<(Uuid, String)>(AGENTS.with(values![])).await?;
        Ok(rows.into_iter().map(|(id, name)| (AgentId(id), name)).collect())
    }

    async fn agents_with_retention(&self) -> Result<Vec<AgentId>> {
        let rows = self.all::<(Uuid,)>(WITH_RETENTION.with(values![])).await?;
        Ok(rows.into_iter().map(|(id,)| AgentId(id)).collect())
    }

    async fn clear_agent(&self, id: AgentId, whole: bool) -> Result<u64> {
        let memories = self.left(id).await?;
        // Another process may add some meanwhile, but not for ever.
        for _ in 0..=memories.div_ceil(STEP.unsigned_abs()) {
            if self.left(id).await? == 0 {
                break;
            }
            self.clear_memories(id).await?;
        }
        let mut steps = vec![
            STEPS,
            OUTBOX,
            INBOX,
            PARTICIPANTS,
            ROOMS,
            WORLDS,
            ENTITIES,
            RELATIONSHIPS,
            LINKS,
            MARKS,
            TASKS,
            CACHE,
            TRACES,
            TRACE_BOUNDS,
        ];
        if whole {
            steps.extend([BLOCKS, CURSORS, CONNECTOR_STATE, USAGE, ITSELF]);
        }
        let statements = steps.into_iter().map(|step| step.with(values![id.0])).collect();
        let mut change = Change { scrub: true, changed: true, ..Change::default() };
        change.push(Write::Other { statements, counted: None })?;
        self.write(change).await?;
        Ok(memories)
    }
}

/// Endings of setting names that hold a secret by elizaOS's naming (`DISCORD_API_TOKEN`,
/// `OPENAI_API_KEY`, …).
const SECRET_ENDINGS: &[&str] =
    &["secrets", "secret", "token", "key", "password", "passphrase", "salt", "credentials"];

/// elizaOS characters keep secrets in `settings.secrets`, and many people put them beside it.
fn remove_secrets(settings: &mut Json) {
    match settings {
        Json::Object(map) => {
            map.retain(|name, _| {
                let name = name.to_lowercase();
                !SECRET_ENDINGS.iter().any(|ending| name.ends_with(ending))
            });
            map.values_mut().for_each(remove_secrets);
        }
        Json::Array(list) => list.iter_mut().for_each(remove_secrets),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn secrets_are_removed_wherever_settings_hold_them() {
        let mut settings = json!({
            "secrets": {"A": "canary"}, "OPENAI_API_KEY": "canary", "model": "gpt", "maxTokens": 5,
            "list": [{"BOT_TOKEN": "canary", "voice": "low"}],
        });
        remove_secrets(&mut settings);
        assert_eq!(settings, json!({"model": "gpt", "maxTokens": 5, "list": [{"voice": "low"}]}));
    }
}
