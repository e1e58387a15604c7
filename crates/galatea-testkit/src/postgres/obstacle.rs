//! A database in which messages cannot be finished: whoever tries waits, and is told that the disk
//! is full.

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, query_scalar};
use std::time::Duration;

use super::Database;

const WAITS: &str = "SELECT EXISTS (SELECT FROM pg_locks JOIN pg_database d ON d.oid = database
    WHERE locktype = 'advisory' AND NOT granted AND d.datname = current_database())";

/// In the way until it is taken away.
pub struct Obstacle(PgConnection);

impl Obstacle {
    /// From now on no message of this store comes into one of these states, such as "done" or
    /// "skipped". Its tables must be there.
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

    /// Completes when somebody has come to it.
    pub async fn reached(&mut self) {
        while !query_scalar::<_, bool>(WAITS).fetch_one(&mut self.0).await.unwrap() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Whoever waits is refused, and the next one gets through.
    pub async fn remove(mut self) {
        self.0.execute("SELECT pg_advisory_unlock(1)").await.unwrap();
        self.0.execute("DROP TRIGGER obstacle ON inbox; DROP FUNCTION obstacle()").await.unwrap();
        self.0.close().await.unwrap();
    }
}
