//! The crash matrix: every kill point × one and two crashes × platform × database. Every question
//! is answered once and in order, and the audit balances.

mod point;
mod removal;
mod world;

use std::time::Instant;

use futures::{StreamExt as _, stream};

use self::{
    point::{LINE, MIXED, Point, RECOVERING},
    world::{Platform, Store, World},
};
use crate::truth;

/// Cells that run in parallel; they spend most of their time waiting for a settle time or the next
/// poll.
const SIDE_BY_SIDE: usize = 8;

/// The crashes of each cell.
fn cells() -> Vec<Vec<Point>> {
    let on_path = LINE.into_iter().flat_map(|p| [vec![p], vec![p, p]]);
    let recovering =
        RECOVERING.into_iter().flat_map(|(first, p)| [vec![first, p], vec![first, p, p]]);
    on_path.chain(recovering).chain(MIXED.map(|pair| pair.to_vec())).collect()
}

async fn cell(platform: Platform, store: Store, crashes: Vec<Point>) {
    let mut world = World::set(platform, store).await;
    world.prepare().await;
    for (n, point) in crashes.iter().enumerate() {
        let first = n == 0;
        point
            .dies(&mut world, |world| {
                if first {
                    world.ask(true);
                    world.ask(false);
                }
            })
            .await;
        world.ask(false);
    }
    let mut running = world.program().arg("start").spawn();
    running.wait_for_line("ready in").await;
    world.ask(false);
    world.answered().await;
    running.terminate();
    let ended = running.finish().await;
    assert_eq!(ended.code, Some(0), "{}", running.output());
    let faults = truth::faults(&world.rooms(), &world.audit().await);
    assert!(faults.is_empty(), "{}\n{}\n{}", faults.join("\n"), world.story(), running.output());
}

/// Runs every cell of a platform and a database, and names those that fail.
async fn all(platform: Platform, store: Store) {
    let (begun, cells) = (Instant::now(), cells());
    let count = cells.len();
    let runs = cells.into_iter().map(|crashes| async move {
        let name = crashes.iter().map(Point::to_string).collect::<Vec<_>>().join(", then ");
        // Each cell has its own thread and runtime: a failing cell does not end the others, and
        // dropping a cell's database does not block them.
        let ended = tokio::task::spawn_blocking(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(cell(platform, store, crashes));
        });
        let ended = ended.await;
        ended
            .err()
            .map(|error| format!("{platform:?}, {store:?}, killed at {name}:\n{}", describe(error)))
    });
    let failed: Vec<String> = stream::iter(runs)
        .buffer_unordered(SIDE_BY_SIDE)
        .filter_map(std::future::ready)
        .collect()
        .await;
    eprintln!("{platform:?}, {store:?}: {count} cells in {:.1} s", begun.elapsed().as_secs_f64());
    assert!(
        failed.is_empty(),
        "{} of {count} cells failed\n\n{}",
        failed.len(),
        failed.join("\n\n")
    );
}

fn describe(error: tokio::task::JoinError) -> String {
    let Ok(panic) = error.try_into_panic() else { return "cancelled".to_owned() };
    panic
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| panic.downcast_ref::<&str>().map(|&s| s.to_owned()))
        .unwrap_or_default()
}

macro_rules! matrix {
    ($($name:ident: $platform:ident, $store:ident;)*) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        #[ignore = "takes minutes; `cargo xtask matrix` runs it, in CI after the other tests"]
        async fn $name() {
            all(Platform::$platform, Store::$store).await;
        }
    )*};
}

matrix! {
    telegram_on_sqlite: Telegram, Sqlite;
    telegram_on_postgres: Telegram, Postgres;
    discord_on_sqlite: Discord, Sqlite;
    discord_on_postgres: Discord, Postgres;
    x_on_sqlite: X, Sqlite;
    x_on_postgres: X, Postgres;
}
