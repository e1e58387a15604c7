//! How documents and pieces are printed.

use galatea_core::{
    Error,
    visible::{one_line, visible},
};
use galatea_knowledge::{Origin, Piece, Problem, RankedPiece, Step, Stored, Synced};
use serde_json::{Value, json};
use std::{fmt::Write as _, io::IsTerminal, path::Path, sync::Mutex};

use crate::{context::Context, report::output::Output};
use galatea_host::report::Report;

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
                    bar.set_message(one_line(key));
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
                output.say(format!("reading {} of {total}: {}", nth + 1, one_line(key)));
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
    if synced.unread > 0 {
        let _ = write!(line, ", {} not read", synced.unread);
    }
    if synced.embedded > 0 {
        let _ = write!(line, ", {} embedded", synced.embedded);
    }
    context.output.data(line);
    for (key, problem) in &synced.problems {
        context.output.report(&report(key, problem));
    }
}

fn report(key: &str, problem: &Problem) -> Report {
    let report = Report::warning(one_line(&problem.message))
        .code(problem.code.as_deref().unwrap_or("GAL-KNOW-READ"))
        .line("where", one_line(key));
    match &problem.fix {
        Some(fix) => report.fix(one_line(fix)),
        None => report,
    }
}

/// Why an agent's documents are found by words only.
pub(super) fn unembedded(agent: &str, error: &Error) -> Report {
    Report::from(error).line("agent", agent).line(
        "until then",
        "its documents are found by words; `galatea knowledge sync` tries again, and so does a running agent",
    )
}

pub(super) fn synced_json(agent: &str, synced: &Synced) -> Value {
    let unembedded = synced.unembedded.as_ref().map(
        |error| json!({ "code": error.code(), "message": error.to_string(), "fix": error.fix() }),
    );
    json!({
        "agent": agent, "read": synced.read, "unchanged": synced.unchanged, "removed": synced.removed,
        "notRead": synced.unread, "pieces": synced.pieces, "embedded": synced.embedded,
        "problems": problems_json(None, &synced.problems), "embeddingProblem": unembedded,
    })
}

/// What is wrong, by document or source.
pub(super) fn problems_json(agent: Option<&str>, problems: &[(String, Problem)]) -> Vec<Value> {
    let row = |(source, problem): &(String, Problem)| {
        let mut row = problem_json(problem);
        row["source"] = source.as_str().into();
        if let Some(agent) = agent {
            row["agent"] = agent.into();
        }
        row
    };
    problems.iter().map(row).collect()
}

fn problem_json(problem: &Problem) -> Value {
    json!({ "code": problem.code, "message": problem.message, "fix": problem.fix })
}

fn short(document: &Stored) -> String {
    document.id.to_string().chars().take(SHORT).collect()
}

/// A path as a person in this folder writes it, in one line.
fn near(key: &str, working_dir: &Path) -> String {
    let path = Path::new(key);
    one_line(&path.strip_prefix(working_dir).unwrap_or(path).display().to_string())
}

pub(super) fn line(agent: Option<&str>, document: &Stored, working_dir: &Path) -> String {
    let record = &document.record;
    let mut line = format!(
        "{}  {:>5} pieces  {}  {}",
        short(document),
        record.fragments.len(),
        one_line(&record.title),
        near(&record.key, working_dir)
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
    of_agent(agent, line)
}

/// A source with a problem, below the documents.
pub(super) fn source(agent: Option<&str>, key: &str, working_dir: &Path) -> String {
    of_agent(agent, format!("{:SHORT$}  {}", "-", near(key, working_dir)))
}

fn of_agent(agent: Option<&str>, line: String) -> String {
    match agent {
        Some(agent) => format!("{agent}  {line}"),
        None => line,
    }
}

/// What stands in place of an empty list.
pub(super) fn nothing(agent: &str) -> String {
    format!("{agent} has no documents; `galatea knowledge add FILE` adds one")
}

pub(super) fn removed(key: &str, documents: usize) -> String {
    let key = one_line(key);
    match documents {
        1 => format!("removed {key}"),
        documents => format!("removed {key} with {documents} documents"),
    }
}

/// Lines below a document or source that was not read.
pub(super) fn problem(problem: &Problem) -> Vec<String> {
    let fix = problem.fix.as_ref().map(|fix| format!("fix: {}", one_line(fix)));
    [format!("not read: {}", one_line(&problem.message))].into_iter().chain(fix).collect()
}

pub(super) fn document_json(agent: &str, document: &Stored) -> Value {
    let record = &document.record;
    json!({
        "id": document.id, "agent": agent, "title": record.title, "source": record.key, "origin": record.origin,
        "shared": document.is_shared(), "bytes": record.size, "hash": record.hash, "pieces": record.fragments.len(),
        "sameAs": record.same_as, "problem": record.problem.as_ref().map(problem_json),
    })
}

pub(super) fn found(n: usize, found: &RankedPiece, relevant: bool) -> String {
    let rank = |rank: Option<usize>| rank.map_or("-".to_owned(), |rank| rank.to_string());
    let mut text = format!(
        "{n}. {}\n   score {:.2}  words {:.2} (rank {})",
        one_line(&found.piece.place()),
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
    let line = one_line(&found.piece.text);
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
    let mut text =
        format!("{}\n{}\nid {}\n", one_line(&record.title), one_line(&record.key), document.id);
    if let Some(found) = &record.problem {
        let _ = writeln!(text, "{}", problem(found).join(&format!("\n{:BELOW$}", "")));
    }
    for (n, piece) in pieces.iter().enumerate() {
        let _ = write!(
            text,
            "\n--- {} of {}: {}\n{}\n",
            n + 1,
            pieces.len(),
            one_line(&piece.place()),
            visible(&piece.text)
        );
    }
    text.trim_end().to_owned()
}
