//! `galatea user` and `galatea token`: who may sign in to the control plane, and programs that may.

use clap::{Args, Subcommand};
use galatea_core::{
    Error, ExposeSecret as _, SystemClock, Timestamp, UserId,
    store::{Credential, User},
};
use galatea_host::{
    ops::{Operator, Ops},
    storage::{data_dir::DataDir, database, lock},
};
use serde_json::json;
use std::{process::ExitCode, sync::Arc};

use crate::{
    cli::{flags::Json, utc::utc},
    context::Context,
    report::failure::Result,
};

/// Characters at the end of an id, which tell users and tokens apart.
const SHORT: usize = 8;

/// Add, change and remove users of the control plane
#[derive(Debug, Clone, Args)]
pub(crate) struct UserCommand {
    #[command(subcommand)]
    verb: UserVerb,
}

#[derive(Debug, Clone, Subcommand)]
enum UserVerb {
    /// List users
    #[command(before_help = "Examples:\n  galatea user ls\n  galatea user ls --json")]
    Ls {
        #[command(flatten)]
        json: Json,
    },
    /// Add a user, and print a link that signs them in once
    #[command(before_help = "Examples:\n  galatea user add ada --role operator")]
    Add {
        /// Name of the user
        name: String,
        /// What they may do
        #[arg(long, default_value = "viewer", value_parser = ["viewer", "operator", "owner"])]
        role: String,
    },
    /// Change what a user may do
    #[command(before_help = "Examples:\n  galatea user role ada owner")]
    Role {
        /// Name or id
        user: String,
        /// What they may do from now on
        #[arg(value_parser = ["viewer", "operator", "owner"])]
        role: String,
    },
    /// Print another link for a user who lost theirs; their sessions end
    #[command(before_help = "Examples:\n  galatea user reset ada")]
    Reset {
        /// Name or id
        user: String,
    },
    /// Remove a user with their sessions and tokens
    #[command(before_help = "Examples:\n  galatea user rm ada")]
    Rm {
        /// Name or id
        user: String,
    },
}

/// Make and revoke tokens with which programs use the API
#[derive(Debug, Clone, Args)]
pub(crate) struct TokenCommand {
    #[command(subcommand)]
    verb: TokenVerb,
}

#[derive(Debug, Clone, Subcommand)]
enum TokenVerb {
    /// List tokens; what they are is shown once, when they are made
    #[command(before_help = "Examples:\n  galatea token ls\n  galatea token ls --json")]
    Ls {
        #[command(flatten)]
        json: Json,
    },
    /// Make a token and print it
    #[command(before_help = "Examples:\n  galatea token make backup --role viewer --days 90")]
    Make {
        /// What it is for
        name: String,
        /// What it may do
        #[arg(long, default_value = "viewer", value_parser = ["viewer", "operator", "owner"])]
        role: String,
        /// Days for which it holds; until it is revoked if absent
        #[arg(long)]
        days: Option<u16>,
    },
    /// Revoke a token
    #[command(before_help = "Examples:\n  galatea token rm 5f0a92c1")]
    Rm {
        /// The token's name, its id, or the last 8 characters of it
        token: String,
    },
}

/// Runs a command over the database.
async fn over<T>(context: &Context, work: impl AsyncFnOnce(&Ops) -> Result<T>) -> Result<T> {
    let settings = &context.configuration()?.settings;
    let data_dir = DataDir::locate(settings, &context.working_dir);
    let database = database::open_beside(settings, &data_dir).await?;
    let ops = Ops::new(database.store(), Arc::new(SystemClock), None);
    let outcome = work(&ops).await;
    database.close().await;
    outcome
}

impl UserCommand {
    /// Works beside a running process, which sees a change at once.
    pub(crate) async fn run(&self, context: &Context) -> Result<ExitCode> {
        over(context, async |ops| self.with(ops, context).await).await
    }

    async fn with(&self, ops: &Ops, context: &Context) -> Result<ExitCode> {
        let by = Operator::command_line();
        match &self.verb {
            UserVerb::Ls { json } => {
                let users = ops.users(&by).await?;
                if json.json {
                    let users: Vec<_> = users.iter().map(to_json).collect();
                    context.output.json("galatea.users/1", json!({ "users": users }));
                } else if users.is_empty() {
                    context
                        .output
                        .say("Nobody has signed in yet; `galatea login` makes the first owner.");
                } else {
                    users.iter().for_each(|user| context.output.data(user_line(user)));
                }
            }
            UserVerb::Add { name, role } => {
                let (user, link) = ops.invite(&by, name, role.parse()?).await?;
                context.output.say(format_args!(
                    "{} may sign in once with this link, within a day:",
                    user.name
                ));
                context.output.data(address(context, link.secret.expose_secret())?);
            }
            UserVerb::Role { user, role } => {
                let id = find(ops, &by, user).await?;
                let user = ops.change_user(&by, id, Some(role.parse()?), None, None).await?;
                context.output.say(format_args!("{} is {} now.", user.name, user.role));
            }
            UserVerb::Reset { user } => {
                let id = find(ops, &by, user).await?;
                let (user, link) = ops.reset(&by, id).await?;
                context.output.say(format_args!(
                    "{} may sign in once with this link, within a day:",
                    user.name
                ));
                context.output.data(address(context, link.secret.expose_secret())?);
            }
            UserVerb::Rm { user } => {
                let id = find(ops, &by, user).await?;
                ops.remove_user(&by, id).await?;
                context.output.say(format_args!("{user} is removed."));
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl TokenCommand {
    /// Works beside a running process, which sees a change at once.
    pub(crate) async fn run(&self, context: &Context) -> Result<ExitCode> {
        over(context, async |ops| self.with(ops, context).await).await
    }

    async fn with(&self, ops: &Ops, context: &Context) -> Result<ExitCode> {
        let by = Operator::command_line();
        match &self.verb {
            TokenVerb::Ls { json } => {
                let tokens = ops.tokens(&by).await?;
                if json.json {
                    let tokens: Vec<_> = tokens.iter().map(token_json).collect();
                    context.output.json("galatea.tokens/1", json!({ "tokens": tokens }));
                } else {
                    tokens.iter().for_each(|token| context.output.data(token_line(token)));
                }
            }
            TokenVerb::Make { name, role, days } => {
                let made = ops.make_token(&by, name, role.parse()?, *days).await?;
                context.output.say("Keep it now; it is not shown again.");
                context.output.data(made.secret.expose_secret());
            }
            TokenVerb::Rm { token } => {
                let tokens = ops.tokens(&by).await?;
                let fits = |one: &&Credential| is_named(&one.id.to_string(), &one.name, token);
                let ids: Vec<_> = tokens.iter().filter(fits).map(|one| one.id).collect();
                let [id] = ids.as_slice() else { return Err(unknown("token", token)) };
                ops.end_credential(&by, *id).await?;
                context.output.say(format_args!("{token} is revoked."));
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn is_named(id: &str, name: &str, wanted: &str) -> bool {
    id == wanted || name == wanted || (wanted.len() >= SHORT && id.ends_with(wanted))
}

async fn find(ops: &Ops, by: &Operator, wanted: &str) -> Result<UserId> {
    let users = ops.users(by).await?;
    let fits = |user: &&User| is_named(&user.id.to_string(), &user.name, wanted);
    let ids: Vec<UserId> = users.iter().filter(fits).map(|user| user.id).collect();
    match ids.as_slice() {
        [id] => Ok(*id),
        _ => Err(unknown("user", wanted)),
    }
}

fn unknown(what: &str, wanted: &str) -> crate::report::failure::Failure {
    Error::not_found(format!("there is no such {what}, or more than one"))
        .with_code("GAL-AUTH-UNKNOWN")
        .with("asked for", wanted)
        .with_fix(format!("`galatea {what} ls` lists them"))
        .into()
}

/// The link with the address of the running process; its end alone where none runs.
fn address(context: &Context, secret: &str) -> Result<String> {
    let settings = &context.configuration()?.settings;
    let data_dir = DataDir::locate(settings, &context.working_dir);
    let address = lock::holder(data_dir.path())?.and_then(|holder| holder.health);
    Ok(address.map_or_else(
        || format!("http://127.0.0.1:PORT/login#{secret}"),
        |address| format!("http://{address}/login#{secret}"),
    ))
}

fn user_line(user: &User) -> String {
    let disabled = if user.disabled { "  may not sign in" } else { "" };
    format!("{}  {:<8}  {}{disabled}", user.id, user.role.as_str(), user.name)
}

fn to_json(user: &User) -> serde_json::Value {
    json!({
        "id": user.id, "name": user.name, "role": user.role.as_str(),
        "createdAt": utc(user.created_at), "disabled": user.disabled,
    })
}

fn token_line(token: &Credential) -> String {
    let used = token.used_at.map_or("never used".to_owned(), |at| format!("used {}", utc(at)));
    let ends = token.expires_at.map_or(String::new(), |at| format!("  ends {}", utc(at)));
    format!("{}  {:<8}  {}  {used}{ends}", token.id, token.role.as_str(), token.name)
}

fn token_json(token: &Credential) -> serde_json::Value {
    let time = |at: Option<Timestamp>| at.map(utc);
    json!({
        "id": token.id, "name": token.name, "role": token.role.as_str(),
        "createdAt": utc(token.created_at), "expiresAt": time(token.expires_at),
        "usedAt": time(token.used_at),
    })
}
