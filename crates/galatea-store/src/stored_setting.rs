//! Settings, characters and agents that operators made.

use async_trait::async_trait;
use galatea_core::{
    AgentId, Result, Timestamp,
    store::{CharacterVersion, SettingStore, StoredSetting},
};
use sqlx::FromRow;
use uuid::Uuid;

use crate::{
    Database,
    convert::{from_json, to_json},
    dialect::{Dialects, Value, values},
};

// A setting of all agents has the nil id: a key cannot hold NULL.
pub(crate) const SETTINGS: Dialects = Dialects::same(
    "SELECT agent_id, name, value, sealed, at, actor FROM stored_settings ORDER BY agent_id, name",
);
pub(crate) const SAVE: Dialects = Dialects::same(
    "INSERT INTO stored_settings (agent_id, name, value, sealed, at, actor) VALUES ($1, $2, $3, $4, $5, $6) \
     ON CONFLICT (agent_id, name) DO UPDATE SET value = excluded.value, sealed = excluded.sealed, at = excluded.at, actor = excluded.actor",
);
pub(crate) const REMOVE: Dialects =
    Dialects::same("DELETE FROM stored_settings WHERE agent_id = $1 AND name = $2");
pub(crate) const VERSIONS: Dialects = Dialects::same(
    "SELECT agent_id, version, at, actor, from_file, file, CAST(body AS text) AS body FROM character_versions \
     WHERE agent_id = $1 AND version < $2 ORDER BY version DESC LIMIT +$3",
);
pub(crate) const ADD_VERSION: Dialects = Dialects::same(
    "INSERT INTO character_versions (agent_id, version, at, actor, from_file, file, body) VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING",
);
pub(crate) const CREATED: Dialects =
    Dialects::same("SELECT agent_id FROM created_agents ORDER BY agent_id");
pub(crate) const ADD_CREATED: Dialects =
    Dialects::same("INSERT INTO created_agents (agent_id) VALUES ($1) ON CONFLICT DO NOTHING");
pub(crate) const REMOVE_CREATED: Dialects =
    Dialects::same("DELETE FROM created_agents WHERE agent_id = $1");

#[derive(FromRow)]
struct Stored {
    agent_id: Uuid,
    name: String,
    value: String,
    sealed: bool,
    at: i64,
    actor: String,
}

#[derive(FromRow)]
struct StoredVersion {
    agent_id: Uuid,
    version: i64,
    at: i64,
    actor: String,
    from_file: bool,
    file: Option<String>,
    body: String,
}

impl StoredVersion {
    fn decode(self) -> Result<CharacterVersion> {
        Ok(CharacterVersion {
            agent: AgentId(self.agent_id),
            version: self.version,
            at: Timestamp(self.at),
            by: self.actor,
            from_file: self.from_file,
            file: self.file,
            body: from_json("character", &self.body)?,
        })
    }
}

fn key(agent: Option<AgentId>) -> Uuid {
    agent.map_or(Uuid::nil(), |agent| agent.0)
}

#[async_trait]
impl SettingStore for Database {
    async fn stored_settings(&self) -> Result<Vec<StoredSetting>> {
        let rows: Vec<Stored> = self.all(SETTINGS.with(values![])).await?;
        let decode = |row: Stored| StoredSetting {
            agent: (!row.agent_id.is_nil()).then_some(AgentId(row.agent_id)),
            name: row.name,
            value: row.value,
            sealed: row.sealed,
            at: Timestamp(row.at),
            by: row.actor,
        };
        Ok(rows.into_iter().map(decode).collect())
    }

    async fn save_setting(&self, setting: &StoredSetting) -> Result<()> {
        let StoredSetting { agent, name, value, sealed, at, by } = setting;
        let values =
            values![key(*agent), name.as_str(), value.as_str(), *sealed, at.0, by.as_str()];
        self.write_one(SAVE.with(values)).await.map(drop)
    }

    async fn remove_setting(&self, agent: Option<AgentId>, name: &str) -> Result<bool> {
        Ok(self.write_one(REMOVE.with(values![key(agent), name])).await? > 0)
    }

    async fn character_versions(
        &self,
        agent: AgentId,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<CharacterVersion>> {
        let values = values![agent.0, before.unwrap_or(i64::MAX), limit];
        let rows: Vec<StoredVersion> = self.all(VERSIONS.with(values)).await?;
        rows.into_iter().map(StoredVersion::decode).collect()
    }

    async fn add_character_version(&self, version: &CharacterVersion) -> Result<bool> {
        let CharacterVersion { agent, version, at, by, from_file, file, body } = version;
        let mut values = values![agent.0, *version, at.0, by.as_str(), *from_file, file.clone()];
        values.push(Value::Json(Some(to_json(body)?)));
        Ok(self.write_one(ADD_VERSION.with(values)).await? > 0)
    }

    async fn created_agents(&self) -> Result<Vec<AgentId>> {
        let rows: Vec<(Uuid,)> = self.all(CREATED.with(values![])).await?;
        Ok(rows.into_iter().map(|(id,)| AgentId(id)).collect())
    }

    async fn set_created(&self, agent: AgentId, created: bool) -> Result<()> {
        let statement = if created { ADD_CREATED } else { REMOVE_CREATED };
        self.write_one(statement.with(values![agent.0])).await.map(drop)
    }
}
