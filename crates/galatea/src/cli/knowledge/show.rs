//! How documents and pieces are printed.

use galatea_core::Error;
use galatea_knowledge::{Origin, Piece, Problem, RankedPiece, Step, Stored, Synced};
use serde_json::{Value, json};
use std::{fmt::Write as _, io::IsTerminal, path::Path, sync::Mutex};

use crate::{context::Context, output::Output, report::Report};

/// Characters of an id in lists.
const SHORT: usize = 8;
/// Columns before what stands below a document in a list.
pub(super) const BELOW: usize = 10;
/// Characters of a piece in search results.
const SNIPPET: usize = 240;

/// Progress of a run: a bar on a terminal, a line per document elsewhere, nothing with `--json`.
pub(super) struct Progress {
    output: Option<Output>,
    bar: Option<cliclack::ProgressBar>,
    total: Mutex<usize>,
}

impl Progress {
    pub(super) fn new(context: &Context, json: bool) -> Self {
        let quiet = json || context.output.quiet;
        let terminal = std::io::stderr().is_terminal();
        Self {
            output: (!quiet && !terminal).then(|| context.output.clone()),
            bar: (!quiet && terminal).then(|| cliclack::progress_bar(1)),
            total: Mutex::new(0),
        }
    }

    pub(super) fn step(&self, step: &Step) {
        if let Some(bar) = &self.bar {
            match step {
                Step::Documents(count) => {
                    bar.set_length((*count).max(1) as u64);
                    bar.start("reading documents");
                }
                Step::Reading(key, nth) => {
                    bar.set_position(*nth as u64);
                    bar.set_message(key);
                }
                Step::Embedded(count) => bar.set_message(format!("embedded {count} pieces")),
                Step::Stored => {}
            }
        }
        let Some(output) = &self.output else { return };
        match step {
            Step::Documents(count) => {
                if let Ok(mut total) = self.total.lock() {
                    *total = *count;
                }
            }
            Step::Reading(key, nth) => {
                let total = self.total.lock().map_or(0, |total| *total);
                output.say(format!("reading {} of {total}: {key}", nth + 1));
            }
            Step::Embedded(count) => output.say(format!("embedded {count} pieces")),
            Step::Stored => {}
        }
    }

    pub(super) fn done(&self) {
        if let Some(bar) = &self.bar {
            bar.stop("documents are up to date");
        }
    }
}

pub(super) fn synced(context: &Context, agent: &str, several: bool, synced: &Synced) {
    let whose = if several { format!("{agent}: ") } else { String::new() };
    let mut line = format!(
        "{whose}{} read, {} unchanged, {} removed; {} new pieces",
        synced.read, synced.unchanged, synced.removed, synced.pieces
    );
    if synced.embedded > 0 {
        let _ = write!(line, ", {} embedded", synced.embedded);
    }
    context.output.data(line);
    for (key, error) in &synced.problems {
        context.output.report(&report(key, error));
    }
}

fn report(key: &str, error: &Error) -> Report {
    let report = Report::warning(error.to_string()).code("GAL-KNOW-READ").line("where", key);
    match error.fix() {
        Some(fix) => report.fix(fix),
        None => report,
    }
}

pub(super) fn synced_json(agent: &str, synced: &Synced) -> Value {
    let problems: Vec<Value> = synced
        .problems
        .iter()
        .map(|(key, error)| json!({ "source": key, "message": error.to_string(), "fix": error.fix() }))
        .collect();
    json!({ "agent": agent, "read": synced.read, "unchanged": synced.unchanged, "removed": synced.removed, "pieces": synced.pieces, "embedded": synced.embedded, "problems": problems })
}

fn short(document: &Stored) -> String {
    document.id.to_string().chars().take(SHORT).collect()
}

pub(super) fn line(agent: Option<&str>, document: &Stored, working_dir: &Path) -> String {
    let record = &document.record;
    let key = Path::new(&record.key);
    let shown = key.strip_prefix(working_dir).unwrap_or(key).display();
    let mut line = format!(
        "{}  {:>5} pieces  {}  {shown}",
        short(document),
        record.fragments.len(),
        record.title
    );
    if record.same_as.is_some() {
        line.push_str("  (a copy of another document)");
    }
    if document.is_shared() {
        line.push_str("  shared");
    }
    if record.origin == Origin::Added {
        line.push_str("  added");
    }
    match agent {
        Some(agent) => format!("{agent}  {line}"),
        None => line,
    }
}

/// Lines below a document that was not read.
pub(super) fn problem(problem: &Problem) -> Vec<String> {
    let fix = problem.fix.as_ref().map(|fix| format!("fix: {fix}"));
    [format!("not read: {}", problem.message)].into_iter().chain(fix).collect()
}

pub(super) fn document_json(agent: &str, document: &Stored) -> Value {
    let record = &document.record;
    json!({
        "id": document.id, "agent": agent, "title": record.title, "source": record.key, "origin": record.origin,
        "shared": document.is_shared(), "bytes": record.size, "hash": record.hash, "pieces": record.fragments.len(),
        "sameAs": record.same_as, "problem": record.problem,
    })
}

pub(super) fn found(n: usize, found: &RankedPiece, relevant: bool) -> String {
    let rank = |rank: Option<usize>| rank.map_or("-".to_owned(), |rank| rank.to_string());
    let mut text = format!(
        "{n}. {}\n   score {:.2}  words {:.2} (rank {})",
        found.piece.place(),
        found.score,
        found.coverage,
        rank(found.by_words)
    );
    if let Some(similarity) = found.similarity {
        let _ = write!(text, "  meaning {similarity:.2} (rank {})", rank(found.by_meaning));
    }
    if !relevant {
        text.push_str("  below the threshold: not shown to the model");
    }
    let line = galatea_core::visible::one_line(&found.piece.text);
    let cut: String = line.chars().take(SNIPPET).collect();
    let more = if cut.len() < line.len() { "…" } else { "" };
    let _ = write!(text, "\n   {cut}{more}");
    text
}

pub(super) fn found_json(agent: &str, found: &RankedPiece, relevant: bool) -> Value {
    json!({
        "agent": agent, "piece": piece_json(&found.piece), "score": found.score, "coverage": found.coverage, "similarity": found.similarity,
        "rankByWords": found.by_words, "rankByMeaning": found.by_meaning, "relevant": relevant,
    })
}

pub(super) fn piece_json(piece: &Piece) -> Value {
    json!({ "id": piece.id, "document": piece.document, "title": piece.title, "heading": piece.heading, "page": piece.page, "source": piece.source, "text": piece.text })
}

pub(super) fn page(document: &Stored, pieces: &[Piece]) -> String {
    let record = &document.record;
    let mut text = format!("{}\n{}\nid {}\n", record.title, record.key, document.id);
    if let Some(found) = &record.problem {
        let _ = writeln!(text, "{}", problem(found).join(&format!("\n{:BELOW$}", "")));
    }
    for (n, piece) in pieces.iter().enumerate() {
        let _ = write!(
            text,
            "\n--- {} of {}: {}\n{}\n",
            n + 1,
            pieces.len(),
            piece.place(),
            piece.text
        );
    }
    text.trim_end().to_owned()
}
