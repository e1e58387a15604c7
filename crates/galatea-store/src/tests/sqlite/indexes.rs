//! What indexes cost the writer. A measurement, not a check:
//! `cargo nextest run -p galatea-store --run-ignored only --no-capture what_the_indexes_cost`

use galatea_core::{
    Cursor,
    store::{InboxStore, Ingest, OutboxState, OutboxStore},
};
use galatea_testkit::store_suite::fixtures::{SOURCE, Scene, account, settlement};
use sqlx::{Connection, Executor, SqliteConnection, sqlite::SqliteConnectOptions};
use std::{fs, path::Path, time::Duration};

use crate::{Database, SqliteOptions};

/// Those that migration 0021 dropped.
const BEFORE_0021: &str = "CREATE INDEX inbox_new ON inbox (agent_id, source, account) WHERE state = 'new'; \
     CREATE INDEX inbox_new_in_part ON inbox (agent_id, part) WHERE state = 'new'; \
     CREATE INDEX outbox_unsettled ON outbox (agent_id, source, account) WHERE state IN ('pending', 'sending');";
/// About as long as what people and models write in chats.
const TEXT: &str = "She is alive, he thought, and the ivory grew warm under his fingers; she is alive, and in a moment she will turn \
     her head, and look at me, and ask in a voice that no one has heard before who I am.";
const ROOMS: usize = 16;
const TURNS: i64 = 500;

/// Processor time and bytes that this process has written so far.
fn used() -> (Duration, u64) {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    let io = fs::read_to_string("/proc/self/io").unwrap();
    let written = io.lines().find_map(|line| line.strip_prefix("wchar: ")).unwrap();
    (Duration::from_millis(ticks * 10), written.parse().unwrap())
}

async fn turn(store: &Database, scene: &Scene, n: i64) {
    let message = scene.message(TEXT, n);
    let cursor = Cursor { stream: "updates".to_owned(), position: n.to_string() };
    let batch = Scene::batch(std::slice::from_ref(&message));
    let cursor = Some((scene.agent, SOURCE, account(), cursor));
    store.ingest(Ingest { cursor, ..batch }).await.unwrap();
    store.begin_turn(&[message.memory.id]).await.unwrap();
    let record = scene.turn(&[&message]);
    let delivery = record.deliveries[0].delivery.id;
    store.finish_turn(record).await.unwrap();
    store.settle(vec![settlement(delivery, OutboxState::Sent)]).await.unwrap();
}

async fn measure(path: &Path, before: bool, rooms: usize) -> String {
    Database::sqlite(path, SqliteOptions::default()).await.unwrap().close().await;
    if before {
        let options = SqliteConnectOptions::new().filename(path);
        let mut connection = SqliteConnection::connect_with(&options).await.unwrap();
        connection.execute(BEFORE_0021).await.unwrap();
        connection.close().await.unwrap();
    }
    let empty = fs::metadata(path).unwrap().len();
    let store = Database::sqlite(path, SqliteOptions::default()).await.unwrap();
    let (cpu, written) = used();
    let tasks: Vec<_> = (0..rooms)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move {
                let scene = Scene::new();
                for n in 0..TURNS {
                    turn(&store, &scene, n).await;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let after = used();
    store.close().await;
    let turns = (rooms as i64 * TURNS) as f64;
    format!(
        "{} in {rooms} rooms: {:.3} ms of processor time, {:.1} KiB written and {:.0} bytes kept per turn",
        if before { "before" } else { "now" },
        (after.0 - cpu).as_secs_f64() * 1000.0 / turns,
        (after.1 - written) as f64 / 1024.0 / turns,
        (fs::metadata(path).unwrap().len() - empty) as f64 / turns
    )
}

#[tokio::test]
#[ignore = "a measurement"]
#[allow(clippy::print_stderr, reason = "printing is what it is for")]
async fn what_the_indexes_cost() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..3 {
        for (before, rooms) in [(true, ROOMS), (false, ROOMS), (true, 1), (false, 1)] {
            let path = folder.path().join(format!("{round}-{before}-{rooms}.db"));
            eprintln!("{}", measure(&path, before, rooms).await);
        }
    }
}
