//! `galatea config`: shows settings, their origin, and the schema of the file.

use clap::{Args, Subcommand};
use galatea_core::{Error, Settings, Variable};
use serde_json::{Map, Value, json};
use std::process::ExitCode;

use crate::{
    cli::flags::{Characters, Json},
    context::Context,
    report::{exit::Exit, failure::Result},
};
use galatea_host::{
    characters::personas,
    config::{self, groups},
    look::{Color, Look},
};

/// Show what is configured and where each value comes from
#[derive(Debug, Clone, Args)]
#[command(
    before_help = "Examples:\n  galatea config show --origin\n  galatea config get SERVER_PORT\n  galatea config schema > galatea.schema.json"
)]
pub(crate) struct Config {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Clone, Subcommand)]
enum Command {
    /// Print every setting that is set; secrets only as `set`
    Show(Show),
    /// Print one value
    Get(Get),
    /// Print which files are read, strongest first
    Path(Path),
    /// Print the JSON Schema of galatea.toml
    Schema,
}

#[derive(Debug, Clone, Args)]
struct Show {
    /// Say where each value comes from
    #[arg(long)]
    origin: bool,
    /// Settings with their default value too
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    characters: Characters,
    #[command(flatten)]
    json: Json,
}

#[derive(Debug, Clone, Args)]
struct Get {
    /// Name of the setting, such as SERVER_PORT
    name: String,
    #[command(flatten)]
    characters: Characters,
    #[command(flatten)]
    json: Json,
}

#[derive(Debug, Clone, Copy, Args)]
struct Path {
    #[command(flatten)]
    json: Json,
}

impl Config {
    pub(crate) fn run(&self, context: &Context) -> Result<ExitCode> {
        match &self.command {
            Command::Show(show) => show.run(context),
            Command::Get(get) => get.run(context),
            Command::Path(path) => path.run(context),
            Command::Schema => {
                context.output.raw(format!("{:#}\n", schema()).as_bytes());
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}

/// The settings of the process, or those of each character named.
fn views(characters: &Characters, context: &Context) -> Result<Vec<(Option<String>, Settings)>> {
    let configuration = context.configuration()?;
    if characters.characters.is_empty() {
        return Ok(vec![(None, configuration.settings.clone())]);
    }
    let personas = personas::load(&characters.characters, configuration, &context.working_dir)?;
    Ok(personas.into_iter().map(|p| (Some(p.character.name), p.settings)).collect())
}

impl Show {
    fn run(&self, context: &Context) -> Result<ExitCode> {
        let views = views(&self.characters, context)?;
        if self.json.json {
            let agents: Vec<_> = views
                .iter()
                .map(|(agent, settings)| json!({ "agent": agent, "settings": self.shown(settings).map(|v| as_json(settings, v)).collect::<Vec<_>>() }))
                .collect();
            context.output.json("galatea.config.show/1", json!({ "views": agents }));
            return Ok(ExitCode::SUCCESS);
        }
        let style = context.output.style;
        for (agent, settings) in &views {
            if let Some(agent) = agent {
                context.output.data(style.bold(Color::Cyan, &format!("# {agent}")));
            }
            let mut any = false;
            for variable in self.shown(settings) {
                any = true;
                let from = if self.origin {
                    format!("  # {}", origin(settings, variable))
                } else {
                    String::new()
                };
                context.output.data(format_args!(
                    "{}={}{}",
                    variable.name,
                    value(settings, variable).unwrap_or_default(),
                    style.paint(Color::Blue, &from)
                ));
            }
            if !any {
                context
                    .output
                    .say("nothing is set; `galatea config show --all` prints the defaults");
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    fn shown<'a>(&'a self, settings: &'a Settings) -> impl Iterator<Item = &'static Variable> + 'a {
        groups()
            .iter()
            .flat_map(|g| g.variables.iter().copied())
            .filter(|v| settings.find(v).is_some() || (self.all && v.default.is_some()))
    }
}

impl Get {
    fn run(&self, context: &Context) -> Result<ExitCode> {
        let name = self.name.to_uppercase();
        let variable = config::find_variable(&name).ok_or_else(|| unknown(&self.name))?;
        let views = views(&self.characters, context)?;
        let (_, settings) =
            views.first().ok_or_else(|| Error::unexpected("there is no configuration"))?;
        if self.json.json {
            context.output.json("galatea.config.get/1", as_json(settings, variable));
            return Ok(ExitCode::SUCCESS);
        }
        match value(settings, variable) {
            Some(value) => {
                context.output.data(value);
                Ok(ExitCode::SUCCESS)
            }
            None => {
                context.output.say(format_args!("{} is not set", variable.name));
                Ok(Exit::Failure.into())
            }
        }
    }
}

impl Path {
    fn run(self, context: &Context) -> Result<ExitCode> {
        let files = &context.configuration()?.files;
        if self.json.json {
            let files: Vec<_> =
                files.iter().map(|f| json!({ "path": f.path, "found": f.found })).collect();
            context.output.json("galatea.config.path/1", json!({ "files": files }));
            return Ok(ExitCode::SUCCESS);
        }
        for file in files {
            context.output.data(format_args!(
                "{}  {}",
                file.path.display(),
                if file.found { "read" } else { "not there" }
            ));
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn unknown(name: &str) -> Error {
    let error = Error::not_found(format!(
        "{} is not a setting of Galatea",
        name.chars().take(64).collect::<String>()
    ))
    .with_code("GAL-CFG-UNKNOWN");
    match config::nearest(name) {
        Some(meant) => error.with_fix(format!("did you mean {meant}?")),
        None => error.with_fix("`galatea config schema` lists every name"),
    }
}

/// The value as it may be shown. A secret is shown as `set`.
fn value(settings: &Settings, variable: &Variable) -> Option<String> {
    if variable.secret {
        return settings.find(variable).map(|_| "set".to_owned());
    }
    settings.text(variable)
}

fn origin(settings: &Settings, variable: &Variable) -> String {
    // If the value was found under an alias, show it.
    let layer = settings.layers().iter().find(|layer| {
        std::iter::once(&variable.name).chain(variable.aliases).any(|n| layer.contains_key(*n))
    });
    let alias = layer.and_then(|layer| {
        variable
            .aliases
            .iter()
            .find(|a| layer.contains_key(**a) && !layer.contains_key(variable.name))
    });
    match alias {
        Some(alias) => format!("{alias} from {}", settings.origin(variable)),
        None => settings.origin(variable).to_string(),
    }
}

fn as_json(settings: &Settings, variable: &Variable) -> Value {
    json!({
        "name": variable.name,
        "value": if variable.secret { None } else { settings.text(variable) },
        "set": settings.find(variable).is_some(),
        "secret": variable.secret,
        "origin": origin(settings, variable),
    })
}

/// JSON Schema (2020-12) of `galatea.toml` with flat names, for editors.
fn schema() -> Value {
    let mut properties = Map::new();
    for variable in groups().iter().flat_map(|g| g.variables.iter()) {
        let mut property = json!({ "description": variable.help, "type": ["string", "number", "boolean", "array"] });
        if let (Some(default), Some(fields)) = (variable.default, property.as_object_mut()) {
            fields.insert("default".to_owned(), default.into());
        }
        if let (true, Some(fields)) = (variable.secret, property.as_object_mut()) {
            fields.insert("writeOnly".to_owned(), true.into());
        }
        for alias in variable.aliases {
            let mut other = property.clone();
            if let Some(fields) = other.as_object_mut() {
                fields.insert(
                    "description".to_owned(),
                    format!("The same as {}.", variable.name).into(),
                );
            }
            properties.insert((*alias).to_owned(), other);
        }
        properties.insert(variable.name.to_owned(), property);
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "galatea.toml",
        "description": "Settings of Galatea. Tables are joined to names: [telegram] bot_token is TELEGRAM_BOT_TOKEN.",
        "type": "object",
        "properties": properties,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_only_ever_set() {
        let settings =
            Settings::from_pairs([("TELEGRAM_BOT_TOKEN", "123:canary"), ("SERVER_PORT", "1")]);
        let token = config::find_variable("TELEGRAM_BOT_TOKEN").unwrap();
        assert_eq!(value(&settings, token).unwrap(), "set");
        let json = as_json(&settings, token).to_string();
        assert!(!json.contains("canary") && json.contains("environment"), "{json}");
        assert_eq!(value(&settings, config::find_variable("SERVER_PORT").unwrap()).unwrap(), "1");
    }

    #[test]
    fn the_schema_has_every_name() {
        let schema = schema();
        let properties = schema["properties"].as_object().unwrap();
        let mut known = config::groups().iter().flat_map(|group| &group.variables);
        assert!(known.all(|variable| properties.contains_key(variable.name)));
        assert_eq!(properties["TELEGRAM_BOT_TOKEN"]["writeOnly"], true);
    }
}
