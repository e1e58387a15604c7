//! `cargo xtask scaffold`: checks that a new connector needs exactly two lines outside its folder.
//!
//! Works in a copy of the checkout, because a new crate changes the workspace and its lock file.
//! The copy is always in the same place in the target folder, and only changed files are written,
//! so a second run builds little. Both share the target folder for dependencies.

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::tidy;
use xtask::{cargo, output, step::succeed, target};

/// A name with different spellings for crate, settings and type, long enough to change line breaks.
const NAME: &str = "scaffold-trial";
/// Prefix of its settings.
const SETTINGS: &str = "SCAFFOLD_TRIAL";

/// Output of `galatea connector new --json`.
#[derive(Deserialize)]
struct New {
    package: String,
    folder: String,
    files: Vec<String>,
    edits: Vec<Edit>,
}

#[derive(Deserialize)]
struct Edit {
    file: String,
    below: String,
    line: String,
}

/// Creates the connector, adds the two lines, builds, checks and tests.
pub(crate) fn run(root: &Path) -> Result<()> {
    let target = target(root)?;
    let copy = copy(root, &target)?;
    let path = copy.to_str().context("the target folder's path is not text")?;
    let arguments = [
        "run",
        "--quiet",
        "--locked",
        "--package",
        "galatea",
        "--",
        "connector",
        "new",
        NAME,
        "--json",
        "--path",
        path,
    ];
    let new: New = serde_json::from_str(&output(cargo(root, &arguments))?)
        .context("`galatea connector new --json` printed something else")?;
    ensure!(
        new.files.iter().all(|file| copy.join(&new.folder).join(file).is_file()),
        "not every file was written"
    );
    ensure!(new.edits.len() == 2, "{} lines outside the folder are too many", new.edits.len());
    for edit in &new.edits {
        add(&copy, edit)?;
    }
    let proven = prove(&copy, &target, &new.package);
    // The build of the copy replaced our program in the shared folder.
    succeed(cargo(root, &["build", "--quiet", "--locked", "--package", "galatea"]))?;
    proven
}

/// Runs every check on a checkout with the new connector.
fn prove(copy: &Path, target: &Path, package: &str) -> Result<()> {
    let here = |arguments: &[&str]| {
        let mut command = cargo(copy, arguments);
        // Shares the target folder with our build, which also fixes the paths of programs.
        command.env("CARGO_TARGET_DIR", target);
        command
    };
    // The first command adds the new crate to the copy's lock file. All others use `--locked`.
    succeed(here(&["build", "--quiet", "--offline", "--package", "galatea"]))?;
    // Line breaks depend on the length of the connector's name. Formatting is a step of the author,
    // and `connector new` says so.
    succeed(here(&["fmt", "--package", package]))?;
    succeed(here(&[
        "clippy",
        "--quiet",
        "--offline",
        "--locked",
        "--package",
        package,
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ]))?;
    succeed(here(&["test", "--quiet", "--offline", "--locked", "--package", package]))?;
    tidy::run(copy)?;
    let program = |arguments: &[&str]| {
        let mut command = Command::new(target.join("debug").join("galatea"));
        command.current_dir(copy).args(arguments);
        output(command)
    };
    let code = format!("GAL-{}-401", NAME.to_ascii_uppercase());
    ensure!(program(&["explain", &code])?.contains(&code), "the program has no page for {code}");
    let settings = program(&["reference", "env"])?;
    ensure!(
        settings.contains(&format!("{SETTINGS}_TOKEN")),
        "the reference lacks the new settings"
    );
    Ok(())
}

/// Copies all files that git tracks or would add into a separate repository, so that `tidy` sees
/// them.
fn copy(root: &Path, target: &Path) -> Result<PathBuf> {
    let copy = target.join("scaffold");
    let listed: BTreeSet<String> = tidy::listed(root)?.into_iter().collect();
    fs::create_dir_all(&copy).with_context(|| format!("cannot create {}", copy.display()))?;
    if !copy.join(".git").exists() {
        let mut git = Command::new("git");
        git.current_dir(&copy).args(["init", "--quiet"]);
        succeed(git)?;
    }
    for old in tidy::listed(&copy)?.into_iter().filter(|old| !listed.contains(old)) {
        fs::remove_file(copy.join(&old))
            .with_context(|| format!("cannot remove {old} from the copy"))?;
    }
    // Git lists no folders, and `connector new` rejects one that exists.
    let last = copy.join("connectors").join(format!("galatea-{NAME}"));
    if last.exists() {
        fs::remove_dir_all(&last).with_context(|| format!("cannot remove {}", last.display()))?;
    }
    for name in &listed {
        // A file that was removed but not committed is listed, too.
        let Ok(bytes) = fs::read(root.join(name)) else { continue };
        let to = copy.join(name);
        if fs::read(&to).is_ok_and(|known| known == bytes) {
            continue;
        }
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder)
                .with_context(|| format!("cannot create {}", folder.display()))?;
        }
        fs::write(&to, bytes).with_context(|| format!("cannot write {}", to.display()))?;
    }
    Ok(copy)
}

fn add(copy: &Path, edit: &Edit) -> Result<()> {
    let path = copy.join(&edit.file);
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", edit.file))?;
    let text = inserted(&text, edit)
        .with_context(|| format!("{} has no line {:?}", edit.file, edit.below))?;
    fs::write(&path, text).with_context(|| format!("cannot write {}", edit.file))
}

/// Inserts the line directly below `edit.below`.
fn inserted(text: &str, edit: &Edit) -> Option<String> {
    let at = text.find(&format!("{}\n", edit.below))? + edit.below.len() + 1;
    Some(format!("{}{}\n{}", &text[..at], edit.line, &text[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_goes_below_its_place() {
        let edit = |below: &str| Edit { file: "a".into(), below: below.into(), line: "new".into() };
        assert_eq!(inserted("[a]\nx\n[b]\n", &edit("[a]")).unwrap(), "[a]\nnew\nx\n[b]\n");
        assert_eq!(inserted("[a]\n", &edit("[c]")), None);
    }
}
