//! FACTS: what was learnt about the speaker and this room.

use async_trait::async_trait;
use galatea_core::{Fragment, MemoryKind, Provider, ProviderUse, Result, Turn, store::MemoryQuery};

use crate::words;

/// What was learnt about the speaker and this room.
pub(crate) struct Facts;

/// Facts shown at most.
const MOST: u32 = 12;

#[async_trait]
impl Provider for Facts {
    fn name(&self) -> &'static str {
        "FACTS"
    }
    fn description(&self) -> &'static str {
        "What was learnt about the speaker in this room"
    }
    fn position(&self) -> i32 {
        35
    }
    fn when(&self) -> ProviderUse {
        ProviderUse::OnRequest
    }
    async fn provide(&self, turn: &Turn<'_>) -> Result<Fragment> {
        // Of this room only: what was said elsewhere must not surface here.
        let query =
            MemoryQuery { entity: Some(turn.message.entity_id), ..MemoryQuery::new(turn.agent.identity.id(), MOST).room(turn.room.id).kind(MemoryKind::Facts) };
        let facts = turn.store.memories(&query).await?;
        if facts.is_empty() {
            return Ok(Fragment::default());
        }
        let list: Vec<String> = facts.iter().map(|f| format!("- {}", words::line(&f.content.text, 300))).collect();
        let text = format!("# What is known about {} (may be wrong)\n{}", words::speaker(turn.message), list.join("\n"));
        Ok(Fragment::text(text.clone()).value("facts", text))
    }
}
