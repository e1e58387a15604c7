//! Blocked people, rooms and worlds: from the settings, and from `galatea block` and owners.

use galatea_core::store::{Block, BlockKind};

use super::case::Case;

/// The entry of the block lists that this message meets: why, the setting or command that would let
/// it through, and its value.
pub(super) fn blocked(case: &Case<'_>) -> Option<(String, String, String)> {
    let spending = &case.policy.spending;
    let is_person = |id: &str| match id.strip_prefix('@') {
        // An id never meets a handle, nor a handle an id: anybody may call themselves by digits.
        Some(handle) => {
            case.envelope.user_name.as_ref().is_some_and(|name| name.to_lowercase() == handle)
        }
        None => case.envelope.entity_remote.as_ref().is_some_and(|own| own.as_str() == id),
    };
    let is_room = |id: &str| id == case.room_remote || Some(id) == case.parent_remote;
    let is_world = |id: &str| Some(id) == case.world_remote;
    let meets = |kind: BlockKind, id: &str| match kind {
        BlockKind::Person => is_person(id),
        BlockKind::Room => is_room(id),
        BlockKind::World => is_world(id),
    };
    let [people, rooms, worlds] = &spending.block_settings;
    for (kind, list, setting) in [
        (BlockKind::Person, &spending.blocked_people, people),
        (BlockKind::Room, &spending.blocked_rooms, rooms),
        (BlockKind::World, &spending.blocked_worlds, worlds),
    ] {
        if list.iter().any(|id| meets(kind, id)) {
            let rest: Vec<&str> =
                list.iter().map(String::as_str).filter(|id| !meets(kind, id)).collect();
            return Some((
                format!("this {} is blocked", kind.as_str()),
                setting.clone(),
                rest.join(","),
            ));
        }
    }
    let here =
        |block: &&Block| case.message.content.source.as_deref() == Some(block.source.as_str());
    let found =
        case.blocks.iter().filter(here).find(|block| meets(block.kind, block.remote.as_str()))?;
    let why = if found.reason.is_empty() { String::new() } else { format!(" ({})", found.reason) };
    let kind = found.kind.as_str();
    Some((
        format!("this {kind} is blocked{why}"),
        format!("galatea block rm {} {kind} {}", found.source, found.remote),
        String::new(),
    ))
}
