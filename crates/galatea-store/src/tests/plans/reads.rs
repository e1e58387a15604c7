//! What a plan reads whole, out of what the databases say of it: a growing table, or all rows of an
//! agent where the statement names one Room, World or person. Pure functions.

use serde_json::Value;
use std::collections::{BTreeSet, HashMap};

/// The tables and partial indexes of a database.
#[derive(Debug, Default)]
pub(super) struct Schema {
    /// Tables that grow with use.
    pub(super) growing: BTreeSet<String>,
    /// Indexes with a condition: they hold few rows, so to read one whole is to read few.
    pub(super) partial: BTreeSet<String>,
}

/// Columns that nearly all rows have in common in most databases: a range of an index by one of them
/// alone is the table.
const COMMON: &[&str] = &["(agent_id=?)", "(source=?)"];
/// Columns by which an index lists all rows of an agent, or all of one sort.
const OF_AGENT: &[&str] = &["agent_id", "type", "source", "account"];
/// Columns that restrict a statement to one row, or to those of one Room, World or person.
const NARROW: &[&str] = &["id", "room_id", "world_id", "entity_id"];

/// Splits a statement into words and single characters of punctuation.
fn tokens(statement: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = statement;
    while let Some(start) = rest.find(|c: char| !c.is_whitespace()) {
        rest = &rest[start..];
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let end = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len()).max(1);
        let end = (end..=rest.len()).find(|end| rest.is_char_boundary(*end)).unwrap_or(rest.len());
        tokens.push(&rest[..end]);
        rest = &rest[end..];
    }
    tokens
}

/// Names of tables in a statement, by the alias it gives them.
fn aliases<'a>(tokens: &[&'a str], growing: &BTreeSet<String>) -> HashMap<&'a str, &'a str> {
    let mut out = HashMap::new();
    for (n, table) in tokens.iter().enumerate().filter(|(_, token)| growing.contains(**token)) {
        out.insert(*table, *table);
        let next = tokens[n + 1..].iter().find(|token| **token != "AS");
        if let Some(alias) = next.filter(|token| token.chars().all(|c| c.is_lowercase())) {
            out.insert(alias, table);
        }
    }
    out
}

/// The tables that a statement restricts by a column of [`NARROW`], by their aliases.
struct Restricted<'a> {
    aliases: BTreeSet<&'a str>,
    /// Whether a condition names its column alone: it may be one of any table without an alias.
    without_alias: bool,
}

impl<'a> Restricted<'a> {
    fn of(tokens: &[&'a str]) -> Self {
        let mut out = Self { aliases: BTreeSet::new(), without_alias: false };
        for n in 0..tokens.len() {
            let compares = matches!(tokens.get(n + 1), Some(&("=" | "IN")));
            if !compares || !NARROW.contains(&tokens[n]) {
                continue;
            }
            match n.checked_sub(2).map(|before| (tokens[before], tokens[n - 1])) {
                Some((alias, ".")) => out.aliases.extend([alias]),
                _ => out.without_alias = true,
            }
        }
        out
    }

    /// `alias` is the table's name where it has no other.
    fn contains(&self, table: &str, alias: &str) -> bool {
        self.aliases.contains(alias) || self.without_alias && alias == table
    }
}

/// Whether an index lists all rows of an agent by these columns, which it has to be equal in.
fn lists_the_agent(columns: &[&str]) -> bool {
    columns.contains(&"agent_id") && columns.iter().all(|column| OF_AGENT.contains(column))
}

/// The columns that a line of SQLite's plan compares for equality: `(agent_id=? AND type=?)`.
fn equal_in_sqlite(line: &str) -> Vec<&str> {
    let Some((_, conditions)) = line.rsplit_once('(') else { return Vec::new() };
    let conditions = conditions.split_once(')').map_or(conditions, |(inside, _)| inside);
    conditions.split(" AND ").filter_map(|condition| condition.strip_suffix("=?")).collect()
}

/// The columns that PostgreSQL's `Index Cond` compares for equality:
/// `((m.agent_id = $1) AND (m.type = 'facts'::text))`.
fn equal_in_postgres(conditions: &str) -> Vec<&str> {
    let equal = conditions.split(" AND ").filter_map(|condition| condition.split_once(" = "));
    equal.filter_map(|(left, _)| left.trim_start_matches('(').rsplit('.').next()).collect()
}

/// The growing tables that a plan of SQLite reads whole, or an agent's rows of which it reads whole
/// though the statement restricts them further; each with the line that says so.
pub(super) fn in_sqlite(
    schema: &Schema,
    statement: &str,
    plan: &[String],
) -> Vec<(String, String)> {
    let tokens = tokens(statement);
    let (aliases, restricted) = (aliases(&tokens, &schema.growing), Restricted::of(&tokens));
    let mut out = Vec::new();
    for line in plan {
        let words: Vec<&str> = line.split(' ').collect();
        let Some((alias, table)) = words.get(1).and_then(|name| aliases.get_key_value(name)) else {
            continue;
        };
        let index = words.iter().position(|word| *word == "INDEX").map(|n| words[n + 1]);
        let is_few = index.is_some_and(|index| schema.partial.contains(index));
        let whole = match words[0] {
            "SCAN" => true,
            "SEARCH" => {
                COMMON.iter().any(|common| line.ends_with(common))
                    || restricted.contains(table, alias) && lists_the_agent(&equal_in_sqlite(line))
            }
            _ => false,
        };
        if whole && !is_few && !line.contains("VIRTUAL TABLE") {
            out.push(((*table).to_owned(), line.clone()));
        }
    }
    out
}

/// The growing tables that a plan of PostgreSQL (`FORMAT JSON`) reads whole: by a scan, or by an
/// index without a condition where no limit ends the reading. And those of which it reads all rows of
/// an agent though the statement restricts them further: a limit does not help where few rows are
/// of one Room.
pub(super) fn in_postgres(schema: &Schema, statement: &str, plan: &Value) -> Vec<(String, String)> {
    let restricted = Restricted::of(&tokens(statement));
    let mut walk = Walk { schema, restricted, found: Vec::new() };
    walk.node(&plan[0]["Plan"], ("", ""), false);
    walk.found
}

struct Walk<'a> {
    schema: &'a Schema,
    restricted: Restricted<'a>,
    found: Vec<(String, String)>,
}

impl Walk<'_> {
    /// Looks at a node and all below it. `above` has table and alias of the node above: that of a
    /// bitmap's index names none.
    fn node(&mut self, node: &Value, above: (&str, &str), limited: bool) {
        let text = |key: &str| node[key].as_str().unwrap_or_default();
        let (kind, index) = (text("Node Type"), text("Index Name"));
        let named = (text("Relation Name"), text("Alias"));
        let (table, alias) = if named.0.is_empty() { above } else { named };
        if self.schema.growing.contains(table) {
            let is_few = self.schema.partial.contains(index);
            let condition = text("Index Cond");
            let whole = match kind {
                "Seq Scan" => true,
                "Index Scan" | "Index Only Scan" if condition.is_empty() => !limited && !is_few,
                "Index Scan" | "Index Only Scan" | "Bitmap Index Scan" => {
                    !is_few
                        && self.restricted.contains(table, as_written(alias))
                        && lists_the_agent(&equal_in_postgres(condition))
                }
                _ => false,
            };
            if whole {
                let how = format!("{kind} {index} {condition} {}", text("Filter"));
                self.found.push((table.to_owned(), how));
            }
        }
        // What sorts or counts reads everything below it, whatever stands above.
        let limited = match kind {
            "Limit" => true,
            "Sort" | "Incremental Sort" | "Aggregate" | "Hash" | "WindowAgg" => false,
            _ => limited,
        };
        // Only a bitmap's parts read the table of the node above.
        let table = if kind.starts_with("Bitmap") { (table, alias) } else { ("", "") };
        for below in node["Plans"].as_array().into_iter().flatten() {
            self.node(below, table, limited);
        }
    }
}

/// An alias as the statement has it: the server numbers those that it has several times (`m_1`).
fn as_written(alias: &str) -> &str {
    match alias.rsplit_once('_') {
        Some((name, number)) if number.chars().all(|c| c.is_ascii_digit()) => name,
        _ => alias,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema() -> Schema {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Schema { growing: set(&["inbox", "memories"]), partial: set(&["inbox_new"]) }
    }

    fn sqlite(statement: &str, line: &str) -> bool {
        !in_sqlite(&schema(), statement, &[line.to_owned()]).is_empty()
    }

    #[test]
    fn scans_are_found_under_every_alias() {
        assert!(sqlite("SELECT * FROM inbox", "SCAN inbox"));
        assert!(sqlite("SELECT * FROM inbox q WHERE q.seq > 1", "SCAN q"));
        assert!(sqlite("SELECT * FROM (SELECT * FROM memories AS b) n", "SCAN b"));
        assert!(!sqlite("SELECT * FROM (SELECT * FROM memories AS b) n", "SCAN n"), "a subquery");
        assert!(!sqlite("SELECT * FROM doomed", "SCAN doomed"));
        assert!(!sqlite("SELECT * FROM inbox", "SEARCH inbox USING INDEX inbox_remote (remote=?)"));
    }

    #[test]
    fn an_index_read_whole_is_a_scan_unless_it_holds_few_rows() {
        let statement = "SELECT * FROM inbox i";
        assert!(sqlite(statement, "SCAN i USING INDEX inbox_remote"));
        assert!(sqlite(statement, "SCAN i USING COVERING INDEX sqlite_autoindex_inbox_1"));
        assert!(
            sqlite(statement, "SEARCH i USING INDEX inbox_remote (source=?)"),
            "nearly all rows"
        );
        assert!(!sqlite(statement, "SCAN i USING INDEX inbox_new"));
        assert!(!sqlite(statement, "SEARCH i USING INDEX inbox_new (agent_id=?)"));
    }

    #[test]
    fn an_agents_index_is_a_scan_for_a_statement_of_one_room() {
        let through = |columns: &str, statement: &str| {
            sqlite(statement, &format!("SEARCH m USING INDEX memories_of_agent ({columns})"))
        };
        let (of_agent, by_time) =
            ("agent_id=? AND type=?", "agent_id=? AND type=? AND created_at<?");
        for condition in ["m.room_id = $2", "m.entity_id IN ($2, $3)"] {
            let statement =
                format!("SELECT * FROM memories m WHERE m.agent_id = $1 AND {condition}");
            assert!(through(of_agent, &statement), "{condition}");
            assert!(through(by_time, &statement), "{condition}");
            assert!(!through("room_id=? AND type=?", &statement), "{condition}");
            assert!(!through("agent_id=? AND room_id=?", &statement), "{condition}");
        }
        for condition in ["m.type = 'facts'", "m.room_id <> $2", "n.room_id = $2", "m.seq > $2"] {
            let statement =
                format!("SELECT * FROM memories m WHERE m.agent_id = $1 AND {condition}");
            assert!(!through(of_agent, &statement), "{condition}");
        }
        assert!(sqlite(
            "SELECT * FROM memories WHERE agent_id = $1 AND room_id = $2",
            "SEARCH memories USING INDEX memories_of_agent (agent_id=? AND type=?)"
        ));
        assert!(!sqlite(
            "SELECT * FROM inbox i WHERE i.room_id = $1",
            "SEARCH i USING INDEX inbox_new (agent_id=? AND type=?)"
        ));
    }

    #[test]
    fn the_same_holds_for_every_way_that_postgres_reads_an_index() {
        let statement = "SELECT * FROM memories m WHERE m.agent_id = $1 AND m.room_id = $2 LIMIT 1";
        let of_agent = "((m.agent_id = $1) AND (m.type = 'facts'::text))";
        let of_room = "((m.room_id = $2) AND (m.type = 'facts'::text))";
        let scan = |kind: &str, alias: &str, condition: &str| json!({"Node Type": kind, "Relation Name": "memories", "Alias": alias, "Index Name": "i", "Index Cond": condition});
        let whole = |statement: &str, plan: Value| {
            let plan = json!([{"Plan": {"Node Type": "Limit", "Plans": [plan]}}]);
            !in_postgres(&schema(), statement, &plan).is_empty()
        };
        for kind in ["Index Scan", "Index Only Scan"] {
            assert!(whole(statement, scan(kind, "m", of_agent)));
            assert!(whole(statement, scan(kind, "m_1", of_agent)));
            assert!(!whole(statement, scan(kind, "m", of_room)));
            assert!(!whole(statement, scan(kind, "n", of_agent)), "another table");
        }
        let bitmap = |condition: &str| {
            let index = json!({"Node Type": "Bitmap Index Scan", "Index Name": "i", "Index Cond": condition});
            let and = json!({"Node Type": "BitmapAnd", "Plans": [index]});
            json!({"Node Type": "Bitmap Heap Scan", "Relation Name": "memories", "Alias": "m", "Plans": [and]})
        };
        assert!(whole(statement, bitmap(of_agent)));
        assert!(!whole(statement, bitmap(of_room)));
        let of_all = "SELECT * FROM memories m WHERE m.agent_id = $1 LIMIT 1";
        assert!(!whole(of_all, scan("Index Scan", "m", of_agent)));
    }

    #[test]
    fn a_limit_ends_the_reading_of_an_index_but_not_of_what_is_sorted() {
        let scan = |kind: &str, condition: Value| json!({"Node Type": kind, "Relation Name": "inbox", "Index Name": "inbox_pkey", "Index Cond": condition});
        let whole =
            |plan: Value| !in_postgres(&schema(), "SELECT", &json!([{ "Plan": plan }])).is_empty();
        let above = |kind: &str, below: Value| json!({"Node Type": kind, "Plans": [below]});
        assert!(whole(scan("Seq Scan", Value::Null)));
        assert!(whole(above("Limit", scan("Seq Scan", Value::Null))));
        assert!(whole(scan("Index Only Scan", Value::Null)));
        assert!(!whole(scan("Index Scan", json!("(seq = 1)"))));
        assert!(!whole(above("Limit", scan("Index Scan", Value::Null))));
        assert!(whole(above("Limit", above("Sort", scan("Index Scan", Value::Null)))));
    }
}
