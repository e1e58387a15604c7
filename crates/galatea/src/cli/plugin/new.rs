//! `galatea plugin new`: writes the crate of a new plugin into a checkout of the sources, and prints
//! the lines to add by hand. The files are those of `examples/plugin`.

use clap::Args;
use galatea_core::{Error, ErrorKind};
use galatea_host::{
    look::{Color, Look},
    storage::{
        data_dir::DataDir,
        files::{self, Access},
    },
};
use serde_json::json;
use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use crate::{cli::flags::Json, context::Context, report::failure::Result};

const CODE: &str = "GAL-PLUGIN-NEW";
/// In characters: the name is part of file names and lines of code, which should stay short.
const MAX_NAME: usize = 32;

/// Pairs of a path in the new crate, and the text for the plugin poll.
macro_rules! templates {
    ($($path:literal),+ $(,)?) => {
        &[$(($path, include_str!(concat!("../../../../../examples/plugin/", $path)))),+]
    };
}

const TEMPLATES: &[(&str, &str)] = templates![
    "Cargo.toml",
    "characters/ada.json",
    "src/lib.rs",
    "src/open.rs",
    "src/poll.rs",
    "src/standing.rs",
    "src/tests.rs",
    "src/vote.rs",
];

#[derive(Debug, Clone, Args)]
#[command(
    before_help = "Examples:\n  galatea plugin new weather\n  galatea plugin new weather --path ../galatea"
)]
pub(super) struct New {
    /// Name of the plugin: lower-case letters, digits and hyphens
    #[arg(value_name = "NAME")]
    name: String,
    /// Checkout of Galatea's sources; the one this folder is in when absent
    #[arg(long, value_name = "FOLDER")]
    path: Option<PathBuf>,
    #[command(flatten)]
    json: Json,
}

impl New {
    pub(super) fn run(&self, context: &Context) -> Result<ExitCode> {
        let start = self
            .path
            .as_ref()
            .map_or_else(|| context.working_dir.clone(), |path| context.working_dir.join(path));
        let root = checkout(&start).ok_or_else(|| {
            Error::not_found("this is not a checkout of Galatea's sources")
                .with_code(CODE)
                .with("where", start.display())
                .with_fix("run it inside a checkout, or name one with --path FOLDER")
        })?;
        check_name(&self.name)?;
        let package = format!("galatea-{}", self.name);
        let folder = root.join("crates").join(&package);
        if folder.exists()
            || galatea_host::agents::plugins::known().iter().any(|p| p.name == self.name)
        {
            return Err(Error::new(
                ErrorKind::Conflict,
                format!("the name {} is taken", self.name),
            )
            .with_code(CODE)
            .with_fix("choose another name; nothing was written")
            .into());
        }
        let written = write(&folder, &self.name)?;
        if self.json.json {
            let shown = format!("crates/{package}");
            let body = json!({ "package": package, "folder": shown, "files": written, "edits": edits(&self.name) });
            context.output.json("galatea.plugin.new/1", body);
            return Ok(ExitCode::SUCCESS);
        }
        let mark = context.output.talk_style.paint(Color::Green, "✓");
        let shown = DataDir::show(&folder, &context.working_dir);
        context.output.say(format_args!("{mark} wrote {shown} ({} files)", written.len()));
        context.output.data(next_steps(&self.name));
        Ok(ExitCode::SUCCESS)
    }
}

/// The root of the checkout that contains `folder`.
fn checkout(folder: &Path) -> Option<&Path> {
    folder.ancestors().find(|f| f.join("crates/galatea-core/Cargo.toml").is_file())
}

fn check_name(name: &str) -> Result<(), Error> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let fits = name.chars().count() <= MAX_NAME
        && name.chars().all(plain)
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && !name.ends_with('-')
        && !name.contains("--");
    if fits {
        return Ok(());
    }
    Err(Error::invalid("a plugin cannot have this name").with_code(CODE).with_fix(format!(
        "use at most {MAX_NAME} lower-case letters, digits and single hyphens, such as my-weather"
    )))
}

/// The text of a template for a plugin of another name.
fn renamed(template: &str, name: &str) -> String {
    template
        .replace("galatea-example-plugin", &format!("galatea-{name}"))
        .replace("pub const NAME: &str = \"poll\"", &format!("pub const NAME: &str = \"{name}\""))
        .replace("\"plugins\": [\"poll\"]", &format!("\"plugins\": [\"{name}\"]"))
}

/// Writes all files, or none.
fn write(folder: &Path, name: &str) -> Result<Vec<&'static str>, Error> {
    let mut written = Vec::new();
    for (path, template) in TEMPLATES {
        if let Err(error) =
            files::create(&folder.join(path), &renamed(template, name), Access::Usual)
        {
            // The folder was created by this call.
            let _ = fs::remove_dir_all(folder);
            return Err(error);
        }
        written.push(*path);
    }
    Ok(written)
}

/// The lines to add: file, and line.
fn edits(name: &str) -> [(&'static str, String); 3] {
    let library = format!("galatea_{}", name.replace('-', "_"));
    [
        (
            "crates/galatea-host/Cargo.toml, below `[dependencies]`",
            format!("galatea-{name} = {{ path = \"../galatea-{name}\" }}"),
        ),
        (
            "crates/galatea-host/src/plugin_list.rs, in the list of `standard`",
            format!("{library}::plugin(),"),
        ),
        (
            "xtask/src/tidy/edges.rs, in `RULES`",
            format!("Rule {{ who: \"galatea-{name}\", may_import: Some(&[\"galatea-core\"]) }},"),
        ),
    ]
}

fn next_steps(name: &str) -> String {
    let edits: Vec<String> =
        edits(name).iter().map(|(file, line)| format!("  {file}:\n\n{line}\n")).collect();
    format!(
        "It is the poll of docs/plugins.md: replace its files by yours, one at a time.\nAdd three lines:\n\n{}\nThen, in this order:\n\n  cargo test -p galatea-{name}\n  cargo xtask gen\n  cargo xtask tidy",
        edits.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_example_is_written() {
        fn count(folder: &Path) -> usize {
            let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
            entries.map(|path| if path.is_dir() { count(&path) } else { 1 }).sum()
        }
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/plugin");
        assert_eq!(count(&example), TEMPLATES.len());
    }

    #[test]
    fn the_crate_has_its_own_name_and_is_written_once() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("galatea-weather");
        let written = write(&folder, "weather").unwrap();
        assert!(written.contains(&"src/poll.rs"));
        let text = |path: &str| fs::read_to_string(folder.join(path)).unwrap();
        assert!(text("Cargo.toml").contains("name = \"galatea-weather\""));
        assert!(text("src/lib.rs").contains("pub const NAME: &str = \"weather\";"));
        assert!(text("characters/ada.json").contains("[\"weather\"]"));
        assert!(write(&folder, "weather").is_err());
    }

    #[test]
    fn names_are_checked() {
        for good in ["weather", "my-weather", "a1"] {
            assert!(check_name(good).is_ok(), "{good}");
        }
        for bad in ["", "Weather", "my_weather", "1a", "a-", "a--b", "../x", &"x".repeat(40)] {
            assert_eq!(check_name(bad).unwrap_err().code(), Some(CODE), "{bad}");
        }
    }
}
