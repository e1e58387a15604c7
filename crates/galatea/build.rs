//! Notes the commit that the program is built from, so that builds of one version are told apart.
//! `GALATEA_COMMIT` names it where the sources are built without their repository. Another commit
//! compiles this package again, and no other.

use std::{env, path::Path, process::Command};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=GALATEA_COMMIT");
    let given = env::var("GALATEA_COMMIT").ok().map(|commit| commit.trim().to_owned());
    let commit = given.filter(|commit| is_commit(commit)).or_else(of_repository);
    let commit: String = commit.unwrap_or_default().chars().take(12).collect();
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let full = if commit.is_empty() { version } else { format!("{version} ({commit})") };
    println!("cargo::rustc-env=GALATEA_COMMIT={commit}");
    println!("cargo::rustc-env=GALATEA_VERSION={full}");
}

fn is_commit(text: &str) -> bool {
    text.len() >= 7 && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// The commit of the repository that these sources belong to. None for sources that only lie inside
/// another repository.
fn of_repository() -> Option<String> {
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    let commit = git(&["rev-parse", "HEAD"]).filter(|commit| is_commit(commit))?;
    // The log of HEAD changes with each commit; HEAD itself with each branch.
    for file in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", file])
            && Path::new(&path).exists()
        {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    Some(commit)
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
