//! Plugins come, go and change while turns run. No turn is lost, and no turn calls a plugin that it
//! did not begin with or that was closed.

use async_trait::async_trait;
use galatea_core::{
    Action, ActionDocs, ActionResult, Content, Error, Evaluator, EvaluatorUse, FinishedTurn,
    Fragment, Plugin, PluginContext, PluginHooks, PluginSetting, Provider, ProviderUse, Result,
    Turn, event::Event, rights::Scope,
};
use galatea_runtime::{PluginChoices, PluginState};
use galatea_testkit::models::ScriptedModel;
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::sync::Notify;

use crate::{
    house::{House, Plan, dm},
    models::prompt,
    platform::PATIENCE,
};

/// What happened to all plugins of a test.
#[derive(Default)]
struct Watch {
    /// Plugins in memory.
    alive: AtomicI64,
    begun: AtomicU64,
    closed: AtomicU64,
    /// Calls of a plugin before its beginning or after its end.
    wrong: AtomicU64,
    called: AtomicU64,
}

/// One plugin, numbered. All its extensions share it.
struct Numbered {
    number: u64,
    open: AtomicBool,
    watch: Arc<Watch>,
}

impl Numbered {
    fn called(&self) {
        self.watch.called.fetch_add(1, Ordering::Relaxed);
        if !self.open.load(Ordering::SeqCst) {
            self.watch.wrong.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Numbered {
    fn drop(&mut self) {
        self.watch.alive.fetch_sub(1, Ordering::Relaxed);
    }
}

struct Part(Arc<Numbered>, EvaluatorUse);

#[async_trait]
impl Provider for Part {
    fn name(&self) -> &'static str {
        "NUMBER"
    }
    fn description(&self) -> &'static str {
        "the number of the plugin"
    }
    fn position(&self) -> i32 {
        0
    }
    fn when(&self) -> ProviderUse {
        ProviderUse::Always
    }
    async fn provide(&self, _: &Turn<'_>) -> Result<Fragment> {
        self.0.called();
        tokio::task::yield_now().await;
        self.0.called();
        Ok(Fragment::text(format!("[number {}]", self.0.number)))
    }
}

#[async_trait]
impl Evaluator for Part {
    fn name(&self) -> &'static str {
        if self.1 == EvaluatorUse::AfterTurn { "AFTER" } else { "QUIET" }
    }
    fn description(&self) -> &'static str {
        "looks at turns"
    }
    fn when(&self) -> EvaluatorUse {
        self.1
    }
    async fn evaluate(&self, _: &FinishedTurn<'_>) -> Result<()> {
        self.0.called();
        Ok(())
    }
}

#[async_trait]
impl PluginHooks for Part {
    async fn init(&self, _: &PluginContext) -> Result<()> {
        self.0.watch.begun.fetch_add(1, Ordering::Relaxed);
        self.0.open.store(true, Ordering::SeqCst);
        Ok(())
    }
    async fn close(&self, _: &PluginContext) -> Result<()> {
        self.0.watch.closed.fetch_add(1, Ordering::Relaxed);
        self.0.open.store(false, Ordering::SeqCst);
        Ok(())
    }
}

fn numbered(number: u64, watch: &Arc<Watch>) -> Plugin {
    watch.alive.fetch_add(1, Ordering::Relaxed);
    let one = Arc::new(Numbered { number, open: AtomicBool::new(false), watch: Arc::clone(watch) });
    let part = |when| Part(Arc::clone(&one), when);
    Plugin::new("numbered", &format!("1.0.{number}"), "is numbered")
        .provider(part(EvaluatorUse::AfterTurn))
        .evaluator(part(EvaluatorUse::AfterTurn))
        .evaluator(part(EvaluatorUse::WhenQuiet))
        .hooks(part(EvaluatorUse::AfterTurn))
}

async fn until(what: &str, holds: impl Fn() -> bool) {
    let wait = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(PATIENCE, wait).await.unwrap_or_else(|_| panic!("never: {what}"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_swaps_under_load_lose_no_turn_and_call_no_plugin_that_left() {
    const SWAPS: u64 = 1_000;
    const ROOMS: usize = 20;
    let watch = Arc::new(Watch::default());
    let model = Arc::new(ScriptedModel::saying("fine"));
    let house = Plan::new(Arc::clone(&model) as _)
        .plugin(numbered(0, &watch))
        .set("LIMITS", "off")
        .set("EVALUATION_PAUSE_SECONDS", "0")
        .set("PROVIDERS_TOTAL_TIMEOUT_MS", "20000")
        .build()
        .await;
    let rooms: Vec<&'static str> =
        (0..ROOMS).map(|room| &*format!("{}", 100 + room).leak()).collect();
    let swapping = async {
        for number in 1..=SWAPS {
            let plugin = numbered(number, &watch);
            house.orchestrator.replace_plugin(house.agent, plugin).await.unwrap();
            tokio::task::yield_now().await;
        }
    };
    let asking = async {
        for _ in 0..10 {
            for room in &rooms {
                house.say(&dm(room), "hello").await;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::join!(swapping, asking);
    house.say(&dm("99"), "last").await;
    house.platform.until_shown("99", 1).await;
    house.quiet().await;
    let received: u64 = house.store.audit().await.unwrap().iter().map(|line| line.received).sum();
    let open: u64 = house.store.audit().await.unwrap().iter().map(|line| line.pending).sum();
    assert_eq!((received, open), (10 * ROOMS as u64 + 1, 0), "no message is lost");
    assert!(rooms.iter().all(|room| !house.platform.texts(room).is_empty()));
    let asked = model.requests();
    let numbers = |text: &str| text.matches("[number ").count();
    assert!(asked.iter().all(|request| numbers(&prompt(request)) == 1), "one plugin in each turn");
    assert!(prompt(asked.last().unwrap()).contains("[number 1000]"));
    // The first one stays with what the agent is made of again at a restart.
    until("plugins that left are freed", || watch.alive.load(Ordering::Relaxed) == 2).await;
    let count = |what: &AtomicU64| what.load(Ordering::Relaxed);
    assert_eq!((count(&watch.begun), count(&watch.closed)), (SWAPS + 1, SWAPS));
    assert_eq!(count(&watch.wrong), 0, "of {} calls", count(&watch.called));
    house.orchestrator.stop(PATIENCE).await;
    assert_eq!(count(&watch.closed), SWAPS + 1, "the last one closes with the agent");
}

/// Waits in a turn until it may go on.
struct Slow(Arc<Notify>, Arc<Notify>);

#[async_trait]
impl Provider for Slow {
    fn name(&self) -> &'static str {
        "SLOW"
    }
    fn description(&self) -> &'static str {
        "waits"
    }
    fn position(&self) -> i32 {
        0
    }
    fn when(&self) -> ProviderUse {
        ProviderUse::Always
    }
    async fn provide(&self, _: &Turn<'_>) -> Result<Fragment> {
        self.0.notify_one();
        self.1.notified().await;
        Ok(Fragment::text("[slow]"))
    }
}

#[tokio::test]
async fn a_turn_ends_with_the_plugins_of_its_beginning() {
    let (begun, go_on, watch) =
        (Arc::new(Notify::new()), Arc::new(Notify::new()), Arc::new(Watch::default()));
    let plugin = numbered(1, &watch).provider(Slow(Arc::clone(&begun), Arc::clone(&go_on)));
    let model = Arc::new(ScriptedModel::saying("fine"));
    let house = Plan::new(Arc::clone(&model) as _)
        .plugin(plugin)
        .set("PROVIDERS_TOTAL_TIMEOUT_MS", "20000")
        .build()
        .await;
    let mut events = house.orchestrator.events().subscribe();
    house.say(&dm("7"), "hello").await;
    begun.notified().await;
    house.orchestrator.remove_plugin(house.agent, "numbered").await.unwrap();
    assert!(house.orchestrator.plugins(house.agent).unwrap().is_empty());
    assert_eq!(watch.closed.load(Ordering::Relaxed), 0, "a turn still uses it");
    go_on.notify_one();
    house.platform.until_shown("7", 1).await;
    house.quiet().await;
    let asked = prompt(&model.requests()[0]);
    assert!(asked.contains("[slow]") && asked.contains("[number 1]"), "{asked}");
    until("it is closed", || watch.closed.load(Ordering::Relaxed) == 1).await;
    assert_eq!(watch.wrong.load(Ordering::Relaxed), 0);
    house.say(&dm("7"), "again").await;
    house.platform.until_shown("7", 2).await;
    assert!(!prompt(&model.requests()[1]).contains("[number 1]"));
    let mut left = false;
    while let Ok(event) = events.try_recv() {
        left |= matches!(event, Event::PluginUnloaded { plugin, .. } if plugin == "numbered");
    }
    assert!(left);
}

#[tokio::test]
async fn what_does_not_fit_is_refused_and_changes_nothing() {
    let watch = Arc::new(Watch::default());
    let needs = Plugin::new("child", "1.0.0", "").needs("numbered");
    let house = Plan::new(Arc::new(ScriptedModel::saying("fine")))
        .plugin(numbered(1, &watch))
        .plugin(needs)
        .build()
        .await;
    let (all, agent) = (&house.orchestrator, house.agent);
    let names = || all.plugins(agent).unwrap().into_iter().map(|p| p.name).collect::<Vec<_>>();
    let plugin = |name: &str| Plugin::new(name, "1.0.0", "");
    let failing = plugin("failing").hooks(Fails).needs("numbered");
    let cases = [
        (plugin("numbered"), "GAL-PLUGIN-TWICE"),
        (plugin("lonely").needs("nobody"), "GAL-PLUGIN-MISSING"),
        (plugin("old").fits("<0.0.1"), "GAL-PLUGIN-VERSION"),
        (
            plugin("unset").setting(PluginSetting::text("UNSET_X", "x").required()),
            "GAL-PLUGIN-SETTING",
        ),
        (failing, "GAL-PLUGIN-INIT"),
    ];
    for (plugin, code) in cases {
        let error = all.add_plugin(agent, plugin).await.unwrap_err();
        assert_eq!(error.code(), Some(code), "{error}");
        assert_eq!(names(), ["child", "numbered"]);
    }
    let needed = all.remove_plugin(agent, "numbered").await.unwrap_err();
    assert_eq!(needed.code(), Some("GAL-PLUGIN-MISSING"));
    let unknown = all.disable_plugin(agent, "other").await.unwrap_err();
    assert_eq!(unknown.code(), Some("GAL-PLUGIN-UNKNOWN"));
    assert!(unknown.fix().unwrap().contains("numbered, child"), "{unknown}");
    house.say(&dm("7"), "hello").await;
    house.platform.until_shown("7", 1).await;
}

struct Fails;

#[async_trait]
impl PluginHooks for Fails {
    async fn init(&self, _: &PluginContext) -> Result<()> {
        Err(Error::unexpected("its service is down"))
    }
}

/// Remembers the settings that it was begun with.
struct Remembers(Arc<Mutex<Vec<Option<i64>>>>);

#[async_trait]
impl PluginHooks for Remembers {
    async fn init(&self, context: &PluginContext) -> Result<()> {
        let most = context.settings.number("POLL_MOST")?;
        self.0.lock().unwrap().push(most);
        Ok(())
    }
}

#[tokio::test]
async fn choices_are_stored_and_hold_after_a_restart() {
    let begun = Arc::new(Mutex::new(Vec::new()));
    let poll = Plugin::new("poll", "1.2.0", "Polls")
        .optional()
        .setting(PluginSetting::number("POLL_MOST", "Polls at once.", 1, 9).or("3"))
        .setting(PluginSetting::text("POLL_KEY", "Key.").secret())
        .hooks(Remembers(Arc::clone(&begun)));
    let house = Plan::new(Arc::new(ScriptedModel::saying("fine"))).plugin(poll).build().await;
    let (all, agent) = (&house.orchestrator, house.agent);
    let state = || all.plugins(agent).unwrap().remove(0);
    assert_eq!((state().state, begun.lock().unwrap().len()), (PluginState::Off, 0));
    all.enable_plugin(agent, "poll").await.unwrap();
    assert_eq!((state().state, state().version.as_str()), (PluginState::On, "1.2.0"));
    let set = |value: serde_json::Value| BTreeMap::from([("POLL_MOST".to_owned(), value)]);
    all.configure_plugin(agent, "poll", set(5.into())).await.unwrap();
    assert_eq!(state().settings[0].value.as_deref(), Some("5"));
    assert_eq!(*begun.lock().unwrap(), [Some(3), Some(5)]);
    for (settings, code) in [
        (set("many".into()), "GAL-CFG-VALUE"),
        (set(10.into()), "GAL-CFG-VALUE"),
        (BTreeMap::from([("OTHER".to_owned(), 1.into())]), "GAL-PLUGIN-UNDECLARED"),
        (BTreeMap::from([("POLL_KEY".to_owned(), "k".into())]), "GAL-PLUGIN-SECRET"),
    ] {
        let error = all.configure_plugin(agent, "poll", settings).await.unwrap_err();
        assert_eq!(error.code(), Some(code), "{error}");
        assert_eq!(state().settings[0].value.as_deref(), Some("5"));
    }
    all.restart_agent(agent, PATIENCE).await.unwrap();
    assert_eq!(state().state, PluginState::On);
    assert_eq!(begun.lock().unwrap().last(), Some(&Some(5)));
    all.disable_plugin(agent, "poll").await.unwrap();
    all.restart_agent(agent, PATIENCE).await.unwrap();
    assert_eq!(state().state, PluginState::Off);
}

/// Tries to read another agent's rows and settings.
struct Curious(galatea_core::AgentId, galatea_core::MemoryId, galatea_core::RoomId);

#[async_trait]
impl Action for Curious {
    const NAME: &'static str = "LOOK";
    const SCOPE: Scope = Scope::Conversation;
    type Params = serde_json::Map<String, serde_json::Value>;

    fn docs(&self) -> ActionDocs {
        ActionDocs::of::<Self>("looks", &[])
    }
    async fn validate(&self, _: &Turn<'_>) -> Result<bool> {
        Ok(true)
    }
    async fn run(
        &self,
        turn: &Turn<'_>,
        _: Self::Params,
        _: &[ActionResult],
    ) -> Result<ActionResult> {
        let Self(agent, memory, room) = *self;
        let store = turn.store;
        let query = galatea_core::store::MemoryQuery::new(agent, 10);
        let foreign = store.memory(memory).await?.is_none()
            && store.room(room).await?.is_none()
            && store.participants(room).await?.is_empty()
            && store.worlds(agent).await?.is_empty()
            && store.memories(&query).await?.is_empty()
            && store.tasks(agent, &[]).await?.is_empty()
            && store.delete_memories(agent, &[memory]).await? == 0;
        let own = store.memory(turn.message.id).await?.is_some()
            && store.room(turn.room.id).await?.is_some();
        let mut taken = turn.message.clone();
        (taken.id, taken.agent_id) = (galatea_core::MemoryId::fresh(), agent);
        let refused = store.save_memories(&[taken]).await.unwrap_err();
        let settings = &turn.agent.settings;
        let hidden = settings.raw("OPENAI_API_KEY").is_none();
        let text = format!("{foreign} {own} {hidden} {:?}", refused.code());
        Ok(ActionResult::ok("looked").say(Content::text(text)))
    }
}

#[tokio::test]
async fn a_plugin_reaches_rows_of_its_own_agent_only() {
    const LOOK: &str = "<response><actions><action><name>LOOK</name></action></actions></response>";
    let store = galatea_store::Database::in_memory().await.unwrap();
    let mut other = Plan::new(Arc::new(ScriptedModel::saying("fine"))).store(&store);
    other.character = crate::house::character("Bob");
    let other: House = other.build().await;
    let memory = other.say(&dm("8"), "private").await;
    other.quiet().await;
    let room = other.room(&dm("8"));
    let look = Plugin::new("look", "1.0.0", "").action(Curious(other.agent, memory, room));
    let house = Plan::new(Arc::new(ScriptedModel::saying(LOOK)))
        .store(&store)
        .set("OPENAI_API_KEY", "sk-1")
        .plugin(look)
        .build()
        .await;
    house.say(&dm("7"), "look").await;
    let shown = house.platform.until_shown("7", 1).await;
    assert_eq!(shown, ["true true true Some(\"GAL-PLUGIN-FOREIGN\")"]);
}

#[tokio::test]
async fn a_global_plugin_is_every_agents_also_of_those_that_come_later() {
    let house = Plan::new(Arc::new(ScriptedModel::saying("fine"))).build().await;
    let (all, watch) = (&house.orchestrator, Arc::new(Watch::default()));
    all.add_global_plugin(numbered(1, &watch)).await.unwrap();
    let names = |id| all.plugins(id).unwrap().into_iter().map(|p| p.name).collect::<Vec<_>>();
    assert_eq!(names(house.agent), ["numbered"]);
    all.remove_agent(house.agent).await.unwrap();
    assert_eq!(watch.closed.load(Ordering::Relaxed), 1);
    let unknown = all.remove_global_plugin("other").await.unwrap_err();
    assert_eq!(unknown.code(), Some("GAL-PLUGIN-UNKNOWN"));
    all.remove_global_plugin("numbered").await.unwrap();
    assert!(all.remove_global_plugin("numbered").await.is_err());
}

#[tokio::test]
async fn a_choice_of_another_process_is_carried_out_while_the_agent_runs() {
    let poll = Plugin::new("poll", "1.0.0", "Polls").optional();
    let mut plan = Plan::new(Arc::new(ScriptedModel::saying("fine"))).plugin(poll);
    plan.reconcile_every = Duration::from_millis(2);
    let house = plan.build().await;
    let state = || house.orchestrator.plugins(house.agent).unwrap().remove(0).state;
    for (on, expected) in [(true, PluginState::On), (false, PluginState::Off)] {
        // As the command line does.
        let mut choices = PluginChoices::load(&*house.store, house.agent).await.unwrap();
        choices.enable("poll", on);
        choices.save(&*house.store, house.agent).await.unwrap();
        until("it is carried out", || state() == expected).await;
    }
}
