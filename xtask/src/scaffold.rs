//! `cargo xtask scaffold`: proves that a new connector needs two lines outside its folder and no
//! more.
//!
//! It works in a copy of the checkout, since a new crate changes the workspace and its lock file.
//! The copy lies in the target folder, always in the same place and written only where it differs,
//! so that a second run builds little; it shares the target folder for the dependencies.

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{bench, cargo, output, step::succeed, tidy};

/// A name in which every spelling differs, long enough to move line ends.
const NAME: &str = "scaffold-trial";
/// What its settings begin with.
const SETTINGS: &str = "SCAFFOLD_TRIAL";

/// What `galatea connector new --json` prints.
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

/// Scaffolds, adds the two lines, builds, checks and tests.
pub(crate) fn run(root: &Path) -> Result<()> {
    let target = bench::target(root)?;
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
    // The copy's program took the place of ours in the shared folder.
    succeed(cargo(root, &["build", "--quiet", "--locked", "--package", "galatea"]))?;
    proven
}

/// Everything that must hold of a checkout with the new connector.
fn prove(copy: &Path, target: &Path, package: &str) -> Result<()> {
    let here = |arguments: &[&str]| {
        let mut command = cargo(copy, arguments);
        // A build shares the target folder; where the programs it makes lie is known.
        command.env("CARGO_TARGET_DIR", target);
        command
    };
    // The first command writes the new crate into the copy's lock file; from then on it is final.
    succeed(here(&["build", "--quiet", "--offline", "--package", "galatea"]))?;
    // Where a line breaks depends on how long the connector's name is: formatting is the author's
    // step, and `connector new` says so.
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

/// A copy of all files git knows or would add, a repository of its own so that `tidy` sees them.
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
    // Git lists no folders, and `connector new` refuses one that exists.
    let last = copy.join("connectors").join(format!("galatea-{NAME}"));
    if last.exists() {
        fs::remove_dir_all(&last).with_context(|| format!("cannot remove {}", last.display()))?;
    }
    for name in &listed {
        // A file that was removed and not committed yet is listed too.
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

/// The text with the line directly below its place.
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
