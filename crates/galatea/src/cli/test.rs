//! `galatea test`: runs scenario files.

use clap::Args;
use galatea_core::Error;
use galatea_host::{
    look::{Color, Look},
    scenario::{self, Outcome},
};
use serde_json::{Value, json};
use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
    process::ExitCode,
};

use crate::{
    cli::flags::Json,
    context::Context,
    report::{exit::Exit, failure::Result, output::Style},
};

/// Folder that is looked into where no file is named.
const FOLDER: &str = "scenarios";

/// Run scenario files: conversations with a scripted model, and what is expected
///
/// Each file is a conversation with an agent in memory whose model answers by the file's rules, so that
/// a test needs no key, no network and no luck. docs/testing-agents.md has their form.
#[derive(Debug, Clone, Args)]
#[command(
    before_help = "Examples:\n  galatea test characters/scenarios\n  galatea test greeting.jsonc --json"
)]
pub(crate) struct Test {
    /// Scenario files, or folders with some (*.json, *.jsonc); ./scenarios if absent
    files: Vec<PathBuf>,
    #[command(flatten)]
    json: Json,
}

impl Test {
    pub(crate) async fn run(&self, context: &Context) -> Result<ExitCode> {
        let named =
            if self.files.is_empty() { vec![PathBuf::from(FOLDER)] } else { self.files.clone() };
        let mut files = Vec::new();
        for name in named {
            gather(&context.working_dir.join(name), &mut files)?;
        }
        let (mut results, mut failed) = (Vec::new(), 0_usize);
        for file in &files {
            let shown = file.strip_prefix(&context.working_dir).unwrap_or(file);
            let text = std::fs::read_to_string(file).map_err(|cause| unreadable(file, &cause))?;
            let scenario = scenario::read(shown, &text)?;
            let folder = file.parent().unwrap_or(&context.working_dir);
            let outcome = scenario::run(&scenario, folder).await?;
            failed += usize::from(!outcome.failed.is_empty());
            if !self.json.json {
                context.output.data(render(shown, &outcome, context.output.style).trim_end());
            }
            results.push(to_json(shown, &outcome));
        }
        if self.json.json {
            let passed = files.len() - failed;
            let body = json!({ "scenarios": results, "passed": passed, "failed": failed });
            context.output.json("galatea.test/1", body);
        } else {
            let passed = files.len() - failed;
            context.output.say(format_args!("{passed} of {} scenarios passed", files.len()));
        }
        Ok(if failed == 0 { ExitCode::SUCCESS } else { Exit::Findings.into() })
    }
}

/// The scenario files of a path, by name.
fn gather(path: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    if !path.is_dir() {
        if !path.exists() {
            return Err(Error::not_found("there is no such scenario")
                .with_code("GAL-TEST-FILE")
                .with("where", path.display())
                .with_fix("name scenario files or a folder with some")
                .into());
        }
        files.push(path.to_owned());
        return Ok(());
    }
    let entries = std::fs::read_dir(path).map_err(|cause| unreadable(path, &cause))?;
    let mut found: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|file| {
            let ending = file.extension().and_then(|ending| ending.to_str());
            matches!(ending, Some("json" | "jsonc"))
        })
        .collect();
    found.sort();
    if found.is_empty() {
        return Err(Error::not_found("this folder has no scenario files (*.json, *.jsonc)")
            .with_code("GAL-TEST-FILE")
            .with("where", path.display())
            .with_fix("name scenario files or a folder with some")
            .into());
    }
    files.extend(found);
    Ok(())
}

fn unreadable(path: &Path, cause: &std::io::Error) -> Error {
    Error::invalid("this file cannot be read")
        .with_code("GAL-FILE-READ")
        .with("where", path.display())
        .with("cause", cause)
}

fn render(file: &Path, outcome: &Outcome, style: Style) -> String {
    let passed = outcome.failed.is_empty();
    let (word, color) = if passed { ("pass", Color::Green) } else { ("FAIL", Color::Red) };
    let mut text = format!(
        "{}  {}  ({}, {} steps)\n",
        style.bold(color, word),
        outcome.name,
        file.display(),
        outcome.steps
    );
    for failed in &outcome.failed {
        let _ = writeln!(text, "  step {}: {} says {:?}", failed.step, failed.person, failed.said);
        for difference in &failed.differences {
            let _ = writeln!(text, "    expected {}", difference.expected);
            let _ = writeln!(text, "         got {}", style.paint(Color::Yellow, &difference.came));
        }
    }
    text
}

fn to_json(file: &Path, outcome: &Outcome) -> Value {
    let mut value = json!(outcome);
    if let Some(object) = value.as_object_mut() {
        object.insert("file".to_owned(), json!(file.display().to_string()));
    }
    value
}
