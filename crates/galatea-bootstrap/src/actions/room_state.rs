//! FOLLOW_ROOM, UNFOLLOW_ROOM, MUTE_ROOM, UNMUTE_ROOM: set whether the agent speaks in this room,
//! without a further model call.

use async_trait::async_trait;
use galatea_core::{
    Action, ActionDocs, ActionResult, ParticipantState, Result, Turn, rights::Scope,
    store::RequestedChange,
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::rights;

/// No arguments.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct NoParams {}

macro_rules! room_action {
    ($(#[$doc:meta])* $type:ident, $name:literal, $about:literal, $similes:expr, $state:expr, $done:literal) => {
        $(#[$doc])*
        pub(crate) struct $type;

        #[async_trait]
        impl Action for $type {
            const NAME: &'static str = $name;
            const SCOPE: Scope = Scope::Room;
            type Params = NoParams;
            fn docs(&self) -> ActionDocs {
                ActionDocs::of::<Self>($about, $similes)
            }
            async fn validate(&self, turn: &Turn<'_>) -> Result<bool> {
                // A direct chat cannot be followed, and /mute is available there.
                Ok(!turn.room.kind.is_direct() && rights::has_admin(turn)?)
            }
            async fn run(&self, turn: &Turn<'_>, _: NoParams, _: &[ActionResult]) -> Result<ActionResult> {
                set(turn, $state, $done)
            }
        }
    };
}

room_action!(
    /// Answer here without being addressed.
    FollowRoom,
    "FOLLOW_ROOM",
    "Take part in this room without being addressed from now on. Only when asked to.",
    &["FOLLOW_CHAT", "FOLLOW_CHANNEL", "JOIN_IN"],
    Some(ParticipantState::Followed),
    "following this room from now on"
);
room_action!(
    /// Answer here only when addressed.
    UnfollowRoom,
    "UNFOLLOW_ROOM",
    "Answer in this room only when addressed again. Only when asked to.",
    &["UNFOLLOW_CHAT", "UNFOLLOW_CHANNEL"],
    None,
    "answering only when addressed from now on"
);
room_action!(
    /// Stay silent here.
    MuteRoom,
    "MUTE_ROOM",
    "Stay silent in this room from now on, until unmuted. Only when asked to.",
    &["MUTE_CHAT", "MUTE_CHANNEL", "SILENCE"],
    Some(ParticipantState::Muted),
    "silent from now on; /unmute ends it"
);
room_action!(
    /// Speak here again.
    UnmuteRoom,
    "UNMUTE_ROOM",
    "Speak in this room again.",
    &["UNMUTE_CHAT", "UNMUTE_CHANNEL"],
    None,
    "speaking again"
);

fn set(turn: &Turn<'_>, state: Option<ParticipantState>, done: &str) -> Result<ActionResult> {
    if !rights::may_change_room(turn)? {
        return Ok(ActionResult::failed("only admins of this room may ask for that").own());
    }
    Ok(ActionResult::ok(done).own().effect(RequestedChange::SetParticipantState {
        room: turn.room.id,
        entity: turn.agent.identity.entity(),
        state,
    }))
}
