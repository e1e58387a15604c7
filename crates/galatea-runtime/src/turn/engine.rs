//! The turn engine of one agent: its parts.

use arc_swap::ArcSwap;
use galatea_core::{
    AgentView, Clock, EventBus, EventHandle, MemoryId, Models, Outbound, Result, Services, Store,
    rights::{Grant, Scope},
    store::{InboxItem, PluginCache, PluginStore},
};
use rand::RngExt;
use std::{sync::Arc, time::Duration};
use tokio::sync::Notify;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::message::{Claimed, Waiting};
use crate::{
    budget::Budget,
    config::{Limits, Policies},
    directory::Directory,
    grants::KnownGrants,
    in_flight::InFlight,
    outbox::Outbox,
    ownership::Ownership,
    plugins::registry::Registry,
    profile::Profile,
    trace::Tracer,
    turn::state::{
        beginning::Beginnings,
        edits::Edits,
        failures::Failures,
        hops::Hops,
        notices::Notices,
        quiet::{Look, Quiet},
        repeated::ShownCommands,
        room_people::RoomPeopleCache,
        window::Windows,
    },
};

/// Turns begun for one message before it is given up: it seems to end the program. With the pauses
/// between them ([`suspect_pause`]) they take at least half a minute.
pub(super) const ATTEMPTS: u32 = 10;
/// Turns begun for one message after which it may be what ends the program. From then on such
/// messages are answered one after another: whatever ends the program, only one of those that
/// happened to be under way is counted for it.
pub(super) const SUSPECT: u32 = 3;
/// Longest random pause before a suspect begins.
const SHUFFLE: Duration = Duration::from_millis(100);
/// Pause before the turn that follows the first one counted for a suspect; it doubles with each
/// further one.
const SUSPECT_PAUSE: Duration = Duration::from_millis(500);

/// Turns stored messages into committed answers. Clones share all but the profile, the models and the
/// plugins: each turn has an engine of its own, with those of its beginning ([`Self::current`]).
#[derive(Clone)]
pub(crate) struct Engine {
    /// The agent as plugin code sees it.
    pub(crate) view: Arc<AgentView>,
    /// The profile that `view`, `policies` and `limits` are of.
    pub(crate) profile: Arc<Profile>,
    /// Profile, models and plugins that the next turn reads.
    current: CurrentThinking,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) events: EventBus,
    /// Ids and known rows of people and places.
    pub(crate) directory: Arc<Directory>,
    /// Conditions for an answer, per account.
    pub(crate) policies: Arc<Policies>,
    /// Times and sizes of turns.
    pub(crate) limits: Limits,
    /// Answers and money that people, Rooms and the agent may use.
    pub(crate) budget: Arc<Budget>,
    /// Models and plugins.
    pub(crate) thinking: Arc<Thinking>,
    /// Takes committed answers to their platforms.
    pub(crate) outbox: Arc<Outbox>,
    /// Messages that this process answers.
    pub(crate) claims: Arc<Claims>,
    /// Runner of work that outlives a turn.
    pub(crate) background: Arc<Background>,
    /// Keeps what turns did.
    pub(crate) tracer: Tracer,
    /// Wakes the search for due tasks.
    tasks: Arc<Notify>,
    /// Knowledge about Rooms; empty at first.
    pub(crate) state: Arc<EngineState>,
}

/// The parts that an engine is given.
pub(crate) struct EngineParts {
    pub(crate) current: CurrentThinking,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) events: EventBus,
    pub(crate) directory: Arc<Directory>,
    pub(crate) budget: Arc<Budget>,
    pub(crate) outbox: Arc<Outbox>,
    pub(crate) claims: Claims,
    pub(crate) background: Background,
    pub(crate) tracer: Tracer,
    pub(crate) tasks: Arc<Notify>,
}

/// Profile, models and plugins, with which answers are made. A change of any of them makes another
/// one.
pub(crate) struct Thinking {
    /// The agent's character and settings.
    pub(crate) profile: Arc<Profile>,
    /// The agent's models, before a turn's meter counts their calls.
    pub(crate) models: Models,
    /// Size that each model takes.
    pub(crate) windows: Arc<Windows>,
    /// The plugins' actions, providers, evaluators and middleware.
    pub(crate) registry: Arc<Registry>,
    /// Parts that the plugins' code may use.
    pub(crate) plugins: PluginParts,
}

impl Thinking {
    /// The same without plugins, for an engine that waits for a turn: it keeps no plugin in use.
    fn bare(&self) -> Self {
        Self {
            profile: Arc::clone(&self.profile),
            models: self.models.clone(),
            windows: Arc::clone(&self.windows),
            registry: Arc::default(),
            plugins: PluginParts { services: Services::default(), ..self.plugins.clone() },
        }
    }

    /// The offline script answers, and can do nothing but talk.
    pub(super) fn is_scripted(&self) -> bool {
        self.models.large.info().scripted
    }
}

/// The profile, models and plugins that an agent has now. Clones share them.
#[derive(Clone)]
pub(crate) struct CurrentThinking(Arc<ArcSwap<Thinking>>);

impl CurrentThinking {
    pub(crate) fn new(thinking: Thinking) -> Self {
        Self(Arc::new(ArcSwap::from_pointee(thinking)))
    }

    /// All of them, for as long as the caller holds them.
    pub(crate) fn get(&self) -> Arc<Thinking> {
        self.0.load_full()
    }

    /// Replaces all of them at once. Turns that have begun keep those that they read.
    pub(crate) fn replace(&self, thinking: Thinking) {
        self.0.store(Arc::new(thinking));
    }
}

/// Parts that a turn hands to plugin code and the engine itself does not use.
#[derive(Clone)]
pub(crate) struct PluginParts {
    /// The part of the store that plugin code sees.
    pub(crate) store: Arc<dyn PluginStore>,
    /// Small values of no plugin, for a turn that is not handed to plugin code.
    pub(crate) cache: PluginCache,
    pub(crate) services: Services,
    /// Way of plugin code to other Rooms.
    pub(crate) outbound: Arc<dyn Outbound>,
    /// Events of a turn that is not handed to plugin code.
    pub(crate) events: EventHandle,
}

/// Messages that this process answers.
pub(crate) struct Claims {
    /// Rooms in which this process answers.
    ownership: Arc<Ownership>,
    /// Messages in lanes and turns.
    in_flight: InFlight<MemoryId>,
    /// Held by a turn that may end the program: such turns run one at a time, so that only the
    /// guilty one is counted.
    suspects: tokio::sync::Mutex<()>,
}

impl Claims {
    pub(crate) fn new(ownership: Arc<Ownership>, in_flight: InFlight<MemoryId>) -> Self {
        Self { ownership, in_flight, suspects: tokio::sync::Mutex::default() }
    }

    /// True if a message waits in a lane, or is being answered.
    pub(super) fn contains(&self, id: &MemoryId) -> bool {
        self.in_flight.contains(id)
    }

    /// A stored message that is not in flight; none when it is, or when another process answers in
    /// its Room.
    pub(super) fn unclaimed(&self, item: InboxItem) -> Option<Waiting> {
        let lease = self.ownership.room(&item.entry.source, item.entry.memory.room_id)?;
        (!self.contains(&item.entry.memory.id)).then(|| Waiting::stored(item, lease))
    }

    /// Claims a message, so that no reconcile does; none when it is in flight already.
    pub(super) fn claim(&self, message: Waiting) -> Option<Claimed> {
        let in_flight = self.in_flight.begin(message.entry.memory.id)?;
        Some(Claimed { message, in_flight })
    }

    /// Waits until no other suspect is answered, in random order: otherwise the same one would be
    /// counted each time.
    async fn suspect(&self) -> tokio::sync::MutexGuard<'_, ()> {
        let pause = rand::rng().random_range(Duration::ZERO..SHUFFLE);
        tokio::time::sleep(pause).await;
        self.suspects.lock().await
    }
}

/// Pause before the next turn of a message with so many unfinished turns. A kill during the pause is
/// not counted for the message, so frequent kills from outside do not use up its attempts.
fn suspect_pause(attempts: u32) -> Duration {
    match attempts {
        ..=SUSPECT | ATTEMPTS.. => Duration::ZERO,
        _ => SUSPECT_PAUSE * (1 << (attempts - SUSPECT - 1)),
    }
}

/// Work that outlives a turn.
pub(crate) struct Background {
    /// The agent's tasks; its end waits for them.
    tasks: TaskTracker,
    /// Ends pauses.
    stop: CancellationToken,
    /// Ends what need not be finished.
    halt: CancellationToken,
    /// Rooms whose evaluators wait until they are quiet.
    pub(super) quiet: Quiet<Look>,
}

impl Background {
    /// `stop` ends waiting, `halt` ends work.
    pub(crate) fn new(
        tasks: TaskTracker,
        stop: CancellationToken,
        halt: CancellationToken,
    ) -> Self {
        Self { tasks, halt, quiet: Quiet::new(stop.clone()), stop }
    }

    /// Runs work to its end.
    pub(super) fn finish(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(work);
    }

    /// Runs work that is dropped where it is when the agent halts.
    pub(crate) fn until_halt(&self, work: impl Future<Output = ()> + Send + 'static) {
        let halt = self.halt.clone();
        self.tasks.spawn(async move {
            halt.run_until_cancelled(work).await;
        });
    }
}

impl Engine {
    /// Knows nothing about Rooms yet.
    pub(crate) fn new(parts: EngineParts) -> Self {
        let thinking = parts.current.get().bare();
        let profile = Arc::clone(&thinking.profile);
        Self {
            view: Arc::clone(&profile.view),
            policies: Arc::clone(&profile.policies),
            limits: profile.limits,
            profile,
            current: parts.current,
            store: parts.store,
            clock: parts.clock,
            events: parts.events,
            directory: parts.directory,
            budget: parts.budget,
            thinking: Arc::new(thinking),
            outbox: parts.outbox,
            claims: Arc::new(parts.claims),
            background: Arc::new(parts.background),
            tracer: parts.tracer,
            tasks: parts.tasks,
            state: Arc::new(EngineState::new()),
        }
    }

    /// The engine with the profile, the models and the plugins of now. A turn takes it once, so that
    /// it has one character, one set of limits and one set of plugins from its beginning to its end.
    pub(crate) fn current(&self) -> Arc<Self> {
        Arc::new(self.with(self.current.get()))
    }

    /// The engine of a turn without its plugins, for work that waits: it takes those of then.
    pub(super) fn without_plugins(&self) -> Arc<Self> {
        Arc::new(self.with(Arc::new(self.thinking.bare())))
    }

    fn with(&self, thinking: Arc<Thinking>) -> Self {
        let profile = Arc::clone(&thinking.profile);
        Self {
            view: Arc::clone(&profile.view),
            policies: Arc::clone(&profile.policies),
            limits: profile.limits,
            profile,
            thinking,
            ..self.clone()
        }
    }

    /// Grants of the agent's tools. They are read at most every two seconds, and twice a minute where
    /// no tool needs one.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) async fn grants(&self) -> Result<Arc<[Grant]>> {
        let mut actions = self.thinking.registry.actions.iter();
        let wanted = actions.any(|(_, action)| action.scope() == Scope::Outside);
        let agent = self.view.identity.id();
        self.state.grants.read(&*self.store, agent, self.clock.now(), wanted).await
    }

    /// Wakes the search for due tasks: one was stored.
    pub(crate) fn wake_tasks(&self) {
        self.tasks.notify_one();
    }

    /// Waits until a message with several unfinished turns may have its next one. The process pauses
    /// once for a message, not again when it retries the turn. A stop ends the pause, and the turn runs
    /// in the time that the stop leaves.
    pub(super) async fn wait_for_suspect(
        &self,
        message: &Waiting,
    ) -> tokio::sync::MutexGuard<'_, ()> {
        let pause = suspect_pause(message.attempts);
        if message.read_back && !pause.is_zero() {
            self.background.stop.run_until_cancelled(self.clock.sleep(pause)).await;
        }
        self.claims.suspect().await
    }
}

/// Knowledge of an engine about its Rooms between turns.
pub(crate) struct EngineState {
    /// Failure notices and when each Room last read one.
    pub(super) notices: Notices,
    /// From which message on each Room's conversation is shown.
    pub(super) beginnings: Beginnings,
    /// People of each Room.
    pub(super) people: RoomPeopleCache,
    /// Answers to bots in a row.
    pub(super) hops: Hops,
    /// Who may use which tool.
    pub(crate) grants: KnownGrants,
    /// Messages that are being answered, for edits of them.
    pub(crate) edits: Edits,
    /// Time at which each group was last shown the answer to a command of everybody's.
    pub(super) shown: ShownCommands,
    /// Turns in a row without an answer.
    pub(crate) failures: Arc<Failures>,
    /// Held while a pairing code is made: the list of codes is read, changed and written.
    pub(super) pairing: tokio::sync::Mutex<()>,
}

impl EngineState {
    /// Starts without knowledge.
    fn new() -> Self {
        Self {
            notices: Notices::new(),
            beginnings: Beginnings::new(),
            people: RoomPeopleCache::new(),
            hops: Hops::default(),
            grants: KnownGrants::default(),
            edits: Edits::default(),
            shown: ShownCommands::default(),
            failures: Arc::default(),
            pairing: tokio::sync::Mutex::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suspect_waits_longer_each_time_and_is_given_up_without_a_wait() {
        let pauses: Vec<_> = (0..=ATTEMPTS).map(|n| suspect_pause(n).as_millis()).collect();
        assert_eq!(pauses, [0, 0, 0, 0, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 0]);
    }
}
