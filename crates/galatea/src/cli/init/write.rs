//! Plans and writes the files of `init`. Existing values are replaced only with consent.

use galatea_core::Error;
use std::path::{Path, PathBuf};

use super::{
    answers::Answers,
    confirm,
    env_text::{self, Change},
};
use crate::{
    cli::character::{usual_file, write_new},
    context::Context,
    report::{
        exit::Exit,
        failure::{Failure, Result},
    },
};
use galatea_host::{
    look::{Color, Look},
    report::Report,
    storage::{
        data_dir::DataDir,
        files::{self, Access},
    },
};

/// The setting that names the character file.
const CHARACTER_FILES: &str = "CHARACTER_FILES";

/// The planned changes.
#[derive(Debug)]
pub(super) struct Plan {
    env: PathBuf,
    text: String,
    /// Names of the settings to write, in order.
    names: Vec<String>,
    character: PathBuf,
    name: String,
    /// Whether the character file exists and stays unchanged.
    keep_character: bool,
    force: bool,
}

/// Plans the changes. If `asks` is set, asks before replacing a value.
///
/// # Errors
/// `GAL-FILE-EXISTS` if another value exists and neither `force` nor the person allows replacing
/// it.
pub(super) fn plan(answers: &Answers, context: &Context, force: bool, asks: bool) -> Result<Plan> {
    let env = context.env_file().to_path_buf();
    let path = context.working_dir.join(&env);
    let mut text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(e) => {
            return Err(Error::invalid(format!("{} cannot be read", env.display()))
                .with_code("GAL-CFG-FILE")
                .with("cause", e)
                .into());
        }
    };
    let known = galatea_host::config::values_of(&env, &text);
    let character = usual_file(&answers.name);
    let exists = context.working_dir.join(&character).exists();
    let mut settings = answers.settings.clone();
    settings.push((CHARACTER_FILES.to_owned(), named_in(&env, &character, &context.working_dir)));
    let mut names = Vec::new();
    let mut in_the_way = Vec::new();
    for (name, value) in &settings {
        let (changed, change) =
            env_text::set(&text, name, value, known.get(name).map(String::as_str));
        let may =
            change != Change::Replaced || force || (asks && confirm::may_replace(name, &env)?);
        if !may && asks {
            continue;
        }
        if !may {
            in_the_way.push(name.clone());
        }
        if change != Change::None {
            names.push(name.clone());
            text = changed;
        }
    }
    if !in_the_way.is_empty() {
        let message = format!("{} sets {} to another value", env.display(), in_the_way.join(", "));
        let report = Report::error(message)
            .code("GAL-FILE-EXISTS")
            .fix("add --force to replace it; nothing was written");
        return Err(Failure::new(vec![report], Exit::Conflict));
    }
    let keep_character = exists && !force && !(asks && confirm::may_replace_file(&character)?);
    Ok(Plan {
        env,
        text,
        names,
        character,
        name: answers.name.clone(),
        keep_character,
        force: force || exists,
    })
}

impl Plan {
    /// Prints the planned changes without the values of secrets.
    pub(super) fn show(&self, context: &Context) {
        context.output.data(format_args!(
            "{}: {}",
            self.env.display(),
            if self.names.is_empty() {
                "no change".to_owned()
            } else {
                format!("set {}", self.names.join(", "))
            }
        ));
        context.output.data(format_args!(
            "{}: {}",
            self.character.display(),
            if self.keep_character { "kept" } else { "written" }
        ));
    }

    /// Writes the files and prints what was written.
    ///
    /// # Errors
    /// `GAL-FILE-WRITE` with the path and the cause.
    pub(super) fn write(&self, context: &Context) -> Result<()> {
        let path = context.working_dir.join(&self.env);
        let mark = context.output.talk_style.paint(Color::Green, "✓");
        if self.names.is_empty() {
            context.output.say(format_args!("{mark} {} is as it should be", self.env.display()));
        } else {
            files::replace(&path, &self.text, Access::Private)?;
            let ignored = files::ignore_in_git(&path)?;
            let git = ignored
                .map(|file| format!(", added to {}", DataDir::show(&file, &context.working_dir)))
                .unwrap_or_default();
            context.output.say(format_args!(
                "{mark} wrote {} (mode 0600{git}): {}",
                self.env.display(),
                self.names.join(", ")
            ));
        }
        if self.keep_character {
            context.output.say(format_args!("{mark} kept {}", self.character.display()));
            return Ok(());
        }
        write_new(context, &self.name, &self.character, self.force)
    }
}

/// The path of the character file as written into `.env`. A relative path in `.env` starts in the
/// folder of the `.env`, so it stays valid when both are moved together: into a container, to
/// `/etc/galatea`. If that folder is not the working folder, the path is absolute.
fn named_in(env: &Path, character: &Path, working_dir: &Path) -> String {
    let path = working_dir.join(env);
    let folder = path.parent().unwrap_or(working_dir);
    let same = |a: &Path, b: &Path| {
        a == b
            || std::fs::canonicalize(a)
                .ok()
                .zip(std::fs::canonicalize(b).ok())
                .is_some_and(|(a, b)| a == b)
    };
    if same(folder, working_dir) {
        character.display().to_string()
    } else {
        working_dir.join(character).display().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_is_named_so_that_it_is_found_from_everywhere() {
        let character = Path::new("characters/ada.json");
        let named = |env: &str| named_in(Path::new(env), character, Path::new("/bot"));
        assert_eq!([".env", "./other.env", "/bot/.env"].map(named), ["characters/ada.json"; 3]);
        assert_eq!(["/etc/galatea/env", "conf/.env"].map(named), ["/bot/characters/ada.json"; 2]);
    }
}
