//! Two handles on one database, as two processes have them.

use galatea_core::{
    AgentId, ErrorKind, MemberId, TurnId,
    store::{
        Fence, Group, InboxStore, LeaseStore, Membership, MemoryStore, OutboxStore, Partition,
        TurnRecord, room_partition,
    },
};
use galatea_testkit::{postgres::Database, store_suite::fixtures::Scene};
use sqlx::{Connection, Executor, PgConnection};
use std::time::Duration;

use super::{open, open_at};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_database_is_set_up_once() {
    let database = Database::fresh().await;
    let url = database.url();
    for store in futures::future::join_all((0..6).map(|_| open_at(&url))).await {
        assert!(store.unwrap().is_shared());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_two_receive_is_new_to_one() {
    let database = Database::fresh().await;
    let (a, b) = tokio::join!(open(&database), open(&database));
    let scene = Scene::new();
    for n in 0..50 {
        let messages: Vec<_> = (0..5).map(|m| scene.message("hello", n * 5 + m)).collect();
        let (mut left, mut right) = (Scene::batch(&messages), Scene::batch(&messages));
        (left.connections, right.connections) = (scene.connections(), scene.connections());
        let (left, right) = tokio::join!(a.ingest(left), b.ingest(right));
        for (left, right) in left.unwrap().new.into_iter().zip(right.unwrap().new) {
            assert!(left ^ right, "exactly one");
        }
    }
    assert_eq!(a.unfinished_in_room(scene.room, 1_000).await.unwrap().len(), 250);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_that_two_finish_is_committed_once() {
    let database = Database::fresh().await;
    let (a, b) = tokio::join!(open(&database), open(&database));
    for _ in 0..50 {
        let scene = Scene::new();
        let message = scene.message("hello", 1);
        a.ingest(Scene::batch(std::slice::from_ref(&message))).await.unwrap();
        let records = [scene.turn(&[&message]), scene.turn(&[&message])];
        let [left, right] = records.clone();
        let (left, right) = tokio::join!(a.finish_turn(left), b.finish_turn(right));
        let (loser, error) = match (left, right) {
            (Ok(()), Err(error)) => (1, error),
            (Err(error), Ok(())) => (0, error),
            other => panic!("one must win: {other:?}"),
        };
        assert_eq!(error.kind(), ErrorKind::Conflict);
        assert_eq!(a.deliveries_of(records[loser].turn).await.unwrap(), []);
        assert_eq!(b.deliveries_of(records[1 - loser].turn).await.unwrap().len(), 1);
        assert_eq!(a.memory(records[loser].memories[0].id).await.unwrap(), None);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_part_that_two_enqueue_is_written_once() {
    let database = Database::fresh().await;
    let (a, b) = tokio::join!(open(&database), open(&database));
    let (scene, turn) = (Scene::new(), TurnId::fresh());
    let (left, right) = tokio::join!(
        a.enqueue(vec![scene.delivery(turn, 0)], Vec::new()),
        b.enqueue(vec![scene.delivery(turn, 0)], Vec::new())
    );
    assert!(left.is_ok() ^ right.is_ok());
    assert_eq!(a.deliveries_of(turn).await.unwrap().len(), 1);
}

/// The holder's transaction is open and holds the lease's row when the process is paused: the
/// server ends it, the part is taken over, and what the paused one wakes up to do is not committed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_paused_past_its_lease_cannot_commit() {
    let database = Database::fresh().await;
    let (a, b) = tokio::join!(open(&database), open(&database));
    let scene = Scene::new();
    let message = scene.message("hello", 1);
    a.ingest(Scene::batch(std::slice::from_ref(&message))).await.unwrap();
    let (zombie, next, part) = (
        MemberId::fresh(),
        MemberId::fresh(),
        [Partition::rooms(scene.agent, room_partition(scene.room))],
    );
    let old = a.claim(zombie, &part, 1, Duration::ZERO).await.unwrap();
    // Expired from the first moment: what counts is who holds it.
    let lease = b.leases().await.unwrap().remove(0).lease;
    assert_eq!(old, std::slice::from_ref(&lease));

    let mut paused = PgConnection::connect(&database.url()).await.unwrap();
    paused.execute(crate::postgres::SESSION).await.unwrap();
    // Not ended by the server before another process has met it.
    paused.execute("SET idle_in_transaction_session_timeout TO 0").await.unwrap();
    paused
        .execute("BEGIN; SELECT FROM leases FOR SHARE; UPDATE inbox SET state = 'done'")
        .await
        .unwrap();
    assert_eq!(
        b.claim(next, &part, 1, Duration::from_secs(60)).await.unwrap(),
        [],
        "its transaction still holds it"
    );
    paused.execute(crate::postgres::SESSION).await.unwrap();
    let new = loop {
        let claimed = b.claim(next, &part, 1, Duration::from_secs(60)).await.unwrap();
        match claimed.into_iter().next() {
            Some(lease) => break lease,
            None => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    };
    assert_eq!(new.epoch, lease.epoch + 1);
    paused.execute("COMMIT").await.unwrap_err();
    let late =
        TurnRecord { fence: Some(Fence { member: zombie, lease }), ..scene.turn(&[&message]) };
    assert_eq!(a.finish_turn(late).await.unwrap_err().kind(), ErrorKind::Conflict);
    b.finish_turn(TurnRecord {
        fence: Some(Fence { member: next, lease: new }),
        ..scene.turn(&[&message])
    })
    .await
    .unwrap();
}

/// Two processes renew, claim, ingest and answer under their leases at once: nothing gets stuck or
/// fails but for losing a part.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn renewing_while_answering_stops_no_answer() {
    let database = Database::fresh().await;
    let store = open(&database).await;
    let (member, agent) = (MemberId::fresh(), AgentId::fresh());
    let held = store
        .claim(member, &Partition::all_rooms(agent), 64, Duration::from_secs(60))
        .await
        .unwrap();
    let renewing = async {
        for _ in 0..100 {
            assert_eq!(store.renew(member, Duration::from_secs(60)).await.unwrap().len(), 64);
        }
    };
    let answering = futures::future::join_all((0..100).map(|_| async {
        let scene = Scene::new();
        let message = scene.message("hello", 1);
        store.ingest(Scene::batch(std::slice::from_ref(&message))).await.unwrap();
        let part = Partition::rooms(agent, room_partition(scene.room));
        let lease = held.iter().find(|lease| lease.part == part).unwrap().clone();
        store
            .finish_turn(TurnRecord {
                fence: Some(Fence { member, lease }),
                ..scene.turn(&[&message])
            })
            .await
            .unwrap();
    }));
    tokio::join!(renewing, answering);
}

/// Nobody looks again at a pulse that stays the same, so everything changes it that another process
/// has to react to: also a process that does as much as before but something else, and partitions
/// that become free in portions of the same size.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_pulse_differs_after_all_that_others_react_to() {
    const LONG: Duration = Duration::from_secs(60);
    let database = Database::fresh().await;
    let store = open(&database).await;
    let (here, there, agent) = (MemberId::fresh(), MemberId::fresh(), AgentId::fresh());
    let of = |group: Group| Membership { groups: vec![group], ..Membership::default() };
    let pulse = async || store.pulse().await.unwrap().state;
    let mut seen = vec![pulse().await];
    for group in [Group::rooms(agent), Group::some_rooms(agent)] {
        store.beat(here, &of(group), LONG).await.unwrap();
        seen.push(pulse().await);
    }
    let all = Partition::all_rooms(agent);
    store.claim(here, &all, 64, LONG).await.unwrap();
    for portion in all.chunks(16) {
        store.release(here, portion).await.unwrap();
        seen.push(pulse().await);
        store.claim(there, portion, 16, LONG).await.unwrap();
    }
    for (at, pulse) in seen.iter().enumerate() {
        assert!(!seen[..at].contains(pulse), "{at}: {seen:#?}");
    }
    let before = pulse().await;
    store.renew(there, LONG).await.unwrap();
    store.beat(here, &of(Group::some_rooms(agent)), LONG).await.unwrap();
    assert_eq!(pulse().await, before, "heartbeats alone change nothing");
}
