//! Rights checks of the standard plugin. The rules are in [`galatea_core::rights`].

use galatea_core::{Result, Role, Room, Turn, World, rights, standing};
pub(crate) use galatea_core::{
    rights::role,
    standing::{of_speaker, owns_agent},
};

/// Whether the speaker may change how the agent behaves in this Room: everyone in a direct chat,
/// admins elsewhere.
pub(crate) fn may_change_room(turn: &Turn<'_>) -> bool {
    turn.room.kind.is_direct() || of_speaker(turn) >= Role::Admin
}

/// Whether all speakers of this turn may let the agent write in `room`. The act step and the
/// platform check it again.
pub(crate) async fn may_write(turn: &Turn<'_>, room: &Room, world: &World) -> Result<bool> {
    if room.id == turn.room.id {
        return Ok(true);
    }
    let (standing, site) =
        (standing::standing(turn, Some(world))?, standing::site(turn, room).await?);
    Ok(rights::rule(rights::Scope::Elsewhere, standing, site, rights::Authorship::Own)
        != rights::Ruling::Refuse)
}
