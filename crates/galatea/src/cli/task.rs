//! `galatea task`: lists tasks that run by themselves, has one run now, or removes it.

use clap::{Args, Subcommand};
use galatea_core::{
    AgentId, Clock, Error, Store, SystemClock, Task, TaskId,
    store::{TaskQuery, TaskState},
    visible::one_line,
};
use serde_json::json;
use std::process::ExitCode;

use crate::{
    cli::{flags::Json, utc::utc},
    context::Context,
    report::failure::Result,
};
use galatea_host::storage::{data_dir::DataDir, database};

/// Most tasks of an agent that are listed.
const MANY: u32 = 10_000;
/// Characters at the end of an id, which tell tasks apart.
const SHORT: usize = 8;
/// Most characters of a task's words in a list.
const LONGEST: usize = 80;

/// Look at reminders and other tasks; run one now or remove it
#[derive(Debug, Clone, Args)]
pub(crate) struct Tasks {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Clone, Subcommand)]
enum Verb {
    /// List tasks that run by themselves, the one due first before the others
    #[command(before_help = "Examples:\n  galatea task ls\n  galatea task ls --json")]
    Ls {
        #[command(flatten)]
        json: Json,
    },
    /// Have a task run now; a paused one is tried again
    #[command(before_help = "Examples:\n  galatea task run 5f0a92c1")]
    Run {
        /// The task's id, or its last 8 characters
        id: String,
    },
    /// Remove a task
    #[command(before_help = "Examples:\n  galatea task rm 5f0a92c1")]
    Rm {
        /// The task's id, or its last 8 characters
        id: String,
    },
}

impl Tasks {
    /// Works beside a running process, which sees a change within a second.
    pub(crate) async fn run(&self, context: &Context) -> Result<ExitCode> {
        let settings = &context.configuration()?.settings;
        let database =
            database::open_beside(settings, &DataDir::locate(settings, &context.working_dir))
                .await?;
        let store = database.store();
        let outcome = self.with(&*store, context).await;
        database.close().await;
        outcome
    }

    async fn with(&self, store: &dyn Store, context: &Context) -> Result<ExitCode> {
        match &self.verb {
            Verb::Ls { json } => {
                let tasks = all(store).await?;
                if json.json {
                    let tasks: Vec<_> =
                        tasks.iter().map(|(_, name, task)| to_json(name, task)).collect();
                    context.output.json("galatea.tasks/1", json!({ "tasks": tasks }));
                    return Ok(ExitCode::SUCCESS);
                }
                tasks.iter().for_each(|(_, name, task)| context.output.data(line(name, task)));
                if tasks.is_empty() {
                    context.output.say("no task waits");
                }
            }
            Verb::Run { id } => {
                let (_, _, mut task) = find(store, id).await?;
                task.due = SystemClock.now();
                if let Some(run) = task.run.as_deref_mut() {
                    (run.state, run.attempts) = (TaskState::Waiting, 0);
                }
                store.save_task(&task).await?;
                context.output.say(format!("{} runs as soon as the agent runs", short(&task)));
            }
            Verb::Rm { id } => {
                let (agent, _, task) = find(store, id).await?;
                store.delete_task(agent, task.id).await?;
                context.output.say(format!("{} is removed", short(&task)));
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Tasks of all agents that run by themselves, each with its agent.
async fn all(store: &dyn Store) -> Result<Vec<(AgentId, String, Task)>> {
    let mut tasks = Vec::new();
    for (agent, name) in store.agents().await? {
        let found = store.scheduled(agent, TaskQuery::All, MANY).await?;
        tasks.extend(found.into_iter().map(|task| (agent, name.clone(), task)));
    }
    tasks.sort_by_key(|(_, _, task)| task.due);
    Ok(tasks)
}

async fn find(store: &dyn Store, id: &str) -> Result<(AgentId, String, Task)> {
    let wanted = id.trim().to_ascii_lowercase();
    let whole = wanted.parse::<TaskId>().ok();
    let fits = |task: &Task| {
        whole == Some(task.id) || wanted.len() >= SHORT && task.id.to_string().ends_with(&wanted)
    };
    let mut found = all(store).await?.into_iter().filter(|(_, _, task)| fits(task));
    match (found.next(), found.next()) {
        (Some(only), None) => Ok(only),
        (first, _) => Err(Error::not_found(if first.is_some() {
            "this names more than one task"
        } else {
            "there is no such task"
        })
        .with_code("GAL-TASK-UNKNOWN")
        .with("asked for", id)
        .with_fix("`galatea task ls` lists tasks with their ids")
        .into()),
    }
}

fn short(task: &Task) -> String {
    let id = task.id.to_string();
    id.get(id.len().saturating_sub(SHORT)..).unwrap_or(&id).to_owned()
}

fn line(agent: &str, task: &Task) -> String {
    let Some(run) = task.run.as_deref() else { return String::new() };
    let about = one_line(&task.description);
    let about: String = about.chars().take(LONGEST).collect();
    let error = run.last_error.as_deref().map(|error| format!("  {}", one_line(error)));
    format!(
        "{}  {:<7}  {}  {:<14}  {agent}  {}: {about}{}",
        short(task),
        run.state.as_str(),
        utc(task.due),
        task.name,
        run.schedule.describe(),
        error.unwrap_or_default()
    )
}

fn to_json(agent: &str, task: &Task) -> serde_json::Value {
    let run = task.run.as_deref();
    json!({
        "id": task.id,
        "agent": agent,
        "name": task.name,
        "description": task.description,
        "room": task.room_id,
        "person": task.entity_id,
        "due": utc(task.due),
        "rule": run.map(|run| run.schedule.describe()),
        "state": run.map(|run| run.state.as_str()),
        "attempts": run.map(|run| run.attempts),
        "lastError": run.and_then(|run| run.last_error.as_deref()),
        "lastRun": run.and_then(|run| run.last_run).map(utc),
    })
}
