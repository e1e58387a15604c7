//! ENTITIES: who is in this room.

use async_trait::async_trait;
use galatea_core::{Fragment, Provider, ProviderUse, Result, Turn};

use crate::words;

/// Who is in this room.
pub(crate) struct Entities;

/// People listed at most.
const PEOPLE: usize = 100;

#[async_trait]
impl Provider for Entities {
    fn name(&self) -> &'static str {
        "ENTITIES"
    }
    fn description(&self) -> &'static str {
        "Who is in this room"
    }
    fn position(&self) -> i32 {
        25
    }
    fn when(&self) -> ProviderUse {
        ProviderUse::OnRequest
    }
    async fn provide(&self, turn: &Turn<'_>) -> Result<Fragment> {
        let people = turn.store.entities_in_room(turn.room.id).await?;
        let list: Vec<String> =
            people.iter().filter(|e| e.id != turn.agent.identity.entity()).take(PEOPLE).map(|e| format!("- {}", words::name(&e.display_name()))).collect();
        let text = format!("# People in this room\n{}", list.join("\n"));
        Ok(Fragment::text(text.clone()).value("entities", text))
    }
}
