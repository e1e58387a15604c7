//! Servers that say nothing any more: reads end, their connections are replaced, and heartbeats do
//! not wait for them. Here a lock keeps the answers away.

use galatea_core::{
    AgentId, ErrorKind, MemberId,
    store::{LeaseStore, Membership, MemoryQuery, MemoryStore, Partition},
};
use galatea_testkit::{postgres::Database, store_suite::fixtures::Scene};
use sqlx::{Connection, Executor, PgConnection, query_scalar};
use std::{sync::atomic::AtomicU64, time::Duration};
use tokio::time::timeout;

use super::Store;
use crate::{
    PostgresOptions,
    dialect::Statement,
    postgres::{self, Place, Readers},
};

const LONG: Duration = Duration::from_secs(600);

fn one_reader() -> PostgresOptions {
    PostgresOptions { readers: 1, ..PostgresOptions::default() }
}

/// Reads of memories wait until this transaction ends.
struct BlockedReads(PgConnection);

impl BlockedReads {
    async fn begin(database: &Database) -> Self {
        let mut connection = PgConnection::connect(&database.url()).await.unwrap();
        connection.execute("BEGIN; LOCK TABLE galatea.memories").await.unwrap();
        Self(connection)
    }

    /// Completes when a reader waits.
    async fn reached(&mut self) {
        let waits = "SELECT EXISTS (SELECT FROM pg_locks WHERE relation = 'galatea.memories'::regclass AND NOT granted)";
        let reached = async {
            while !query_scalar::<_, bool>(waits).fetch_one(&mut self.0).await.unwrap() {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        timeout(Duration::from_secs(60), reached).await.expect("no reader waits");
    }
}

async fn memories(readers: Readers) -> galatea_core::Result<Vec<(i64,)>> {
    let count = Statement::for_postgres("SELECT count(*) FROM memories", Vec::new());
    readers.all(&AtomicU64::new(0), count).await
}

/// Reads an unlocked table by the only connection.
async fn is_free(readers: &Readers) -> bool {
    let count = Statement::for_postgres("SELECT count(*) FROM rooms", Vec::new());
    readers.all::<(i64,)>(&AtomicU64::new(0), count).await.is_ok()
}

#[tokio::test]
async fn a_read_without_an_answer_ends_and_its_connection_with_it() {
    let database = Database::fresh().await;
    let readers = postgres::database(&database.url().into(), &one_reader()).await.unwrap().readers;
    let _blocked = BlockedReads::begin(&database).await;
    let hasty = Readers { limit: Duration::from_millis(50), ..readers.clone() };
    let error = memories(hasty).await.unwrap_err();
    assert_eq!(
        (error.code(), error.kind()),
        (Some("GAL-DB-HOST"), ErrorKind::Unavailable),
        "{}",
        error.report()
    );
    assert!(is_free(&readers).await);
}

/// The server executes a statement to its end though its caller has gone, and must not execute more
/// than there may be connections.
#[tokio::test]
async fn a_read_that_is_given_up_counts_until_its_server_has_answered() {
    let database = Database::fresh().await;
    let readers = postgres::database(&database.url().into(), &one_reader()).await.unwrap().readers;
    let mut blocked = BlockedReads::begin(&database).await;
    let reading = tokio::spawn(memories(readers.clone()));
    blocked.reached().await;
    reading.abort();
    assert!(reading.await.unwrap_err().is_cancelled());
    let mut free = std::pin::pin!(is_free(&readers));
    assert!(timeout(Duration::from_millis(50), free.as_mut()).await.is_err());
    blocked.0.execute("ROLLBACK").await.unwrap();
    assert!(free.await);
}

#[tokio::test]
async fn a_caller_that_gives_up_leaves_no_connection_that_waits_for_ever() {
    let database = Database::fresh().await;
    postgres::database(&database.url().into(), &one_reader()).await.unwrap();
    let place = Place::parse(&database.url().into(), &one_reader()).unwrap();
    // The connection's own limit ends what no caller waits for any more; the calls here have none.
    let readers = Readers { limit: LONG, ..place.readers(1, Duration::from_secs(2)) };
    let mut blocked = BlockedReads::begin(&database).await;
    let reading = tokio::spawn(memories(readers.clone()));
    blocked.reached().await;
    reading.abort();
    assert!(is_free(&readers).await);
}

#[tokio::test]
async fn signs_of_life_wait_for_no_read() {
    let database = Database::fresh().await;
    let store = Store::postgres(&database.url().into(), one_reader()).await.unwrap();
    let mut blocked = BlockedReads::begin(&database).await;
    let (reader, query) = (store.clone(), MemoryQuery::new(Scene::new().agent, 1));
    let reading = tokio::spawn(async move { reader.count_memories(&query).await });
    blocked.reached().await;
    let (member, parts) = (MemberId::fresh(), Partition::all_rooms(AgentId::fresh()));
    store.beat(member, &Membership::default(), LONG).await.unwrap();
    assert_eq!(store.claim(member, &parts, 3, LONG).await.unwrap().len(), 3);
    assert_eq!(store.renew(member, LONG).await.unwrap().len(), 3);
    store.release(member, &parts).await.unwrap();
    store.leave(member).await.unwrap();
    blocked.0.execute("ROLLBACK").await.unwrap();
    assert_eq!(reading.await.unwrap().unwrap(), 0);
    store.close().await;
    assert_eq!(
        store.renew(member, LONG).await.unwrap_err().kind(),
        ErrorKind::Unavailable,
        "their connection is closed, too"
    );
}
