//! `galatea trace`: every step of a turn, and the same prompt asked again.

mod show;

use clap::{Args, Subcommand, ValueEnum};
use galatea_core::{
    AgentId, Error, MemoryId, Store, SystemClock,
    store::{InboxState, Place, TurnsQuery},
};
use galatea_host::{
    characters::personas,
    ops::{
        Operator, Ops,
        traces::{TracedTurn, ask_again},
    },
    storage::{data_dir::DataDir, database},
};
use galatea_http::{HttpClient, HttpOptions};
use galatea_models::{Choices, Dependencies};
use serde_json::json;
use std::{process::ExitCode, sync::Arc, time::Duration};

use crate::{
    cli::{
        explain::begins,
        flags::{Characters, Json},
    },
    context::Context,
    report::failure::Result,
};
use galatea_host::models::choosing;

/// Rows of a list where no number is given.
const USUAL: u32 = 20;
/// Pause between two looks of `tail`.
const LOOK: Duration = Duration::from_millis(500);

/// See what a turn did, step by step
#[derive(Debug, Clone, Args)]
pub(crate) struct TraceCommand {
    #[command(subcommand)]
    verb: Verb,
}

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Outcome {
    Replied,
    Ignored,
    Failed,
    Waiting,
}

impl Outcome {
    fn state(self) -> InboxState {
        match self {
            Self::Replied => InboxState::Done,
            Self::Ignored => InboxState::Skipped,
            Self::Failed => InboxState::Dead,
            Self::Waiting => InboxState::New,
        }
    }
}

#[derive(Debug, Clone, Subcommand)]
enum Verb {
    /// List turns, the newest first
    #[command(
        before_help = "Examples:\n  galatea trace ls\n  galatea trace ls --verdict failed\n  galatea trace ls --json"
    )]
    Ls {
        /// Only with this outcome
        #[arg(long, value_enum)]
        verdict: Option<Outcome>,
        /// How many
        #[arg(short = 'n', long, default_value_t = USUAL, value_parser = clap::value_parser!(u32).range(1..=1000))]
        limit: u32,
        #[command(flatten)]
        json: Json,
    },
    /// Show every step of a turn, by the id of its message or its beginning
    #[command(
        before_help = "Examples:\n  galatea trace show 018f5f3a\n  galatea trace show 018f5f3a --prompt"
    )]
    Show {
        /// The message's id, or its beginning
        id: String,
        /// With prompts, answers, parameters and results
        #[arg(long)]
        prompt: bool,
        #[command(flatten)]
        json: Json,
    },
    /// Print turns as they end, one a line, until interrupted
    #[command(before_help = "Examples:\n  galatea trace tail")]
    Tail,
    /// Ask the model again with the prompt of a turn; nothing is sent and nothing is stored
    #[command(before_help = "Examples:\n  galatea trace replay 018f5f3a")]
    Replay {
        /// The message's id, or its beginning
        id: String,
        #[command(flatten)]
        characters: Characters,
        #[command(flatten)]
        json: Json,
    },
}

impl TraceCommand {
    /// Works beside a running process.
    pub(crate) async fn run(&self, context: &Context) -> Result<ExitCode> {
        let settings = &context.configuration()?.settings;
        let data_dir = DataDir::locate(settings, &context.working_dir);
        let database = database::open_beside(settings, &data_dir).await?;
        let store = database.store();
        let ops = Ops::new(Arc::clone(&store), Arc::new(SystemClock), None);
        let outcome = self.with(&ops, &*store, &data_dir, context).await;
        database.close().await;
        outcome
    }

    async fn with(
        &self,
        ops: &Ops,
        store: &dyn Store,
        data_dir: &DataDir,
        context: &Context,
    ) -> Result<ExitCode> {
        let by = Operator::command_line();
        match &self.verb {
            Verb::Ls { verdict, limit, json } => {
                let query = query(verdict.map(Outcome::state), *limit);
                let turns = ops.traces(&by, &query).await?.rows;
                if json.json {
                    let turns: Vec<_> = turns.iter().map(show::to_json).collect();
                    context.output.json("galatea.traces/1", json!({ "turns": turns }));
                } else if turns.is_empty() {
                    context.output.say("no message has come yet");
                } else {
                    for turn in &turns {
                        context.output.row(4, &show::line(turn, context.output.style));
                    }
                }
                Ok(ExitCode::SUCCESS)
            }
            Verb::Show { id, prompt, json } => {
                let trace = ops.trace(&by, message(store, id).await?).await?;
                if json.json {
                    context.output.json("galatea.trace/1", show::whole(&trace));
                } else {
                    let text = show::render(&trace, *prompt, context.output.style);
                    context.output.data(text.trim_end());
                }
                Ok(ExitCode::SUCCESS)
            }
            Verb::Tail => tail(ops, &by, context).await,
            Verb::Replay { id, characters, json } => {
                let trace = ops.trace(&by, message(store, id).await?).await?;
                let agent = trace.turn.item.entry.memory.agent_id;
                let models = models_of(agent, characters, data_dir, context)?;
                let done = ask_again(&trace, &models).await?;
                if json.json {
                    let run = json!({
                        "model": done.model, "text": done.text, "whole": done.is_whole, "use": done.used,
                    });
                    context.output.json("galatea.trace.replay/1", run);
                } else {
                    if !done.is_whole {
                        context.output.say(
                            "The prompt was too long to be kept whole; its middle is missing.",
                        );
                    }
                    context.output.say(format_args!("{} answers now:", done.model));
                    context.output.data(done.text);
                }
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}

fn query(state: Option<InboxState>, limit: u32) -> TurnsQuery {
    TurnsQuery { agent: None, room: None, source: None, state, before: Place::NEWEST, limit }
}

/// The message of an id or its beginning.
async fn message(store: &dyn Store, id: &str) -> Result<MemoryId> {
    if let Ok(id) = id.trim().parse::<MemoryId>() {
        return Ok(id);
    }
    let found = begins(store, id).await?;
    Ok(found.ok_or_else(|| {
        Error::not_found("no message of this id is stored here")
            .with_code("GAL-EXPLAIN-UNKNOWN")
            .with("asked for", id)
            .with_fix("`galatea trace ls` lists the ids")
    })?)
}

/// Prints what ended since the last look. What is under way is printed once it has ended.
async fn tail(ops: &Ops, by: &Operator, context: &Context) -> Result<ExitCode> {
    let is_done = |turn: &TracedTurn| turn.item.finished_at.is_some();
    let newest = ops.traces(by, &query(None, 100)).await?.rows;
    let mut known: Vec<MemoryId> =
        newest.iter().filter(|turn| is_done(turn)).map(|turn| turn.item.entry.memory.id).collect();
    context.output.say("Waiting for turns; Ctrl-C ends.");
    loop {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => return Ok(ExitCode::SUCCESS),
            () = tokio::time::sleep(LOOK) => {}
        }
        let rows = ops.traces(by, &query(None, 100)).await?.rows;
        for turn in rows.iter().rev().filter(|turn| is_done(turn)) {
            let id = turn.item.entry.memory.id;
            if !known.contains(&id) {
                context.output.row(4, &show::line(turn, context.output.style));
                known.push(id);
            }
        }
        let drop = known.len().saturating_sub(1_000);
        known.drain(..drop);
    }
}

/// The models of an agent as its settings are now.
fn models_of(
    agent: AgentId,
    characters: &Characters,
    data_dir: &DataDir,
    context: &Context,
) -> Result<galatea_core::Models> {
    let configuration = context.configuration()?;
    let all = personas::load(&characters.characters, configuration, &context.working_dir)?;
    let persona = all.into_iter().find(|persona| persona.character.identity().id() == agent);
    let persona = persona.ok_or_else(|| {
        Error::not_found("the character of this turn is not among the configured ones")
            .with_code("GAL-TRACE-AGENT")
            .with_fix("name its file with --character")
    })?;
    let dependencies = Dependencies::remembering(
        galatea_core::EventBus::default(),
        Choices::open(choosing::file(data_dir)),
    );
    let http = HttpClient::new(HttpOptions::default())?;
    let built =
        galatea_models::build(&persona.settings, &http, Arc::new(SystemClock), &dependencies)?;
    Ok(built.models)
}
