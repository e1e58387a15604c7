//! SEND_MESSAGE: say something in another room that the agent knows.

use async_trait::async_trait;
use galatea_core::{Action, ActionDocs, ActionResult, Address, Content, Result, Role, Room, Turn};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::rights;

/// Say something in another room.
pub(crate) struct SendMessage;

/// Where and what.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// Name or id of the room, as people here call it.
    target: String,
    /// Platform, when the name alone could mean several.
    #[serde(default)]
    source: Option<String>,
    /// What to say, as Markdown.
    text: String,
}

#[async_trait]
impl Action for SendMessage {
    const NAME: &'static str = "SEND_MESSAGE";
    type Params = Params;
    fn docs(&self) -> ActionDocs {
        ActionDocs::of::<Self>("Say something in another room. Only when somebody here asks for it.", &["DM", "MESSAGE", "POST_IN", "FORWARD_MESSAGE"])
    }
    async fn validate(&self, turn: &Turn<'_>) -> Result<bool> {
        // Nobody gets a message to a place they are not in, except admins of a World to its rooms.
        Ok(turn.world.is_some() && !turn.room.kind.is_direct() || rights::of_speaker(turn) >= Role::Admin)
    }
    async fn run(&self, turn: &Turn<'_>, params: Params, _: &[ActionResult]) -> Result<ActionResult> {
        let Some(world) = turn.world else { return Ok(ActionResult::failed("there are no other rooms here")) };
        if params.text.trim().is_empty() {
            return Ok(ActionResult::failed("there is nothing to say"));
        }
        let rooms = turn.store.rooms(world.id).await?;
        let wanted = params.target.trim().trim_start_matches('#');
        let fits = |room: &&Room| {
            (room.name.eq_ignore_ascii_case(wanted) || room.remote.as_str() == wanted || room.id.to_string() == wanted)
                && params.source.as_ref().is_none_or(|source| room.source.as_str().eq_ignore_ascii_case(source))
        };
        let mut found = rooms.iter().filter(fits);
        let (Some(room), None) = (found.next(), found.next()) else {
            return Ok(ActionResult::failed("no room here has that name, or several have"));
        };
        if room.id == turn.room.id {
            return Ok(ActionResult::failed("that is this room; just reply"));
        }
        let admin = rights::of_speaker(turn) >= Role::Admin;
        if !admin {
            let there = turn.store.participants(room.id).await?;
            let speakers = turn.merged.iter().chain(std::iter::once(turn.message)).map(|m| m.entity_id);
            if !speakers.into_iter().all(|speaker| there.iter().any(|p| p.entity_id == speaker)) {
                return Ok(ActionResult::failed("whoever asks is not in that room"));
            }
        }
        let address = Address { source: room.source.clone(), account: room.account.clone(), room: room.id, remote: room.remote.clone() };
        let mut result = ActionResult::ok(format!("said it in {}", crate::words::name(&room.name)));
        result.elsewhere.push((address, Content::text(params.text)));
        Ok(result)
    }
}
