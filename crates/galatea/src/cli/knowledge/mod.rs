//! `galatea knowledge`: the documents of agents: adds, lists, searches, shows, removes them.

mod show;
mod target;
mod work;

use clap::{Args, Subcommand};
use std::{path::PathBuf, process::ExitCode};

use crate::{
    cli::flags::{Characters, Json},
    context::Context,
    report::failure::Result,
};
use work::Shelf;

/// See and change which documents the agents know
///
/// Documents come from `knowledge` in the character file, from KNOWLEDGE_PATH, and from `add`. A
/// running agent reads changed files by itself.
#[derive(Debug, Clone, Args)]
pub(crate) struct Knowledge {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Clone, Subcommand)]
enum Verb {
    /// Add files, folders or addresses to an agent's documents
    #[command(
        before_help = "Examples:\n  galatea knowledge add handbook.pdf docs/\n  galatea knowledge add https://example.org/faq --shared"
    )]
    Add {
        /// Files, folders, or addresses on hosts of KNOWLEDGE_HOSTS
        #[arg(required = true, value_name = "PLACE")]
        places: Vec<String>,
        /// Other agents find them too
        #[arg(long)]
        shared: bool,
        #[command(flatten)]
        which: Which,
    },
    /// List documents, with what could not be read and why
    #[command(before_help = "Examples:\n  galatea knowledge ls\n  galatea knowledge ls --json")]
    Ls(Which),
    /// Search as an agent does, with scores and both ranks
    #[command(
        before_help = "Examples:\n  galatea knowledge search \"how long is the warranty?\"\n  galatea knowledge search warranty --limit 3 --json"
    )]
    Search {
        /// What a person would ask
        question: String,
        /// At most this many pieces
        #[arg(long, value_name = "N", default_value_t = 8, value_parser = limit, allow_negative_numbers = true)]
        limit: usize,
        #[command(flatten)]
        which: Which,
    },
    /// Show a document and its pieces
    #[command(
        before_help = "Examples:\n  galatea knowledge show handbook.pdf\n  galatea knowledge show 5f0a92c1"
    )]
    Show {
        /// Path, address, or the beginning of the id
        document: String,
        #[command(flatten)]
        which: Which,
    },
    /// Remove files, folders and addresses that `add` added
    #[command(before_help = "Examples:\n  galatea knowledge rm handbook.pdf docs/")]
    Rm {
        /// Path, address, or the beginning of a document's id
        #[arg(required = true, value_name = "DOCUMENT")]
        documents: Vec<String>,
        #[command(flatten)]
        which: Which,
    },
    /// Read what is new or changed now, and embed what is not embedded
    #[command(before_help = "Examples:\n  galatea knowledge sync\n  galatea knowledge sync --json")]
    Sync(Which),
}

/// Most pieces that a search prints.
const MOST: usize = 1_000;

fn limit(text: &str) -> std::result::Result<usize, String> {
    match text.parse() {
        Ok(limit) if (1..=MOST).contains(&limit) => Ok(limit),
        _ => Err(format!("this has to be a number from 1 to {MOST}")),
    }
}

/// Which agents, and how to print.
#[derive(Debug, Clone, Args)]
struct Which {
    #[command(flatten)]
    characters: Characters,
    #[command(flatten)]
    json: Json,
}

impl Which {
    fn files(&self) -> &[PathBuf] {
        &self.characters.characters
    }
}

impl Knowledge {
    /// Works beside a running process, and without one.
    pub(crate) async fn run(&self, context: &Context) -> Result<ExitCode> {
        let which = match &self.verb {
            Verb::Add { which, .. }
            | Verb::Search { which, .. }
            | Verb::Show { which, .. }
            | Verb::Rm { which, .. }
            | Verb::Ls(which)
            | Verb::Sync(which) => which,
        };
        let shelf = Shelf::open(context, which.files()).await?;
        let json = which.json.json;
        let outcome = match &self.verb {
            Verb::Add { places, shared, .. } => shelf.add(context, places, *shared, json).await,
            Verb::Ls(_) => shelf.list(context, json).await,
            Verb::Search { question, limit, .. } => {
                shelf.search(context, question, *limit, json).await
            }
            Verb::Show { document, .. } => shelf.show(context, document, json).await,
            Verb::Rm { documents, .. } => shelf.remove(context, documents, json).await,
            Verb::Sync(_) => shelf.sync(context, json).await,
        };
        shelf.close().await;
        outcome
    }
}
