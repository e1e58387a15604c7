//! One statement for any number of changes: an INSERT into a view whose triggers carry out each row.
//!
//! The view and its triggers are temporary objects of the writer's connection, so their text lives beside the trait they
//! serve and is no part of the file. A group of changes is one statement and therefore one transaction, in the order the
//! changes came; PostgreSQL does the same with data-modifying CTEs.

use sqlx::{AssertSqlSafe, Executor, SqliteConnection};

use crate::{agent, cache, connect, cursor, effect, embedding, entity, inbox, memory, outbox, relationship, room, search, step, task, world};

/// Carries out the rows of `?1`. The first row tells the file's `data_version`, which differs from the last one when another connection has
/// committed something in between (<https://www.sqlite.org/pragma.html#pragma_data_version>).
pub(crate) const APPLY: &str =
    "PRAGMA data_version; INSERT INTO apply (op, c, n, body) SELECT value ->> 'op', value ->> 'c', value ->> 'n', value FROM jsonb_each(?1)";

/// The same, and tells how many rows each answered row touched. `c` in the subquery makes SQLite evaluate it for every row.
pub(crate) const APPLY_ANSWERED: &str = "PRAGMA data_version; INSERT INTO apply (op, c, n, body) SELECT value ->> 'op', value ->> 'c', value ->> 'n', value FROM jsonb_each(?1) \
     RETURNING c, n, (SELECT hits FROM answer WHERE apply.c IS NOT NULL)";

/// A trigger: the `op` it serves and what it does with `NEW.body`, a JSON object.
pub(crate) type Trigger = (&'static str, &'static str);

/// Ops of messages and turns: looked at for every row.
const HOT: &[&[Trigger]] = &[inbox::TRIGGERS, memory::HOT_TRIGGERS, outbox::TRIGGERS, cursor::TRIGGERS];

/// All others: looked at only for rows that none of the hot ones serves.
const COLD: &[&[Trigger]] = &[
    connect::TRIGGERS,
    effect::TRIGGERS,
    agent::TRIGGERS,
    world::TRIGGERS,
    entity::TRIGGERS,
    room::TRIGGERS,
    memory::TRIGGERS,
    search::TRIGGERS,
    embedding::TRIGGERS,
    relationship::TRIGGERS,
    task::TRIGGERS,
    cache::TRIGGERS,
    step::TRIGGERS,
    outbox::COLD_TRIGGERS,
];

/// Statements that set up a connection for [`APPLY`].
pub(crate) fn setup() -> Vec<String> {
    let mut out = vec![
        "CREATE TEMP TABLE answer (hits INTEGER NOT NULL)".to_owned(),
        "INSERT INTO answer (hits) VALUES (0)".to_owned(),
        // Filled and emptied within one change.
        "CREATE TEMP TABLE forgotten (id BLOB NOT NULL PRIMARY KEY) WITHOUT ROWID".to_owned(),
        "CREATE TEMP VIEW apply (op, c, n, body) AS SELECT NULL, NULL, NULL, NULL WHERE false".to_owned(),
        "CREATE TEMP VIEW apply_cold (op, body) AS SELECT NULL, NULL WHERE false".to_owned(),
    ];
    let mut hot = Vec::new();
    for (op, body) in HOT.iter().copied().flatten() {
        out.push(format!("CREATE TEMP TRIGGER apply_{op} INSTEAD OF INSERT ON apply WHEN NEW.op = '{op}' BEGIN {body} END"));
        hot.push(format!("'{op}'"));
    }
    out.push(format!(
        "CREATE TEMP TRIGGER apply_other INSTEAD OF INSERT ON apply WHEN NEW.op NOT IN ({}) BEGIN INSERT INTO apply_cold (op, body) VALUES (NEW.op, NEW.body); END",
        hot.join(", ")
    ));
    for (op, body) in COLD.iter().copied().flatten() {
        out.push(format!("CREATE TEMP TRIGGER apply_{op} INSTEAD OF INSERT ON apply_cold WHEN NEW.op = '{op}' BEGIN {body} END"));
    }
    out
}

/// Sets up a connection for [`APPLY`].
pub(crate) async fn prepare(connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    for statement in setup() {
        connection.execute(AssertSqlSafe(statement)).await?;
    }
    Ok(())
}

/// The change that a `RAISE(ABORT, 'conflict:' || NEW.c)` of a trigger names.
pub(crate) fn conflict(error: &sqlx::Error) -> Option<i64> {
    error.as_database_error()?.message().strip_prefix("conflict:")?.parse().ok()
}
