//! Reminders of a program that is killed: each is said once, and never before its time.

use galatea_testkit::{
    models::{Recorded, Reply},
    process::Program,
};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use sqlx::{
    SqlitePool,
    sqlite::{SqliteConnectOptions, SqlitePoolOptions},
};
use std::{
    collections::BTreeMap,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use crate::stage::{Stage, answer};

/// Longer than a run takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// A reminder in the private chat of the test.
const REMIND: &str = "INSERT INTO tasks (id, agent_id, name, description, room_id, world_id, entity_id, tags, metadata, due, run, state) \
     SELECT randomblob(16), agent_id, 'REMIND_ME', $1, id, world_id, NULL, '[]', '{}', $2, '{\"schedule\":{\"kind\":\"once\"}}', 'waiting' \
     FROM rooms WHERE type = 'DM' LIMIT 1";
const LEFT: &str = "SELECT count(*) FROM tasks WHERE state IS NOT NULL";

fn program(stage: &Stage) -> Program {
    stage.program().env("REFLECTION_INTERVAL", "0").arg("start")
}

async fn database(stage: &Stage) -> SqlitePool {
    let file = stage.home.path().join(".galatea").join("galatea.db");
    let options = SqliteConnectOptions::new().filename(file).busy_timeout(Duration::from_secs(20));
    SqlitePoolOptions::new().max_connections(1).connect_with(options).await.unwrap()
}

fn millis() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis().try_into().unwrap()
}

/// Waits until no task waits any more.
async fn until_done(database: &SqlitePool) {
    let wait = async {
        while sqlx::query_scalar::<_, i64>(LEFT).fetch_one(database).await.unwrap() > 0 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(PATIENCE, wait).await.expect("every reminder is said");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reminder_is_said_once_wherever_the_process_dies() {
    for point in
        ["task.claimed", "task.ran", "task.before", "task.after", "send.before", "send.after"]
    {
        let stage = Stage::set().await;
        stage.model.answer_with(|request: &Recorded| {
            let text = request.body["messages"].to_string();
            if text.contains("Q2") {
                return answer(request);
            }
            Reply::tool("REMIND_ME", r#"{"text": "tea", "in": "2 seconds"}"#)
        });
        let direct = stage.ann.direct();
        let mut running = program(&stage).spawn();
        running.wait_for_line("ready in").await;
        stage.ann.says(&direct, "remind me of tea in two seconds").send();
        stage.telegram.wait_shown(stage.ann.id, 1).await;
        running.kill_9().await;
        assert!(stage.texts(&direct)[0].starts_with("I will remind you on "));
        let mut running = program(&stage).env("FAILPOINTS", format!("{point}=return")).spawn();
        let ended = tokio::time::timeout(PATIENCE, running.finish()).await;
        let ended =
            ended.unwrap_or_else(|_| panic!("{point} was not reached:\n{}", running.output()));
        assert_eq!(ended.code, None, "{point}: it ended by itself:\n{}", running.output());
        let mut running = program(&stage).spawn();
        running.wait_for_line("ready in").await;
        stage.telegram.wait_shown(stage.ann.id, 2).await;
        stage.ann.says(&direct, "Q2").send();
        let texts = stage.wait_text(&direct, "A2").await;
        running.kill_9().await;
        let reminders = texts.iter().filter(|text| *text == "⏰ Your reminder: tea").count();
        assert_eq!((reminders, texts.len()), (1, 3), "{point}: {texts:?}");
    }
}

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes: GALATEA_CHAOS_KILLS kills (75 unless set); `cargo xtask long` runs it"]
async fn reminders_are_said_once_and_in_time_whenever_the_process_is_killed() {
    let kills = setting("GALATEA_CHAOS_KILLS").unwrap_or(75);
    let seed = setting("GALATEA_CHAOS_SEED").unwrap_or(1);
    eprintln!("seed {seed}, {kills} kills");
    let (stage, mut random) = (Stage::set().await, StdRng::seed_from_u64(seed));
    let direct = stage.ann.direct();
    let mut running = program(&stage).spawn();
    running.wait_for_line("ready in").await;
    stage.ann.says(&direct, "Q1").send();
    stage.wait_text(&direct, "A1").await;
    running.kill_9().await;
    let database = database(&stage).await;
    let (begun, began) = (Instant::now(), millis());
    let mut due: BTreeMap<String, i64> = BTreeMap::new();
    let mut claimed = 0;
    for kill in 0..kills {
        for n in 0..4 {
            let (words, at) =
                (format!("item {kill}-{n}"), millis() + random.random_range(0..2_500));
            sqlx::query(REMIND).bind(&words).bind(at).execute(&database).await.unwrap();
            due.insert(words, at);
        }
        let mut running = program(&stage).spawn();
        running.line_or_end("ready in").await;
        tokio::time::sleep(Duration::from_millis(random.random_range(0..1_500))).await;
        assert!(running.is_running(), "it ended by itself:\n{}", running.output());
        running.kill_9().await;
        claimed +=
            sqlx::query_scalar::<_, i64>("SELECT count(*) FROM tasks WHERE claim IS NOT NULL")
                .fetch_one(&database)
                .await
                .unwrap();
    }
    let mut running = program(&stage).spawn();
    running.wait_for_line("ready in").await;
    until_done(&database).await;
    stage.ann.says(&direct, "Q2").send();
    let texts = stage.wait_text(&direct, "A2").await;
    running.kill_9().await;
    let mut faults = Vec::new();
    for (words, at) in &due {
        let said = format!("⏰ Your reminder: {words}");
        let shown = texts.iter().filter(|text| text.lines().next() == Some(&said)).count();
        if shown != 1 {
            faults.push(format!("{words} was said {shown} times"));
        }
        let first = stage.telegram.calls().into_iter().find(|call| {
            call.method == "sendMessage"
                && call.text("text").is_some_and(|text| text.contains(words))
        });
        let called = first.map(|call| {
            began + i64::try_from(call.instant.duration_since(begun).as_millis()).unwrap()
        });
        // The two clocks were read one after the other.
        if called.is_some_and(|called| called + 50 < *at) {
            faults.push(format!("{words} was said before its time"));
        }
    }
    eprintln!(
        "{} reminders, {kills} kills, {claimed} of them between claim and commit, {:.0} s",
        due.len(),
        begun.elapsed().as_secs_f64()
    );
    assert!(faults.is_empty(), "seed {seed}: {faults:?}\n{texts:?}");
}
