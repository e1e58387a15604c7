//! A PostgreSQL for tests: one server for all test processes of a run, a database of its own for
//! every test.
//!
//! Server programs are looked for in `GALATEA_TEST_POSTGRES_BIN`, in `PATH` and where distributions
//! put them; on a machine without them they are installed ([`binaries`]). The server runs in a
//! temporary folder on a loopback port, never as root, and ends by itself some minutes after its
//! last use.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

pub mod binaries;
mod obstacle;
mod pooler;
mod proxy;
mod server;

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use std::thread;

pub use obstacle::Obstacle;
pub use pooler::TransactionPooler;
pub use proxy::Proxy;
pub use server::Server;

/// An empty database of its own; removed when it is dropped.
pub struct Database {
    name: String,
    server: Server,
}

impl Database {
    /// A new database on the server shared by all tests.
    pub async fn fresh() -> Self {
        let server = tokio::task::spawn_blocking(Server::shared)
            .await
            .expect("the server is found or started");
        Self::on(server).await
    }

    /// A new database in which pgvector is installed, on a server that has it, shared by all tests
    /// that need one.
    pub async fn with_pgvector() -> Self {
        let server = tokio::task::spawn_blocking(Server::shared_with_pgvector)
            .await
            .expect("the server is found or started");
        let database = Self::on(server).await;
        database.execute("CREATE EXTENSION vector".to_owned()).await;
        database
    }

    /// A new database on this server.
    pub async fn on(server: Server) -> Self {
        let name = format!("test_{}", uuid::Uuid::new_v4().simple());
        execute(&server, format!("CREATE DATABASE {name} TEMPLATE template0")).await;
        Self { name, server }
    }

    /// Its address, with user and password.
    pub fn url(&self) -> String {
        self.server.url(&self.name)
    }

    /// How many transactions that wrote something the server has begun so far.
    pub async fn writes(&self) -> i64 {
        let mut connection =
            PgConnection::connect(&self.url()).await.expect("the test server answers");
        let next =
            sqlx::query_scalar("SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint")
                .fetch_one(&mut connection)
                .await
                .unwrap();
        connection.close().await.unwrap();
        next
    }

    /// Gives every part of the Rooms that anybody holds to somebody who never does anything, or to
    /// nobody.
    ///
    /// Whoever held them learns of it with his next sign of life.
    pub async fn take_rooms(&self, away: bool) {
        let (holder, until) =
            if away { ("gen_random_uuid()", "9007199254740991") } else { ("NULL", "0") };
        let statement = format!(
            "UPDATE leases SET member_id = {holder}, epoch = epoch + 1, expires_at = {until} WHERE part LIKE 'rooms:%'"
        );
        self.execute(statement).await;
    }

    /// Gives a part to the one member there is, who does not know of it: as after a claim whose
    /// answer was lost.
    pub async fn give_unasked(&self, part: &str) {
        let member = "(SELECT id FROM members)";
        self.execute(format!("INSERT INTO leases (part, member_id, epoch, expires_at) VALUES ('{part}', {member}, 1, 9007199254740991)")).await;
    }

    /// As if a later version of the program had been here.
    pub async fn written_by_a_newer_version(&self) {
        let row = "INSERT INTO galatea._sqlx_migrations (version, description, success, checksum, execution_time) VALUES (9999, 'later', true, '', 0)";
        self.execute(row.to_owned()).await;
    }

    /// How many sessions the program has here right now, in all its processes.
    pub async fn sessions(&self) -> i64 {
        let mut connection = PgConnection::connect(&self.url()).await.unwrap();
        let count = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'galatea'";
        let count = sqlx::query_scalar(count).fetch_one(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        count
    }

    /// How many rows a table has.
    pub async fn count(&self, table: &str) -> i64 {
        let mut connection = PgConnection::connect(&self.url()).await.unwrap();
        let count = sqlx::query_scalar(AssertSqlSafe(format!("SELECT count(*) FROM {table}")))
            .fetch_one(&mut connection)
            .await
            .unwrap();
        connection.close().await.unwrap();
        count
    }

    async fn execute(&self, statement: String) {
        let mut connection = PgConnection::connect(&self.url()).await.unwrap();
        connection.execute(AssertSqlSafe(statement)).await.unwrap();
        connection.close().await.unwrap();
    }

    /// The server it is on.
    pub fn server(&self) -> &Server {
        &self.server
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if !self.server.is_running() {
            return;
        }
        let (server, name) = (self.server.clone(), self.name.clone());
        // A runtime cannot be entered from within another one, hence the thread.
        let removed = thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime
                .block_on(execute(&server, format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")));
        });
        // A database that stays goes with its server's folder.
        let _ = removed.join();
    }
}

async fn execute(server: &Server, statement: String) {
    let mut connection =
        PgConnection::connect(&server.url("postgres")).await.expect("the test server answers");
    connection
        .execute(AssertSqlSafe(statement.clone()))
        .await
        .unwrap_or_else(|e| panic!("{statement}: {e}"));
    connection.close().await.unwrap();
}
