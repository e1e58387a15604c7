//! `galatea connector new`: writes the crate of a new connector into a checkout of the sources, and
//! prints the two lines to add by hand.

use clap::Args;
use galatea_core::{Error, ErrorKind};
use serde_json::json;
use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use super::scaffold::Spellings;
use crate::{cli::flags::Json, context::Context, report::failure::Result};
use galatea_host::{
    look::{Color, Look},
    platforms::PLATFORMS,
    storage::{
        data_dir::DataDir,
        files::{self, Access},
    },
};

const CODE: &str = "GAL-CONNECTOR-NEW";
/// In characters. The name is part of file names, settings and lines of code, which should stay
/// short.
const MAX_NAME: usize = 32;
/// Folder of the connectors in a checkout.
const CONNECTORS: &str = "connectors";

/// Words Rust keeps for itself (The Rust Reference, "Keywords", strict and reserved).
#[rustfmt::skip]
const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn", "else", "enum", "extern", "false", "final",
    "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self",
    "static", "struct", "super", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

#[derive(Debug, Clone, Args)]
#[command(
    before_help = "Examples:\n  galatea connector new matrix\n  galatea connector new my-chat --path ../galatea"
)]
pub(super) struct New {
    /// Name of the platform: lower-case letters, digits and hyphens
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
        let root = checkout(&start).ok_or_else(|| nowhere(&start))?;
        check_name(&self.name)?;
        let name = Spellings::of(&self.name);
        check_free(&self.name, &name, root)?;
        let folder = root.join(CONNECTORS).join(&name.package);
        let written = write(&folder, &name)?;
        if self.json.json {
            let shown = format!("{CONNECTORS}/{}", name.package);
            context.output.json("galatea.connector.new/1", json!({ "package": name.package, "folder": shown, "files": written, "edits": name.edits() }));
            return Ok(ExitCode::SUCCESS);
        }
        let mark = context.output.talk_style.paint(Color::Green, "✓");
        context.output.say(format_args!(
            "{mark} wrote {} ({} files)",
            DataDir::show(&folder, &context.working_dir),
            written.len()
        ));
        context.output.data(next_steps(&name));
        Ok(ExitCode::SUCCESS)
    }
}

/// The remaining steps, for people.
fn next_steps(name: &Spellings) -> String {
    let edits = name
        .edits()
        .map(|edit| format!("  {}, below `{}`:\n\n{}\n", edit.file, edit.below, edit.line));
    let package = &name.package;
    format!(
        "Add two lines:\n\n{}\nThen, in this order:\n\n  cargo fmt -p {package}\n  cargo test -p {package}\n  cargo xtask gen\n  cargo xtask tidy\n\n\
         docs/add-a-connector.md goes through the files.",
        edits.join("\n")
    )
}

/// The root of the checkout that contains `folder`.
fn checkout(folder: &Path) -> Option<&Path> {
    folder
        .ancestors()
        .find(|f| f.join("crates/galatea-core/Cargo.toml").is_file() && f.join(CONNECTORS).is_dir())
}

fn nowhere(folder: &Path) -> Error {
    Error::not_found("this is not a checkout of Galatea's sources")
        .with_code(CODE)
        .with("where", folder.display())
        .with_fix("run it inside a checkout, or name one with --path FOLDER")
}

/// Checks that a name can be part of a crate name, of a setting and of an error code.
fn check_name(name: &str) -> Result<(), Error> {
    let refuse = |why: &str| {
        Err(Error::invalid(format!("a connector cannot be named {name:?}: {why}")).with_code(CODE))
    };
    let fix = "choose another, such as my-chat";
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let why = if name.chars().count() > MAX_NAME {
        // The message omits the name, which may be arbitrarily long.
        return Err(Error::invalid(format!(
            "a connector's name has at most {MAX_NAME} characters"
        ))
        .with_code(CODE)
        .with_fix(fix));
    } else if !name.chars().all(plain) {
        "it has lower-case letters, digits and hyphens only"
    } else if !name.starts_with(|c: char| c.is_ascii_lowercase()) {
        "it begins with a letter"
    } else if name.ends_with('-') || name.contains("--") {
        "hyphens stand between letters or digits, one at a time"
    } else if KEYWORDS.contains(&name) {
        "Rust keeps this word for itself"
    } else {
        return Ok(());
    };
    refuse(why).map_err(|error| error.with_fix(fix))
}

/// Checks that no platform of this program and no crate of the checkout has the name.
fn check_free(name: &str, spellings: &Spellings, root: &Path) -> Result<(), Error> {
    let package = &spellings.package;
    let places = [CONNECTORS, "crates"].map(|folder| format!("{folder}/{package}"));
    // The end-to-end tests are a crate, too.
    let taken = places
        .iter()
        .find(|place| root.join(place).exists())
        .map(String::as_str)
        .or_else(|| (name == "tests").then_some("tests"));
    let known = PLATFORMS.iter().any(|platform| platform.source.as_str() == spellings.source);
    if taken.is_none() && !known {
        return Ok(());
    }
    let error = Error::new(ErrorKind::Conflict, format!("the name {name} is taken"))
        .with_code(CODE)
        .with_fix("choose another name; nothing was written");
    Err(match taken {
        Some(place) => error.with("cause", format!("{place} exists")),
        None => {
            error.with("cause", format!("this program has a platform named {}", spellings.source))
        }
    })
}

/// Writes all files, or none.
fn write(folder: &Path, name: &Spellings) -> Result<Vec<&'static str>, Error> {
    let mut written = Vec::new();
    for (path, text) in name.files() {
        if let Err(error) = files::create(&folder.join(path), &text, Access::Usual) {
            // The folder was created by this call.
            let _ = fs::remove_dir_all(folder);
            return Err(error);
        }
        written.push(path);
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty_checkout() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["connectors", "crates/galatea-core"] {
            fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        fs::write(dir.path().join("crates/galatea-core/Cargo.toml"), "").unwrap();
        dir
    }

    #[test]
    fn names_are_checked() {
        for good in ["matrix", "my-chat", "a1-b2"] {
            assert!(check_name(good).is_ok(), "{good}");
        }
        let long = "x".repeat(MAX_NAME + 1);
        for bad in
            ["", "Matrix", "my_chat", "1st", "-a", "a-", "a--b", "../x", "zoë", "async", &long]
        {
            let error = check_name(bad).unwrap_err();
            assert!(error.code() == Some(CODE) && error.fix().is_some(), "{bad}");
        }
    }

    #[test]
    fn a_taken_name_is_refused() {
        let dir = empty_checkout();
        let check = |name: &str| {
            check_free(name, &Spellings::of(name), dir.path()).map_err(|e| e.to_string())
        };
        assert!(check("matrix").is_ok());
        assert!(check("core").unwrap_err().contains("crates/galatea-core exists"));
        assert!(check("telegram").unwrap_err().contains("platform named telegram"));
        assert!(check("tests").is_err());
    }

    #[test]
    fn the_crate_is_written_once_and_whole() {
        let dir = empty_checkout();
        let inside = dir.path().join("crates/galatea-core");
        let root = checkout(&inside).unwrap();
        let name = Spellings::of("matrix");
        let folder = root.join("connectors/galatea-matrix");
        let written = write(&folder, &name).unwrap();
        assert!(
            written.iter().all(|path| folder.join(path).is_file())
                && written.contains(&"src/send.rs")
        );
        assert!(
            check_free("matrix", &name, root)
                .unwrap_err()
                .to_string()
                .contains("connectors/galatea-matrix exists")
        );
    }

    #[test]
    fn elsewhere_it_tells_where_it_must_run() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(checkout(dir.path()), None);
        assert!(nowhere(dir.path()).fix().unwrap().contains("--path"));
    }

    #[test]
    fn people_are_reported_both_lines_exactly() {
        insta::assert_snapshot!(next_steps(&Spellings::of("my-chat")), @r#"
        Add two lines:

          crates/galatea-host/Cargo.toml, below `[dependencies]`:

        galatea-my-chat = { path = "../../connectors/galatea-my-chat" }

          crates/galatea-host/src/platforms/list.rs, below `pub const PLATFORMS: &[Platform] = &[`:

            platform::<galatea_my_chat::MyChatConfig>("MyChat", galatea_my_chat::parse_link),

        Then, in this order:

          cargo fmt -p galatea-my-chat
          cargo test -p galatea-my-chat
          cargo xtask gen
          cargo xtask tidy

        docs/add-a-connector.md goes through the files.
        "#);
    }
}
