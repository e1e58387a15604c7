//! `galatea models`: shows which models are used and why, and chooses them again.

use clap::{Args, Subcommand};
use galatea_core::{Clock, EventBus, SystemClock, TextModel, model::Price};
use galatea_http::{HttpClient, HttpOptions};
use galatea_models::{
    Change, Choices, Configured, Dependencies, When, config::ModelListReport, families,
};
use serde_json::{Value, json};
use std::{fmt::Write as _, process::ExitCode, sync::Arc};

use crate::{
    cli::flags::{Characters, Json},
    context::Context,
    report::{
        exit::Exit,
        failure::Result,
        findings,
        output::{Style, hang},
    },
};
use galatea_host::{
    characters::personas,
    look::{Color, Look},
    models::choosing,
    storage::data_dir::DataDir,
};

/// Show which models are used and why, or choose again from the providers' lists
///
/// Where no setting names a model, the newest generally available one of a preferred family is
/// chosen from the provider's own list, and remembered in the data folder. It changes only when it
/// is gone, or with `galatea models refresh`.
#[derive(Debug, Clone, Args)]
pub(crate) struct Models {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Clone, Subcommand)]
enum Command {
    /// List the models of every character, why they are these, their windows and prices
    #[command(before_help = "Examples:\n  galatea models ls\n  galatea models ls --json")]
    Ls(Which),
    /// Read the providers' lists and choose again; takes effect at the next start
    #[command(before_help = "Examples:\n  galatea models refresh\n  galatea models refresh --json")]
    Refresh(Which),
}

#[derive(Debug, Clone, Args)]
struct Which {
    #[command(flatten)]
    characters: Characters,
    #[command(flatten)]
    json: Json,
}

impl Models {
    /// Lists or chooses.
    pub(crate) async fn run(&self, context: &Context) -> Result<ExitCode> {
        match &self.command {
            Command::Ls(which) => which.list(context),
            Command::Refresh(which) => which.refresh(context).await,
        }
    }
}

/// A character's models, and the settings they were built from.
struct Built {
    name: String,
    settings: galatea_core::Settings,
    configured: Configured,
}

impl Which {
    fn build(&self, context: &Context) -> Result<(Vec<Built>, Dependencies, DataDir)> {
        let configuration = context.configuration()?;
        let data_dir = DataDir::locate(&configuration.settings, &context.working_dir);
        let dependencies = Dependencies::remembering(
            EventBus::default(),
            Choices::open(choosing::file(&data_dir)),
        );
        let mut built = Vec::new();
        for persona in
            personas::load(&self.characters.characters, configuration, &context.working_dir)?
        {
            let configured = configure(&persona.settings, &dependencies)?;
            built.push(Built {
                name: persona.character.name,
                settings: persona.settings,
                configured,
            });
        }
        Ok((built, dependencies, data_dir))
    }

    fn list(&self, context: &Context) -> Result<ExitCode> {
        let (built, ..) = self.build(context)?;
        if self.json.json {
            context.output.json(
                "galatea.models/1",
                json!({ "agents": built.iter().map(to_json).collect::<Vec<_>>() }),
            );
        } else {
            context.output.data(
                built
                    .iter()
                    .map(|one| render(one, context.output.style))
                    .collect::<Vec<_>>()
                    .join("\n")
                    .trim_end(),
            );
        }
        Ok(ExitCode::SUCCESS)
    }

    async fn refresh(&self, context: &Context) -> Result<ExitCode> {
        let (mut built, dependencies, data_dir) = self.build(context)?;
        data_dir.create()?;
        let today = families::day(SystemClock.now());
        let mut all = ModelListReport::default();
        for one in &mut built {
            let ModelListReport { changes, findings, unread } =
                one.configured.read_lists(dependencies.choices(), today, When::Now).await;
            all.changes.extend(changes);
            all.findings.extend(
                findings
                    .into_iter()
                    .filter(|finding| !all.findings.contains(finding))
                    .collect::<Vec<_>>(),
            );
            all.unread.extend(
                unread
                    .into_iter()
                    .filter(|finding| !all.unread.contains(finding))
                    .collect::<Vec<_>>(),
            );
            one.configured = configure(&one.settings, &dependencies)?;
        }
        let found: Vec<_> = all.findings.iter().chain(&all.unread).cloned().collect();
        if self.json.json {
            let agents: Vec<Value> = built.iter().map(to_json).collect();
            context.output.json(
                "galatea.models/1",
                json!({ "agents": agents, "changes": all.changes, "findings": found }),
            );
        } else {
            let mut text = all.changes.iter().map(changed).collect::<String>();
            if all.changes.is_empty() {
                text.push_str("Nothing is chosen otherwise than before.\n");
            }
            text.push_str(&findings::render(&found, context.output.style));
            context.output.data(text.trim_end());
            if !all.changes.is_empty() {
                context.output.say("A galatea that runs goes on as it is until its next start.");
            }
        }
        Ok(if all.unread.is_empty() { ExitCode::SUCCESS } else { Exit::Network.into() })
    }
}

fn configure(settings: &galatea_core::Settings, dependencies: &Dependencies) -> Result<Configured> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    Ok(galatea_models::build(
        settings,
        &HttpClient::new(HttpOptions::default())?,
        clock,
        dependencies,
    )?)
}

fn changed(change: &Change) -> String {
    let Change { service, role, from, to } = change;
    match from {
        Some(from) => format!("{service}  {}: {to}, in place of {from}\n", role.as_str()),
        None => format!("{service}  {}: {to}\n", role.as_str()),
    }
}

/// The agent's text model of a role.
fn model(configured: &Configured, role: families::Role) -> Option<&Arc<dyn TextModel>> {
    match role {
        families::Role::Small => Some(&configured.models.small),
        families::Role::Large => Some(&configured.models.large),
        families::Role::ReasoningSmall => configured.models.reasoning.small.as_ref(),
        families::Role::ReasoningLarge => configured.models.reasoning.large.as_ref(),
        families::Role::Vision => configured.models.vision.as_ref(),
        families::Role::Embedding => None,
    }
}

fn to_json(built: &Built) -> Value {
    let uses: Vec<Value> = built
        .configured
        .uses
        .iter()
        .map(|one| {
            let mut value = json!(one);
            let info = model(&built.configured, one.role)
                .map(|model| model.info())
                .filter(|info| info.model == one.named.name);
            if let Some(info) = info {
                value["limits"] = json!(info.limits);
                value["price"] = json!(info.price);
            }
            value
        })
        .collect();
    json!({ "agent": built.name, "models": uses, "media": built.configured.media, "notes": built.configured.notes, "findings": built.configured.findings })
}

fn render(built: &Built, style: Style) -> String {
    let mut text = format!("{}\n", style.bold(Color::Cyan, &built.name));
    if built.configured.uses.is_empty() {
        let _ = writeln!(text, "  {}", hang(2, &built.configured.description, style));
    }
    for one in &built.configured.uses {
        let line = format!("{} {}: {}", one.provider, one.named.name, one.named.why);
        let _ = writeln!(text, "  {:<15}  {}", one.role.as_str(), hang(19, &line, style));
        let info = model(&built.configured, one.role)
            .map(|model| model.info())
            .filter(|info| info.model == one.named.name);
        if let Some(info) = info {
            let window = info.limits.window.map_or_else(
                || "window unknown".to_owned(),
                |tokens| format!("window {tokens} tokens"),
            );
            let price = info.price.map_or_else(|| "price unknown".to_owned(), dollars);
            let _ = writeln!(text, "{:19}{}", "", hang(19, &format!("{window}, {price}"), style));
        }
    }
    for galatea_models::config::MediaUse { kind, provider, name } in &built.configured.media {
        let _ = writeln!(text, "  {:<15}  {provider} {name}", purpose(kind));
    }
    text + &findings::render(&built.configured.findings, style)
}

/// What a media model is for, in a word.
fn purpose(kind: &str) -> &'static str {
    match kind {
        "TRANSCRIPTION" => "sound",
        "IMAGE" => "pictures",
        _ => "speech",
    }
}

/// USD per million tokens.
fn dollars(price: Price) -> String {
    let one = |micros: u64| format!("{}.{:02}", micros / 1_000_000, micros % 1_000_000 / 10_000);
    format!("${} in, ${} out per million", one(price.input), one(price.output))
}
