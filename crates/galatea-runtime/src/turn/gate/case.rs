//! A message and all that the gate decides by.

use galatea_core::{
    Character, Memory, ParticipantState, Timestamp,
    room::ChannelType,
    store::{Block, Envelope},
};
use std::time::Duration;

use crate::{config::Policy, turn::more::More};

/// Everything the gate looks at.
pub(crate) struct Case<'a> {
    pub(crate) policy: &'a Policy,
    pub(crate) character: &'a Character,
    /// The account's names on the platform and in this Room.
    pub(crate) own_names: &'a [String],
    pub(crate) message: &'a Memory,
    pub(crate) envelope: &'a Envelope,
    pub(crate) room_kind: ChannelType,
    pub(crate) room_remote: &'a str,
    /// The platform id of the Room this one is a thread of.
    pub(crate) parent_remote: Option<&'a str>,
    /// The platform id of its World.
    pub(crate) world_remote: Option<&'a str>,
    /// People and places that `galatea block` and owners have blocked.
    pub(crate) blocks: &'a [Block],
    pub(crate) own_state: Option<ParticipantState>,
    /// Relation of the message to the rest of long answers.
    pub(in crate::turn) more: More,
    /// Strangers see what is said here.
    pub(crate) public: bool,
    /// The model is the offline script.
    pub(crate) scripted: bool,
    /// Answers to bots in a row in this room.
    pub(crate) hops: u32,
    /// The owner approved this person (pairing).
    pub(crate) paired: bool,
    pub(crate) received_at: Timestamp,
    pub(crate) now: Timestamp,
    /// Distance by which our clock was set forward lately: platforms do not know of it.
    pub(crate) ahead: Duration,
}
