//! ROLES: who has a say in this group.

use async_trait::async_trait;
use galatea_core::{Fragment, Provider, ProviderUse, Result, Role, Turn};

use crate::{rights, words};

/// Who has a say in this group.
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
    async fn provide(&self, turn: &Turn<'_>) -> Result<Fragment> {
        if turn.room.kind.is_direct() {
            return Ok(Fragment::default());
        }
        let role = match rights::of_speaker(turn) {
            Role::Owner => "owns this place",
            Role::Admin => "is an admin here",
            Role::None => return Ok(Fragment::default()),
        };
        let text = format!("{} {role}.", words::speaker(turn.message));
        Ok(Fragment::text(text.clone()).value("roles", text))
    }
}
