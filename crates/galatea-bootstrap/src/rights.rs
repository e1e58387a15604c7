//! Rights checks of the standard plugin. The rules are in [`galatea_core::rights`].

use galatea_core::{
    Result, Role, Room, Turn, World,
    rights::{self, Authorship, Ruling, Scope, Site},
    standing,
};
pub(crate) use galatea_core::{
    rights::role,
    standing::{of_speaker, owns_agent},
};

/// True if the speaker may change how the agent behaves in this Room, by the table: everyone in a
/// direct chat, admins and owners of the agent elsewhere.
pub(crate) fn may_change_room(turn: &Turn<'_>) -> Result<bool> {
    let site = if turn.room.kind.is_direct() { Site::Private } else { Site::Group };
    let standing = standing::standing(turn, turn.world)?;
    Ok(rights::rule(Scope::Room, standing, site, Authorship::Own) != Ruling::Refuse)
}

/// True if someone in the conversation that the model reads may change it. Actions are offered by this:
/// if the list followed each speaker, no two prompts would begin alike where admins and members talk.
pub(crate) fn is_change_offered(turn: &Turn<'_>) -> Result<bool> {
    Ok(turn.room.kind.is_direct() || has_admin(turn)?)
}

/// True if an admin takes part in the conversation that the model reads.
pub(crate) fn has_admin(turn: &Turn<'_>) -> Result<bool> {
    Ok(standing::highest_present(turn)? >= Role::Admin.into())
}

/// True if all speakers of this turn may let the agent write in `room`. The act step and the
/// platform check it again.
pub(crate) async fn may_write(turn: &Turn<'_>, room: &Room, world: &World) -> Result<bool> {
    if room.id == turn.room.id {
        return Ok(true);
    }
    let (standing, site) =
        (standing::standing(turn, Some(world))?, standing::site(turn, room).await?);
    Ok(rights::rule(Scope::Elsewhere, standing, site, Authorship::Own) != Ruling::Refuse)
}
