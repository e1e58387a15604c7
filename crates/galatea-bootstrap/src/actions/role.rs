//! UPDATE_ROLE: assigns a role to a person. Owners cannot be changed, and a speaker cannot assign a
//! role above their own.

use async_trait::async_trait;
use galatea_core::{
    Action, ActionDocs, ActionResult, Result, Role, Turn,
    rights::{Scope, Standing},
    speakers, standing,
    store::RequestedChange,
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::rights;

pub(crate) struct UpdateRole;

/// Who and what.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct RoleParams {
    /// Name of the person, as shown in this room.
    name: String,
    /// The new role.
    role: Role,
}

#[async_trait]
impl Action for UpdateRole {
    const NAME: &'static str = "UPDATE_ROLE";
    const SCOPE: Scope = Scope::World;
    type Params = RoleParams;
    fn docs(&self) -> ActionDocs {
        ActionDocs::of::<Self>(
            "Give a person in this group the role ADMIN or NONE. Only when an admin asks.",
            &["CHANGE_ROLE", "SET_ROLE", "MAKE_ADMIN"],
        )
    }
    async fn validate(&self, turn: &Turn<'_>) -> Result<bool> {
        Ok(turn.world.is_some() && !turn.room.kind.is_direct() && rights::has_admin(turn)?)
    }
    async fn run(
        &self,
        turn: &Turn<'_>,
        params: RoleParams,
        _: &[ActionResult],
    ) -> Result<ActionResult> {
        let Some(world) = turn.world else {
            return Ok(ActionResult::failed("there are no roles here").own());
        };
        let speaker = standing::standing(turn, turn.world)?;
        if params.role == Role::Owner
            || Standing::from(params.role) > speaker
            || speaker < Standing::Admin
        {
            return Ok(ActionResult::failed("a person can't give a role above their own").own());
        }
        let people = turn.store.entities_in_room(turn.room.id).await?;
        let wanted = params.name.trim().trim_start_matches('@');
        let found = super::send_message::one_named(&people, wanted)
            .and_then(|id| people.iter().find(|e| e.id == id));
        let Some(person) = found.filter(|e| e.id != turn.agent.identity.entity()) else {
            return Ok(ActionResult::failed(
                "no member of this room has that name, or several have it",
            )
            .own());
        };
        if rights::role(Some(world), person.id) == Role::Owner {
            return Ok(ActionResult::failed("an owner's role cannot be changed").own());
        }
        let done = format!(
            "{} now has the role {:?}",
            speakers::display(&person.display_name()),
            params.role
        );
        Ok(ActionResult::ok(done).own().effect(RequestedChange::SetRole {
            world: world.id,
            entity: person.id,
            role: params.role,
        }))
    }
}
