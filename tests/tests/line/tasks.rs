//! Tasks: reminders from the question to the reminder, posts, follow-ups, decisions, quiet hours,
//! failures, missed runs, and two processes.

mod community;

use async_trait::async_trait;
use galatea_core::{
    Content, Error, ErrorKind, Incoming, IncomingEvent, ParticipantState, Plugin, RemoteId, Result,
    Role, RoomRef, Schedule, SecretString, Task, TaskContext, TaskOutcome, TaskWorker, Timestamp,
    WorldRef, WorldSync,
    model::{ChatRole, Finish, TextAnswer, TextRequest, ToolCall},
    store::{TaskQuery, TaskRun, TaskState},
};
use galatea_store::{Database as Stored, PostgresOptions};
use galatea_testkit::{clock::ManualClock, models::ScriptedModel, postgres::Database};
use serde_json::{Value, json};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use crate::{
    house::{House, Plan, Spot, dm, group},
    models,
    platform::PATIENCE,
};

/// Mon 4 May 2026 10:00 UTC.
const MORNING: Timestamp = Timestamp(1_777_888_800_000);
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);

fn call(name: &str, arguments: &Value) -> TextAnswer {
    TextAnswer {
        tool_calls: vec![ToolCall {
            id: "1".into(),
            name: name.into(),
            arguments: arguments.to_string(),
        }],
        finish: Finish::Tools,
        ..TextAnswer::default()
    }
}

type Calls = Vec<(&'static str, Value)>;

/// The call of this number if a message says `go N`.
fn scripted(calls: &Calls, request: &TextRequest) -> TextAnswer {
    let asked = models::asked_texts(request);
    let last = asked.lines().last().unwrap_or_default();
    // What was called has a result now.
    if request.messages.last().is_some_and(|message| message.role == ChatRole::Tool) {
        return ScriptedModel::text("fine");
    }
    let number = last.strip_prefix("go ").and_then(|n| n.trim().parse::<usize>().ok());
    match number.and_then(|n| calls.get(n)) {
        Some((name, arguments)) => call(name, arguments),
        None => ScriptedModel::text("fine"),
    }
}

fn model(calls: Calls) -> Arc<ScriptedModel> {
    Arc::new(ScriptedModel::answering(move |request| Ok(scripted(&calls, request))))
}

struct Stage {
    house: House,
    clock: ManualClock,
}

impl Stage {
    async fn set(plan: Plan) -> Self {
        let clock = ManualClock::at(MORNING);
        let house = plan.clock(clock.shared()).plugin(galatea_bootstrap::plugin()).build().await;
        Self { house, clock }
    }

    async fn of(calls: Calls) -> Self {
        Self::set(Plan::new(model(calls)).set("REFLECTION_INTERVAL", "0")).await
    }

    /// Advances the clock until this many texts are shown in a Room, and returns them.
    async fn until_shown(&self, room: &str, count: usize) -> Vec<String> {
        let wait = async {
            while self.house.platform.texts(room).len() < count {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let ended = tokio::time::timeout(PATIENCE, wait).await;
        assert!(ended.is_ok(), "{:?}", self.house.platform.shown());
        self.house.platform.texts(room)
    }

    /// Lets time pass, once the search for tasks waits for it.
    async fn pass(&self, time: Duration) {
        self.house.quiet().await;
        self.clock.wait_for_sleepers(1).await;
        self.clock.advance(time);
    }

    async fn tasks(&self) -> Vec<Task> {
        self.house.store.scheduled(self.house.agent, TaskQuery::All, 100).await.unwrap()
    }

    /// Waits until the store holds what is expected of the tasks.
    async fn until_tasks(&self, what: &str, expected: impl Fn(&[Task]) -> bool) -> Vec<Task> {
        let wait = async {
            loop {
                let tasks = self.tasks().await;
                let leased =
                    |task: &Task| task.run.as_ref().is_some_and(|run| run.leased_until.is_some());
                if expected(&tasks) && !tasks.iter().any(leased) {
                    return tasks;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let ended = tokio::time::timeout(PATIENCE, wait).await;
        ended.unwrap_or_else(|_| panic!("never happened: {what}"))
    }

    /// Stores a task and has the search for due tasks look.
    async fn save(&self, task: &Task) {
        self.house.store.save_task(task).await.unwrap();
        self.house.orchestrator.look_for_tasks();
        self.clock.wait_for_sleepers(1).await;
    }
}

async fn make_admin(house: &House, room: &'static str, person: &str) {
    let mut world = WorldRef::new(RemoteId::new(room), None);
    world.roles = vec![(RemoteId::new(person), Role::Admin)];
    let rooms = vec![RoomRef::new(RemoteId::new(room), None, galatea_core::ChannelType::Group)];
    let sync = WorldSync { world, rooms, entities: Vec::new() };
    house.gateway.ensure_connections(sync).await.unwrap();
}

async fn press(house: &House, at: &Spot, id: &str, data: &str) {
    let event = IncomingEvent::Pressed {
        id: RemoteId::new(id),
        message: Some(RemoteId::new("own-1")),
        data: data.to_owned(),
    };
    house
        .receive(vec![Incoming { connection: at.connection(), event, at: house.clock.now() }])
        .await;
}

#[tokio::test]
async fn a_reminder_is_said_once_at_its_time_where_it_was_asked_for() {
    let stage = Stage::of(vec![("REMIND_ME", json!({ "text": "call mum", "in": "30 min" }))]).await;
    let spot = dm("7");
    stage.house.say(&spot, "go 0").await;
    let said = stage.until_shown("7", 1).await;
    assert_eq!(said, ["I will remind you on Mon 4 May 2026 at 10:30 (UTC): call mum"]);
    stage.pass(30 * MINUTE - Duration::from_millis(1)).await;
    stage.house.quiet().await;
    assert_eq!(stage.house.platform.texts("7").len(), 1, "not before its time");
    stage.pass(Duration::from_millis(1)).await;
    assert_eq!(stage.until_shown("7", 2).await[1], "⏰ Your reminder: call mum");
    stage.until_tasks("the reminder is gone", <[Task]>::is_empty).await;
    stage.house.say(&dm("8"), "hello").await;
    stage.until_shown("8", 1).await;
    stage.house.quiet().await;
    assert_eq!(stage.house.platform.texts("7").len(), 2, "once");
}

#[tokio::test]
async fn a_reminder_of_a_group_names_the_person_and_answers_their_message() {
    let stage = Stage::of(vec![("REMIND_ME", json!({ "text": "the cake", "in": "1 hour" }))]).await;
    let spot = group("-100", "7").named("Ann").mentioning();
    stage.house.say(&spot, "go 0").await;
    stage.until_shown("-100", 1).await;
    stage.pass(HOUR).await;
    assert_eq!(stage.until_shown("-100", 2).await[1], "⏰ Ann, your reminder: the cake");
    let shown = stage.house.platform.shown();
    assert_eq!(shown[1].reply_to, shown[0].reply_to, "below the message that asked for it");
    assert!(shown[1].reply_to.is_some());
}

#[tokio::test]
async fn a_reminder_comes_while_the_room_waits_for_a_slow_answer() {
    let calls = vec![("REMIND_ME", json!({ "text": "tea", "in": "2 minutes" }))];
    let gated = models::Gated::new(model(calls), "think long");
    let stage = Stage::set(
        Plan::new(Arc::clone(&gated) as _)
            .set("REFLECTION_INTERVAL", "0")
            .set("TURN_TIMEOUT_SECONDS", "3600"),
    )
    .await;
    let spot = dm("7");
    stage.house.say(&spot, "go 0").await;
    stage.until_shown("7", 1).await;
    stage.house.quiet().await;
    stage.house.say(&spot, "think long").await;
    gated.reached(1).await;
    stage.clock.wait_for_sleepers(1).await;
    stage.clock.advance(2 * MINUTE);
    assert_eq!(stage.until_shown("7", 2).await[1], "⏰ Your reminder: tea");
    gated.open(1);
    assert_eq!(stage.until_shown("7", 3).await[2], "fine");
}

#[tokio::test]
async fn a_persons_time_zone_is_asked_for_once_and_remembered() {
    let stage = Stage::of(vec![
        ("REMIND_ME", json!({ "text": "lunch", "at": "13:00" })),
        ("REMIND_ME", json!({ "text": "lunch", "at": "13:00", "zone": "Berlin" })),
        ("REMIND_ME", json!({ "text": "dinner", "at": "19:00" })),
    ])
    .await;
    let spot = dm("7");
    for text in ["go 0", "go 1", "go 2"] {
        stage.house.say(&spot, text).await;
        stage.house.quiet().await;
    }
    assert_eq!(
        stage.house.platform.texts("7"),
        [
            "Which time zone are you in? A city is enough. Otherwise I take UTC.",
            "I will remind you on Mon 4 May 2026 at 13:00 (Europe/Berlin): lunch",
            "I will remind you on Mon 4 May 2026 at 19:00 (Europe/Berlin): dinner",
        ]
    );
    let due: Vec<Timestamp> = stage.tasks().await.iter().map(|task| task.due).collect();
    assert_eq!(due, [MORNING.plus(HOUR), MORNING.plus(7 * HOUR)], "11:00 and 17:00 UTC");
    // Another person does not answer, and gets the agent's zone.
    let other = dm("8");
    stage.house.say(&other, "go 0").await;
    stage.house.quiet().await;
    stage.house.say(&other, "go 0").await;
    assert_eq!(
        stage.until_shown("8", 2).await[1],
        "I will remind you on Mon 4 May 2026 at 13:00 (UTC): lunch"
    );
}

#[tokio::test]
async fn reminders_are_listed_and_removed_by_a_button() {
    let stage = Stage::of(vec![
        ("REMIND_ME", json!({ "text": "call mum", "in": "30 min" })),
        ("REMIND_ME", json!({ "text": "stretch", "every": "2 hours" })),
    ])
    .await;
    let (spot, other) = (dm("7"), dm("8"));
    for text in ["go 0", "go 1", "/reminders"] {
        stage.house.say(&spot, text).await;
        stage.house.quiet().await;
    }
    let list = stage.house.platform.texts("7")[2].clone();
    assert!(list.starts_with("1. Mon 4 May 2026 at 10:30: call mum\n2. Mon 4 May 2026 at 12:00 (every 2 hours): stretch\n"), "{list}");
    stage.house.say(&other, "/reminders").await;
    assert!(stage.until_shown("8", 1).await[0].starts_with("Nothing waits for you here."));
    let id = stage.tasks().await[0].id.to_string();
    let data = format!("/reminders remove {}", &id[id.len() - 8..]);
    press(&stage.house, &other, "p1", &data).await;
    assert!(stage.until_shown("8", 2).await[1].starts_with("There is no such reminder here"));
    press(&stage.house, &spot, "p2", &data).await;
    assert_eq!(stage.until_shown("7", 4).await[3], "Removed: call mum");
    let left = stage.until_tasks("one is removed", |tasks| tasks.len() == 1).await;
    assert_eq!(left[0].description, "stretch");
    stage.house.say(&spot, "/reminders zone New York").await;
    let said = stage.until_shown("7", 5).await[4].clone();
    assert_eq!(said, "Your time zone is America/New_York; for you it is Mon 4 May 2026 at 06:00.");
    stage.house.say(&spot, "/reminders remove 1").await;
    assert_eq!(stage.until_shown("7", 6).await[5], "Removed: stretch");
    stage.until_tasks("both are removed", <[Task]>::is_empty).await;
}

#[tokio::test]
async fn a_person_has_at_most_twenty_reminders() {
    let calls =
        (0..22).map(|n| ("REMIND_ME", json!({ "text": format!("thing {n}"), "in": "1 day" })));
    let stage = Stage::of(calls.collect()).await;
    let spot = dm("7");
    for n in 0..22 {
        stage.house.say(&spot, &format!("go {n}")).await;
        stage.house.quiet().await;
    }
    assert_eq!(stage.tasks().await.len(), 20);
}

#[tokio::test]
async fn reminders_go_with_the_person_who_has_everything_forgotten() {
    let stage = Stage::of(vec![("REMIND_ME", json!({ "text": "secret", "in": "30 min" }))]).await;
    let spot = dm("7");
    stage.house.say(&spot, "go 0").await;
    stage.house.quiet().await;
    assert_eq!(stage.tasks().await.len(), 1);
    stage.house.say(&spot, "/privacy forget me").await;
    stage.until_tasks("the reminder is forgotten", <[Task]>::is_empty).await;
    stage.house.quiet().await;
    stage.clock.advance(HOUR);
    stage.house.say(&dm("8"), "hello").await;
    stage.until_shown("8", 1).await;
    assert_eq!(stage.house.platform.texts("7").len(), 2, "the two answers and no reminder");
}

#[tokio::test]
async fn a_muted_room_gets_its_reminder_once_it_is_unmuted() {
    let stage = Stage::of(vec![("REMIND_ME", json!({ "text": "tea", "in": "10 min" }))]).await;
    let spot = dm("7");
    stage.house.say(&spot, "go 0").await;
    stage.house.quiet().await;
    stage.house.say(&spot, "/mute").await;
    stage.house.quiet().await;
    let room = stage.house.room(&spot);
    let own = stage.house.identity.entity();
    let state = stage.house.store.participant_state(room, own).await.unwrap();
    assert_eq!(state, Some(ParticipantState::Muted));
    stage.pass(10 * MINUTE).await;
    let held = |tasks: &[Task]| tasks[0].due > MORNING.plus(10 * MINUTE);
    stage.until_tasks("the reminder is held", held).await;
    assert_eq!(stage.house.platform.texts("7").len(), 2);
    stage.house.say(&spot, "/unmute").await;
    stage.until_shown("7", 3).await;
    stage.pass(MINUTE).await;
    assert_eq!(stage.until_shown("7", 4).await[3], "⏰ Your reminder: tea");
}

#[tokio::test]
async fn only_admins_schedule_posts_and_lose_them_with_the_role() {
    let stage = Stage::of(vec![(
        "SCHEDULE_POST",
        json!({ "text": "The market opens.", "at": "12:00", "every": "day" }),
    )])
    .await;
    make_admin(&stage.house, "-100", "1").await;
    let (admin, member) = (group("-100", "1").mentioning(), group("-100", "7").mentioning());
    stage.house.say(&member, "go 0").await;
    stage.house.quiet().await;
    assert!(stage.tasks().await.is_empty(), "a member may not");
    let before = stage.house.platform.texts("-100").len();
    stage.house.say(&admin, "go 0").await;
    let said = stage.until_shown("-100", before + 1).await;
    assert!(
        said[before].starts_with("I will post this on Mon 4 May 2026 at 12:00 (UTC)"),
        "{said:?}"
    );
    stage.pass(2 * HOUR).await;
    assert_eq!(stage.until_shown("-100", before + 2).await[before + 1], "The market opens.");
    let again = |tasks: &[Task]| tasks[0].due == MORNING.plus(26 * HOUR);
    stage.until_tasks("it is due again the next day", again).await;
    // The person is no admin any more.
    let mut world = WorldRef::new(RemoteId::new("-100"), None);
    world.roles = vec![(RemoteId::new("1"), Role::None)];
    let rooms = vec![RoomRef::new(RemoteId::new("-100"), None, galatea_core::ChannelType::Group)];
    let sync = WorldSync { world, rooms, entities: Vec::new() };
    stage.house.gateway.ensure_connections(sync).await.unwrap();
    stage.pass(24 * HOUR).await;
    stage.until_tasks("the task ends", <[Task]>::is_empty).await;
    assert_eq!(stage.house.platform.texts("-100").len(), before + 2);
}

#[tokio::test]
async fn the_agent_comes_back_to_a_topic_but_not_in_quiet_hours() {
    let calls = vec![("FOLLOW_UP", json!({ "about": "how the exam went", "in": "13 hours" }))];
    let model = ScriptedModel::answering(move |request: &TextRequest| {
        let prompt = models::prompt(request);
        if prompt.contains("you agreed to come back to a topic") {
            assert!(prompt.contains("how the exam went"), "{prompt}");
            return Ok(ScriptedModel::text("How did your exam go?"));
        }
        Ok(scripted(&calls, request))
    });
    let stage = Stage::set(
        Plan::new(Arc::new(model))
            .set("REFLECTION_INTERVAL", "0")
            .set("QUIET_HOURS", "22:00-07:00"),
    )
    .await;
    let spot = dm("7");
    stage.house.say(&spot, "go 0").await;
    stage.house.quiet().await;
    let before = stage.house.platform.texts("7").len();
    stage.pass(13 * HOUR).await;
    let morning = |tasks: &[Task]| tasks[0].due == MORNING.plus(21 * HOUR);
    stage.until_tasks("it waits until 07:00", morning).await;
    assert_eq!(stage.house.platform.texts("7").len(), before);
    stage.pass(8 * HOUR).await;
    assert_eq!(stage.until_shown("7", before + 1).await[before], "How did your exam go?");
    stage.until_tasks("the task ends", <[Task]>::is_empty).await;
}

#[tokio::test]
async fn a_decision_is_opened_and_taken() {
    let stage = Stage::of(vec![
        ("OPEN_CHOICE", json!({ "question": "Where to meet?", "options": ["Park", "Cafe"] })),
        ("CHOOSE_OPTION", json!({ "option": "Cafe" })),
    ])
    .await;
    stage.house.say(&dm("7"), "go 0").await;
    stage.house.quiet().await;
    make_admin(&stage.house, "-100", "1").await;
    let spot = group("-100", "1").mentioning();
    let before = stage.house.platform.texts("-100").len();
    stage.house.say(&spot, "go 0").await;
    let said = stage.until_shown("-100", before + 1).await;
    assert_eq!(said[before..], ["Where to meet?\n\n- Park\n- Cafe"]);
    stage.house.quiet().await;
    let tags = ["AWAITING_CHOICE".to_owned()];
    let open = async || stage.house.store.tasks(stage.house.agent, &tags).await.unwrap();
    assert_eq!(open().await.len(), 1, "the private chat offers no decisions");
    stage.house.say(&spot, "go 1").await;
    stage.house.quiet().await;
    assert!(open().await.is_empty());
}

/// A worker that fails as often as it is told.
struct Stubborn {
    failures: AtomicUsize,
    runs: AtomicUsize,
}

#[async_trait]
impl TaskWorker for &'static Stubborn {
    fn name(&self) -> &'static str {
        "STUBBORN"
    }
    async fn run(&self, context: &TaskContext<'_>) -> Result<TaskOutcome> {
        self.runs.fetch_add(1, Ordering::SeqCst);
        let left = self.failures.load(Ordering::SeqCst);
        if left > 0 {
            self.failures.store(left - 1, Ordering::SeqCst);
            return Err(Error::new(ErrorKind::Unavailable, "the mill is closed"));
        }
        let slot = context.agent.zone.local(context.slot).moment();
        Ok(TaskOutcome::default().say_here(context, Content::text(format!("done for {slot}"))))
    }
}

async fn stubborn(failures: usize) -> (Stage, &'static Stubborn, Task) {
    let worker: &'static Stubborn = Box::leak(Box::new(Stubborn {
        failures: AtomicUsize::new(failures),
        runs: AtomicUsize::new(0),
    }));
    let plugin = Plugin::new("mill", "1.0.0", "Grinds").task_worker(worker);
    let stage =
        Stage::set(Plan::new(model(Vec::new())).set("REFLECTION_INTERVAL", "0").plugin(plugin))
            .await;
    let spot = dm("7");
    stage.house.say(&spot, "hello").await;
    stage.until_shown("7", 1).await;
    stage.house.quiet().await;
    let rule = Schedule::cron("0 12 * * *", "UTC").unwrap();
    let mut task = Task::new(stage.house.agent, "STUBBORN", "grind", MORNING.plus(2 * HOUR))
        .runs(TaskRun::by(rule));
    task.room_id = Some(stage.house.room(&spot));
    (stage, worker, task)
}

#[tokio::test]
async fn a_failed_run_is_made_again_for_its_own_time() {
    let (stage, worker, task) = stubborn(1).await;
    stage.save(&task).await;
    stage.pass(2 * HOUR).await;
    stage
        .until_tasks("it is tried again", |tasks| tasks[0].run.as_ref().unwrap().attempts == 1)
        .await;
    stage.pass(MINUTE).await;
    assert_eq!(stage.until_shown("7", 2).await[1], "done for Mon 4 May 2026 at 12:00");
    assert_eq!(worker.runs.load(Ordering::SeqCst), 2);
    let tasks = stage
        .until_tasks("it is due the next day", |tasks| tasks[0].due == MORNING.plus(26 * HOUR))
        .await;
    assert_eq!(tasks[0].run.as_ref().unwrap().last_run, Some(MORNING.plus(2 * HOUR)));
}

#[tokio::test]
async fn after_three_failures_a_task_pauses_and_says_so_until_a_person_tries_again() {
    let (stage, worker, task) = stubborn(3).await;
    stage.save(&task).await;
    for (attempt, pause) in [(1, 2 * HOUR), (2, MINUTE), (3, 4 * MINUTE)] {
        stage.pass(pause).await;
        let failed = |tasks: &[Task]| tasks[0].run.as_ref().unwrap().attempts == attempt;
        stage.until_tasks("an attempt failed", failed).await;
    }
    let said = stage.until_shown("7", 2).await[1].clone();
    assert!(
        said.starts_with("I could not do this three times in a row, so it is paused: grind"),
        "{said}"
    );
    assert_eq!(stage.tasks().await[0].run.as_ref().unwrap().state, TaskState::Paused);
    stage.house.quiet().await;
    stage.house.say(&dm("7"), "/reminders").await;
    let list = stage.until_shown("7", 3).await[2].clone();
    assert!(list.contains("paused") && list.contains("the mill is closed"), "{list}");
    stage.house.say(&dm("7"), "/reminders again 1").await;
    let texts = stage.until_shown("7", 5).await;
    assert!(texts.iter().any(|text| text.starts_with("done for ")), "{texts:?}");
    assert_eq!(worker.runs.load(Ordering::SeqCst), 4);
}

/// Says its words, and counts.
struct Crier(Arc<AtomicUsize>);

#[async_trait]
impl TaskWorker for Crier {
    fn name(&self) -> &'static str {
        "CRIER"
    }
    async fn run(&self, context: &TaskContext<'_>) -> Result<TaskOutcome> {
        self.0.fetch_add(1, Ordering::SeqCst);
        let words = context.task.description.clone();
        Ok(TaskOutcome::default().say_here(context, Content::text(words)))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_run_each_task_once() {
    const TASKS: usize = 40;
    let database = Database::fresh().await;
    let open = async || {
        Stored::postgres(&SecretString::from(database.url()), PostgresOptions::default())
            .await
            .unwrap()
    };
    let plan = async |runs: &Arc<AtomicUsize>| {
        let crier = Plugin::new("crier", "1.0.0", "Cries").task_worker(Crier(Arc::clone(runs)));
        Plan::new(models::echo()).store(&open().await).plugin(crier).among_others()
    };
    let runs = [Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0))];
    let house = plan(&runs[0]).await.build().await;
    let (other, _) = plan(&runs[1]).await.begin().await;
    let spot = dm("7");
    house.say(&spot, "hello").await;
    house.platform.until_shown("7", 1).await;
    house.quiet().await;
    for n in 0..TASKS {
        let mut task = Task::new(house.agent, "CRIER", format!("cry {n}"), house.clock.now())
            .runs(TaskRun::by(Schedule::Once));
        task.room_id = Some(house.room(&spot));
        house.store.save_task(&task).await.unwrap();
        house.orchestrator.look_for_tasks();
        other.look_for_tasks();
    }
    let texts = house.platform.until_shown("7", TASKS + 1).await;
    house.quiet().await;
    for n in 0..TASKS {
        let words = format!("cry {n}");
        assert_eq!(texts.iter().filter(|text| **text == words).count(), 1, "{words}: {texts:?}");
    }
    let left = house.store.scheduled(house.agent, TaskQuery::All, 100).await.unwrap();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(house.platform.texts("7").len(), TASKS + 1);
    eprintln!("runs of the processes: {runs:?}");
    other.stop(PATIENCE).await;
}
