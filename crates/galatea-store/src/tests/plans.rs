//! On a database of 100,000 messages no statement reads a growing table whole, and none that names a
//! Room, World or person reads all rows of the agent, but for those that are named here with the
//! reason.

mod fill;
mod reads;

use galatea_core::{
    Cursor,
    store::{InboxStore, Ingest, MemoryStore, OutboxState, OutboxStore},
};
use galatea_testkit::{
    postgres::Database as Server,
    store_suite::fixtures::{SOURCE, Scene, account, settlement},
};
use sqlx::{
    AssertSqlSafe, Connection, Executor, PgConnection, Row, SqlSafeStr, Statement, TypeInfo, query,
    query_as, query_scalar,
};

use self::reads::Schema;
use super::statements::{self, Named};
use crate::{Database, PostgresOptions};

/// Statements that read tables whole, in both databases.
const WHOLE: &[(&str, &[&str])] = &[
    // Clearing an agent is rare, and no limit of time ends it.
    ("agent::SOME_DOOMED", &["memories"]),
    ("agent::LEFT", &["memories"]),
    ("agent::PARTICIPANTS", &["participants", "worlds", "rooms"]),
    ("agent::STEPS", &["inbox", "step"]),
    ("agent::ROOMS", &["worlds", "rooms"]),
    ("agent::OUTBOX", &["outbox"]),
    ("agent::INBOX", &["inbox"]),
    ("agent::WORLDS", &["worlds"]),
    ("agent::ENTITIES", &["entities"]),
    ("agent::RELATIONSHIPS", &["relationships"]),
    ("agent::LINKS", &["identity_links"]),
    ("agent::TASKS", &["tasks"]),
    ("agent::CACHE", &["cache"]),
    ("agent::BLOCKS", &["blocks"]),
    ("agent::CONNECTOR_STATE", &["connector_state"]),
    ("agent::CURSORS", &["cursors"]),
    ("agent::USAGE", &["usage"]),
    // Worlds are few, and this is asked once an hour.
    ("agent::WITH_RETENTION", &["worlds"]),
    // Counts, and lists that an operator asks for.
    ("agent::AGENTS", &["agents"]),
    ("agent::TRACES", &["traces"]),
    ("agent::TRACE_BOUNDS", &["trace_bounds"]),
    ("audit::AUDIT", &["inbox", "outbox"]),
    ("audit::MISSING", &["connector_state"]),
    ("channel::SERVERS", &["channel_servers"]),
    ("channel::SERVERS_OF_AGENT", &["channel_server_agents"]),
    ("chat::COUNT_JOBS", &["jobs"]),
    ("chat::JOBS", &["jobs"]),
    ("chat::SESSIONS", &["chat_sessions"]),
    ("count", &["memories"]),
    ("house::USERS", &["users"]),
    // Operators set few settings and create few agents; both are read at a start.
    ("stored_setting::SETTINGS", &["stored_settings"]),
    ("stored_setting::CREATED", &["created_agents"]),
    // At most 32, looked at each second.
    ("webhook::WEBHOOKS", &["webhooks"]),
    ("inbox::UNEXPLAINED", &["inbox"]),
    ("outbox::SELECTED", &["outbox"]),
    ("outbox::SENT_AS", &["outbox"]),
    ("inbox::OF_TURN", &["inbox"]),
    // A person seldom goes, and traces have a bound in bytes, which is looked at now and then.
    ("trace::BLANK_AGENT", &["traces"]),
    ("trace::BLANK_OLD", &["traces"]),
    ("trace::EXPIRE_BOUNDS", &["trace_bounds"]),
    ("trace::TOO_MUCH", &["traces"]),
    // Answers are kept for a day, and a person seldom goes.
    ("record::BLANK", &["kept_answers"]),
    ("room::OF_PERSON", &["rooms", "participants"]),
    ("usage::SINCE", &["usage"]),
    // An operator's search by meaning compares the signs of all embeddings.
    ("operator's search", &["embeddings", "memories"]),
    // Tasks are few, and a person or a Room seldom goes.
    ("forget::TASKS", &["tasks"]),
    ("forget::GRANTS", &["grants"]),
    ("room::MOVE", &["tasks", "grants"]),
    // Once at the start of a process.
    ("task::RELEASE", &["tasks"]),
    // A person's list: those of an agent, which are few, in the order of their time.
    ("task::SCHEDULED", &["tasks"]),
    ("task::OF_PERSON", &["tasks"]),
    ("task::OF_ROOM", &["tasks"]),
];

/// The same in SQLite.
const WHOLE_IN_SQLITE: &[(&str, &[&str])] = &[
    // Forgetting a person and moving a Room go through the queues once.
    ("forget::INBOX", &["inbox"]),
    // It also reads the agent's summaries once, to find those of Worlds with a retention period.
    ("forget::DOOMED", &["inbox", "memories"]),
    ("forget::UNREMEMBERED", &["inbox"]),
    ("forget::UNREMEMBERED_UNSENT", &["inbox"]),
    ("forget::WORLDS", &["worlds"]),
    ("forget::MEMORIES", &["inbox"]),
    ("room::MOVE", &["inbox", "outbox"]),
    // Lists of all that an agent has of something.
    ("grant::GRANTS", &["grants"]),
    ("link::LINKS", &["identity_links"]),
    ("task::TASKS", &["tasks"]),
    ("usage::BLOCKS", &["blocks"]),
    ("world::WORLDS", &["worlds"]),
];

/// The same in PostgreSQL.
const WHOLE_IN_POSTGRES: &[(&str, &[&str])] = &[
    // What was made from all that a person wrote: the server takes it for a good part of the table.
    // The same holds for the Rooms of Worlds with a retention period.
    ("forget::DOOMED", &["memory_sources", "rooms"]),
];

/// Which of these reads no list allows.
fn forbidden(
    statement: &Named,
    reads: Vec<(String, String)>,
    allowed: &[(&'static str, &'static [&'static str])],
) -> Vec<String> {
    let may = |table: &str| {
        allowed.iter().any(|(name, tables)| *name == statement.name && tables.contains(&table))
    };
    reads
        .into_iter()
        .filter(|(table, _)| !may(table))
        .map(|(table, how)| format!("{table}: {how}"))
        .collect()
}

/// Fails with all statements at once, so that one run shows what there is to mend.
fn none(found: &[String]) {
    assert!(
        found.is_empty(),
        "{} statements read whole tables, or all rows of an agent for one Room:\n{}",
        found.len(),
        found.join("\n\n")
    );
}

#[tokio::test]
async fn sqlite_reads_no_growing_table_whole() {
    let folder = tempfile::tempdir().unwrap();
    let (mut connection, schema) = fill::sqlite(&folder.path().join("galatea.db")).await;
    assert!(schema.growing.len() > 20 && schema.growing.contains("memory_sources"), "{schema:?}");
    let statements = statements::of_sqlite();
    assert!(statements.len() > 100, "{}", statements.len());
    let allowed = [WHOLE, WHOLE_IN_SQLITE].concat();
    let mut found = Vec::new();
    for statement in statements {
        let Named { name, text } = &statement;
        assert!(!text.contains("LIMIT $"), "{text}\nis prepared again each time");
        let explain = AssertSqlSafe(format!("EXPLAIN QUERY PLAN {text}"));
        let rows = query(explain).fetch_all(&mut connection).await;
        let rows = rows.unwrap_or_else(|e| panic!("{text}\n{e}"));
        let plan: Vec<String> = rows.iter().map(|row| row.get("detail")).collect();
        let reads = forbidden(&statement, reads::in_sqlite(&schema, text, &plan), &allowed);
        if !reads.is_empty() {
            found.push(format!("{name}: {text}\n{}\n{}", reads.join("\n"), plan.join("\n")));
        }
    }
    none(&found);
}

async fn filled_server() -> (Server, Database, PgConnection, Schema) {
    let server = Server::fresh().await;
    let url = server.url();
    let store = Database::postgres(&url.as_str().into(), PostgresOptions::default()).await.unwrap();
    let mut connection = PgConnection::connect(&url).await.unwrap();
    let schema = fill::postgres(&mut connection).await;
    (server, store, connection, schema)
}

/// The plan for any values, which the server takes after some executions.
async fn plan(connection: &mut PgConnection, statement: &str) -> serde_json::Value {
    let prepared = connection.prepare(AssertSqlSafe(statement.to_owned()).into_sql_str()).await;
    let prepared = prepared.unwrap_or_else(|e| panic!("{statement}\n{e}"));
    let parameters = prepared.parameters().unwrap().left().unwrap_or_default();
    let types: Vec<String> = parameters.iter().map(|t| t.name().to_owned()).collect();
    let nulls = vec!["NULL"; types.len()].join(", ");
    let (of, with) = if types.is_empty() {
        (String::new(), String::new())
    } else {
        (format!("({})", types.join(", ")), format!("({nulls})"))
    };
    let prepare = format!("PREPARE planned {of} AS {statement}");
    connection
        .execute(AssertSqlSafe(prepare))
        .await
        .unwrap_or_else(|e| panic!("{statement}\n{types:?}\n{e}"));
    let explain = AssertSqlSafe(format!("EXPLAIN (FORMAT JSON) EXECUTE planned{with}"));
    let plan = query_scalar(explain).fetch_one(&mut *connection).await.unwrap();
    connection.execute("DEALLOCATE planned").await.unwrap();
    plan
}

/// One test, since it takes long to fill a server.
#[tokio::test]
async fn postgres_reads_no_growing_table_whole() {
    let (_server, store, mut connection, schema) = filled_server().await;
    plans_read_none_whole(&mut connection, &schema).await;
    commit_group_reads_none_whole(store, connection, schema).await;
}

async fn plans_read_none_whole(connection: &mut PgConnection, schema: &Schema) {
    assert!(schema.growing.len() > 20 && schema.growing.contains("memory_sources"), "{schema:?}");
    connection.execute("SET plan_cache_mode TO force_generic_plan").await.unwrap();
    let allowed = [WHOLE, WHOLE_IN_POSTGRES].concat();
    let statements = statements::of_postgres();
    assert!(statements.len() > 100, "{}", statements.len());
    let mut found = Vec::new();
    for statement in statements {
        let plan = plan(connection, &statement.text).await;
        let reads =
            forbidden(&statement, reads::in_postgres(schema, &statement.text, &plan), &allowed);
        if !reads.is_empty() {
            found.push(format!("{}: {}\n{}", statement.name, statement.text, reads.join("\n")));
        }
    }
    none(&found);
}

#[test]
fn every_exception_names_a_statement() {
    let named: Vec<&str> = statements::of_sqlite().iter().map(|statement| statement.name).collect();
    for (name, _) in [WHOLE, WHOLE_IN_SQLITE, WHOLE_IN_POSTGRES].concat() {
        assert!(named.contains(&name), "{name}");
    }
}

/// The function's own statements: counted by the server while whole turns go through.
async fn commit_group_reads_none_whole(
    store: Database,
    mut connection: PgConnection,
    schema: Schema,
) {
    let growing: Vec<String> = schema.growing.into_iter().collect();
    let mut scans = async || -> Vec<(String, i64)> {
        connection.execute("SELECT pg_stat_clear_snapshot()").await.unwrap();
        let count = "SELECT relname::text, seq_tup_read::bigint FROM pg_stat_user_tables WHERE relname = ANY ($1) ORDER BY 1";
        query_as(count).bind(&growing).fetch_all(&mut connection).await.unwrap()
    };
    let before = scans().await;
    let scene = Scene::new();
    for n in 0..20 {
        let message = scene.message("hello", n);
        let cursor = Cursor { stream: "updates".to_owned(), position: n.to_string() };
        let ingest = Ingest {
            cursor: Some((scene.agent, SOURCE, account(), cursor)),
            ..Scene::batch(std::slice::from_ref(&message))
        };
        store.ingest(ingest).await.unwrap();
        store.begin_turn(&[message.memory.id]).await.unwrap();
        let record = scene.turn(&[&message]);
        let delivery = record.deliveries[0].delivery.id;
        store.finish_turn(record).await.unwrap();
        store.settle(vec![settlement(delivery, OutboxState::Sent)]).await.unwrap();
        store.delete_memories(scene.agent, &[message.memory.id]).await.unwrap();
    }
    // A session reports its counts when it ends.
    store.close().await;
    let mut read = scans().await;
    for _ in 0..100 {
        if read != before {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        read = scans().await;
    }
    assert_eq!(before, read, "rows read by scans");
}
