//! Blocks updates of inbox states: a blocked transaction waits, and then fails as if the disk were
//! full.

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, query_scalar};
use std::time::Duration;

use super::Database;

const WAITS: &str = "SELECT EXISTS (SELECT FROM pg_locks JOIN pg_database d ON d.oid = database
    WHERE locktype = 'advisory' AND NOT granted AND d.datname = current_database())";

/// Blocks transactions until it is removed.
pub struct Obstacle(PgConnection);

impl Obstacle {
    /// From now on no message can enter one of these states, such as "done" or "skipped". The
    /// store's tables must exist.
    pub async fn set(database: &Database, states: &[&str]) -> Self {
        let states = states.iter().map(|state| format!("'{state}'")).collect::<Vec<_>>().join(", ");
        let set = format!(
            "SELECT pg_advisory_lock(1);
             CREATE FUNCTION obstacle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                PERFORM pg_advisory_xact_lock(1);
                RAISE EXCEPTION 'no space left on device' USING ERRCODE = '53100';
             END $$;
             CREATE TRIGGER obstacle BEFORE UPDATE OF state ON inbox FOR EACH ROW WHEN (NEW.state IN ({states})) EXECUTE FUNCTION obstacle();"
        );
        let mut connection = PgConnection::connect(&database.url()).await.unwrap();
        connection.execute(AssertSqlSafe(set)).await.unwrap();
        Self(connection)
    }

    /// Completes when a transaction waits at the obstacle.
    pub async fn reached(&mut self) {
        while !query_scalar::<_, bool>(WAITS).fetch_one(&mut self.0).await.unwrap() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Fails the waiting transactions and lets later ones pass.
    pub async fn remove(mut self) {
        self.0.execute("SELECT pg_advisory_unlock(1)").await.unwrap();
        self.0.execute("DROP TRIGGER obstacle ON inbox; DROP FUNCTION obstacle()").await.unwrap();
        self.0.close().await.unwrap();
    }
}
