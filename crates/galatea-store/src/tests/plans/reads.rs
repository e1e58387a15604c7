//! What a plan reads whole, out of what the databases say of it. Pure functions.

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

/// Names of tables in a statement, by the alias it gives them.
fn aliases<'a>(statement: &'a str, growing: &BTreeSet<String>) -> HashMap<&'a str, &'a str> {
    let mut words = Vec::new();
    let mut rest = statement;
    while let Some(start) = rest.find(|c: char| !c.is_whitespace()) {
        rest = &rest[start..];
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let end = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len()).max(1);
        // Punctuation: each character is a token.
        let end = (end..=rest.len()).find(|end| rest.is_char_boundary(*end)).unwrap_or(rest.len());
        words.push(&rest[..end]);
        rest = &rest[end..];
    }
    let mut out = HashMap::new();
    for (n, table) in words.iter().enumerate().filter(|(_, word)| growing.contains(**word)) {
        out.insert(*table, *table);
        let next = words[n + 1..].iter().find(|word| **word != "AS");
        if let Some(alias) = next.filter(|word| word.chars().all(|c| c.is_lowercase())) {
            out.insert(alias, table);
        }
    }
    out
}

/// The growing tables that a plan of SQLite reads whole, each with the line that says so.
pub(super) fn in_sqlite(
    schema: &Schema,
    statement: &str,
    plan: &[String],
) -> Vec<(String, String)> {
    let aliases = aliases(statement, &schema.growing);
    let mut out = Vec::new();
    for line in plan {
        let words: Vec<&str> = line.split(' ').collect();
        let Some(table) = words.get(1).and_then(|name| aliases.get(name)) else { continue };
        let index = words.iter().position(|word| *word == "INDEX").map(|n| words[n + 1]);
        let is_few = index.is_some_and(|index| schema.partial.contains(index));
        let whole = match words[0] {
            "SCAN" => true,
            "SEARCH" => COMMON.iter().any(|common| line.ends_with(common)),
            _ => false,
        };
        if whole && !is_few && !line.contains("VIRTUAL TABLE") {
            out.push(((*table).to_owned(), line.clone()));
        }
    }
    out
}

/// The growing tables that a plan of PostgreSQL (`FORMAT JSON`) reads whole: by a scan, or by an
/// index without a condition where no limit ends the reading.
pub(super) fn in_postgres(schema: &Schema, plan: &Value) -> Vec<(String, String)> {
    let mut out = Vec::new();
    walk(schema, &plan[0]["Plan"], false, &mut out);
    out
}

fn walk(schema: &Schema, node: &Value, limited: bool, out: &mut Vec<(String, String)>) {
    let text = |key: &str| node[key].as_str().unwrap_or_default();
    let (kind, table, index) = (text("Node Type"), text("Relation Name"), text("Index Name"));
    if schema.growing.contains(table) {
        let whole = match kind {
            "Seq Scan" => true,
            "Index Scan" | "Index Only Scan" => {
                node["Index Cond"].is_null() && !limited && !schema.partial.contains(index)
            }
            _ => false,
        };
        if whole {
            out.push((table.to_owned(), format!("{kind} {index} {}", text("Filter"))));
        }
    }
    // What sorts or counts reads everything below it, whatever stands above.
    let limited = match kind {
        "Limit" => true,
        "Sort" | "Incremental Sort" | "Aggregate" | "Hash" | "WindowAgg" => false,
        _ => limited,
    };
    for below in node["Plans"].as_array().into_iter().flatten() {
        walk(schema, below, limited, out);
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
    fn a_limit_ends_the_reading_of_an_index_but_not_of_what_is_sorted() {
        let scan = |kind: &str, condition: Value| json!({"Node Type": kind, "Relation Name": "inbox", "Index Name": "inbox_pkey", "Index Cond": condition});
        let whole = |plan: Value| !in_postgres(&schema(), &json!([{ "Plan": plan }])).is_empty();
        let above = |kind: &str, below: Value| json!({"Node Type": kind, "Plans": [below]});
        assert!(whole(scan("Seq Scan", Value::Null)));
        assert!(whole(above("Limit", scan("Seq Scan", Value::Null))));
        assert!(whole(scan("Index Only Scan", Value::Null)));
        assert!(!whole(scan("Index Scan", json!("(seq = 1)"))));
        assert!(!whole(above("Limit", scan("Index Scan", Value::Null))));
        assert!(whole(above("Limit", above("Sort", scan("Index Scan", Value::Null)))));
    }
}
