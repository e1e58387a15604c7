//! ROLES: the speakers' roles in this group.

use async_trait::async_trait;
use galatea_core::{
    EntityId, Fragment, Provider, ProviderUse, Result, Role, Speakers, Turn, rights::Authorship,
};

use crate::rights;

pub(crate) struct Roles;

#[async_trait]
impl Provider for Roles {
    fn name(&self) -> &'static str {
        "ROLES"
    }
    fn description(&self) -> &'static str {
        "The speaker's role in this group"
    }
    fn position(&self) -> i32 {
        40
    }
    fn when(&self) -> ProviderUse {
        ProviderUse::Always
    }
    fn authorship(&self) -> Authorship {
        Authorship::Own
    }
    async fn provide(&self, turn: &Turn<'_>) -> Result<Fragment> {
        if turn.room.kind.is_direct() {
            return Ok(Fragment::default());
        }
        let speakers = Speakers::of(turn);
        let mut lines: Vec<(EntityId, String)> = Vec::new();
        for message in turn
            .merged
            .iter()
            .chain(std::iter::once(turn.message))
            .filter(|m| m.entity_id != turn.agent.identity.entity())
        {
            let standing = match rights::role(turn.world, message.entity_id) {
                Role::Owner => "owns this place",
                Role::Admin => "is an admin here",
                Role::None => continue,
            };
            if !lines.iter().any(|(entity, _)| *entity == message.entity_id) {
                lines.push((
                    message.entity_id,
                    format!("{} {standing}.", speakers.of_memory(message)),
                ));
            }
        }
        if lines.is_empty() {
            return Ok(Fragment::default());
        }
        let text = lines.into_iter().map(|(_, line)| line).collect::<Vec<_>>().join("\n");
        Ok(Fragment::text(text.clone()).value("roles", text))
    }
}
