//! From where a search looks. Every search takes one, so that none can be written without a scope.

use crate::{
    derived::MemoryScope,
    ids::{AgentId, EntityId, RoomId, WorldId},
    memory::Memory,
    room::Room,
};

/// The place from which memories are looked for, and so which of them may be seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visibility {
    agent: AgentId,
    view: View,
}

/// Viewpoint of a [`Visibility`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum View {
    /// A room: its own memories, those of its World, those of the agent, and in a direct room those
    /// that are private to its person.
    Room {
        /// The Room in which the question is asked.
        room: RoomId,
        /// The World of that Room.
        world: WorldId,
        /// The person a direct room is with, under every linked id; empty in a room of several.
        with: Vec<EntityId>,
    },
    /// Everything of the agent.
    Operator,
}

impl Visibility {
    /// Memories that may be shown in this room. `person` is the one a direct room is with, with the
    /// ids that are linked to it; a room that is not direct ignores it.
    pub fn in_room(room: &Room, person: &[EntityId]) -> Self {
        let with = if room.kind.is_direct() { person.to_vec() } else { Vec::new() };
        let view = View::Room { room: room.id, world: room.world_id, with };
        Self { agent: room.agent_id, view }
    }

    /// The documents of an agent: what lies in its own Room, whose id and World are the agent's, and
    /// what is seen in every Room of it. Nothing of its platforms' Rooms, Worlds and people.
    pub fn documents(agent: AgentId) -> Self {
        let view = View::Room { room: RoomId(agent.0), world: WorldId(agent.0), with: Vec::new() };
        Self { agent, view }
    }

    /// Everything of an agent. For commands of its operator on this machine only: the result must
    /// reach no prompt and no chat.
    pub fn operator(agent: AgentId) -> Self {
        Self { agent, view: View::Operator }
    }

    /// The agent whose memories are searched.
    pub fn agent(&self) -> AgentId {
        self.agent
    }

    /// From where the search looks.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// True if a memory of this scope may be seen. The stores' conditions say the same in SQL.
    pub fn shows(&self, memory: &Memory, scope: MemoryScope) -> bool {
        if memory.agent_id != self.agent {
            return false;
        }
        let View::Room { room, world, with } = &self.view else { return true };
        match scope {
            MemoryScope::Private => with.contains(&memory.entity_id),
            MemoryScope::Room => memory.room_id == *room,
            MemoryScope::World => memory.world_id == Some(*world),
            MemoryScope::Agent => true,
        }
    }
}
