//! `galatea plugin`: lists the plugins of agents, turns them on and off, and sets their settings.

mod new;

use clap::{Args, Subcommand};
use galatea_core::{Error, Plugin as Bundle, PluginSetting, Store, plugin::plain_name};
use galatea_host::{
    agents::plugins,
    characters::personas::{self, Persona},
    storage::{data_dir::DataDir, database},
};
use galatea_runtime::PluginChoices;
use serde_json::{Value, json};
use std::{collections::BTreeMap, process::ExitCode};

use crate::{
    cli::flags::{Characters, Json},
    context::Context,
    report::failure::Result,
};

/// Plugins: which are on, turn them on and off, and set their settings
#[derive(Debug, Clone, Args)]
pub(crate) struct Plugin {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Clone, Subcommand)]
enum Verb {
    /// List the plugins of each agent, on or off
    #[command(before_help = "Examples:\n  galatea plugin ls\n  galatea plugin ls --json")]
    Ls {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        json: Json,
    },
    /// Turn a plugin on; a running process does it within five seconds
    #[command(before_help = "Examples:\n  galatea plugin enable poll")]
    Enable {
        /// Name of the plugin
        name: String,
        #[command(flatten)]
        which: Which,
    },
    /// Turn a plugin off; a running process does it within five seconds
    #[command(before_help = "Examples:\n  galatea plugin disable poll --agent Ada")]
    Disable {
        /// Name of the plugin
        name: String,
        #[command(flatten)]
        which: Which,
    },
    /// Show the settings of a plugin, or set some; a running process takes them within five seconds
    #[command(
        before_help = "Examples:\n  galatea plugin config poll\n  galatea plugin config poll POLL_OPTIONS=5\n  galatea plugin config poll POLL_OPTIONS="
    )]
    Config {
        /// Name of the plugin
        name: String,
        /// A setting and its value; without a value the setting of the other sources counts again
        #[arg(value_name = "NAME=VALUE")]
        values: Vec<String>,
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        json: Json,
    },
    /// Make the crate of a new plugin, in a checkout of Galatea's sources
    New(new::New),
}

#[derive(Debug, Clone, Args)]
struct Which {
    /// Only this agent; every agent when unset
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    #[command(flatten)]
    characters: Characters,
}

impl Plugin {
    /// Works beside a running process.
    pub(crate) async fn run(&self, context: &Context) -> Result<ExitCode> {
        let (which, change) = match &self.verb {
            Verb::New(new) => return new.run(context),
            Verb::Ls { which, .. } | Verb::Config { which, .. } => (which, None),
            Verb::Enable { name, which } => (which, Some((name, true))),
            Verb::Disable { name, which } => (which, Some((name, false))),
        };
        let configuration = context.configuration()?;
        let files = &which.characters.characters;
        let mut all = personas::load(files, configuration, &context.working_dir)?;
        if let Some(wanted) = &which.agent {
            all.retain(|persona| persona.character.name.eq_ignore_ascii_case(wanted));
        }
        if all.is_empty() {
            return Err(Error::not_found("no character of this name is configured")
                .with_code("GAL-PLUGIN-AGENT")
                .with_fix("`galatea character ls` lists them")
                .into());
        }
        let settings = &configuration.settings;
        let data_dir = DataDir::locate(settings, &context.working_dir);
        let database = database::open_beside(settings, &data_dir).await?;
        let store = database.store();
        let outcome = match (&self.verb, change) {
            (Verb::Config { name, values, json, .. }, _) if values.is_empty() => {
                show(&*store, &all, name, json.json, context).await
            }
            (Verb::Config { name, values, .. }, _) => {
                configure(&*store, &all, name, values, context).await
            }
            (_, Some((name, on))) => switch(&*store, &all, name, on, context).await,
            (Verb::Ls { json, .. }, _) => list(&*store, &all, json.json, context).await,
            _ => Ok(ExitCode::SUCCESS),
        };
        database.close().await;
        outcome
    }
}

async fn list(
    store: &dyn Store,
    all: &[Persona],
    json: bool,
    context: &Context,
) -> Result<ExitCode> {
    let mut shown = Vec::new();
    for persona in all {
        let choices = choices(store, persona).await?;
        for plugin in plugins::known() {
            let on = is_on(&plugin, persona, &choices);
            shown.push((persona.character.name.clone(), on, plugin));
        }
    }
    if json {
        let list: Vec<Value> = shown
            .iter()
            .map(|(agent, on, plugin)| {
                json!({
                    "agent": agent,
                    "name": plugin.name,
                    "version": plugin.version,
                    "description": plugin.description,
                    "on": on,
                    "optional": plugin.optional,
                    "needs": plugin.dependencies,
                    "settings": plugin.settings.iter().map(|own| &own.name).collect::<Vec<_>>(),
                })
            })
            .collect();
        context.output.json("galatea.plugins/1", json!({ "plugins": list }));
        return Ok(ExitCode::SUCCESS);
    }
    let width = shown.iter().map(|(.., plugin)| plugin.name.len()).max().unwrap_or_default();
    let mut last = None;
    for (agent, on, plugin) in &shown {
        if last != Some(agent) {
            context.output.data(agent);
            last = Some(agent);
        }
        let state = if *on { "on " } else { "off" };
        let line = format!("  {state}  {:<width$}  {}", plugin.name, plugin.description);
        context.output.row(9 + width, &line);
    }
    context.output.say("`galatea status` shows the services of a running process");
    Ok(ExitCode::SUCCESS)
}

async fn switch(
    store: &dyn Store,
    all: &[Persona],
    name: &str,
    on: bool,
    context: &Context,
) -> Result<ExitCode> {
    let plugin = known(name)?;
    if !on {
        needed(store, all, &plugin).await?;
    }
    for persona in all {
        let id = persona.character.identity().id();
        let mut choices = PluginChoices::load(store, id).await?;
        choices.enable(&plugin.name, on);
        if on {
            plugin.dependencies.iter().for_each(|needed| choices.enable(needed, true));
        }
        choices.save(store, id).await?;
        let state = if on { "on" } else { "off" };
        context.output.say(format!("{} is {state} for {}", plugin.name, persona.character.name));
    }
    Ok(ExitCode::SUCCESS)
}

/// Refuses to turn off what another plugin needs.
async fn needed(store: &dyn Store, all: &[Persona], plugin: &Bundle) -> Result<()> {
    for persona in all {
        let choices = choices(store, persona).await?;
        let needs = |other: &Bundle| {
            other.dependencies.contains(&plugin.name) && is_on(other, persona, &choices)
        };
        if let Some(other) = plugins::known().into_iter().find(needs) {
            return Err(Error::invalid("a plugin needs another one that is not loaded")
                .with_code("GAL-PLUGIN-MISSING")
                .with("plugin", &other.name)
                .with("needs", &plugin.name)
                .with_fix(format!("turn {} off first", other.name))
                .into());
        }
    }
    Ok(())
}

async fn show(
    store: &dyn Store,
    all: &[Persona],
    name: &str,
    json: bool,
    context: &Context,
) -> Result<ExitCode> {
    let plugin = known(name)?;
    let mut shown = Vec::new();
    for persona in all {
        let choices = choices(store, persona).await?;
        let settings = persona.settings.with_layer(choices.settings(&plugin.name));
        for own in &plugin.settings {
            let value = settings.text(own).filter(|_| !own.secret);
            let value = match (value, own.secret && settings.find(own).is_some()) {
                (_, true) => Some("••••".to_owned()),
                (value, false) => value,
            };
            let origin = settings.origin(own).to_string();
            shown.push((persona.character.name.clone(), own.clone(), value, origin));
        }
    }
    if json {
        let list: Vec<Value> = shown
            .iter()
            .map(|(agent, own, value, origin)| {
                json!({ "agent": agent, "name": own.name, "value": value, "origin": origin, "schema": own.schema() })
            })
            .collect();
        context.output.json("galatea.plugin.config/1", json!({ "settings": list }));
        return Ok(ExitCode::SUCCESS);
    }
    if shown.is_empty() {
        context.output.say(format!("{} has no settings", plugin.name));
    }
    for (agent, own, value, origin) in shown {
        let value = value.unwrap_or_else(|| "(unset)".to_owned());
        let of = if all.len() > 1 { format!("  of {agent}") } else { String::new() };
        context.output.row(2, &format!("{} = {value}  ({origin}){of}", own.name));
        context.output.row(4, &format!("    {}", own.help));
    }
    Ok(ExitCode::SUCCESS)
}

async fn configure(
    store: &dyn Store,
    all: &[Persona],
    name: &str,
    values: &[String],
    context: &Context,
) -> Result<ExitCode> {
    let plugin = known(name)?;
    let values = values.iter().map(|value| read(&plugin, value));
    let values = values.collect::<Result<BTreeMap<String, Value>, Error>>()?;
    for persona in all {
        let id = persona.character.identity().id();
        let mut choices = PluginChoices::load(store, id).await?;
        choices.set(&plugin.name, values.clone());
        let settings = persona.settings.with_layer(choices.settings(&plugin.name));
        plugin.settings.iter().try_for_each(|own| own.check(&settings))?;
        choices.save(store, id).await?;
        let names: Vec<_> = values.keys().map(String::as_str).collect();
        let whose = &persona.character.name;
        context.output.say(format!("{} of {} is set for {whose}", names.join(", "), plugin.name));
    }
    Ok(ExitCode::SUCCESS)
}

/// Reads `NAME=VALUE`; without a value the setting is removed.
fn read(plugin: &Bundle, text: &str) -> Result<(String, Value), Error> {
    let Some((name, value)) = text.split_once('=') else {
        return Err(Error::invalid("a setting is written NAME=VALUE")
            .with_code("GAL-PLUGIN-UNDECLARED")
            .with("asked for", text)
            .with_fix("write the value behind =, without spaces around it"));
    };
    let own: Option<&PluginSetting> = plugin.settings.iter().find(|own| own.name == name);
    let known: Vec<_> = plugin.settings.iter().map(|own| &*own.name).collect();
    match own {
        None => Err(Error::invalid("the plugin has no setting of this name")
            .with_code("GAL-PLUGIN-UNDECLARED")
            .with("asked for", name)
            .with_fix(if known.is_empty() {
                "it has no settings".to_owned()
            } else {
                format!("its settings are: {}", known.join(", "))
            })),
        Some(own) if own.secret => {
            Err(Error::invalid("a secret is not stored with the choices about plugins")
                .with_code("GAL-PLUGIN-SECRET")
                .with("setting", name)
                .with_fix(format!("set {name} in the environment or in .env, and restart")))
        }
        Some(_) if value.is_empty() => Ok((name.to_owned(), Value::Null)),
        Some(_) => Ok((name.to_owned(), value.into())),
    }
}

async fn choices(store: &dyn Store, persona: &Persona) -> Result<PluginChoices> {
    Ok(PluginChoices::load(store, persona.character.identity().id()).await?)
}

fn is_on(plugin: &Bundle, persona: &Persona, choices: &PluginChoices) -> bool {
    let listed = &persona.character.plugins;
    let is_listed = listed.iter().any(|name| plain_name(name) == plugin.name);
    choices.enabled(&plugin.name).unwrap_or(!plugin.optional || is_listed)
}

/// The plugin of this name, as characters may write it.
fn known(name: &str) -> Result<Bundle, Error> {
    let mut all = plugins::known();
    match all.iter().position(|plugin| plugin.name == plain_name(name)) {
        Some(at) => Ok(all.swap_remove(at)),
        None => {
            let names: Vec<_> = all.iter().map(|plugin| plugin.name.as_str()).collect();
            Err(Error::not_found("there is no plugin of this name")
                .with_code("GAL-PLUGIN-UNKNOWN")
                .with("asked for", name)
                .with_fix(format!("the plugins of this program are: {}", names.join(", "))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn poll() -> Bundle {
        Bundle::new("poll", "1.0.0", "")
            .setting(PluginSetting::number("POLL_OPTIONS", "Most.", 2, 20))
            .setting(PluginSetting::text("POLL_KEY", "Key.").secret())
    }

    #[test]
    fn values_are_read_and_what_is_unknown_or_secret_is_refused() {
        let read = |text: &str| read(&poll(), text);
        assert_eq!(read("POLL_OPTIONS=5").unwrap(), ("POLL_OPTIONS".into(), json!("5")));
        assert_eq!(read("POLL_OPTIONS=").unwrap().1, Value::Null);
        for (text, code) in [
            ("POLL_OPTIONS", "GAL-PLUGIN-UNDECLARED"),
            ("OTHER=1", "GAL-PLUGIN-UNDECLARED"),
            ("POLL_KEY=k", "GAL-PLUGIN-SECRET"),
        ] {
            let error = read(text).unwrap_err();
            assert_eq!((error.code(), error.fix().is_some()), (Some(code), true), "{text}");
        }
    }

    #[test]
    fn a_plugin_is_known_by_the_names_of_characters() {
        assert_eq!(known("@elizaos/plugin-bootstrap").unwrap().name, "bootstrap");
        let error = known("nothing").err().unwrap();
        assert!(error.fix().unwrap().contains("bootstrap"), "{error}");
    }
}
