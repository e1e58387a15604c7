//! Generates `.env.example` and the configuration reference from the declared variables.

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
}

/// The `.env` template. An empty value means unset; a commented line shows the default.
pub(super) fn env_example(reference: &Reference) -> String {
    let mut out = format!(
        "# {ORIGIN}\n# Copy to .env and fill in what you use. Everything may stay as it is: an empty value means unset.\n\
         # The environment wins over .env. Instead of a secret NAME, NAME_FILE may name a file that holds it.\n\
         # For several accounts of a character on one platform, end a setting of the platform with _2, _3, …: TELEGRAM_BOT_TOKEN_2 is the\n\
         # second account's token, TELEGRAM_DM_POLICY_2 its policy. What is not repeated is shared. CHARACTER.<NAME>.X is one character's X.\n"
    );
    for group in &reference.groups {
        let _ = write!(out, "\n# ---- {} ----\n", group.title);
        for variable in &group.variables {
            let marks = match (variable.required, variable.secret) {
                (true, true) => " Switches this part on. Secret.",
                (true, false) => " Switches this part on.",
                (false, true) => " Secret.",
                (false, false) => "",
            };
            for line in format!("{}{marks}", sentence(&variable.help)).lines() {
                let _ = writeln!(out, "# {line}");
            }
            match &variable.default {
                Some(default) => drop(writeln!(out, "# {}={}", variable.name, one_line(default))),
                None => drop(writeln!(out, "{}=", variable.name)),
            }
        }
    }
    out
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
    for group in &reference.groups {
        let _ = write!(
            out,
            "\n## {}\n\n| Variable | Default | Meaning |\n|---|---|---|\n",
            cell(&group.title)
        );
        for variable in &group.variables {
            let default =
                variable.default.as_ref().map_or_else(String::new, |d| format!("`{}`", cell(d)));
            let mut meaning = sentence(&cell(&variable.help));
            if !variable.aliases.is_empty() {
                let aliases: Vec<_> =
                    variable.aliases.iter().map(|a| format!("`{}`", cell(a))).collect();
                let _ = write!(meaning, " Also: {}.", aliases.join(", "));
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
        let text = env_example(&reference());
        assert!(text.contains("\n# ---- Telegram ----\n# Token from @BotFather. Switches this part on. Secret.\nTELEGRAM_BOT_TOKEN=\n"), "{text}");
        assert!(text.contains("# polling | webhook.\n# TELEGRAM_MODE=polling\n"), "{text}");
        let set: Vec<_> = text.lines().filter(|l| !l.starts_with('#') && !l.is_empty()).collect();
        assert_eq!(set, ["TELEGRAM_BOT_TOKEN="], "nothing is set by copying it");
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
