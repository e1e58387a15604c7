//! `galatea grant`: who may use which tool where, and whether it asks first.

use clap::{Args, Subcommand};
use galatea_core::{
    AgentId, Clock, Error, Result as CoreResult, Store, SystemClock, Timestamp,
    rights::{Grant, GrantAsk, ToolPattern, least_as_str, parse_least},
};
use galatea_host::storage::{data_dir::DataDir, database};
use galatea_runtime::tools::{self, KnownTool};
use serde_json::{Value, json};
use std::process::ExitCode;

use crate::{cli::flags::Json, context::Context, report::failure::Result};

/// Say who may use which tool where, and whether it asks first
#[derive(Debug, Clone, Args)]
pub(crate) struct GrantCommand {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Clone, Subcommand)]
enum Verb {
    /// List the tools and what is granted
    #[command(before_help = "Examples:\n  galatea grant ls\n  galatea grant ls --json")]
    Ls {
        /// Only this agent; every agent when unset
        #[arg(long, value_name = "NAME")]
        agent: Option<String>,
        #[command(flatten)]
        json: Json,
    },
    /// Grant; it takes effect within two seconds, also in a running process
    #[command(
        before_help = "Examples:\n  galatea grant add weather/* member --ask never\n  galatea grant add files/write_file nobody --world 80351110224678912"
    )]
    Add {
        #[command(flatten)]
        what: What,
        /// Least standing: member, admin, owner, agent-owner or nobody
        least: String,
        /// When it asks first: never, others-words or always
        #[arg(long, value_name = "WHEN", default_value = "others-words")]
        ask: String,
        #[command(flatten)]
        json: Json,
    },
    /// Take a grant back
    #[command(before_help = "Examples:\n  galatea grant rm weather/*")]
    Rm {
        #[command(flatten)]
        what: What,
        #[command(flatten)]
        json: Json,
    },
}

#[derive(Debug, Clone, Args)]
struct What {
    /// The tool as OWNER/NAME, or OWNER/* for all tools of a plugin or server
    tool: String,
    /// Only in this World, by the platform's id or its name
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    world: Option<String>,
    /// Only in this room, by the platform's id or its name
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    room: Option<String>,
    /// Only this agent; every agent when unset
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
}

impl GrantCommand {
    /// Lists or changes the grants. Works beside a running process.
    pub(crate) async fn run(&self, context: &Context) -> Result<ExitCode> {
        let settings = &context.configuration()?.settings;
        let database =
            database::open_beside(settings, &DataDir::locate(settings, &context.working_dir))
                .await?;
        let store = database.store();
        let outcome = match &self.verb {
            Verb::Ls { agent, json } => list(&*store, agent.as_deref(), json.json, context).await,
            Verb::Add { what, least, ask, json } => {
                add(&*store, what, least, ask, json.json, context).await
            }
            Verb::Rm { what, json } => remove(&*store, what, json.json, context).await,
        };
        database.close().await;
        outcome
    }
}

async fn list(
    store: &dyn Store,
    agent: Option<&str>,
    json: bool,
    context: &Context,
) -> Result<ExitCode> {
    let mut shown = Vec::new();
    for (id, name) in agents(store, agent).await? {
        let known = tools::known(store, id, SystemClock.now()).await?;
        let grants = store.grants(id).await?;
        if json {
            let granted: Vec<Value> = grants.iter().map(|grant| of(grant, &known)).collect();
            shown.push(json!({ "agent": name, "tools": known, "grants": granted }));
            continue;
        }
        context.output.say(format!("{name}: {} tools, {} grants", known.len(), grants.len()));
        for KnownTool { tool, action, scope } in &known {
            context.output.row(2, &format!("{tool}  called {action}  ({scope})"));
        }
        for grant in &grants {
            let means = known.iter().any(|known| grant.tools.matches(&known.tool));
            let note = if means { "" } else { "  matches no tool now" };
            let whose =
                grant.person.map_or_else(String::new, |person| format!("  person {person}"));
            context.output.row(2, &format!("{grant}{whose}{note}"));
        }
    }
    if json {
        context.output.json("galatea.grant/1", json!({ "agents": shown }));
    }
    Ok(ExitCode::SUCCESS)
}

fn of(grant: &Grant, known: &[KnownTool]) -> Value {
    json!({
        "kind": grant.kind, "tools": grant.tools.to_string(), "from": least_as_str(grant.from), "ask": grant.ask,
        "world": grant.world, "room": grant.room, "person": grant.person, "pin": grant.pin, "since": grant.at,
        "matches": known.iter().any(|known| grant.tools.matches(&known.tool)),
    })
}

async fn add(
    store: &dyn Store,
    what: &What,
    least: &str,
    ask: &str,
    json: bool,
    context: &Context,
) -> Result<ExitCode> {
    let from = parse_least(least).ok_or_else(|| {
        wrong("LEAST", least, "write member, admin, owner, agent-owner or nobody")
    })?;
    let ask = GrantAsk::parse(ask)
        .ok_or_else(|| wrong("--ask", ask, "write never, others-words or always"))?;
    let (tools, now) = (what.tool.parse::<ToolPattern>()?, SystemClock.now());
    let mut done = Vec::new();
    for (agent, name) in agents(store, what.agent.as_deref()).await? {
        let known = tools::known(store, agent, now).await?;
        tools.check(known.iter().map(|known| &known.tool))?;
        let pin = known.iter().find(|known| tools.is_exact() && tools.matches(&known.tool));
        let pin = pin.and_then(|known| known.tool.pin.clone());
        let placed = what.place(store, agent, &tools, now).await?;
        let grant = Grant { from, ask, pin, ..placed };
        store.save_grant(&grant).await?;
        if json {
            done.push(json!({ "agent": name, "grant": of(&grant, &known) }));
        } else {
            context.output.say(format!("{name}: {grant}"));
        }
    }
    if json {
        context.output.json("galatea.grant/1", json!({ "granted": done }));
    }
    Ok(ExitCode::SUCCESS)
}

async fn remove(store: &dyn Store, what: &What, json: bool, context: &Context) -> Result<ExitCode> {
    let tools = what.tool.parse::<ToolPattern>()?;
    let mut gone = Vec::new();
    for (agent, _) in agents(store, what.agent.as_deref()).await? {
        let placed = what.place(store, agent, &tools, Timestamp(0)).await?;
        for grant in store.grants(agent).await? {
            let same = grant.tools.to_string().eq_ignore_ascii_case(&tools.to_string())
                && (placed.world.is_none() || placed.world == grant.world)
                && (placed.room.is_none() || placed.room == grant.room);
            if same && store.remove_grant(&grant).await? {
                gone.push(grant.to_string());
            }
        }
    }
    if gone.is_empty() {
        return Err(Error::not_found("there is no such grant")
            .with_code("GAL-GRANT-UNKNOWN")
            .with("asked for", &tools)
            .with_fix("`galatea grant ls` shows the grants")
            .into());
    }
    if json {
        context.output.json("galatea.grant/1", json!({ "removed": gone }));
    } else {
        gone.iter().for_each(|grant| context.output.say(format!("removed: {grant}")));
    }
    Ok(ExitCode::SUCCESS)
}

impl What {
    /// A rule for this place, from nobody on.
    async fn place(
        &self,
        store: &dyn Store,
        agent: AgentId,
        tools: &ToolPattern,
        now: Timestamp,
    ) -> CoreResult<Grant> {
        let mut grant = Grant::rule(agent, tools.clone(), None, now);
        if self.world.is_none() && self.room.is_none() {
            return Ok(grant);
        }
        let named = |wanted: &str, remote: &str, name: &str| {
            wanted == remote || wanted.eq_ignore_ascii_case(name.trim())
        };
        for world in store.worlds(agent).await? {
            if let Some(wanted) = &self.world
                && !named(wanted, world.remote.as_str(), &world.name)
            {
                continue;
            }
            let Some(wanted) = &self.room else {
                grant.world = Some(world.id);
                return Ok(grant);
            };
            let rooms = store.rooms(world.id).await?;
            let room = rooms.iter().find(|room| named(wanted, room.remote.as_str(), &room.name));
            if let Some(room) = room {
                grant.room = Some(room.id);
                grant.world = self.world.is_some().then_some(world.id);
                return Ok(grant);
            }
        }
        let asked = [self.world.as_deref(), self.room.as_deref()];
        Err(Error::not_found("the agent knows no such place")
            .with_code("GAL-GRANT-PLACE")
            .with("asked for", asked.into_iter().flatten().collect::<Vec<_>>().join(" "))
            .with_fix(
                "write the platform's id of a World or room in which the agent was spoken to",
            ))
    }
}

fn wrong(what: &str, written: &str, fix: &'static str) -> Error {
    Error::invalid("a grant cannot be read")
        .with_code("GAL-GRANT-FORM")
        .with("asked for", format!("{what} {written}"))
        .with_fix(fix)
}

async fn agents(store: &dyn Store, wanted: Option<&str>) -> Result<Vec<(AgentId, String)>> {
    let mut agents = store.agents().await?;
    if let Some(wanted) = wanted {
        agents.retain(|(_, name)| name.eq_ignore_ascii_case(wanted));
    }
    if agents.is_empty() {
        return Err(Error::not_found("no such agent has run here")
            .with_code("GAL-GRANT-AGENT")
            .with_fix("start it once, or leave out --agent")
            .into());
    }
    Ok(agents)
}
