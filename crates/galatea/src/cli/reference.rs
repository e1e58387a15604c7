//! `galatea reference`: prints the data for generated documents. Hidden; `cargo xtask gen` calls
//! it.

mod rights;

use clap::{Args, ValueEnum};
use galatea_core::model::Price;
use galatea_models::families::{self, Family, Limit, Role, Sampling, Wire};
use serde_json::json;
use std::{fmt::Write as _, process::ExitCode};

use crate::context::Context;
use galatea_host::{catalogue, config};

/// Print the declarations that the reference documents are generated from
#[derive(Debug, Clone, Args)]
pub(crate) struct Reference {
    /// Which
    topic: Topic,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Topic {
    /// Every setting, as JSON
    Env,
    /// Every error code, as JSON
    Errors,
    /// Every command, as Markdown
    Cli,
    /// The JSON Schema of a character file
    Schema,
    /// Who may have which action done where, as Markdown
    Rights,
    /// What is known of models, as Markdown
    Models,
}

impl Reference {
    /// Prints the topic.
    pub(crate) fn run(&self, command: clap::Command, context: &Context) -> ExitCode {
        let text = match self.topic {
            Topic::Env => {
                let groups: Vec<_> = config::groups()
                    .iter()
                    .map(|g| json!({ "title": g.title, "variables": g.variables }))
                    .collect();
                format!("{:#}", json!({ "groups": groups }))
            }
            Topic::Errors => {
                format!("{:#}", json!({ "errors": catalogue::all().collect::<Vec<_>>() }))
            }
            Topic::Cli => commands(command),
            Topic::Rights => rights::markdown(),
            Topic::Models => models(),
            Topic::Schema => format!("{:#}", galatea_core::character::schema()),
        };
        context.output.raw(format!("{}\n", text.trim_end()).as_bytes());
        ExitCode::SUCCESS
    }
}

/// Every family of models in the data file, as Markdown.
fn models() -> String {
    let known = families::known();
    let mut text = format!(
        "# Models\n\nWhat is known of models, as of {}, from {}. USD per million tokens, standard tier, shortest prompts. Names are chosen from the \
         provider's own list (`galatea models ls`); windows and prices that the list tells go before these.\n",
        known.date, known.source
    );
    for preference in &known.preferences {
        let _ = write!(text, "\n## {}\n\nPreferred, in this order: ", preference.provider);
        let roles = Role::ALL.into_iter().filter(|role| !preference.of(*role).is_empty());
        let lists: Vec<String> = roles
            .map(|role| {
                let names: Vec<String> =
                    preference.of(role).iter().map(|name| format!("`{name}`")).collect();
                format!("{} {}", role.as_str(), names.join(", "))
            })
            .collect();
        let _ = write!(
            text,
            "{}.\n\n| family | from | newest known | window / output | in / cached / out | format | length | temperature … | efforts | prefill | sees |\n\
             |---|---|---|---|---|---|---|---|---|---|---|\n",
            lists.join("; ")
        );
        for family in known.families.iter().filter(|family| family.provider == preference.provider)
        {
            let _ = writeln!(text, "{}", row(family));
        }
    }
    text.push_str("\n## Announced ends\n\n| provider | day | models |\n|---|---|---|\n");
    for end in &known.ends {
        let names: Vec<String> = end.models.iter().map(|name| format!("`{name}`")).collect();
        let _ = writeln!(text, "| {} | {} | {} |", end.provider, end.date, names.join(", "));
    }
    text
}

fn row(family: &Family) -> String {
    let or_not = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
    let dollars = |micros: u64| {
        let text = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    let prices = |price: &Price| {
        format!("{} / {} / {}", dollars(price.input), dollars(price.cached), dollars(price.output))
    };
    let later = family
        .later
        .map(|(from, price)| format!("; from {from} {}", prices(&price)))
        .unwrap_or_default();
    let numbers: Vec<String> = family.least.iter().map(u32::to_string).collect();
    let rules = &family.rules;
    let efforts: Vec<&str> = rules.efforts.iter().map(|effort| effort.as_str()).collect();
    let cells = [
        format!("`{}`", family.name),
        or_not((!numbers.is_empty()).then(|| numbers.join("."))),
        or_not(family.model.as_ref().map(|model| format!("`{model}`"))),
        format!(
            "{} / {}",
            or_not(family.limits.window.map(|n| n.to_string())),
            or_not(family.limits.output.map(|n| n.to_string()))
        ),
        or_not(family.price.as_ref().map(|price| format!("{}{later}", prices(price)))),
        if rules.wire == Wire::Responses { "responses" } else { "chat" }.to_owned(),
        if rules.limit == Limit::MaxCompletionTokens {
            "`max_completion_tokens`"
        } else {
            "`max_tokens`"
        }
        .to_owned(),
        match rules.sampling {
            Sampling::Always => "yes",
            Sampling::NoEffort => "with effort none",
            Sampling::Never => "no",
        }
        .to_owned(),
        or_not((!efforts.is_empty()).then(|| efforts.join(", "))),
        if rules.prefill { "yes" } else { "no" }.to_owned(),
        if family.vision { "yes" } else { "no" }.to_owned(),
    ];
    format!("| {} |", cells.join(" | "))
}

fn commands(mut command: clap::Command) -> String {
    command.build();
    let mut text = "# Commands\n".to_owned();
    section(&command, 2, &mut text);
    text
}

fn section(command: &clap::Command, depth: usize, text: &mut String) {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name()).to_owned();
    let help = command.clone().render_long_help().to_string();
    let help: Vec<&str> = help.lines().map(str::trim_end).collect();
    let _ = write!(
        text,
        "\n{} {name}\n\n```text\n{}\n```\n",
        "#".repeat(depth),
        help.join("\n").trim()
    );
    for sub in command.get_subcommands().filter(|c| !c.is_hide_set() && c.get_name() != "help") {
        section(sub, (depth + 1).min(4), text);
    }
}
