//! Features that are off until people switch them on: in a World by its setting, everywhere by
//! `COMMUNITY_FEATURES`.

use galatea_core::{Room, RoomId, Settings, Turn, Variable, World};

/// Features that are on in every World.
pub const FEATURES: Variable = Variable::new(
    "COMMUNITY_FEATURES",
    "Features that are on in every group, separated by commas: missed (what did I miss), welcome, goodbye, hand_over (to people, when the agent is unsure), flag (messages, to moderators). An admin switches them for one group by telling the agent, such as: set welcome to on.",
);

/// The setting that names the Room of a World's moderators.
pub(crate) const MODERATORS: &str = "moderators_room";
/// Most Rooms of a World that are searched for that of the moderators.
const MOST_ROOMS: usize = 500;

/// The value of a World's feature: what its admin set, or `on` where it is on everywhere. None where it
/// is off.
pub(crate) fn value(settings: &Settings, world: Option<&World>, key: &str) -> Option<String> {
    let everywhere = || {
        let listed = settings.list(&FEATURES).ok().flatten().unwrap_or_default();
        let on = listed.iter().any(|name| name.trim().eq_ignore_ascii_case(key));
        on.then(|| "on".to_owned())
    };
    match world.and_then(|world| world.setting(key)).map(str::trim) {
        Some(off) if ["", "off", "no", "false"].contains(&off.to_lowercase().as_str()) => None,
        Some(own) => Some(own.to_owned()),
        None => everywhere(),
    }
}

/// True if a feature is on where a turn takes place.
pub(crate) fn is_on(turn: &Turn<'_>, key: &str) -> bool {
    value(&turn.agent.settings, turn.world, key).is_some()
}

/// The Room that a World's admin named for its moderators; none if none is named or known.
pub(crate) async fn moderators(turn: &Turn<'_>) -> galatea_core::Result<Option<RoomId>> {
    let Some(world) = turn.world else { return Ok(None) };
    let Some(name) = value(&turn.agent.settings, Some(world), MODERATORS) else { return Ok(None) };
    let wanted = name.trim_start_matches('#').to_lowercase();
    let named = |room: &&Room| {
        room.name.trim_start_matches('#').to_lowercase() == wanted || room.remote.as_str() == wanted
    };
    let rooms = turn.store.rooms(world.id).await?;
    let mut found = rooms.iter().take(MOST_ROOMS).filter(named);
    // A name that two Rooms have says nothing.
    let first = found.next();
    Ok(first.filter(|_| found.next().is_none()).map(|room| room.id))
}
