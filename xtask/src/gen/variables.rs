//! Generates `.env.example` and the configuration reference from the declared variables.

use anyhow::{Context as _, Result};
use serde::Deserialize;
use std::fmt::Write as _;

use super::ORIGIN;

/// Output of `galatea reference env`.
#[derive(Deserialize)]
pub(super) struct Reference {
    groups: Vec<Group>,
}

/// The variables of one part of the program.
#[derive(Deserialize)]
struct Group {
    title: String,
    variables: Vec<Variable>,
}

/// A variable as its crate declares it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Variable {
    name: String,
    #[serde(default)]
    aliases: Vec<String>,
    help: String,
    default: Option<String>,
    #[serde(default)]
    secret: bool,
    #[serde(default)]
    required: bool,
    #[serde(default)]
    per_platform: bool,
    form_of: Option<String>,
}

/// The settings of the template, in groups: what a new owner sets. Every other setting has a default
/// and stands in the reference.
pub(super) const TEMPLATE: &[(&str, &[&str])] = &[
    ("Process", &["CHARACTER_FILES", "GALATEA_DATA_DIR", "DATABASE_URL", "LOG_LEVEL"]),
    (
        "Platforms: a token switches one on; X needs four keys",
        &[
            "TELEGRAM_BOT_TOKEN",
            "DISCORD_API_TOKEN",
            "TWITTER_API_KEY",
            "TWITTER_API_SECRET_KEY",
            "TWITTER_ACCESS_TOKEN",
            "TWITTER_ACCESS_TOKEN_SECRET",
        ],
    ),
    ("Who gets answers", &["AGENT_OWNERS", "DM_POLICY", "GROUP_POLICY"]),
    (
        "Language model: one key is enough; without any, the built-in script answers",
        &[
            "OPENAI_API_KEY",
            "OPENAI_BASE_URL",
            "ANTHROPIC_API_KEY",
            "OPENROUTER_API_KEY",
            "OLLAMA_API_ENDPOINT",
            "LARGE_MODEL",
        ],
    ),
];

/// The `.env` template. An empty value means unset; a commented line shows the default.
///
/// # Errors
/// The template names a setting that no part of the program declares.
pub(super) fn env_example(reference: &Reference) -> Result<String> {
    template(reference, TEMPLATE)
}

fn template(reference: &Reference, groups: &[(&str, &[&str])]) -> Result<String> {
    let mut out = format!(
        "# {ORIGIN}\n# Copy to .env and fill in what you use; an empty value means unset. The environment wins over .env.\n\
         # Every other setting has a default: docs/reference/configuration.md lists them all.\n\
         # Instead of a secret NAME, NAME_FILE may name a file that holds it.\n"
    );
    let declared = || reference.groups.iter().flat_map(|group| &group.variables);
    for (title, names) in groups {
        let _ = write!(out, "\n# ---- {title} ----\n");
        for name in *names {
            let variable = declared()
                .find(|variable| variable.name == *name)
                .with_context(|| format!("the template names {name}, which is not declared"))?;
            let help = one_line(&variable.help);
            let first = help.split_once(". ").map_or(help.as_str(), |(first, _)| first);
            let _ = writeln!(out, "# {}", sentence(first));
            match &variable.default {
                Some(default) => drop(writeln!(out, "# {name}={}", one_line(default))),
                None => drop(writeln!(out, "{name}=")),
            }
        }
    }
    Ok(out)
}

/// The configuration reference as Markdown.
pub(super) fn markdown(reference: &Reference) -> String {
    let mut out = format!(
        "<!-- {ORIGIN} -->\n\n# Configuration\n\n\
         Sources, the strongest first: flags, the character file (`secrets`, `settings`, `settings.secrets`), the environment, `.env`, `galatea.toml`, defaults. \
         An empty value means unset. Instead of a secret `NAME`, `NAME_FILE` may name a file that holds it.\n\n\
         Several characters in one process: `CHARACTER.<NAME>.X`, `<NAME>_X` or the character file's own `settings` and `settings.secrets` give each its accounts. \
         Several accounts of one character on a platform: end any setting of that platform with `_2`, `_3`, … (`DISCORD_API_TOKEN_2`, `DISCORD_DM_POLICY_2`, \
         `TWITTER_ACCESS_TOKEN_2` with `TWITTER_ACCESS_TOKEN_SECRET_2`); what is not repeated is shared. Each account has conversations of its own, even in one place; \
         people are the same for all. The account that was connected first keeps elizaOS's ids, also when the order of settings changes; another bot in its place begins \
         new conversations. Further accounts of X take the four keys of OAuth 1.0a.\n"
    );
    let listed = |group: &&Group| group.variables.iter().any(|v| v.form_of.is_none());
    for group in reference.groups.iter().filter(listed) {
        let _ = write!(
            out,
            "\n## {}\n\n| Variable | Default | Meaning |\n|---|---|---|\n",
            cell(&group.title)
        );
        for variable in group.variables.iter().filter(|variable| variable.form_of.is_none()) {
            let default =
                variable.default.as_ref().map_or_else(String::new, |d| format!("`{}`", cell(d)));
            let mut meaning = sentence(&cell(&variable.help));
            if !variable.aliases.is_empty() {
                let _ = write!(meaning, " Also: {}.", ticked(&variable.aliases));
            }
            let forms = forms_of(reference, variable);
            if !forms.is_empty() {
                let whose = if variable.per_platform { "On one platform" } else { "Forms" };
                let _ = write!(meaning, " {whose}: {}.", ticked(forms));
            }
            if variable.required {
                meaning.push_str(" **Switches this part on.**");
            }
            if variable.secret {
                meaning.push_str(" Secret.");
            }
            let _ = writeln!(out, "| `{}` | {default} | {meaning} |", cell(&variable.name));
        }
    }
    out
}

/// The forms of a setting: for one platform, or for one part of its value.
fn forms_of<'a>(reference: &'a Reference, whole: &Variable) -> Vec<&'a String> {
    let all = reference.groups.iter().flat_map(|group| &group.variables);
    all.filter(|variable| variable.form_of.as_ref() == Some(&whole.name))
        .map(|variable| &variable.name)
        .collect()
}

fn ticked<'a>(names: impl IntoIterator<Item = &'a String>) -> String {
    let names: Vec<_> = names.into_iter().map(|name| format!("`{}`", cell(name))).collect();
    names.join(", ")
}

fn sentence(text: &str) -> String {
    let text = text.trim();
    if text.ends_with(['.', '!', '?', ')']) { text.to_owned() } else { format!("{text}.") }
}

/// Text that cannot break out of its table cell.
pub(super) fn cell(text: &str) -> String {
    one_line(text).replace('|', "\\|")
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference() -> Reference {
        serde_json::from_str(
            r#"{"groups":[{"title":"Telegram","variables":[
                {"name":"TELEGRAM_BOT_TOKEN","aliases":[],"help":"Token from @BotFather","default":null,"secret":true,"required":true},
                {"name":"TELEGRAM_MODE","aliases":["TG_MODE"],"help":"polling | webhook","default":"polling","secret":false,"required":false}]}]}"#,
        )
        .unwrap()
    }

    #[test]
    fn the_template_can_be_copied_as_it_is() {
        let groups: &[(&str, &[&str])] = &[("Telegram", &["TELEGRAM_BOT_TOKEN", "TELEGRAM_MODE"])];
        let text = template(&reference(), groups).unwrap();
        assert!(
            text.contains(
                "\n# ---- Telegram ----\n# Token from @BotFather.\nTELEGRAM_BOT_TOKEN=\n"
            ),
            "{text}"
        );
        assert!(text.contains("# polling | webhook.\n# TELEGRAM_MODE=polling\n"), "{text}");
        let set: Vec<_> = text.lines().filter(|l| !l.starts_with('#') && !l.is_empty()).collect();
        assert_eq!(set, ["TELEGRAM_BOT_TOKEN="], "nothing is set by copying it");
        assert!(template(&reference(), &[("Telegram", &["TELEGRAM_MOOD"])]).is_err());
    }

    #[test]
    fn forms_of_a_setting_stand_in_its_row() {
        let reference: Reference = serde_json::from_str(
            r#"{"groups":[{"title":"Telegram","variables":[{"name":"TELEGRAM_DM_POLICY","help":"DM_POLICY on Telegram","default":null,"formOf":"DM_POLICY"}]},
                {"title":"Answering","variables":[{"name":"DM_POLICY","help":"Direct messages","default":"open","perPlatform":true}]}]}"#,
        )
        .unwrap();
        let text = markdown(&reference);
        assert!(
            text.contains(
                "| `DM_POLICY` | `open` | Direct messages. On one platform: `TELEGRAM_DM_POLICY`. |"
            ),
            "{text}"
        );
        assert!(!text.contains("## Telegram"), "{text}");
    }

    #[test]
    fn the_page_is_a_table_with_every_fact() {
        let text = markdown(&reference());
        assert!(text.contains("| `TELEGRAM_BOT_TOKEN` |  | Token from @BotFather. **Switches this part on.** Secret. |"), "{text}");
        assert!(
            text.contains(
                "| `TELEGRAM_MODE` | `polling` | polling \\| webhook. Also: `TG_MODE`. |"
            ),
            "{text}"
        );
    }
}
