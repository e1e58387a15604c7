//! ENTITIES: the people in this room. The prompt names those who do not speak in the conversation
//! that the model reads anyway; the value for templates names all.

use async_trait::async_trait;
use galatea_core::{EntityId, Fragment, Provider, ProviderUse, Result, Turn, rights::Authorship};
use std::{collections::HashSet, sync::Arc};

use crate::room_people::{People, RoomPeople};

pub(crate) struct Entities(pub(crate) Arc<RoomPeople>);

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
        ProviderUse::Always
    }
    fn authorship(&self) -> Authorship {
        Authorship::Own
    }
    async fn provide(&self, turn: &Turn<'_>) -> Result<Fragment> {
        // In a direct chat the conversation names everyone.
        if turn.room.kind.is_direct() {
            return Ok(Fragment::default());
        }
        let people = self.0.of(turn).await?;
        let own = turn.agent.identity.entity();
        let speaking: HashSet<EntityId> = turn
            .recent
            .iter()
            .map(|memory| memory.entity_id)
            .chain(turn.merged.iter().map(|memory| memory.entity_id))
            .chain([turn.message.entity_id, own])
            .collect();
        let text = titled(&people, "# Others in this room", |id| !speaking.contains(&id));
        let all = titled(&people, "# People in this room", |_| true);
        Ok(Fragment::text(text).value("entities", all))
    }
}

/// A list of those people under a title; empty without any.
fn titled(people: &People, title: &str, listed: impl Fn(EntityId) -> bool) -> String {
    let names = people.listed.iter().filter(|(id, _)| listed(*id));
    let names: Vec<&str> = names.map(|(_, name)| name.as_str()).collect();
    if names.is_empty() {
        return String::new();
    }
    let more = if people.more > 0 { format!(" and {} more", people.more) } else { String::new() };
    format!("{title}\n{}{more}", names.join(", "))
}
