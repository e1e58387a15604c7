//! One statement for any number of changes: a function that carries out their rows, those of messages and turns all at once.
//!
//! The function lives in the temporary schema of the writer's connection, so its text lies beside the trait it serves, is no part of the
//! tables, and two versions of the program can work on one database. A group of changes is one statement and therefore one transaction and
//! one round trip, carried out as [`crate::group`] orders it; nobody can be paused inside of it. Each step sees what was committed before
//! (`READ COMMITTED`), and a row that somebody else is changing is waited for and looked at again.

use galatea_core::{Error, ErrorKind};
use sqlx::{AssertSqlSafe, Executor, PgConnection};

use crate::{agent, cache, connect, cursor, effect, embedding, entity, inbox, lease, memory, outbox, relationship, room, step, task, world};

/// Carries out the steps of `$1`; `$2` is true when they may have been carried out before. Tells how many rows each answered row touched.
pub(crate) const APPLY: &str = "SELECT told_c, told_n, told_hits FROM pg_temp.galatea_apply($1::jsonb, $2)";

/// The SQLSTATE of a row that meets what has been committed already. The message names its change.
const CONFLICT: &str = "GA001";
/// The SQLSTATE of a lease that somebody else holds by now.
const FENCED: &str = "GA002";

/// What the function does for a row `b` with this `op`. `touched` is the answer, `again` as in [`APPLY`].
///
/// A row that has an id is found by its id alone; what else must hold stands in a `CASE`, which no index serves. On a young table, of which it
/// knows nothing, the planner would rather take a partial index such as `inbox_new`, and keep reading the whole queue for each row.
pub(crate) type Step = (&'static str, &'static str);

/// The same for all `rows` with this `op` in one statement, each about another message or delivery. `missing` is the change that is refused.
///
/// Rows of a table are found by `= ANY` or in a subquery of one value, never by a join or `EXISTS`: those would let the planner read the whole
/// table.
pub(crate) type Batch = (&'static str, &'static str);

const BATCHES: &[Batch] = &[inbox::MESSAGE, inbox::FINISH, memory::MEMORY_ROWS, outbox::DELIVERY, outbox::SETTLE];

/// In the order they are looked for.
const STEPS: &[&[Step]] = &[
    lease::STEPS,
    inbox::STEPS,
    outbox::STEPS,
    cursor::STEPS,
    connect::STEPS,
    effect::STEPS,
    agent::STEPS,
    world::STEPS,
    entity::STEPS,
    room::STEPS,
    memory::STEPS,
    embedding::STEPS,
    relationship::STEPS,
    task::STEPS,
    cache::STEPS,
    step::STEPS,
];

/// Plans are made once, of tables that may be empty then and large a minute later: what has an index goes by it from the start.
const PLANS: &str = "SET enable_seqscan TO off; SET enable_hashjoin TO off; SET enable_mergejoin TO off; SET plan_cache_mode TO force_generic_plan;";

/// `merged(old, patch)`: keys are merged, objects one level deep, null removes. `newest(new, known)`: new names come first, known ones
/// follow; 32 are kept, so that somebody who renames himself for ever fills no disk.
const HELPERS: &str = "
CREATE FUNCTION pg_temp.merged(old jsonb, patch jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $body$
    SELECT CASE WHEN patch = '{}' THEN old ELSE coalesce((SELECT jsonb_object_agg(all_of.key, all_of.value) FROM (
        SELECT o.key, o.value FROM jsonb_each(old) o WHERE NOT patch ? o.key
        UNION ALL
        SELECT p.key, CASE WHEN jsonb_typeof(p.value) = 'object' THEN coalesce((SELECT jsonb_object_agg(inner_of.key, inner_of.value) FROM (
                SELECT i.key, i.value FROM jsonb_each(CASE WHEN jsonb_typeof(old -> p.key) = 'object' THEN old -> p.key ELSE '{}' END) i
                    WHERE NOT p.value ? i.key
                UNION ALL SELECT i.key, i.value FROM jsonb_each(p.value) i WHERE i.value <> 'null') inner_of), '{}')
            ELSE p.value END
        FROM jsonb_each(patch) p WHERE p.value <> 'null') all_of), '{}') END
$body$;
CREATE FUNCTION pg_temp.newest(new_ones jsonb, known jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $body$
    SELECT coalesce(jsonb_agg(kept.value ORDER BY kept.place), '[]') FROM (
        SELECT named.value, min(named.place) AS place FROM (
            SELECT value, ordinality AS place FROM jsonb_array_elements(new_ones) WITH ORDINALITY
            UNION ALL SELECT value, ordinality + 1000000 FROM jsonb_array_elements(known) WITH ORDINALITY) named
        GROUP BY named.value ORDER BY place LIMIT 32) kept
$body$;";

const TOLD: &str = "
        IF b ? 'n' THEN
            told_c := (b ->> 'c')::bigint;
            told_n := (b ->> 'n')::integer;
            told_hits := touched;
            RETURN NEXT;
        END IF;
        END LOOP;
";

/// Statements that set up a connection for [`APPLY`].
pub(crate) fn setup() -> String {
    let mut out = String::from(PLANS);
    out.push_str(HELPERS);
    out.push_str(
        "
CREATE FUNCTION pg_temp.galatea_apply(steps jsonb, again boolean) RETURNS TABLE (told_c bigint, told_n integer, told_hits bigint)
LANGUAGE plpgsql AS $body$
#variable_conflict use_column
DECLARE
    step jsonb;
    rows jsonb;
    b jsonb;
    touched bigint;
    missing bigint;
BEGIN
    FOR step IN SELECT value FROM jsonb_array_elements(steps) LOOP
        rows := step -> 'rows';
        CASE step ->> 'op'
",
    );
    for (op, body) in BATCHES {
        out.push_str(&format!("        WHEN '{op}' THEN {body}\n"));
    }
    for (op, body) in STEPS.iter().copied().flatten() {
        out.push_str(&format!("        WHEN '{op}' THEN FOR b IN SELECT value FROM jsonb_array_elements(rows) LOOP\n        touched := 0;\n{body}\n{TOLD}"));
    }
    out.push_str("        END CASE;\n    END LOOP;\nEND\n$body$;");
    out
}

/// Sets up a connection for [`APPLY`], in one round trip.
pub(crate) async fn prepare(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    connection.execute(AssertSqlSafe(setup())).await.map(drop)
}

/// The change that a row refused, and why.
pub(crate) fn conflict(error: &sqlx::Error) -> Option<(i64, Error)> {
    let error = error.as_database_error()?;
    let told = match error.code()?.as_ref() {
        CONFLICT => "this has been committed already, so nothing was written",
        FENCED => "another process has taken this part over, so nothing was written",
        _ => return None,
    };
    let (_, change) = error.message().split_once(':')?;
    Some((change.parse().ok()?, Error::new(ErrorKind::Conflict, told)))
}
