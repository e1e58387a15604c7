//! `galatea character validate`: reports every fault of character files with its place.

use clap::Args;
use galatea_core::{
    Error, Severity,
    character::{self, Diagnostic, Generation, Loaded, Refused},
};
use serde_json::{Value, json};
use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use super::read::bytes;
use crate::{
    cli::flags::Json,
    context::Context,
    report::{
        exit::Exit,
        failure::Result,
        output::{Style, hang},
    },
};
use galatea_host::{
    characters::wants,
    look::{Color, Look},
    report::Report,
};

/// Check files; exit 7 when one is not in order
#[derive(Debug, Clone, Args)]
pub(super) struct Validate {
    /// Character files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    json: Json,
}

/// Result of reading one file.
enum Outcome {
    Read(Box<Loaded>, Vec<Report>),
    Refused(Refused),
    /// A JSON Schema, which is stored next to character files and matches their names.
    Schema,
    Unreadable(Error),
}

impl Validate {
    pub(super) fn run(&self, context: &Context) -> Result<ExitCode> {
        let outcomes: Vec<_> =
            self.files.iter().map(|file| (file, check(file, &context.working_dir))).collect();
        if self.json.json {
            let files: Vec<_> =
                outcomes.iter().map(|(file, outcome)| as_json(file, outcome)).collect();
            context.output.json("galatea.character.validate/1", json!({ "files": files }));
        } else {
            for (file, outcome) in &outcomes {
                context.output.data(render(file, outcome, context.output.style).trim_end());
            }
        }
        let broken = outcomes
            .iter()
            .any(|(_, outcome)| !matches!(outcome, Outcome::Read(..) | Outcome::Schema));
        Ok(if broken { Exit::Findings.into() } else { ExitCode::SUCCESS })
    }
}

fn check(file: &Path, working_dir: &Path) -> Outcome {
    let bytes = match bytes(file, working_dir) {
        Ok(bytes) if character::is_schema(&bytes) => return Outcome::Schema,
        Ok(bytes) => bytes,
        Err(error) => return Outcome::Unreadable(error),
    };
    match character::load_bytes(&file.display().to_string(), &bytes) {
        Ok(loaded) => {
            let wants = wants::remarks(&loaded.character, Some(file), working_dir);
            Outcome::Read(Box::new(loaded), wants)
        }
        Err(refused) => Outcome::Refused(refused),
    }
}

fn render(file: &Path, outcome: &Outcome, style: Style) -> String {
    let reports = |diagnostics: &[Diagnostic]| {
        diagnostics.iter().map(|d| Report::from(d).render(style)).collect::<String>()
    };
    match outcome {
        Outcome::Schema => format!(
            "{} {}\n",
            style.paint(Color::Cyan, "·"),
            hang(2, &format!("{}: a schema, no character; left out", file.display()), style)
        ),
        Outcome::Read(loaded, wants) => {
            let format = match loaded.generation {
                Generation::Present => "",
                Generation::Legacy => ", an older elizaOS file",
                Generation::Card => ", a character card",
            };
            let notes = match loaded.warnings.len() + wants.len() {
                0 => String::new(),
                1 => ", 1 remark".to_owned(),
                n => format!(", {n} remarks"),
            };
            let wants: String = wants.iter().map(|report| report.render(style)).collect();
            let line = format!("{}: {}{format}{notes}", file.display(), loaded.character.name);
            format!(
                "{}{wants}{} {}\n",
                reports(&loaded.warnings),
                style.paint(Color::Green, "✓"),
                hang(2, &line, style)
            )
        }
        Outcome::Refused(refused) => {
            let errors =
                refused.diagnostics.iter().filter(|d| d.severity == Severity::Error).count();
            let word = if errors == 1 { "error" } else { "errors" };
            format!(
                "{}{} {}\n",
                reports(&refused.diagnostics),
                style.paint(Color::Red, "✗"),
                hang(2, &format!("{}: {errors} {word}", file.display()), style)
            )
        }
        Outcome::Unreadable(error) => Report::from(error).render(style),
    }
}

fn as_json(file: &Path, outcome: &Outcome) -> Value {
    match outcome {
        Outcome::Schema => json!({ "file": file, "ok": true, "schema": true, "diagnostics": [] }),
        Outcome::Read(loaded, wants) => {
            let mut diagnostics: Vec<Value> =
                loaded.warnings.iter().map(|diagnostic| json!(diagnostic)).collect();
            let line = |report: &Report, label: &str| {
                report.lines.iter().find(|(known, _)| known == label).map(|(_, text)| text.clone())
            };
            diagnostics.extend(
                wants
                    .iter()
                    .map(|report| json!({ "severity": "warning", "code": report.code, "message": report.message, "file": file, "help": line(report, "fix") })),
            );
            let legacy = loaded.generation == Generation::Legacy;
            json!({ "file": file, "ok": true, "name": loaded.character.name, "legacy": legacy, "diagnostics": diagnostics })
        }
        Outcome::Refused(refused) => {
            json!({ "file": file, "ok": false, "diagnostics": refused.diagnostics })
        }
        Outcome::Unreadable(error) => {
            json!({ "file": file, "ok": false, "diagnostics": [{ "severity": "error", "code": error.code(), "message": error.message(), "help": error.fix() }] })
        }
    }
}
