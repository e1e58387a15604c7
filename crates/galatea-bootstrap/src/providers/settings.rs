//! SETTINGS: how this World is set up.

use async_trait::async_trait;
use galatea_core::{Fragment, Provider, ProviderUse, Result, Turn};

use crate::words;

/// How this World is set up.
pub(crate) struct WorldSettings;

#[async_trait]
impl Provider for WorldSettings {
    fn name(&self) -> &'static str {
        "SETTINGS"
    }
    fn description(&self) -> &'static str {
        "Settings of this room that an admin can change"
    }
    fn position(&self) -> i32 {
        45
    }
    fn when(&self) -> ProviderUse {
        ProviderUse::OnRequest
    }
    async fn provide(&self, turn: &Turn<'_>) -> Result<Fragment> {
        let Some(settings) = turn.room.metadata.get("settings").and_then(|s| s.as_object()).filter(|s| !s.is_empty()) else { return Ok(Fragment::default()) };
        let list: Vec<String> = settings.iter().map(|(key, value)| format!("- {}: {}", words::name(key), words::line(&value.to_string(), 200))).collect();
        let text = format!("# Settings of this room\n{}", list.join("\n"));
        Ok(Fragment::text(text.clone()).value("settings", text))
    }
}
