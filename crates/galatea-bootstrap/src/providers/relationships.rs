//! RELATIONSHIPS: whom the speaker knows.

use async_trait::async_trait;
use galatea_core::{Fragment, Provider, ProviderUse, Result, Turn};

use crate::words;

/// Whom the speaker knows.
pub(crate) struct Relationships;

/// elizaOS shows the 30 with most interactions.
const MOST: usize = 30;

#[async_trait]
impl Provider for Relationships {
    fn name(&self) -> &'static str {
        "RELATIONSHIPS"
    }
    fn description(&self) -> &'static str {
        "Whom the speaker knows, and how"
    }
    fn position(&self) -> i32 {
        30
    }
    fn when(&self) -> ProviderUse {
        ProviderUse::OnRequest
    }
    async fn provide(&self, turn: &Turn<'_>) -> Result<Fragment> {
        let speaker = turn.message.entity_id;
        let mut ties = turn.store.relationships(turn.agent.identity.id(), speaker).await?;
        let weight = |r: &galatea_core::Relationship| r.metadata.get("interactions").and_then(serde_json::Value::as_u64).unwrap_or(0);
        ties.sort_by_key(|r| std::cmp::Reverse(weight(r)));
        ties.truncate(MOST);
        let others: Vec<_> = ties.iter().map(|r| if r.source_entity_id == speaker { r.target_entity_id } else { r.source_entity_id }).collect();
        let known = turn.store.entities(&others).await?;
        let list: Vec<String> = ties
            .iter()
            .zip(&others)
            .filter_map(|(tie, other)| known.iter().find(|e| e.id == *other).map(|e| (tie, e)))
            .map(|(tie, e)| format!("- {}: {}", words::name(&e.display_name()), tie.tags.iter().map(|t| words::name(t)).collect::<Vec<_>>().join(", ")))
            .collect();
        if list.is_empty() {
            return Ok(Fragment::default());
        }
        let text = format!("# Whom {} knows\n{}", words::speaker(turn.message), list.join("\n"));
        Ok(Fragment::text(text.clone()).value("relationships", text))
    }
}
