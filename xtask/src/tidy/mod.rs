//! `cargo xtask tidy`: checks the project's structural rules.

mod circles;
mod connectors;
mod documents;
mod edges;
mod files;
mod path;
mod unused;

use anyhow::{Result, bail};
use std::{fs, path::Path, process::Command};

use xtask::output;

/// Lines of production code above which a file is mentioned.
const LONG: usize = 400;

/// Checks every rule and reports violations. Long files are only mentioned.
pub(crate) fn run(root: &Path) -> Result<()> {
    let mut breaches = edges::check(root)?;
    breaches.extend(connectors::check(&root.join("connectors"))?);
    breaches.extend(circles::check(root)?);
    breaches.extend(path::check(root)?);
    breaches.extend(documents::check(root)?);
    breaches.extend(unused::check(root)?);
    let mut long = Vec::new();
    for name in listed(root)? {
        let Ok(text) = fs::read_to_string(root.join(&name)) else { continue };
        breaches.extend(files::check(&name, &text));
        let lines = files::production_lines(&name, &text);
        if lines > LONG {
            long.push((lines, name));
        }
    }
    long.sort_unstable_by(|a, b| b.cmp(a));
    for (lines, name) in long {
        eprintln!("note: {name} has {lines} lines: would a reader find two rooms in it?");
    }
    for breach in &breaches {
        eprintln!("error: {breach}");
    }
    if breaches.is_empty() {
        return Ok(());
    }
    bail!("{} rules broken", breaches.len())
}

/// Every file of the project: those git tracks and those it would add.
pub(crate) fn listed(root: &Path) -> Result<Vec<String>> {
    let mut git = Command::new("git");
    git.current_dir(root).args([
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
        "--deduplicate",
    ]);
    Ok(output(git)?.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect())
}
