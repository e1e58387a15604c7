//! `cargo xtask bench --recall`: builds the example `recall` of galatea-store, runs it on each
//! database in a process of its own, and prints one table.

use anyhow::{Context, Result};
use serde::Deserialize;
use std::{collections::BTreeMap, io::Write as _, path::Path, process::Stdio};

use super::machine;
use xtask::{cargo, output, step::succeed};

/// The searches to measure, and on which database.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Recall {
    /// Measures search in large databases in place of the program
    #[arg(long)]
    recall: bool,
    /// Messages in the database
    #[arg(long, value_name = "NUMBER", default_value_t = 100_000, requires = "recall",
          value_parser = clap::value_parser!(u32).range(1_000..=10_000_000))]
    messages: u32,
    /// Number of them that have embeddings; all if unset
    #[arg(long, value_name = "NUMBER", requires = "recall")]
    embedded: Option<u32>,
    /// Only on this database; on both if unset
    #[arg(long, value_enum, value_name = "DATABASE", requires = "recall")]
    database: Option<Database>,
}

impl Recall {
    pub(super) fn is_wanted(&self) -> bool {
        self.recall
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Database {
    Sqlite,
    Postgres,
}

impl Database {
    fn argument(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "SQLite",
            Self::Postgres => "PostgreSQL",
        }
    }
}

/// Times in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
struct Times {
    p50: f64,
    p90: f64,
    p99: f64,
    max: f64,
    /// Statements of a search.
    statements: f64,
    /// Processor time, of the database's server too: half of the searches take at most this.
    processor: f64,
    processor_p99: f64,
}

/// The output of the example.
#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Figures {
    messages: u32,
    embedded: u32,
    /// Messages per second.
    ingest: f64,
    /// Embeddings per second; none without embeddings.
    embeddings: Option<f64>,
    /// Messages per second whose words are indexed; none where that is part of their commit.
    indexed: Option<f64>,
    /// MiB.
    resident: Option<f64>,
    searches: BTreeMap<String, Times>,
    /// Of questions made of half the words of a message, the share whose message is found.
    found: f64,
    /// Bytes by what they are for.
    sizes: BTreeMap<String, f64>,
}

/// Measures and prints.
pub(super) fn run(root: &Path, recall: &Recall) -> Result<()> {
    eprintln!("--- building the example");
    let arguments = ["--release", "--locked", "--package", "galatea-store", "--example", "recall"];
    let mut build = cargo(root, &["build"]);
    build.args(arguments);
    succeed(build)?;
    let example = super::target(root)?.join("release").join("examples").join("recall");
    eprintln!("--- machine");
    let machine = machine::look(&std::env::temp_dir())?;
    let mut measured = Vec::new();
    for database in [Database::Sqlite, Database::Postgres] {
        if recall.database.is_some_and(|only| only != database) {
            continue;
        }
        eprintln!("--- {}", database.name());
        let mut command = std::process::Command::new(&example);
        command.arg(database.argument()).arg(recall.messages.to_string());
        command.arg(recall.embedded.unwrap_or(recall.messages).to_string());
        command.stdin(Stdio::null());
        let printed = output(command)?;
        let figures = serde_json::from_str(&printed).context("the example printed no figures")?;
        measured.push((database, figures));
    }
    let table = render(&measured);
    writeln!(
        std::io::stdout(),
        "{} cores ({}), Linux {}, load average {} before the run, fdatasync p50 {:.2} ms.\n\n{table}",
        machine.cores,
        machine.processor,
        machine.kernel,
        machine.load,
        machine.flush.p50.as_secs_f64() * 1e3
    )
    .context("cannot write to stdout")
}

/// The longest p99 of a search that is accepted, in milliseconds.
fn target(messages: u32) -> f64 {
    if messages <= 100_000 { 30.0 } else { 150.0 }
}

fn thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut out = String::new();
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Figures of databases side by side, as Markdown.
fn render(measured: &[(Database, Figures)]) -> String {
    let mut out = String::from("| |");
    for (database, figures) in measured {
        out += &format!(" {}, {} |", database.name(), thousands(figures.messages.into()));
    }
    out += " target |\n|---|";
    out += &"---|".repeat(measured.len() + 1);
    out.push('\n');
    let mut row = |what: &str, target: &str, cell: &dyn Fn(&Figures) -> Option<String>| {
        let cells = measured.iter().map(|(_, figures)| cell(figures));
        if cells.clone().all(|cell| cell.is_none()) {
            return;
        }
        let cells: Vec<String> = cells.map(|cell| cell.unwrap_or_else(|| "–".to_owned())).collect();
        out += &format!("| {what} | {} | {target} |\n", cells.join(" | "));
    };
    row("messages stored per second", "–", &|f| Some(thousands(f.ingest)));
    row("messages whose words are indexed, per second", "–", &|f| f.indexed.map(thousands));
    row("embeddings stored per second", "–", &|f| f.embeddings.map(thousands));
    row("messages with an embedding", "–", &|f| Some(thousands(f.embedded.into())));
    for (by, times) in [("words", "by words"), ("meaning", "by meaning"), ("both", "by both")] {
        let of = |f: &Figures| f.searches.get(by).copied();
        row(&format!("search {times}, p50"), "–", &|f| of(f).map(|t| format!("{:.1} ms", t.p50)));
        row(&format!("search {times}, p90"), "–", &|f| of(f).map(|t| format!("{:.1} ms", t.p90)));
        let most = measured.iter().map(|(_, f)| target(f.messages)).fold(0.0, f64::max);
        row(&format!("search {times}, p99"), &format!("≤ {most:.0} ms"), &|f| {
            of(f).map(|t| format!("**{:.1} ms**", t.p99))
        });
        row(&format!("search {times}, longest"), "–", &|f| {
            of(f).map(|t| format!("{:.1} ms", t.max))
        });
        row(&format!("processor time of a search {times}, p50 and p99"), "–", &|f| {
            of(f).map(|t| format!("{:.1}, {:.1} ms", t.processor, t.processor_p99))
        });
        row(&format!("statements of a search {times}"), "–", &|f| {
            of(f).map(|t| format!("{:.1}", t.statements))
        });
    }
    row("messages found by half of their words, among five hits", "–", &|f| {
        Some(format!("{:.1} %", 100.0 * f.found))
    });
    for part in ["messages", "inbox", "index of words", "vectors", "signs", "rest"] {
        row(&format!("bytes per message, {part}"), "–", &|f| {
            f.sizes.get(part).map(|bytes| thousands(bytes / f64::from(f.messages)))
        });
    }
    row("bytes per message, all", "–", &|f| {
        Some(thousands(f.sizes.values().sum::<f64>() / f64::from(f.messages)))
    });
    row("memory of the process", "–", &|f| f.resident.map(|mib| format!("{mib:.0} MiB")));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_databases_stand_side_by_side() {
        let printed = r#"{"messages":100000,"embedded":100000,"ingest":12345.6,"embeddings":8000.2,"indexed":null,"resident":81.4,
            "searches":{"words":{"p50":1.25,"p90":2.0,"p99":9.96,"max":12.0,"statements":4.5,"processor":1.1,"processor_p99":8.0}},"found":0.9512,"sizes":{"messages":50000000,"rest":1000000}}"#;
        let figures: Figures = serde_json::from_str(printed).unwrap();
        let on_sqlite = Figures { indexed: Some(20_000.0), ..figures.clone() };
        let table = render(&[(Database::Sqlite, on_sqlite), (Database::Postgres, figures)]);
        for line in [
            "| | SQLite, 100,000 | PostgreSQL, 100,000 | target |",
            "| messages stored per second | 12,346 | 12,346 | – |",
            "| messages whose words are indexed, per second | 20,000 | – | – |",
            "| search by words, p99 | **10.0 ms** | **10.0 ms** | ≤ 30 ms |",
            "| messages found by half of their words, among five hits | 95.1 % | 95.1 % | – |",
            "| bytes per message, all | 510 | 510 | – |",
        ] {
            assert!(table.lines().any(|found| found == line), "{line} in\n{table}");
        }
        assert!(!table.contains("by meaning"), "what was not measured is left out:\n{table}");
    }

    #[test]
    fn a_million_messages_may_take_longer() {
        assert_eq!((target(100_000), target(1_000_000)), (30.0, 150.0));
    }
}
