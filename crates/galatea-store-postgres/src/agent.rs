//! Agents. Secrets of a character never reach the file.

use async_trait::async_trait;
use galatea_core::{AgentId, Character, Error, Result, store::AgentStore};
use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use crate::{
    PostgresStore,
    apply::Step,
    change::{Text, uuid},
    read::select,
};

pub(crate) const STEPS: &[Step] = &[(
    "agent",
    "INSERT INTO agents (id, name, character) VALUES ((b ->> 'id')::uuid, b ->> 'name', (b ->> 'character')::json)
     ON CONFLICT (id) DO UPDATE SET name = excluded.name, character = excluded.character;",
)];

pub(crate) const AGENTS: &str = "SELECT id, name FROM agents ORDER BY name, id";

#[derive(Serialize)]
struct AgentRow<'a> {
    id: Uuid,
    name: &'a str,
    character: Text<'a, Value>,
}

#[async_trait]
impl AgentStore for PostgresStore {
    async fn save_agent(&self, id: AgentId, character: &Character) -> Result<()> {
        let mut value = serde_json::to_value(character).map_err(|e| Error::invalid("this character cannot be written as JSON").with_source(e))?;
        if let Some(settings) = value.get_mut("settings") {
            remove_secrets(settings);
        }
        let mut change = self.change();
        change.push("agent", &AgentRow { id: uuid(id), name: &character.name, character: Text(&value) })?;
        self.write(change).await.map(drop)
    }

    async fn agents(&self) -> Result<Vec<(AgentId, String)>> {
        let rows = self.all(select::<(Uuid, String)>(AGENTS)).await?;
        Ok(rows.into_iter().map(|(id, name)| (AgentId(id), name)).collect())
    }
}

/// Endings of setting names that hold a secret by elizaOS's naming (`DISCORD_API_TOKEN`, `OPENAI_API_KEY`, …).
const SECRET_ENDINGS: &[&str] = &["secrets", "secret", "token", "key", "password", "passphrase", "salt", "credentials"];

/// elizaOS characters keep secrets in `settings.secrets`, and many people put them beside it.
fn remove_secrets(settings: &mut Value) {
    match settings {
        Value::Object(map) => {
            map.retain(|name, _| {
                let name = name.to_lowercase();
                !SECRET_ENDINGS.iter().any(|ending| name.ends_with(ending))
            });
            map.values_mut().for_each(remove_secrets);
        }
        Value::Array(list) => list.iter_mut().for_each(remove_secrets),
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
