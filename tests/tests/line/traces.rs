//! Traces: why a turn ended as it did, what is kept of it, and what goes.

use galatea_core::{
    Error, ErrorKind, Incoming, IncomingEvent, MemoryId, RemoteId, StepOutcome,
    export::Record,
    store::{Place, StepKind, TurnsQuery},
};
use galatea_host::ops::{
    Operator, Ops,
    traces::{TurnTrace, ask_again, outcome, reason},
};
use galatea_store::{Database, SqliteOptions};
use galatea_testkit::models::ScriptedModel;
use serde_json::json;
use std::sync::Arc;
use tokio::runtime::Runtime;

use crate::{
    house::{House, Plan, dm, group},
    models::{self, echo},
    platform::{Doing, Platform},
    rights::calls,
    steps::{Ledger, plugin},
};

fn ops(house: &House) -> Ops {
    Ops::new(Arc::clone(&house.store), Arc::clone(&house.clock), None)
}

async fn trace(house: &House, id: MemoryId) -> TurnTrace {
    house.quiet().await;
    house.orchestrator.flush_traces().await;
    ops(house).trace(&Operator::command_line(), id).await.unwrap()
}

fn of(trace: &TurnTrace, kind: StepKind) -> Vec<&str> {
    let steps = trace.steps.iter().filter(|shown| shown.step.kind == kind);
    steps.map(|shown| shown.step.name.as_str()).collect()
}

fn texts(trace: &TurnTrace) -> String {
    serde_json::to_string(&trace.texts).unwrap()
}

#[tokio::test]
async fn an_answered_turn_shows_the_way_from_arrival_to_send() {
    let model = Arc::new(ScriptedModel::saying("Blue, like the sea."));
    let plan = Plan::new(Arc::clone(&model) as _).plugin(galatea_bootstrap::plugin());
    let house = plan.set("REFLECTION_INTERVAL", "0").build().await;
    let id = house.say(&group("-100", "7").mentioning(), "which colour is best?").await;
    let trace = trace(&house, id).await;
    assert_eq!(outcome(&trace.turn.item), "replied");
    assert_eq!(reason(&trace.turn.item), Some("it mentions the agent"));
    let kinds: Vec<StepKind> = trace.steps.iter().map(|shown| shown.step.kind).collect();
    let place = |kind: StepKind| kinds.iter().position(|k| *k == kind);
    let order = [
        StepKind::Receive,
        StepKind::Gate,
        StepKind::Provider,
        StepKind::Model,
        StepKind::Commit,
        StepKind::Send,
    ];
    assert!(order.map(place).is_sorted() && place(StepKind::Send).is_some(), "{kinds:?}");
    assert!(of(&trace, StepKind::Gate).contains(&"mention"), "{:?}", trace.steps);
    let provider = trace.steps.iter().find(|shown| shown.step.kind == StepKind::Provider).unwrap();
    assert!(provider.step.bytes.is_some(), "{provider:?}");
    // The prompt as it was sent, and the answer.
    let asked = &model.requests()[0];
    let kept = &trace.texts[0];
    let last = asked.messages.last().unwrap().text();
    assert_eq!(kept.prompt.last().map(|block| block.text.as_str()), Some(last.as_str()));
    assert!(kept.output.as_deref() == Some("Blue, like the sea."), "{kept:?}");
    assert_eq!((trace.turn.agent.as_str(), trace.turn.person.as_str()), ("Eliza", "Person 7"));
    assert!(!trace.is_bare && trace.has_texts);
}

#[tokio::test]
async fn an_ignored_turn_names_the_rule_and_the_setting() {
    let house = Plan::new(echo()).build().await;
    let id = house.say(&group("-100", "7"), "nothing for you").await;
    let trace = trace(&house, id).await;
    assert_eq!(outcome(&trace.turn.item), "ignored");
    assert_eq!(reason(&trace.turn.item), Some("the message does not address the agent"));
    assert!(of(&trace, StepKind::Gate).contains(&"group-policy"), "{:?}", trace.steps);
    assert!(of(&trace, StepKind::Model).is_empty() && trace.is_bare);
}

#[tokio::test]
async fn a_refused_turn_names_the_limit() {
    let plan = Plan::new(echo()).set("LIMITS", "on").set("LIMIT_PERSON", "1/day");
    let house = plan.build().await;
    house.say(&dm("7"), "one").await;
    house.quiet().await;
    let id = house.say(&dm("7"), "two").await;
    let trace = trace(&house, id).await;
    assert_eq!(outcome(&trace.turn.item), "ignored");
    let why = reason(&trace.turn.item).unwrap();
    assert!(why.contains("has had its 1 answers of today"), "{why}");
    let gate = trace.steps.iter().filter(|shown| shown.step.kind == StepKind::Gate);
    let said: Vec<&str> = gate.filter_map(|shown| shown.step.note.as_deref()).collect();
    assert!(said.contains(&why), "{said:?}");
}

#[tokio::test]
async fn a_failed_turn_names_the_failure_and_its_code() {
    let model = Arc::new(ScriptedModel::answering(|_| {
        Err(Error::new(ErrorKind::Unauthorized, "the key is refused").with_code("GAL-MODEL-401"))
    }));
    let house = Plan::new(model as _).build().await;
    let id = house.say(&dm("7"), "are you there?").await;
    let trace = trace(&house, id).await;
    assert_eq!(outcome(&trace.turn.item), "failed");
    assert!(reason(&trace.turn.item).unwrap().contains("the key is refused"));
    let model = trace.steps.iter().find(|shown| shown.step.kind == StepKind::Model).unwrap();
    assert!(model.step.failed, "{model:?}");
    assert_eq!(model.step.note.as_deref(), Some("the key is refused (GAL-MODEL-401)"));
    assert!(texts(&trace).contains("are you there?"), "the prompt is kept all the same");
}

#[tokio::test]
async fn a_turn_with_tools_shows_each_call_with_parameters_and_result() {
    let ledger = Arc::new(Ledger::default());
    let model = Arc::new(ScriptedModel::answering(|request| {
        let rounds = request.messages.iter().filter(|message| message.uses_tools()).count();
        Ok(match rounds {
            0 => calls([("FIRST", json!({ "n": 4711 })), ("NOWHERE", json!({}))]),
            _ => ScriptedModel::text("Done."),
        })
    }));
    let house = Plan::new(model as _).plugin(plugin(&ledger)).build().await;
    let id = house.say(&dm("7"), "do it").await;
    let trace = trace(&house, id).await;
    assert_eq!(of(&trace, StepKind::Action)[0], "FIRST", "{:?}", trace.steps);
    assert_eq!(of(&trace, StepKind::Model).len(), 2);
    let first = trace.steps.iter().find(|shown| shown.step.name == "FIRST").unwrap();
    assert_eq!(first.step.note.as_deref(), Some("done"));
    let kept = trace.texts.iter().find(|texts| texts.step == first.n).unwrap();
    assert_eq!(kept.input.as_deref(), Some("{\"n\":4711}"));
    assert_eq!(kept.output.as_deref(), Some("first found 4711"));
    // Steps name parts of the program, texts have the words.
    let steps = serde_json::to_string(&trace.steps).unwrap();
    assert!(!steps.contains("4711") && !steps.contains("Done."), "{steps}");
}

#[test]
fn a_resumed_turn_says_so_and_what_was_not_done_twice() {
    let ledger = Arc::new(Ledger::default());
    ledger.hang("SECOND");
    let folder = tempfile::tempdir().unwrap();
    let (file, platform) = (folder.path().join("a.db"), Platform::new("1000"));
    let model = || {
        Arc::new(ScriptedModel::answering(|request| {
            let rounds = request.messages.iter().filter(|message| message.uses_tools()).count();
            Ok(match rounds {
                0 => calls([("FIRST", json!({ "n": 1 })), ("SECOND", json!({ "n": 2 }))]),
                _ => ScriptedModel::text("Done."),
            })
        }))
    };
    let begin = async || {
        let store = Database::sqlite(&file, SqliteOptions::default()).await.unwrap();
        let plan = Plan::new(model() as _).store(&store).on(Arc::clone(&platform));
        plan.plugin(plugin(&ledger)).build().await
    };
    let run = Runtime::new().unwrap();
    let id = run.block_on(async {
        let house = begin().await;
        let id = house.say(&dm("7"), "do it").await;
        ledger.until_reached().await;
        id
    });
    run.shutdown_background();
    platform.unplug();
    ledger.go_on();
    Runtime::new().unwrap().block_on(async {
        let house = begin().await;
        platform.until_shown("7", 1).await;
        let trace = trace(&house, id).await;
        let received = trace.steps[0].step.note.as_deref().unwrap_or_default();
        assert!(received.contains("begun for it"), "{received}");
        let first = trace.steps.iter().find(|shown| shown.step.name == "FIRST").unwrap();
        let note = first.step.note.as_deref().unwrap();
        assert!(note.contains("an earlier run") && note.contains("not done twice"), "{note}");
    });
}

#[tokio::test]
async fn a_replay_asks_the_same_and_sends_and_stores_nothing() {
    let model = Arc::new(ScriptedModel::saying("First answer."));
    let house = Plan::new(Arc::clone(&model) as _).build().await;
    let id = house.say(&dm("7"), "which colour?").await;
    let trace = trace(&house, id).await;
    let again = Arc::new(ScriptedModel::saying("Second answer."));
    let done = ask_again(&trace, &models::all(Arc::clone(&again) as _)).await.unwrap();
    assert_eq!((done.text.as_str(), done.is_whole), ("Second answer.", true));
    let (first, second) = (&model.requests()[0], &again.requests()[0]);
    assert_eq!(second.messages.last().unwrap().text(), first.messages.last().unwrap().text());
    assert_eq!(house.platform.texts("7"), ["First answer."], "nothing was sent");
    house.quiet().await;
    assert_eq!(model.requests().len(), 1);
}

#[tokio::test]
async fn traces_are_kept_as_the_setting_says() {
    for (level, bare, has_texts) in
        [("off", true, false), ("steps", false, false), ("full", false, true)]
    {
        let house = Plan::new(echo()).set("TRACES", level).build().await;
        let id = house.say(&dm("7"), "hello").await;
        let trace = trace(&house, id).await;
        assert_eq!((trace.is_bare, trace.has_texts), (bare, has_texts), "{level}");
        assert_eq!(outcome(&trace.turn.item), "replied", "{level}");
    }
}

#[tokio::test]
async fn a_forgotten_person_leaves_no_byte_in_traces() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.db");
    let store = Database::sqlite(&file, SqliteOptions::default()).await.unwrap();
    let house = Plan::new(echo()).store(&store).build().await;
    house.say(&group("-100", "7").mentioning(), "my word is heliotrope").await;
    house.quiet().await;
    // Another person's prompt shows it as well.
    let other = house.say(&group("-100", "8").mentioning(), "what was said?").await;
    assert!(texts(&trace(&house, other).await).contains("heliotrope"));
    house.say(&dm("7"), "/privacy forget me").await;
    let after = trace(&house, other).await;
    assert!(!after.has_texts && !after.is_bare, "the steps stay");
    assert_eq!(outcome(&after.turn.item), "replied");
    let page = TurnsQuery {
        agent: None,
        room: None,
        source: None,
        state: None,
        before: Place::NEWEST,
        limit: 50,
    };
    for turn in ops(&house).traces(&Operator::command_line(), &page).await.unwrap().rows {
        let id = turn.item.entry.memory.id;
        let kept = trace(&house, id).await;
        let all = format!("{:?} {}", kept.steps, texts(&kept));
        assert!(!all.contains("heliotrope") && !all.contains("Person 7"), "{all}");
    }
}

#[tokio::test]
async fn a_deleted_message_goes_from_the_traces_of_its_room() {
    let house = Plan::new(echo()).build().await;
    house.say(&dm("7"), "my word is heliotrope").await;
    house.quiet().await;
    let second = house.say(&dm("7"), "and now?").await;
    let elsewhere = house.say(&dm("8"), "of another").await;
    assert!(texts(&trace(&house, second).await).contains("heliotrope"));
    let event = IncomingEvent::Deleted { ids: vec![RemoteId::new("7-1")] };
    let connection = dm("7").connection();
    house.receive(vec![Incoming { connection, event, at: house.clock.now() }]).await;
    let after = trace(&house, second).await;
    assert!(!after.has_texts && texts(&after) == "[]", "{:?}", after.texts);
    assert!(trace(&house, elsewhere).await.has_texts, "other Rooms keep theirs");
}

#[tokio::test]
async fn an_export_has_the_steps_and_tasks_of_a_person() {
    use base64::{Engine as _, prelude::BASE64_STANDARD};
    use galatea_core::Task;
    let platform = Platform::with("1000", |capabilities| capabilities.files = true);
    let house = Plan::new(echo()).on(Arc::clone(&platform)).build().await;
    house.say(&dm("7"), "hello").await;
    house.say(&dm("8"), "of another").await;
    house.quiet().await;
    house.orchestrator.flush_traces().await;
    let mut mine = Task::new(house.agent, "REMINDER", "water the plants", house.clock.now());
    mine.entity_id = Some(house.entity(&dm("7")));
    let mut theirs = Task::new(house.agent, "REMINDER", "feed the cat", house.clock.now());
    theirs.entity_id = Some(house.entity(&dm("8")));
    for task in [&mine, &theirs] {
        house.store.save_task(task).await.unwrap();
    }
    house.say(&dm("7"), "/privacy export").await;
    house.quiet().await;
    let shown = platform.shown();
    let file = shown.iter().filter(|shown| shown.room == "7").flat_map(|shown| &shown.files);
    let file = file.last().unwrap().strip_prefix("data:application/json;base64,").unwrap();
    let text = String::from_utf8(BASE64_STANDARD.decode(file).unwrap()).unwrap();
    let records: Vec<Record> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let tasks = records.iter().filter(|record| matches!(record, Record::Task(_))).count();
    let traces = records.iter().filter(|record| matches!(record, Record::Trace { .. })).count();
    assert!((tasks, traces) == (1, 1) && text.contains("water the plants"), "{text}");
    assert!(!text.contains("feed the cat"), "{text}");
    house.say(&dm("7"), "/privacy forget me").await;
    house.quiet().await;
    let left = house.store.tasks(house.agent, &[]).await.unwrap();
    assert_eq!(left.iter().map(|task| task.id).collect::<Vec<_>>(), [theirs.id]);
}

#[tokio::test]
async fn every_attempt_to_send_is_a_step() {
    let platform = Platform::new("1000");
    platform.does("7", [Doing::Unavailable]);
    let house = Plan::new(echo()).on(Arc::clone(&platform)).build().await;
    let id = house.say(&dm("7"), "hello").await;
    platform.until_shown("7", 1).await;
    let trace = trace(&house, id).await;
    let sends: Vec<_> =
        trace.steps.iter().filter(|shown| shown.step.kind == StepKind::Send).collect();
    assert_eq!(sends.len(), 2, "{sends:?}");
    assert!(sends[0].step.failed && !sends[1].step.failed, "{sends:?}");
    assert!(sends[0].step.note.as_deref().unwrap().contains("failed"), "{sends:?}");
    assert!(sends[1].step.note.as_deref().unwrap().starts_with("sent"), "{sends:?}");
    let verdict = trace.turn.item.verdict.as_ref().unwrap();
    assert!(verdict.steps.iter().any(|step| step.outcome == StepOutcome::Answer));
}

/// Answers a second with and without traces, each the best of three: `cargo test -- --ignored cost`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement: the machine has to be idle"]
async fn what_traces_cost() {
    const PEOPLE: usize = 20;
    const EACH: usize = 100;
    let folder = tempfile::tempdir().unwrap();
    let run = async |level: &'static str, n: usize| {
        let file = folder.path().join(format!("{level}{n}.db"));
        let store = Database::sqlite(&file, SqliteOptions::default()).await.unwrap();
        let plan = Plan::new(echo()).store(&store).set("TRACES", level).set("LIMITS", "off");
        let house = plan.set("BUSY_POLICY", "each").build().await;
        let from = std::time::Instant::now();
        for _ in 0..EACH {
            let people = (0..PEOPLE).map(|n| dm(PEOPLE_IDS[n]));
            let messages = people.map(|at| house.message(&at, "hello")).collect();
            house.receive(messages).await;
        }
        house.quiet().await;
        house.orchestrator.flush_traces().await;
        let took = from.elapsed();
        store.close().await;
        took
    };
    let mut best = [std::time::Duration::MAX; 3];
    for n in 0..3 {
        for (best, level) in best.iter_mut().zip(["off", "steps", "full"]) {
            *best = (*best).min(run(level, n).await);
        }
    }
    let count = f64::from(u32::try_from(PEOPLE * EACH).unwrap());
    let rates = best.map(|took| count / took.as_secs_f64());
    eprintln!(
        "answers/s: {:.0} off, {:.0} steps, {:.0} full; traces cost {:.1} %",
        rates[0],
        rates[1],
        rates[2],
        100.0 * (1.0 - rates[2] / rates[0])
    );
}

const PEOPLE_IDS: [&str; 20] = [
    "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "b1", "b2", "b3", "b4", "b5", "b6", "b7",
    "b8", "b9", "c1", "c2",
];
