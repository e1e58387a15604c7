//! `galatea character`: creates, checks, converts and compares character files.

mod diff;
mod read;
mod validate;

use clap::{Args, Subcommand};
use galatea_core::character::{self, SCHEMA_FILE};
use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use crate::{
    context::Context,
    report::{
        failure::{Failure, Result},
        output::Output,
    },
};
use galatea_host::{
    look::{Color, Look},
    storage::files::{self, Access},
};

pub(crate) use read::read;

/// Make, check, convert and compare character files
#[derive(Debug, Clone, Args)]
#[command(
    before_help = "Examples:\n  galatea character new Ada\n  galatea character validate characters/*.json\n  galatea character convert old-eliza.json -o characters/eliza.json\n  galatea character convert card.png -o characters/ada.json"
)]
pub(crate) struct Character {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Clone, Subcommand)]
enum Command {
    /// Write a complete character file to edit, with its schema beside it
    New(New),
    /// Check files; exit 7 when one is not in order
    Validate(validate::Validate),
    /// Print the JSON Schema of a character file
    Schema,
    /// Write an elizaOS file of any version, or a character card (JSON or PNG), in the present format
    Convert(Convert),
    /// Show what differs between two files, or between files and the database; secrets are masked
    #[command(
        before_help = "Examples:\n  galatea character diff\n  galatea character diff old.json characters/ada.json"
    )]
    Diff(diff::Diff),
}

#[derive(Debug, Clone, Args)]
struct New {
    /// Name of the character
    name: String,
    /// Where to write it, in place of characters/NAME.json; - prints it
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace a file that is there
    #[arg(long)]
    force: bool,
}

#[derive(Debug, Clone, Args)]
struct Convert {
    /// The file to convert
    file: PathBuf,
    /// Where to write it, in place of printing it
    #[arg(short, long, value_name = "FILE", conflicts_with = "in_place")]
    output: Option<PathBuf>,
    /// Write it where it was; the old file stays beside it as FILE.bak
    #[arg(long)]
    in_place: bool,
    /// Replace a file that is there
    #[arg(long)]
    force: bool,
}

impl Character {
    pub(crate) async fn run(&self, context: &Context) -> Result<ExitCode> {
        match &self.command {
            Command::New(new) => new.run(context),
            Command::Validate(validate) => validate.run(context),
            Command::Schema => {
                context.output.raw(format!("{:#}\n", character::schema()).as_bytes());
                Ok(ExitCode::SUCCESS)
            }
            Command::Convert(convert) => convert.run(context),
            Command::Diff(diff) => diff.run(context).await,
        }
    }
}

impl New {
    fn run(&self, context: &Context) -> Result<ExitCode> {
        let name = self.name.trim();
        if name.is_empty() || name.chars().any(char::is_control) {
            return Err(Failure::usage("a character needs a name", "galatea character new Ada"));
        }
        if self.output.as_deref() == Some(Path::new("-")) {
            context.output.raw(character::template(name).as_bytes());
            return Ok(ExitCode::SUCCESS);
        }
        let file = self.output.clone().unwrap_or_else(|| usual_file(name));
        if file.extension().is_some_and(|e| e.eq_ignore_ascii_case("toml")) {
            return Err(Failure::usage(
                "a new character is written as JSON, and this name ends in .toml",
                "choose a name that ends in .json",
            ));
        }
        write_new(context, name, &file, self.force)?;
        context
            .output
            .say(format_args!("Start it with  galatea start --character {}", file.display()));
        Ok(ExitCode::SUCCESS)
    }
}

/// Default path of the file of a character.
pub(crate) fn usual_file(name: &str) -> PathBuf {
    let slug: String = name
        .trim()
        .to_lowercase()
        .chars()
        .map(|c| if c.is_alphanumeric() { c } else { '-' })
        .collect();
    let slug = slug.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-");
    Path::new("characters")
        .join(format!("{}.json", if slug.is_empty() { "character" } else { &slug }))
}

/// Writes the template, and its schema unless the current one is there. Prints the paths written.
///
/// # Errors
/// `GAL-FILE-EXISTS` unless `force` is set, `GAL-FILE-WRITE`.
pub(crate) fn write_new(context: &Context, name: &str, file: &Path, force: bool) -> Result<()> {
    let path = context.working_dir.join(file);
    let text = character::template(name);
    if force {
        files::replace(&path, &text, Access::Usual)?
    } else {
        files::create(&path, &text, Access::Usual)?
    }
    wrote(&context.output, file);
    let schema = file.with_file_name(SCHEMA_FILE);
    let path = context.working_dir.join(&schema);
    let text = format!("{:#}\n", character::schema());
    // A schema of an earlier version would mark new fields as mistakes.
    if std::fs::read_to_string(&path).ok().as_ref() != Some(&text) {
        files::replace(&path, &text, Access::Usual)?;
        wrote(&context.output, &schema);
    }
    Ok(())
}

fn wrote(output: &Output, file: &Path) {
    output.say(format_args!(
        "{} wrote {}",
        output.talk_style.paint(Color::Green, "✓"),
        file.display()
    ));
}

impl Convert {
    fn run(&self, context: &Context) -> Result<ExitCode> {
        if self.in_place && self.file.extension().is_some_and(|e| e.eq_ignore_ascii_case("png")) {
            return Err(Failure::usage(
                "a picture is not replaced by the character file that is made of its card",
                "name the file with -o, such as -o characters/ada.json",
            ));
        }
        let loaded = read(&self.file, &context.working_dir)?;
        for warning in &loaded.warnings {
            context.output.report(&warning.into());
        }
        let text = character::convert(&loaded.character);
        let private =
            !loaded.character.secrets.is_empty() || !loaded.character.settings_secrets.is_empty();
        let access = if private { Access::Private } else { Access::Usual };
        let Some(file) = self.output.as_ref().or(self.in_place.then_some(&self.file)) else {
            // Not masked: a converted file must contain what the old one contained.
            context.output.raw(text.as_bytes());
            return Ok(ExitCode::SUCCESS);
        };
        let path = context.working_dir.join(file);
        if self.in_place {
            let mut backup = file.clone().into_os_string();
            backup.push(".bak");
            let old = std::fs::read_to_string(&path).map_err(|e| read::unreadable(file, e))?;
            let backup_path = context.working_dir.join(&backup);
            if self.force {
                files::replace(&backup_path, &old, access)?
            } else {
                files::create(&backup_path, &old, access)?
            }
            wrote(&context.output, Path::new(&backup));
        }
        if self.in_place || self.force {
            files::replace(&path, &text, access)?
        } else {
            files::create(&path, &text, access)?
        }
        wrote(&context.output, file);
        Ok(ExitCode::SUCCESS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_file_names() {
        for (name, file) in [
            ("Ada", "characters/ada.json"),
            (" Ada B. / ../x", "characters/ada-b-x.json"),
            ("…", "characters/character.json"),
            ("Zoë", "characters/zoë.json"),
        ] {
            assert_eq!(usual_file(name), Path::new(file));
        }
    }
}
