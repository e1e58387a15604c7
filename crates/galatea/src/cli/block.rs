//! `galatea block`: people, rooms and Worlds that are never answered, in addition to BLOCK_PEOPLE,
//! BLOCK_ROOMS and BLOCK_WORLDS.

use clap::{Args, Subcommand, ValueEnum};
use galatea_core::{
    AgentId, Clock, Error, RemoteId, Source, Store, SystemClock,
    store::{Block as Entry, BlockKind},
};
use serde_json::json;
use std::process::ExitCode;

use crate::{cli::flags::Json, context::Context, report::failure::Result};
use galatea_host::{
    platforms::PLATFORMS,
    storage::{data_dir::DataDir, database},
};

/// Block people, rooms and Worlds, so that they are never answered
#[derive(Debug, Clone, Args)]
pub(crate) struct Block {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Clone, Subcommand)]
enum Verb {
    /// List what is blocked
    #[command(before_help = "Examples:\n  galatea block ls\n  galatea block ls --json")]
    Ls {
        #[command(flatten)]
        json: Json,
    },
    /// Block; it takes effect within two seconds, also in a running process
    #[command(
        before_help = "Examples:\n  galatea block add telegram person 5000000001\n  galatea block add discord world 80351110224678912 --reason raid"
    )]
    Add {
        #[command(flatten)]
        what: What,
        /// The reason, shown in the list
        #[arg(long, default_value = "")]
        reason: String,
        #[command(flatten)]
        json: Json,
    },
    /// Answer again
    #[command(before_help = "Examples:\n  galatea block rm telegram person 5000000001")]
    Rm {
        #[command(flatten)]
        what: What,
        #[command(flatten)]
        json: Json,
    },
}

#[derive(Debug, Clone, Args)]
struct What {
    /// Platform, such as telegram
    platform: String,
    /// What the id is of
    kind: Kind,
    /// The platform's id; of a person also their @handle, which may change its owner
    #[arg(allow_hyphen_values = true)]
    id: String,
    /// Only this agent; every agent when unset
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    Person,
    Room,
    World,
}

impl From<Kind> for BlockKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Person => Self::Person,
            Kind::Room => Self::Room,
            Kind::World => Self::World,
        }
    }
}

impl Block {
    /// Lists or changes the blocks. Works beside a running process.
    pub(crate) async fn run(&self, context: &Context) -> Result<ExitCode> {
        let settings = &context.configuration()?.settings;
        let database =
            database::open_beside(settings, &DataDir::locate(settings, &context.working_dir))
                .await?;
        let store = database.store();
        let outcome = match &self.verb {
            Verb::Ls { json } => list(&*store, json.json, context).await,
            Verb::Add { what, reason, json } => {
                add(&*store, what, reason, json.json, context).await
            }
            Verb::Rm { what, json } => remove(&*store, what, json.json, context).await,
        };
        database.close().await;
        outcome
    }
}

async fn list(store: &dyn Store, json: bool, context: &Context) -> Result<ExitCode> {
    let mut all = Vec::new();
    for (agent, name) in store.agents().await? {
        all.extend(store.blocks(agent).await?.into_iter().map(|entry| (name.clone(), entry)));
    }
    if json {
        let list: Vec<_> = all.iter().map(|(name, entry)| shown(name, entry)).collect();
        context.output.json("galatea.block/1", json!({ "blocked": list }));
    } else if all.is_empty() {
        context.output.say(
            "nothing is blocked here; BLOCK_PEOPLE, BLOCK_ROOMS and BLOCK_WORLDS may block besides",
        );
    } else {
        for (name, entry) in all {
            let Entry { source, kind, remote, reason, .. } = entry;
            let why = if reason.is_empty() { String::new() } else { format!("  ({reason})") };
            let line = format!("{source}  {}  {remote}  by {name}{why}", kind.as_str());
            context.output.row(2, &line);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn shown(agent: &str, entry: &Entry) -> serde_json::Value {
    json!({ "agent": agent, "platform": entry.source, "kind": entry.kind, "id": entry.remote, "reason": entry.reason, "since": entry.at })
}

async fn add(
    store: &dyn Store,
    what: &What,
    reason: &str,
    json: bool,
    context: &Context,
) -> Result<ExitCode> {
    let (source, kind, remote) = what.target()?;
    let mut done = Vec::new();
    for (agent, name) in what.agents(store).await? {
        let entry = Entry {
            agent,
            source: source.clone(),
            kind,
            remote: remote.clone(),
            reason: reason.to_owned(),
            at: SystemClock.now(),
        };
        store.block(&entry).await?;
        done.push(shown(&name, &entry));
    }
    if json {
        context.output.json("galatea.block/1", json!({ "blocked": done }));
    } else {
        context
            .output
            .say(format!("{} {remote} of {source} is not answered any more", kind.as_str()));
    }
    Ok(ExitCode::SUCCESS)
}

async fn remove(store: &dyn Store, what: &What, json: bool, context: &Context) -> Result<ExitCode> {
    let (source, kind, remote) = what.target()?;
    let mut removed = false;
    for (agent, _) in what.agents(store).await? {
        removed |= store.unblock(agent, &source, kind, &remote).await?;
    }
    if !removed {
        return Err(Error::not_found("this is not on the block list")
            .with_code("GAL-BLOCK-UNKNOWN")
            .with("asked for", format!("{source} {} {remote}", kind.as_str()))
            .with_fix("`galatea block ls` shows the list. What BLOCK_PEOPLE, BLOCK_ROOMS or BLOCK_WORLDS block is taken out there")
            .into());
    }
    if json {
        context.output.json(
            "galatea.block/1",
            json!({ "removed": { "platform": source, "kind": kind, "id": remote } }),
        );
    } else {
        context.output.say(format!("{} {remote} of {source} is answered again", kind.as_str()));
    }
    Ok(ExitCode::SUCCESS)
}

impl What {
    fn target(&self) -> Result<(Source, BlockKind, RemoteId)> {
        let source = PLATFORMS
            .iter()
            .map(|platform| platform.source.clone())
            .find(|source| source.as_str().eq_ignore_ascii_case(&self.platform));
        let source = source.ok_or_else(|| {
            let known: Vec<_> =
                PLATFORMS.iter().map(|platform| platform.source.to_string()).collect();
            Error::invalid("there is no such platform")
                .with_code("GAL-BLOCK-PLATFORM")
                .with("asked for", &self.platform)
                .with_fix(format!("one of {}", known.join(", ")))
        })?;
        let id = self.id.trim();
        let id = if id.starts_with('@') { id.to_lowercase() } else { id.to_owned() };
        Ok((source, self.kind.into(), RemoteId::new(id)))
    }

    async fn agents(&self, store: &dyn Store) -> Result<Vec<(AgentId, String)>> {
        let mut agents = store.agents().await?;
        if let Some(wanted) = &self.agent {
            agents.retain(|(_, name)| name.eq_ignore_ascii_case(wanted));
        }
        if agents.is_empty() {
            return Err(Error::not_found("no such agent has run here")
                .with_code("GAL-BLOCK-AGENT")
                .with_fix("start it once, or leave out --agent")
                .into());
        }
        Ok(agents)
    }
}
