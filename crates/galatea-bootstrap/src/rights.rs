//! Rights as the standard plugin asks for them; the rules are in [`galatea_core::rights`].

use galatea_core::{Result, Role, Room, Turn, World, rights, standing};
pub(crate) use galatea_core::{
    rights::role,
    standing::{of_speaker, owns_agent},
};

/// Whether the speaker may change how the agent behaves in this Room: anybody between two, admins
/// elsewhere.
pub(crate) fn may_change_room(turn: &Turn<'_>) -> bool {
    turn.room.kind.is_direct() || of_speaker(turn) >= Role::Admin
}

/// Whether everybody who asks may have the agent say something in that Room. The act step asks the
/// same again, and the platform too.
pub(crate) async fn may_write(turn: &Turn<'_>, room: &Room, world: &World) -> Result<bool> {
    if room.id == turn.room.id {
        return Ok(true);
    }
    let (standing, site) =
        (standing::standing(turn, Some(world))?, standing::site(turn, room).await?);
    Ok(rights::rule(rights::Scope::Elsewhere, standing, site, rights::Words::Own)
        != rights::Ruling::Refuse)
}
