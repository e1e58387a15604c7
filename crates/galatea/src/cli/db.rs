//! `galatea db`: the state of the database, copies of it, and checks.

use clap::{Args, Subcommand};
use galatea_core::{Error, ErrorKind, Skew, SystemClock};
use galatea_host::{
    ops::{Operator, Ops},
    storage::{
        data_dir::DataDir,
        database::{self, Database},
        lock::InstanceLock,
    },
};
use serde_json::json;
use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use crate::{
    cli::flags::Json,
    context::Context,
    report::{exit::Exit, failure::Result},
};

/// Look after the database: its state, copies, checks
#[derive(Debug, Clone, Args)]
pub(crate) struct Db {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Clone, Subcommand)]
enum Verb {
    /// Make the tables, or bring them up to date; a start does the same
    #[command(before_help = "Examples:\n  galatea db migrate")]
    Migrate,
    /// Show where the database is and what is in it
    #[command(before_help = "Examples:\n  galatea db status\n  galatea db status --json")]
    Status {
        #[command(flatten)]
        json: Json,
    },
    /// Copy a SQLite database into a new file, while galatea runs
    #[command(before_help = "Examples:\n  galatea db backup galatea-monday.db")]
    Backup {
        /// The new file
        file: PathBuf,
    },
    /// Put a copy in the place of the SQLite database; galatea must not run
    #[command(before_help = "Examples:\n  galatea db restore galatea-monday.db")]
    Restore {
        /// A file that `galatea db backup` wrote
        file: PathBuf,
    },
    /// Check that the file is sound and every message is accounted for
    #[command(before_help = "Examples:\n  galatea db check\n  galatea db check --json")]
    Check {
        #[command(flatten)]
        json: Json,
    },
}

impl Db {
    pub(crate) async fn run(&self, context: &Context) -> Result<ExitCode> {
        let settings = &context.configuration()?.settings;
        let data_dir = DataDir::locate(settings, &context.working_dir);
        match &self.verb {
            Verb::Migrate => {
                data_dir.create()?;
                let redactor = &context.output.redactor;
                let (database, created) =
                    database::open(settings, &data_dir, &Skew::default(), redactor).await?;
                let (place, kind) = database::show(&database, &data_dir, &context.working_dir);
                database.close().await;
                let what = if created { "made" } else { "up to date" };
                context.output.say(format_args!("The {kind} tables in {place} are {what}."));
                Ok(ExitCode::SUCCESS)
            }
            Verb::Status { json } => {
                let database = database::open_beside(settings, &data_dir).await?;
                let outcome = status(&database, &data_dir, *json, context).await;
                database.close().await;
                outcome
            }
            Verb::Backup { file } => {
                let source = sqlite(context, &data_dir).await?;
                let to = context.working_dir.join(file);
                galatea_store::backup(&source, &to).await?;
                galatea_host::storage::files::close_to_others(&to)?;
                let size = std::fs::metadata(&to).map_or(0, |data| data.len());
                context.output.say(format_args!(
                    "{} has all of the database ({} KiB).",
                    file.display(),
                    size / 1024
                ));
                Ok(ExitCode::SUCCESS)
            }
            Verb::Restore { file } => restore(context, &data_dir, file).await,
            Verb::Check { json } => {
                let database = database::open_beside(settings, &data_dir).await?;
                let outcome = check(&database, &data_dir, *json, context).await;
                database.close().await;
                outcome
            }
        }
    }
}

/// The SQLite file.
async fn sqlite(context: &Context, data_dir: &DataDir) -> Result<PathBuf> {
    let settings = &context.configuration()?.settings;
    let database = database::open_beside(settings, data_dir).await?;
    let is_server = database.place().is_some();
    database.close().await;
    if is_server {
        return Err(Error::new(ErrorKind::Unsupported, "the database is a PostgreSQL server's")
            .with_code("GAL-DB-BACKUP")
            .with_fix("use pg_dump and pg_restore with --schema=galatea, or `galatea export` for one agent")
            .into());
    }
    Ok(data_dir.database())
}

async fn status(
    database: &Database,
    data_dir: &DataDir,
    json: Json,
    context: &Context,
) -> Result<ExitCode> {
    let (place, kind) = database::show(database, data_dir, &context.working_dir);
    let store = database.store();
    let ops = Ops::new(Arc::clone(&store), Arc::new(SystemClock), None);
    let counts = ops.counts(&Operator::command_line()).await?;
    let agents = store.agents().await?;
    let bytes = std::fs::metadata(data_dir.database()).ok().map(|data| data.len());
    let bytes = bytes.filter(|_| database.place().is_none());
    if json.json {
        context.output.json(
            "galatea.db.status/1",
            json!({
                "kind": kind, "place": place, "bytes": bytes, "agents": agents.len(), "counts": counts,
            }),
        );
        return Ok(ExitCode::SUCCESS);
    }
    context.output.data(format_args!("{kind} in {place}, up to date"));
    if let Some(bytes) = bytes {
        context.output.data(format_args!("{} KiB", bytes / 1024));
    }
    context.output.data(format_args!("{} agents", agents.len()));
    context.output.data(format_args!(
        "{} messages wait, {} were given up; {} parts wait, {} of unknown outcome, {} were given up",
        counts.waiting_messages,
        counts.failed_messages,
        counts.pending + counts.sending,
        counts.ambiguous,
        counts.dead
    ));
    Ok(ExitCode::SUCCESS)
}

async fn check(
    database: &Database,
    data_dir: &DataDir,
    json: Json,
    context: &Context,
) -> Result<ExitCode> {
    let mut faults = match database.place() {
        None => galatea_store::check(&data_dir.database()).await?,
        // A server checks its own files.
        Some(_) => Vec::new(),
    };
    let exceptions = database.store().exceptions(100).await?;
    faults.extend(
        exceptions
            .unexplained
            .iter()
            .map(|item| format!("message {} is finished without a reason", item.entry.memory.id)),
    );
    if json.json {
        context
            .output
            .json("galatea.db.check/1", json!({ "sound": faults.is_empty(), "faults": faults }));
    } else if faults.is_empty() {
        context.output.data("sound");
    } else {
        faults.iter().for_each(|fault| context.output.data(fault));
    }
    Ok(if faults.is_empty() { ExitCode::SUCCESS } else { Exit::Findings.into() })
}

/// Checks the copy first; the present file is kept beside it.
async fn restore(context: &Context, data_dir: &DataDir, file: &Path) -> Result<ExitCode> {
    let source = context.working_dir.join(file);
    let faults = galatea_store::check(&source).await?;
    if let Some(fault) = faults.first() {
        return Err(Error::invalid(format!("the copy is damaged: {fault}"))
            .with_code("GAL-DB-BACKUP")
            .with("where", file.display())
            .with_fix("take another copy")
            .into());
    }
    data_dir.create()?;
    let _lock = InstanceLock::take(data_dir.path())?;
    let target = data_dir.database();
    if target.exists() {
        let stamp = galatea_core::Clock::now(&SystemClock).0 / 1000;
        let kept = target.with_file_name(format!("galatea.before-restore-{stamp}.db"));
        // With its log: what is not yet in the main file belongs to it.
        for ending in ["", "-wal", "-shm"] {
            let (from, to) = (with_ending(&target, ending), with_ending(&kept, ending));
            if from.exists() {
                std::fs::rename(&from, &to).map_err(|cause| moved(&from, &cause))?;
            }
        }
        context.output.say(format_args!("The database as it was is in {}.", kept.display()));
    }
    std::fs::copy(&source, &target).map_err(|cause| moved(&target, &cause))?;
    galatea_host::storage::files::close_to_others(&target)?;
    context.output.say(format_args!("{} is restored.", file.display()));
    Ok(ExitCode::SUCCESS)
}

fn with_ending(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

fn moved(file: &Path, cause: &dyn std::fmt::Display) -> Error {
    Error::invalid("a file of the database could not be written")
        .with_code("GAL-FILE-WRITE")
        .with("where", file.display())
        .with("cause", cause)
}
