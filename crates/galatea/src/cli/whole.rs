//! `galatea export` and `galatea import`: a whole agent, with its queues, its ledger and its memory, from
//! one database into another.

use clap::Args;
use galatea_core::{AgentId, Error, ErrorKind, Skew};
use galatea_host::storage::{
    data_dir::DataDir,
    database::{self, Database},
    lock::{self, InstanceLock},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{
    fs::File,
    io::{BufRead, BufReader, BufWriter, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use crate::{cli::memory::agent_named, context::Context, report::failure::Result};

/// The form of the file, in its first line.
const FORMAT: &str = "galatea.agent/1";
/// Rows that are read or added at once.
const PAGE: u32 = 500;

/// A line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
enum Line {
    /// The first.
    Agent { format: String, id: AgentId, name: String },
    /// A row.
    Row { table: String, row: Value },
    /// The last: a file without it was cut off.
    End { rows: u64 },
}

/// Write a whole agent into a file, to move it to another machine or database
///
/// The file has everything that is stored of the agent: people, places, memories, queues, tasks, grants
/// and what it spent. Settings, character files and logins are files of their own. Stop galatea first:
/// what happens meanwhile may be missing.
#[derive(Debug, Clone, Args)]
#[command(
    before_help = "Examples:\n  galatea export eliza.jsonl\n  galatea export eliza.jsonl --agent Eliza"
)]
pub(crate) struct Export {
    /// The new file
    file: PathBuf,
    /// The agent; needed if several have run here
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
}

/// Store an agent that `galatea export` wrote
///
/// Into SQLite or PostgreSQL, whichever the settings name. Rows that are there already stay as they are.
#[derive(Debug, Clone, Args)]
#[command(before_help = "Examples:\n  DATABASE_URL=postgres://… galatea import eliza.jsonl")]
pub(crate) struct Import {
    /// The file
    file: PathBuf,
}

impl Export {
    pub(crate) async fn run(&self, context: &Context) -> Result<ExitCode> {
        let settings = &context.configuration()?.settings;
        let data_dir = DataDir::locate(settings, &context.working_dir);
        let database = database::open_beside(settings, &data_dir).await?;
        if lock::holder(data_dir.path())?.is_some() {
            context.output.say("galatea runs: what happens meanwhile may be missing in the file.");
        }
        let written = self.write(&database, context).await;
        database.close().await;
        let (name, rows) = written?;
        context.output.say(format_args!("{name}: {rows} rows written to {}", self.file.display()));
        Ok(ExitCode::SUCCESS)
    }

    async fn write(&self, database: &Database, context: &Context) -> Result<(String, u64)> {
        let store = database.store();
        let (id, name) = agent_named(&*store, self.agent.as_deref()).await?;
        let path = context.working_dir.join(&self.file);
        let file = File::create_new(&path).map_err(|cause| unwritable(&path, &cause))?;
        galatea_host::storage::files::close_to_others(&path)?;
        let mut out = BufWriter::new(file);
        let mut put = |line: &Line| -> Result<()> {
            let text = serde_json::to_string(line).map_err(|e| unwritable(&path, &e))?;
            writeln!(out, "{text}").map_err(|e| unwritable(&path, &e))?;
            Ok(())
        };
        put(&Line::Agent { format: FORMAT.to_owned(), id, name: name.clone() })?;
        let mut rows = 0;
        for table in Database::agent_tables() {
            let mut before = 0;
            loop {
                let page = database.agent_rows(id, table, before, PAGE).await?;
                let count = u32::try_from(page.len()).unwrap_or(u32::MAX);
                for row in page {
                    put(&Line::Row { table: table.to_owned(), row })?;
                    rows += 1;
                }
                before += count;
                if count < PAGE {
                    break;
                }
            }
        }
        put(&Line::End { rows })?;
        out.flush().map_err(|e| unwritable(&path, &e))?;
        Ok((name, rows))
    }
}

impl Import {
    pub(crate) async fn run(&self, context: &Context) -> Result<ExitCode> {
        let settings = &context.configuration()?.settings;
        let data_dir = DataDir::locate(settings, &context.working_dir);
        let path = context.working_dir.join(&self.file);
        // Before anything is made: a file that is none changes nothing.
        let (id, name) = head(&path)?;
        data_dir.create()?;
        let _lock = InstanceLock::take(data_dir.path())?;
        let redactor = &context.output.redactor;
        let (database, _) = database::open(settings, &data_dir, &Skew::default(), redactor).await?;
        let read = read(&path, id, &name, &database).await;
        database.close().await;
        let (rows, added) = read?;
        context.output.say(format_args!("{name}: {added} of {rows} rows added"));
        Ok(ExitCode::SUCCESS)
    }
}

fn lines(path: &Path) -> Result<impl Iterator<Item = Result<Line>>> {
    let file = File::open(path).map_err(|cause| {
        Error::not_found("the export cannot be opened")
            .with_code("GAL-EXPORT-FILE")
            .with("where", path.display())
            .with("cause", cause)
    })?;
    let place = path.display().to_string();
    Ok(BufReader::new(file).lines().enumerate().map(move |(n, line)| -> Result<Line> {
        let parsed = line
            .map_err(|e| e.to_string())
            .and_then(|line| serde_json::from_str::<Line>(&line).map_err(|e| e.to_string()));
        Ok(parsed.map_err(|fault| {
            Error::invalid(format!("this is no export of an agent: {fault}"))
                .with_code("GAL-EXPORT-FILE")
                .with("where", format!("{place}:{}", n + 1))
                .with_fix("take a file that `galatea export` wrote")
        })?)
    }))
}

/// The agent of a file.
fn head(path: &Path) -> Result<(AgentId, String)> {
    match lines(path)?.next().transpose()? {
        Some(Line::Agent { format, id, name }) if format == FORMAT => Ok((id, name)),
        _ => Err(no_export(path)),
    }
}

fn no_export(path: &Path) -> crate::report::failure::Failure {
    Error::invalid("this is no export of an agent, or one of another version")
        .with_code("GAL-EXPORT-FILE")
        .with("where", path.display())
        .with_fix("take a file that `galatea export` of this version wrote")
        .into()
}

/// Adds the rows of a file. Gives how many there are, and how many were added.
async fn read(path: &Path, id: AgentId, name: &str, database: &Database) -> Result<(u64, u64)> {
    if database.store().agents().await?.iter().any(|(other, _)| *other == id) {
        return Err(Error::new(ErrorKind::Conflict, format!("{name} is in this database already"))
            .with_code("GAL-EXPORT-THERE")
            .with_fix("import into an empty database, or into one in which the agent has never run")
            .into());
    }
    let (mut rows, mut added, mut ended) = (0, 0, false);
    let mut waiting: (String, Vec<Value>) = Default::default();
    for line in lines(path)?.skip(1) {
        match line? {
            Line::Row { table, row } => {
                rows += 1;
                if table != waiting.0 || waiting.1.len() >= PAGE as usize {
                    added += add(database, &mut waiting).await?;
                    waiting.0 = table;
                }
                waiting.1.push(row);
            }
            Line::End { rows: all } => ended = all == rows,
            Line::Agent { .. } => return Err(no_export(path)),
        }
    }
    added += add(database, &mut waiting).await?;
    if !ended {
        return Err(Error::invalid("the export was cut off; what it has is stored")
            .with_code("GAL-EXPORT-FILE")
            .with("where", path.display())
            .with_fix("write it again, and import it into an empty database")
            .into());
    }
    Ok((rows, added))
}

async fn add(database: &Database, waiting: &mut (String, Vec<Value>)) -> Result<u64> {
    let rows = std::mem::take(&mut waiting.1);
    if rows.is_empty() {
        return Ok(0);
    }
    Ok(database.add_agent_rows(&waiting.0, rows).await?)
}

fn unwritable(path: &Path, cause: &dyn std::fmt::Display) -> Error {
    Error::invalid("the export could not be written")
        .with_code("GAL-FILE-WRITE")
        .with("where", path.display())
        .with("cause", cause)
        .with_fix("name a file that does not exist, in a folder that may be written")
}
