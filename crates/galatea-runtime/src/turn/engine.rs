//! The turn engine of one agent: its parts.

use galatea_core::{
    AgentView, Clock, EventBus, MemoryId, Models, Outbound, RoomId, Services, Store, Timestamp,
    store::PluginStore,
};
use moka::sync::Cache;
use std::sync::Arc;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{beginning::Beginnings, hops::Hops, quiet::Quiet, window::Windows};
use crate::{
    budget::Budget,
    config::{Limits, Policies},
    directory::Directory,
    in_flight::InFlight,
    outbox::Outbox,
    ownership::Ownership,
    registry::Registry,
};

/// Rooms of which it is known when they last read a failure notice.
const NOTICES: u64 = 4096;

/// Turns stored messages into committed answers.
pub(crate) struct Engine {
    /// The agent.
    pub(crate) view: Arc<AgentView>,
    /// Models.
    pub(crate) models: Models,
    /// Extensions.
    pub(crate) registry: Arc<Registry>,
    /// Running services.
    pub(crate) services: Services,
    /// Timing and sizes.
    pub(crate) limits: Limits,
    /// When to answer, per account.
    pub(crate) policies: Policies,
    /// What a Room reads when no model answers; none says nothing.
    pub(crate) speechless: Option<String>,
    /// Storage.
    pub(crate) store: Arc<dyn Store>,
    /// The part of it that plugin code sees.
    pub(crate) plugin_store: Arc<dyn PluginStore>,
    /// Time.
    pub(crate) clock: Arc<dyn Clock>,
    /// Where events go.
    pub(crate) events: EventBus,
    /// People and places.
    pub(crate) directory: Arc<Directory>,
    /// Which Rooms this process answers in.
    pub(crate) ownership: Arc<Ownership>,
    /// Answers and money that people, Rooms and the agent may use.
    pub(crate) budget: Arc<Budget>,
    /// Where answers go.
    pub(crate) outbox: Arc<Outbox>,
    /// How plugin code reaches other Rooms.
    pub(crate) outbound: Arc<dyn Outbound>,
    /// Messages in lanes and turns.
    pub(crate) in_flight: InFlight<MemoryId>,
    /// Where work that outlives a turn runs.
    pub(crate) tasks: TaskTracker,
    /// Ends such work where it is.
    pub(crate) halt: CancellationToken,
    /// What it has learnt; nothing at first.
    pub(crate) state: EngineState,
}

/// The state of an engine between turns.
pub(crate) struct EngineState {
    /// When a failure notice was last shown in a Room.
    pub(super) notices: Cache<RoomId, Timestamp>,
    /// How much each model takes.
    pub(super) windows: Windows,
    /// From which message on each Room's conversation is shown.
    pub(super) beginnings: Beginnings,
    /// Rooms whose evaluators wait until they are quiet.
    pub(super) quiet: Quiet,
    /// Answers to bots in a row.
    pub(super) hops: Hops,
    /// Held by a turn that may end the program: such turns run one at a time, so that only the
    /// guilty one is counted.
    pub(super) suspects: tokio::sync::Mutex<()>,
    /// Held while a pairing code is made: the list of codes is read, changed and written.
    pub(super) pairing: tokio::sync::Mutex<()>,
}

impl EngineState {
    /// Nothing learnt yet; limits of models that earlier runs have learnt are read from the store
    /// when needed. `stop` ends waiting.
    pub(crate) fn new(store: Arc<dyn Store>, stop: CancellationToken) -> Self {
        Self {
            notices: Cache::new(NOTICES),
            windows: Windows::new(store),
            beginnings: Beginnings::new(),
            quiet: Quiet::new(stop),
            hops: Hops::default(),
            suspects: tokio::sync::Mutex::default(),
            pairing: tokio::sync::Mutex::default(),
        }
    }
}
