//! Tables that have rows of agents, with their columns.

/// Sort of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    Id,
    Int,
    Bool,
    Text,
    /// `json` in PostgreSQL.
    Json,
    /// `jsonb` in PostgreSQL.
    Jsonb,
}
use Sort::{Bool, Id, Int, Jsonb, Text};

/// A table that has rows of agents.
pub(super) struct Table {
    pub(super) name: &'static str,
    pub(super) columns: &'static [(&'static str, Sort)],
    /// Its rows of agent `$1`.
    pub(super) of_agent: &'static str,
    pub(super) order: &'static str,
}

const OF_AGENT: &str = "agent_id = $1";
const OF_ROOMS: &str = "room_id IN (SELECT r.id FROM rooms r WHERE r.agent_id = $1)";
const OF_MEMORIES: &str = "memory_id IN (SELECT m.id FROM memories m WHERE m.agent_id = $1)";
const OF_MESSAGES: &str = "message_id IN (SELECT i.id FROM inbox i WHERE i.agent_id = $1)";
/// The table whose words PostgreSQL indexes.
pub(super) const MEMORIES: &str = "memories";

macro_rules! table {
    ($name:literal, $which:expr, $order:literal, [$(($column:literal, $sort:expr)),* $(,)?]) => {
        Table { name: $name, columns: &[$(($column, $sort)),*], of_agent: $which, order: $order }
    };
}

/// In the order in which they are added: what a row refers to stands before it.
pub(super) const TABLES: &[Table] = &[
    table!("agents", "id = $1", "id", [("id", Id), ("name", Text), ("character", Sort::Json)]),
    table!(
        "worlds",
        OF_AGENT,
        "id",
        [
            ("id", Id),
            ("agent_id", Id),
            ("source", Text),
            ("remote", Text),
            ("name", Text),
            ("metadata", Jsonb)
        ]
    ),
    table!(
        "rooms",
        OF_AGENT,
        "id",
        [
            ("id", Id),
            ("agent_id", Id),
            ("world_id", Id),
            ("parent_id", Id),
            ("source", Text),
            ("account", Text),
            ("remote", Text),
            ("type", Text),
            ("name", Text),
            ("metadata", Jsonb)
        ]
    ),
    table!(
        "entities",
        OF_AGENT,
        "id",
        [("id", Id), ("agent_id", Id), ("names", Jsonb), ("metadata", Jsonb)]
    ),
    table!(
        "participants",
        OF_ROOMS,
        "room_id, entity_id",
        [("room_id", Id), ("entity_id", Id), ("state", Text)]
    ),
    table!(
        "relationships",
        OF_AGENT,
        "id",
        [
            ("id", Id),
            ("agent_id", Id),
            ("source_entity_id", Id),
            ("target_entity_id", Id),
            ("tags", Sort::Json),
            ("metadata", Sort::Json)
        ]
    ),
    table!(
        "identity_links",
        OF_AGENT,
        "entity_id, linked_id",
        [("agent_id", Id), ("entity_id", Id), ("linked_id", Id), ("linked_at", Int)]
    ),
    table!(
        "blocks",
        OF_AGENT,
        "source, kind, remote",
        [
            ("agent_id", Id),
            ("source", Text),
            ("kind", Text),
            ("remote", Text),
            ("reason", Text),
            ("at", Int)
        ]
    ),
    table!(
        "grants",
        OF_AGENT,
        "kind, tools, world_id, room_id, entity_id",
        [
            ("agent_id", Id),
            ("kind", Text),
            ("tools", Text),
            ("world_id", Id),
            ("room_id", Id),
            ("entity_id", Id),
            ("least", Text),
            ("ask", Text),
            ("pin", Text),
            ("at", Int)
        ]
    ),
    table!(
        "memories",
        OF_AGENT,
        "seq",
        [
            ("id", Id),
            ("type", Text),
            ("agent_id", Id),
            ("entity_id", Id),
            ("room_id", Id),
            ("world_id", Id),
            ("created_at", Int),
            ("metadata", Sort::Json),
            ("content", Sort::Json),
            ("scope", Text),
            ("valid_until", Int),
            ("superseded_by", Id)
        ]
    ),
    table!(
        "memory_sources",
        OF_MEMORIES,
        "memory_id, source_id",
        [("memory_id", Id), ("source_id", Id)]
    ),
    table!(
        "inbox",
        OF_AGENT,
        "seq",
        [
            ("id", Id),
            ("agent_id", Id),
            ("entity_id", Id),
            ("room_id", Id),
            ("source", Text),
            ("account", Text),
            ("room_remote", Text),
            ("remote", Text),
            ("legacy_id", Id),
            ("envelope", Jsonb),
            ("state", Text),
            ("attempts", Int),
            ("turn_id", Id),
            ("verdict", Sort::Json),
            ("received_at", Int),
            ("finished_at", Int)
        ]
    ),
    table!(
        "step",
        OF_MESSAGES,
        "message_id, n",
        [
            ("message_id", Id),
            ("n", Int),
            ("action", Text),
            ("input", Text),
            ("output", Sort::Json),
            ("begun_at", Int)
        ]
    ),
    table!(
        "outbox",
        OF_AGENT,
        "seq",
        [
            ("id", Id),
            ("turn_id", Id),
            ("part", Int),
            ("agent_id", Id),
            ("source", Text),
            ("account", Text),
            ("room_id", Id),
            ("room_remote", Text),
            ("key", Text),
            ("memory_id", Id),
            ("state", Text),
            ("attempt", Int),
            ("not_before", Int),
            ("expires_at", Int),
            ("created_at", Int),
            ("remote", Text),
            ("error", Text),
            ("body", Sort::Json),
            ("outcome_unknown", Bool)
        ]
    ),
    table!(
        "cursors",
        OF_AGENT,
        "source, account, stream",
        [
            ("agent_id", Id),
            ("source", Text),
            ("account", Text),
            ("stream", Text),
            ("position", Text)
        ]
    ),
    table!(
        "connector_state",
        OF_AGENT,
        "source, account, key",
        [("agent_id", Id), ("source", Text), ("account", Text), ("key", Text), ("value", Text)]
    ),
    // The claim of a process that runs a task now is its own.
    table!(
        "tasks",
        OF_AGENT,
        "id",
        [
            ("id", Id),
            ("agent_id", Id),
            ("name", Text),
            ("description", Text),
            ("room_id", Id),
            ("world_id", Id),
            ("entity_id", Id),
            ("tags", Jsonb),
            ("metadata", Sort::Json),
            ("due", Int),
            ("run", Sort::Json),
            ("state", Text)
        ]
    ),
    table!(
        "cache",
        OF_AGENT,
        "key",
        [("agent_id", Id), ("key", Text), ("value", Sort::Json), ("expires_at", Int)]
    ),
    table!(
        "usage",
        OF_AGENT,
        "day, room_id, entity_id, model",
        [
            ("agent_id", Id),
            ("day", Int),
            ("room_id", Id),
            ("entity_id", Id),
            ("model", Text),
            ("source", Text),
            ("world_id", Id),
            ("answers", Int),
            ("refused", Int),
            ("notices", Int),
            ("calls", Int),
            ("input", Int),
            ("cached", Int),
            ("output", Int),
            ("unpriced", Int),
            ("micros", Int)
        ]
    ),
    table!(
        "traces",
        OF_AGENT,
        "seq",
        [
            ("turn_id", Id),
            ("agent_id", Id),
            ("room_id", Id),
            ("entity_id", Id),
            ("at", Int),
            ("since", Int),
            ("late", Bool),
            ("bytes", Int),
            ("steps", Text),
            ("texts", Text)
        ]
    ),
];
