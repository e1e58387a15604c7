//! The program ends at the worst moment and starts again with the same file.

use galatea_core::{
    Clock, Content, Memory, MemoryId, RemoteId, SystemClock, Timestamp,
    store::{InboxState, InboxStore, Ingest},
};
use galatea_store::{Database, SqliteOptions};
use galatea_testkit::clock::ManualClock;
use std::{path::Path, pin::Pin, sync::Arc, time::Duration};
use tokio::runtime::Runtime;

use crate::{
    house::{Plan, dm},
    models::{Gated, echo},
    platform::{Doing, Platform},
};

/// A run of the program. It ends like a crash: every task stops where it is.
fn run<T>(work: impl Future<Output = T>) -> T {
    let runtime = Runtime::new().unwrap();
    let outcome = runtime.block_on(work);
    runtime.shutdown_background();
    outcome
}

async fn open(path: &Path) -> Database {
    Database::sqlite(path, SqliteOptions::default()).await.unwrap()
}

#[test]
fn a_message_whose_turn_was_cut_off_is_answered_once() {
    let folder = tempfile::tempdir().unwrap();
    let (file, platform) = (folder.path().join("a.db"), Platform::new("1000"));
    let id = run(async {
        let model = Gated::new(echo(), "hello");
        let house = Plan::new(Arc::clone(&model) as _)
            .store(&open(&file).await)
            .on(Arc::clone(&platform))
            .build()
            .await;
        let id = house.say(&dm("7"), "hello").await;
        model.reached(1).await;
        id
    });
    platform.unplug();
    assert_eq!(platform.attempts(), 0);
    run(async {
        let house =
            Plan::new(echo()).store(&open(&file).await).on(Arc::clone(&platform)).build().await;
        platform.until_shown("7", 1).await;
        house.quiet().await;
        assert_eq!(house.explain(id).await.state, InboxState::Done);
    });
    assert_eq!(platform.texts("7"), ["re: hello"]);
}

#[test]
fn an_answer_committed_before_the_crash_is_sent_after_it() {
    crash_while_sending(Doing::Hang, 2);
}

#[test]
fn an_answer_shown_before_the_crash_is_not_shown_again() {
    crash_while_sending(Doing::ShowThenHang, 1);
}

fn crash_while_sending(doing: Doing, attempts: usize) {
    let folder = tempfile::tempdir().unwrap();
    let (file, platform) = (folder.path().join("a.db"), Platform::new("1000"));
    platform.does("7", [doing]);
    run(async {
        let house =
            Plan::new(echo()).store(&open(&file).await).on(Arc::clone(&platform)).build().await;
        house.say(&dm("7"), "hello").await;
        platform.until("the first attempt", |p| p.attempts() == 1).await;
    });
    platform.unplug();
    run(async {
        let model = echo();
        let house = Plan::new(Arc::clone(&model) as _)
            .store(&open(&file).await)
            .on(Arc::clone(&platform))
            .build()
            .await;
        house.quiet().await;
        assert!(model.requests().is_empty(), "the answer is not made again");
    });
    assert_eq!(
        (platform.texts("7"), platform.attempts(), platform.finds()),
        (vec!["re: hello".to_owned()], attempts, 1)
    );
}

#[test]
fn what_was_left_goes_before_what_is_new() {
    let folder = tempfile::tempdir().unwrap();
    let (file, platform) = (folder.path().join("a.db"), Platform::new("1000"));
    run(async {
        let model = Gated::new(echo(), "old");
        let house = Plan::new(Arc::clone(&model) as _)
            .store(&open(&file).await)
            .on(Arc::clone(&platform))
            .build()
            .await;
        let batch = (0..50).map(|n| house.message(&dm("7"), &format!("old {n}"))).collect();
        house.receive(batch).await;
        model.reached(1).await;
    });
    platform.unplug();
    run(async {
        let house = Plan::new(echo())
            .set("BUSY_POLICY", "each")
            .store(&open(&file).await)
            .on(Arc::clone(&platform))
            .build()
            .await;
        // Received at once, while recovery is still reading unfinished messages.
        let new = dm("7").message(house.clock.now(), "7-new", "new");
        house.receive(vec![new]).await;
        platform.until_shown("7", 51).await;
        house.quiet().await;
    });
    let expected: Vec<_> =
        (0..50).map(|n| format!("re: old {n}")).chain(["re: new".to_owned()]).collect();
    assert_eq!(platform.texts("7"), expected);
}

/// A clock whose pauses take a thousandth of their time.
struct Hasty;

impl Clock for Hasty {
    fn now(&self) -> Timestamp {
        SystemClock.now()
    }

    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(tokio::time::sleep(duration / 1_000))
    }
}

/// Ends the program `times` times during the turn of the message "deadly" in room 7.
fn crashes(file: &Path, platform: &Arc<Platform>, times: u32) -> MemoryId {
    let mut id = None;
    for _ in 0..times {
        platform.unplug();
        run(async {
            let model = Gated::new(echo(), "deadly");
            let house = Plan::new(Arc::clone(&model) as _)
                .clock(Arc::new(Hasty))
                .store(&open(file).await)
                .on(Arc::clone(platform))
                .build()
                .await;
            if id.is_none() {
                id = Some(house.say(&dm("7"), "deadly").await);
            }
            // If the first run reads the message back during recovery, that counts as one more
            // turn, and the message is given up one run earlier.
            tokio::select! {
                () = model.reached(1) => {}
                () = house.quiet() => {}
            }
        });
    }
    platform.unplug();
    id.unwrap()
}

#[test]
fn a_message_that_may_end_the_program_waits_uncounted_and_holds_up_no_other_room() {
    let folder = tempfile::tempdir().unwrap();
    let (file, platform) = (folder.path().join("a.db"), Platform::new("1000"));
    let id = crashes(&file, &platform, 8);
    let attempts =
        |store: Database| async move { store.inbox_item(id).await.unwrap().unwrap().attempts };
    run(async {
        let store = open(&file).await;
        let before = attempts(store.clone()).await;
        assert!((7..10).contains(&before), "{before}");
        // Its pauses end only with the program.
        let clock = ManualClock::at(SystemClock.now());
        let house = Plan::new(echo())
            .clock(clock.shared())
            .store(&store)
            .on(Arc::clone(&platform))
            .build()
            .await;
        house.say(&dm("8"), "and I?").await;
        platform.until_shown("8", 1).await;
        assert_eq!(attempts(store.clone()).await, before);
        assert!(platform.texts("7").is_empty());
        house.orchestrator.stop_agent(house.agent, Duration::from_secs(10)).await.unwrap();
        assert_eq!(platform.texts("7"), ["re: deadly"]);
    });
}

#[test]
fn a_message_that_ends_the_program_every_time_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let (file, platform) = (folder.path().join("a.db"), Platform::new("1000"));
    let id = crashes(&file, &platform, 11);
    run(async {
        let house =
            Plan::new(echo()).store(&open(&file).await).on(Arc::clone(&platform)).build().await;
        house.quiet().await;
        let said = house.explain(id).await;
        assert_eq!(said.state, InboxState::Dead);
        assert!(said.summary.contains("10 turns were begun"), "{}", said.summary);
        house.receive(vec![dm("7").message(house.clock.now(), "7-new", "still there?")]).await;
        platform.until_shown("7", 1).await;
    });
}

#[tokio::test]
async fn unclaimed_stored_messages_are_answered_without_a_restart() {
    let mut plan = Plan::new(echo());
    plan.reconcile_every = Duration::from_millis(5);
    let house = plan.build().await;
    let known = house.say(&dm("7"), "one").await;
    house.platform.until_shown("7", 1).await;
    let mut entry = house.store.inbox_item(known).await.unwrap().unwrap().entry;
    entry.memory = Memory {
        id: MemoryId::fresh(),
        content: Content::text("two"),
        created_at: house.clock.now(),
        ..entry.memory
    };
    entry.remote = RemoteId::new("7-late");
    // As after a commit whose answer is lost: the connector delivers the message again, and it is
    // already stored.
    house.store.ingest(Ingest { messages: vec![entry], ..Ingest::default() }).await.unwrap();
    assert_eq!(house.platform.until_shown("7", 2).await[1], "re: two");
}
