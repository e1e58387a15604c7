//! SETTINGS: settings of this room, made by its admins.

use async_trait::async_trait;
use galatea_core::{Fragment, Provider, ProviderUse, Result, Turn, rights::Authorship};

use crate::words;

pub(crate) struct WorldSettings;

/// Limits: settings shown, graphemes of each.
const MOST: usize = 50;
const LONGEST: usize = 200;

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
        // The room's metadata is already loaded, so no query is needed.
        ProviderUse::Always
    }
    fn authorship(&self) -> Authorship {
        Authorship::Own
    }
    async fn provide(&self, turn: &Turn<'_>) -> Result<Fragment> {
        let Some(settings) = turn
            .room
            .metadata
            .get("settings")
            .and_then(|s| s.as_object())
            .filter(|s| !s.is_empty())
        else {
            return Ok(Fragment::default());
        };
        let list: Vec<String> = settings
            .iter()
            .take(MOST)
            .map(|(key, value)| {
                format!(
                    "- {}: {}",
                    words::name(key),
                    words::line(
                        &value.as_str().map_or_else(|| value.to_string(), str::to_owned),
                        LONGEST
                    )
                )
            })
            .collect();
        let text = format!("# Settings of this room, noted for its admins\n{}", list.join("\n"));
        Ok(Fragment::text(text.clone()).value("settings", text))
    }
}
