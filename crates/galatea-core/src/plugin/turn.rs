//! Turn and FinishedTurn: all that plugin code may see.

use std::sync::Arc;

use crate::{
    clock::{Clock, Timestamp},
    ids::TurnId,
    memory::Memory,
    model::{Models, Tier},
    people::room_people::RoomPeople,
    plugin::{
        agent_view::AgentView, event_handle::EventHandle, outbound::Outbound,
        unstored_usage::TurnUsage,
    },
    room::Room,
    sections::Section,
    service::Services,
    state::State,
    store::{Envelope, PluginCache, PluginStore},
    verdict::Verdict,
    world::World,
};

/// An answer in the making.
pub struct Turn<'a> {
    /// Stands in the log, in the outbox and in `galatea explain`.
    pub id: TurnId,
    /// The agent that answers.
    pub agent: &'a AgentView,
    /// The Room of the message.
    pub room: &'a Room,
    /// The container; none before the platform has described it.
    pub world: Option<&'a World>,
    /// The people of the Room who have a name; none in a direct Room. Read by the runtime once in five
    /// minutes.
    pub people: &'a RoomPeople,
    /// Handle of the agent here, without `@`; none where it is not known.
    pub handle: Option<&'a str>,
    /// True if the platform takes files here.
    pub files: bool,
    /// Message that is answered; the last when several are answered together.
    pub message: &'a Memory,
    /// Way it came: its platform id, whether it mentions the agent or answers it.
    pub envelope: &'a Envelope,
    /// Earlier messages answered together with it, oldest first.
    pub merged: &'a [Memory],
    /// Recent messages of the room, oldest first, without `message` and `merged`; nothing older
    /// than the room's `resetAt`. Loaded once per turn by the runtime, so that providers need no
    /// SQL for it.
    pub recent: &'a [Arc<Memory>],
    /// About when the newest message that `recent` no longer has was written; none if `recent` has
    /// all since the room's `resetAt`.
    pub earlier: Option<Timestamp>,
    /// Number of messages of `recent`, from the oldest, that later prompts leave out at once when
    /// `CONVERSATION_LENGTH` or `CONVERSATION_TOKENS` is reached; 0 while neither is near.
    pub leaving: usize,
    /// The composed context; empty while it is being composed.
    pub state: &'a State,
    /// Memories, people and places, relationships and tasks.
    pub store: &'a Arc<dyn PluginStore>,
    /// Small values of the plugin's own: each plugin's code gets another one.
    pub cache: &'a PluginCache,
    /// The agent's models; each call counts against its budget.
    pub models: &'a Models,
    /// Use of its model calls.
    pub usage: &'a dyn TurnUsage,
    /// The services that plugins run for this agent, found by name.
    pub services: &'a Services,
    /// Actions and providers of this turn.
    pub catalog: &'a Catalog,
    /// The engine's clock, which tests set by hand.
    pub clock: &'a Arc<dyn Clock>,
    /// Events of the agent; publishes those of the plugin to subscribers, which never block a turn.
    pub events: &'a EventHandle,
    /// Way to other rooms.
    pub outbound: &'a Arc<dyn Outbound>,
}

impl Turn<'_> {
    /// Now, by the turn's clock.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The tokens that a section of this turn's prompt may take: its usual number, or less in a model
    /// with a small window. Of a section that the program does not know, providers bound themselves.
    pub fn budget(&self, section: Section) -> u64 {
        section.budget(self.models.text(Tier::TextLarge).info().limits.window)
    }
}

/// Names and descriptions of what a turn can use, for prompts.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    /// Actions whose `validate` passed.
    pub actions: Vec<Arc<crate::plugin::action_docs::ActionDocs>>,
    /// Providers the model may ask for.
    pub providers: Vec<(String, String)>,
    /// Evaluators: name and description.
    pub evaluators: Vec<(String, String)>,
}

/// A turn after its commit.
pub struct FinishedTurn<'a> {
    /// The turn as it was committed.
    pub turn: &'a Turn<'a>,
    /// Memories of the answer.
    pub replies: &'a [Memory],
    /// Why it was or was not answered.
    pub verdict: &'a Verdict,
}
