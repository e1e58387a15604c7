//! PostgreSQL for tests: one server shared by all test processes, and a fresh database for every
//! test.
//!
//! The server programs are searched for in `GALATEA_TEST_POSTGRES_BIN`, in `PATH` and in the
//! folders distributions use; a machine without them gets them installed ([`binaries`]). The server
//! runs in a temporary folder on a loopback port, never as root, and stops some minutes after its
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

/// An empty database for one test; dropped with this value.
pub struct Database {
    name: String,
    server: Server,
}

/// The server's counts of writing, since it was set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// Writing transactions of the server.
    pub transactions: i64,
    /// Rows inserted, updated and deleted in the tables of the database.
    pub rows: i64,
    /// Bytes of the server's write-ahead log, full pages after checkpoints included.
    pub log_bytes: i64,
}

impl Database {
    /// A new database on the shared server.
    pub async fn fresh() -> Self {
        let server = tokio::task::spawn_blocking(Server::shared)
            .await
            .expect("the server is found or started");
        Self::on(server).await
    }

    /// A new database on this server.
    pub async fn on(server: Server) -> Self {
        let name = format!("test_{}", uuid::Uuid::new_v4().simple());
        execute(&server, format!("CREATE DATABASE {name} TEMPLATE template0")).await;
        Self { name, server }
    }

    /// Connection URL, with user and password.
    pub fn url(&self) -> String {
        self.server.url(&self.name)
    }

    /// Counts so far. Sessions report their rows late: within a second while they work,
    /// and ten seconds after they have become idle.
    pub async fn written(&self) -> Written {
        let mut connection =
            PgConnection::connect(&self.url()).await.expect("the test server answers");
        let select = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint, \
             (SELECT coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0)::bigint FROM pg_stat_user_tables), \
             (pg_current_wal_lsn() - '0/0')::bigint";
        let (transactions, rows, log_bytes) =
            sqlx::query_as(select).fetch_one(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        Written { transactions, rows, log_bytes }
    }

    /// Takes all leases on Rooms away: gives them to a member that does nothing (`away`), or
    /// releases them.
    ///
    /// The old owners learn of it with their next heartbeat.
    pub async fn take_rooms(&self, away: bool) {
        let (holder, until) =
            if away { ("gen_random_uuid()", "9007199254740991") } else { ("NULL", "0") };
        let statement = format!(
            "UPDATE leases SET member_id = {holder}, epoch = epoch + 1, expires_at = {until} WHERE part LIKE 'rooms:%'"
        );
        self.execute(statement).await;
    }

    /// Gives a lease to the only member without its knowledge, as after a claim whose answer was
    /// lost.
    pub async fn give_unasked(&self, part: &str) {
        let member = "(SELECT id FROM members)";
        self.execute(format!("INSERT INTO leases (part, member_id, epoch, expires_at) VALUES ('{part}', {member}, 1, 9007199254740991)")).await;
    }

    /// Marks the schema as written by a later version of the program.
    pub async fn written_by_a_newer_version(&self) {
        let row = "INSERT INTO galatea._sqlx_migrations (version, description, success, checksum, execution_time) VALUES (9999, 'later', true, '', 0)";
        self.execute(row.to_owned()).await;
    }

    /// Number of sessions the program has open now, in all its processes.
    pub async fn sessions(&self) -> i64 {
        let mut connection = PgConnection::connect(&self.url()).await.unwrap();
        let count = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'galatea'";
        let count = sqlx::query_scalar(count).fetch_one(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        count
    }

    /// Number of rows in a table.
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

    /// The server of this database.
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
        // A runtime cannot be entered from within another one, so a thread does it.
        let removed = thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime
                .block_on(execute(&server, format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")));
        });
        // A database that was not dropped disappears with its server's folder.
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
