//! SEND_MESSAGE: sends a message to another room that the agent knows, or to a person in private.

use async_trait::async_trait;
use galatea_core::{
    Action, ActionDocs, ActionResult, Address, Content, Entity, EntityId, Result, Room, RoomId,
    Turn, World, rights::Scope, room::ChannelType,
};
use schemars::JsonSchema;
use serde::Deserialize;
use unicode_segmentation::UnicodeSegmentation;

use crate::{rights, words};

pub(crate) struct SendMessage;

/// Longest message, in graphemes. Connectors split a message for their platform.
const LONGEST: usize = 8_000;
/// Maximum number of Worlds searched for a room's name, when asked in private.
const MOST_WORLDS: usize = 100;

/// The recipient and the message.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct SendParams {
    /// Room or person, by name or id; `me`: the speaker in private.
    target: String,
    /// Platform, if the name is ambiguous.
    #[serde(default)]
    source: Option<String>,
    /// As Markdown.
    text: String,
}

#[async_trait]
impl Action for SendMessage {
    const NAME: &'static str = "SEND_MESSAGE";
    const SCOPE: Scope = Scope::Elsewhere;
    type Params = SendParams;
    fn docs(&self) -> ActionDocs {
        ActionDocs::of::<Self>(
            "Say something in another room or privately, only when asked to. To answer here, just reply.",
            &["DM", "MESSAGE", "SEND_DM", "POST_IN", "FORWARD_MESSAGE"],
        )
    }
    async fn validate(&self, turn: &Turn<'_>) -> Result<bool> {
        Ok(turn.world.is_some())
    }
    async fn run(
        &self,
        turn: &Turn<'_>,
        params: SendParams,
        _: &[ActionResult],
    ) -> Result<ActionResult> {
        let Some(world) = turn.world else {
            return Ok(ActionResult::failed("no other rooms are known here").own());
        };
        let text = params.text.trim();
        if text.is_empty() {
            return Ok(ActionResult::failed("there is nothing to say").own());
        }
        let wanted = params.target.trim().trim_start_matches(['#', '@']);
        let source = params.source.as_deref().filter(|s| !s.trim().is_empty());
        let owner = rights::owns_agent(turn)?;
        let mut rooms = room_of_id(turn, world, wanted, source, owner).await?;
        if rooms.is_empty() {
            rooms = named_rooms(turn, world, wanted, source, owner).await?;
        }
        if rooms.is_empty()
            && let Some(room) = private_room(turn, wanted).await?
        {
            // A private chat is a World of its own on most platforms. Admins of this World have no
            // rights there.
            let there = turn.store.world(room.world_id).await?.unwrap_or_else(|| world.clone());
            rooms.push((room, there));
        }
        // If a name matches a room the speaker must not know of, it counts as unknown.
        let mut allowed = Vec::new();
        for (room, world) in rooms {
            if rights::may_write(turn, &room, &world).await? {
                allowed.push(room);
            }
        }
        // If two of our accounts are in the room, the one that was addressed sends.
        allowed.sort_by_key(|room| room.account != turn.room.account);
        let mut seen = std::collections::HashSet::new();
        allowed.retain(|room| seen.insert((room.source.clone(), room.remote.clone())));
        let (Some(room), true) = (allowed.first(), allowed.len() == 1) else {
            return Ok(ActionResult::failed(
                "there is no such place, or several, or the requester is not in it",
            )
            .own());
        };
        if room.id == turn.room.id {
            return Ok(ActionResult::failed("that is this room; just reply").own());
        }
        let address = Address {
            source: room.source.clone(),
            account: room.account.clone(),
            room: room.id,
            remote: room.remote.clone(),
        };
        // The name of a Room is its owner's word, unless the person said it.
        let place = if room.kind.is_direct() {
            "in private".to_owned()
        } else if room.name.trim().eq_ignore_ascii_case(wanted) {
            format!("in {}", words::name(&room.name))
        } else {
            "there".to_owned()
        };
        let mut result = ActionResult::ok(format!("said it {place}")).own();
        result
            .elsewhere
            .push((address, Content::text(text.graphemes(true).take(LONGEST).collect::<String>())));
        Ok(result)
    }
}

/// The room with this id, ours or the platform's. Searches this World; all Worlds if asked in
/// private or by an owner.
async fn room_of_id(
    turn: &Turn<'_>,
    here: &World,
    wanted: &str,
    source: Option<&str>,
    owner: bool,
) -> Result<Vec<(Room, World)>> {
    let mut found = Vec::new();
    let identity = &turn.agent.identity;
    let derived = [
        RoomId(identity.swizzle(wanted)),
        RoomId(identity.swizzle_for(&turn.room.account, wanted)),
    ];
    for id in wanted.parse().into_iter().chain(derived) {
        let Some(room) = turn.store.room(id).await? else { continue };
        let ours = room.agent_id == turn.agent.identity.id()
            && source.is_none_or(|s| room.source.as_str().eq_ignore_ascii_case(s));
        let near = owner
            || !room.kind.is_direct() && (room.world_id == here.id || turn.room.kind.is_direct());
        if let (true, Some(world)) = (ours && near, turn.store.world(room.world_id).await?) {
            found.push((room, world));
        }
    }
    Ok(found)
}

/// Rooms with this name. Searches this World; all Worlds if asked in private or by an owner.
async fn named_rooms(
    turn: &Turn<'_>,
    world: &World,
    wanted: &str,
    source: Option<&str>,
    owner: bool,
) -> Result<Vec<(Room, World)>> {
    let worlds = if owner || turn.room.kind.is_direct() {
        turn.store.worlds(turn.agent.identity.id()).await?
    } else {
        vec![world.clone()]
    };
    let mut found = Vec::new();
    for world in worlds
        .into_iter()
        .filter(|w| source.is_none_or(|s| w.source.as_str().eq_ignore_ascii_case(s)))
        .take(MOST_WORLDS)
    {
        let rooms = turn.store.rooms(world.id).await?;
        let fits = |room: &Room| {
            !room.kind.is_direct()
                && (same(&room.name, wanted)
                    || room.remote.as_str() == wanted
                    || room.id.to_string() == wanted)
        };
        found.extend(rooms.into_iter().filter(fits).map(|room| (room, world.clone())));
    }
    Ok(found)
}

/// The open private chat with a person of this room. Known only on platforms that use the person's
/// id as the chat's id.
async fn private_room(turn: &Turn<'_>, wanted: &str) -> Result<Option<Room>> {
    let person = if same(wanted, "me") {
        Some(turn.message.entity_id)
    } else {
        one_named(&turn.store.entities_in_room(turn.room.id).await?, wanted)
    };
    let Some(person) = person else { return Ok(None) };
    let private =
        |room: &Room| room.kind == ChannelType::Dm && room.agent_id == turn.agent.identity.id();
    let room = turn
        .store
        .room(RoomId(person.0))
        .await?
        .filter(|room| private(room) && room.account == turn.room.account);
    if room.is_some() {
        return Ok(room);
    }
    // For further accounts on a platform, room ids are derived from the account, too.
    let people = turn.store.entities(&[person]).await?;
    let remote = people.first().and_then(|p| {
        p.metadata.get(turn.room.source.as_str())?.get("id")?.as_str().map(str::to_owned)
    });
    let Some(remote) = remote else { return Ok(None) };
    let room = turn
        .store
        .room(RoomId(turn.agent.identity.swizzle_for(&turn.room.account, &remote)))
        .await?;
    Ok(room.filter(private))
}

/// The entity with this name or id, if exactly one matches.
pub(super) fn one_named(people: &[Entity], wanted: &str) -> Option<EntityId> {
    let mut found = people
        .iter()
        .filter(|e| e.id.to_string() == wanted || e.names.iter().any(|n| same(n, wanted)));
    match (found.next(), found.next()) {
        (Some(only), None) => Some(only.id),
        _ => None,
    }
}

fn same(a: &str, b: &str) -> bool {
    !b.is_empty() && a.trim_start_matches(['#', '@']).to_lowercase() == b.to_lowercase()
}
