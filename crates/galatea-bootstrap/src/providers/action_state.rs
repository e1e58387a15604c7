//! ACTION_STATE: results of recent actions in this room. Results of the current turn are passed to
//! the model by the turn itself.

use async_trait::async_trait;
use galatea_core::{
    Fragment, MemoryKind, Provider, ProviderUse, Result, Timestamp, Turn, store::MemoryQuery,
};

use crate::words;

pub(crate) struct ActionState;

/// Maximum number of results shown.
const MOST: u32 = 5;
/// Longest result shown, in graphemes.
const LONGEST: usize = 300;

#[async_trait]
impl Provider for ActionState {
    fn name(&self) -> &'static str {
        "ACTION_STATE"
    }
    fn description(&self) -> &'static str {
        "What actions did in this room lately, and whether they worked"
    }
    fn position(&self) -> i32 {
        95
    }
    fn when(&self) -> ProviderUse {
        ProviderUse::OnRequest
    }
    async fn provide(&self, turn: &Turn<'_>) -> Result<Fragment> {
        let since =
            turn.room.metadata.get("resetAt").and_then(serde_json::Value::as_i64).map(Timestamp);
        let query = MemoryQuery {
            since,
            ..MemoryQuery::new(turn.agent.identity.id(), MOST)
                .room(turn.room.id)
                .kind(MemoryKind::ActionResult)
        };
        let results = turn.store.memories(&query).await?;
        if results.is_empty() {
            return Ok(Fragment::default());
        }
        let describe = |memory: &galatea_core::Memory| {
            let worked = memory
                .metadata
                .get("success")
                .and_then(serde_json::Value::as_bool)
                .unwrap_or(false);
            let name = memory.content.actions.first().map_or("action", String::as_str);
            format!(
                "{} {}: {}",
                words::name(name),
                if worked { "worked" } else { "failed" },
                words::quoted(&words::line(&memory.content.text, LONGEST))
            )
        };
        let list = results.iter().rev().map(describe).collect::<Vec<_>>().join("; ");
        let text = words::ended(&format!("Lately you did this here: {list}"));
        Ok(Fragment::text(text)
            .value("actionResults", list.clone())
            .value("recentActionResults", list))
    }
}
