//! `galatea memory`: looks through what an agent remembers, removes, exports and imports it. Works
//! beside a running process.

mod bar;
mod export;
mod import;
mod list;
mod own;
mod remove;
mod search;
mod select;
mod show;

use clap::{Args, Subcommand};
use std::{path::PathBuf, process::ExitCode};

use crate::{
    cli::flags::{Consent, Json},
    context::Context,
    report::failure::Result,
};
use galatea_host::{storage::data_dir::DataDir, storage::database};
use select::Which;

pub(super) use select::agent as agent_named;

/// Look through what an agent remembers; remove, export and import it
#[derive(Debug, Clone, Args)]
pub(crate) struct Memory {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Clone, Subcommand)]
enum Verb {
    /// List memories, the newest first
    #[command(
        before_help = "Examples:\n  galatea memory ls\n  galatea memory ls --kind facts --person Ann --json"
    )]
    Ls {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        json: Json,
    },
    /// Find memories by words and, with an embedding model, by meaning; the best match first
    #[command(
        before_help = "Examples:\n  galatea memory search \"where does Ann live\"\n  galatea memory search bees --room general --since 2026-01-31"
    )]
    Search {
        /// What to look for; every word is optional
        text: String,
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        json: Json,
    },
    /// Show one memory: what it says, where it comes from, what was made from it
    #[command(before_help = "Examples:\n  galatea memory show 5f0a92c1-33d0-7")]
    Show {
        /// The memory's id, or its beginning
        id: String,
        #[command(flatten)]
        json: Json,
    },
    /// Remove memories, and what was made from them alone
    #[command(before_help = "Examples:\n  galatea memory rm 5f0a92c1-33d0-7b0c-9e50-3c2f5d0a7e11")]
    Rm {
        /// Ids of memories, or their beginnings
        #[arg(required = true)]
        ids: Vec<String>,
        #[command(flatten)]
        consent: Consent,
        #[command(flatten)]
        json: Json,
    },
    /// Write memories with their rooms and people as JSON lines
    ///
    /// With `--json` and a file, a summary is printed; without a file, the lines themselves are what
    /// is printed.
    #[command(
        before_help = "Examples:\n  galatea memory export -o eliza.jsonl\n  galatea memory export --person Ann --kind messages --kind facts"
    )]
    Export {
        #[command(flatten)]
        which: Which,
        /// The file to write; standard output when unset
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
        #[command(flatten)]
        json: Json,
    },
    /// Read memories: an export of Galatea, a chat log, an export of Telegram or Discord, or a dump
    /// of elizaOS's database
    ///
    /// The format is recognised. A chat log has one JSON object a line: `time` (RFC 3339 or Unix
    /// milliseconds), `speaker`, `text` and, if there is one, `id`. Stop galatea first, or answers
    /// may miss what is being imported. An import that was interrupted is repeated: what is stored
    /// stays as it is, and the summary counts texts that differ from it.
    #[command(
        before_help = "Examples:\n  galatea memory import eliza.jsonl\n  galatea memory import result.json --own HelperBot\n  galatea memory import talk.jsonl --room \"book club\"\n  gunzip -c eliza.sql.gz | galatea memory import -"
    )]
    Import(import::Import),
}

impl Memory {
    pub(crate) async fn run(&self, context: &Context) -> Result<ExitCode> {
        let settings = &context.configuration()?.settings;
        let data_dir = DataDir::locate(settings, &context.working_dir);
        let database = match &self.verb {
            Verb::Import(import) => import.database(context, &data_dir).await?,
            _ => database::open_beside(settings, &data_dir).await?,
        };
        let store = database.store();
        let outcome = match &self.verb {
            Verb::Ls { which, json } => list::list(&*store, which, json.json, context).await,
            Verb::Search { text, which, json } => {
                search::search(&*store, text, which, json.json, context).await
            }
            Verb::Show { id, json } => show::show(&*store, id, json.json, context).await,
            Verb::Rm { ids, consent, json } => {
                remove::remove(&*store, ids, *consent, json.json, context).await
            }
            Verb::Export { which, output, json } => {
                export::export(&*store, which, output.as_deref(), json.json, context).await
            }
            Verb::Import(import) => import.run(&*store, context).await,
        };
        database.close().await;
        outcome
    }
}
