//! The turn engine of one agent: its parts.

use galatea_core::{
    AgentView, Clock, EventBus, MemoryId, Models, Outbound, Services, Store,
    store::{PluginCache, PluginStore},
};
use std::sync::Arc;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{beginning::Beginnings, hops::Hops, notices::Notices, quiet::Quiet, window::Windows};
use crate::{
    budget::Budget,
    config::{Limits, Policies},
    directory::Directory,
    in_flight::InFlight,
    outbox::Outbox,
    ownership::Ownership,
    registry::Registry,
};

/// Turns stored messages into committed answers.
pub(crate) struct Engine {
    /// What plugin code sees of the agent.
    pub(crate) view: Arc<AgentView>,
    /// The agent's models, before a turn's meter counts their calls.
    pub(crate) models: Models,
    /// The plugins' actions, providers and evaluators.
    pub(crate) registry: Arc<Registry>,
    /// What only the plugins' code uses.
    pub(crate) plugins: PluginParts,
    /// Timing and sizes.
    pub(crate) limits: Limits,
    /// When to answer, per account.
    pub(crate) policies: Policies,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) events: EventBus,
    /// Ids and known rows of people and places.
    pub(crate) directory: Arc<Directory>,
    /// Which Rooms this process answers in.
    pub(crate) ownership: Arc<Ownership>,
    /// Answers and money that people, Rooms and the agent may use.
    pub(crate) budget: Arc<Budget>,
    /// Where answers go.
    pub(crate) outbox: Arc<Outbox>,
    /// Messages in lanes and turns.
    pub(crate) in_flight: InFlight<MemoryId>,
    /// Where work that outlives a turn runs.
    pub(crate) background: Background,
    /// What it has learnt; nothing at first.
    pub(crate) state: EngineState,
}

/// What a turn hands to plugin code and the engine itself does not use.
pub(crate) struct PluginParts {
    /// The part of the store that plugin code sees.
    pub(crate) store: Arc<dyn PluginStore>,
    /// Small values of no plugin, for a turn that is not handed to plugin code.
    pub(crate) cache: PluginCache,
    /// Running services.
    pub(crate) services: Services,
    /// How plugin code reaches other Rooms.
    pub(crate) outbound: Arc<dyn Outbound>,
}

/// Work that outlives a turn.
pub(crate) struct Background {
    /// The agent's tasks; its end waits for them.
    pub(crate) tasks: TaskTracker,
    /// Ends what need not be finished.
    pub(crate) halt: CancellationToken,
}

impl Background {
    /// Runs work to its end.
    pub(super) fn finish(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(work);
    }

    /// Runs work that is dropped where it is when the agent halts.
    pub(super) fn until_halt(&self, work: impl Future<Output = ()> + Send + 'static) {
        let halt = self.halt.clone();
        self.tasks.spawn(async move {
            halt.run_until_cancelled(work).await;
        });
    }
}

/// The state of an engine between turns.
pub(crate) struct EngineState {
    /// Failure notices and when each Room last read one.
    pub(super) notices: Notices,
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
    /// when needed. A Room reads `model_notice` when no model answers; without it, it reads nothing.
    /// `stop` ends waiting.
    pub(crate) fn new(
        store: Arc<dyn Store>,
        model_notice: Option<String>,
        stop: CancellationToken,
    ) -> Self {
        Self {
            notices: Notices::new(model_notice),
            windows: Windows::new(store),
            beginnings: Beginnings::new(),
            quiet: Quiet::new(stop),
            hops: Hops::default(),
            suspects: tokio::sync::Mutex::default(),
            pairing: tokio::sync::Mutex::default(),
        }
    }
}
