//! Agents. Secrets of a character never reach the database.

use async_trait::async_trait;
use galatea_core::{AgentId, Character, Error, Result, store::AgentStore};
use serde_json::Value as Json;
use uuid::Uuid;

use crate::{
    Database,
    convert::to_json,
    dialect::{Dialects, Value, values},
};

pub(crate) const SAVE: Dialects = Dialects::same(
    "INSERT INTO agents (id, name, character) VALUES ($1, $2, $3) \
     ON CONFLICT (id) DO UPDATE SET name = excluded.name, character = excluded.character",
);
pub(crate) const AGENTS: Dialects = Dialects::same("SELECT id, name FROM agents ORDER BY name, id");

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
