//! The pinned extract of the advisory database: JSON lines, first the origin, then one advisory per
//! line. Texts are omitted; the data is in the public domain (CC0 1.0).

use anyhow::{Context, Result, bail};
use cargo_metadata::semver::{Version, VersionReq};
use serde::{Deserialize, Serialize};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use xtask::output;

/// The extract and its origin.
pub(super) struct Extract {
    /// Commit of the database.
    pub(super) commit: String,
    /// Day of that commit, `YYYY-MM-DD`.
    pub(super) date: String,
    /// Every advisory that was not withdrawn.
    pub(super) advisories: Vec<Advisory>,
}

#[derive(Serialize, Deserialize)]
struct Origin {
    commit: String,
    date: String,
}

/// An advisory without its text.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Advisory {
    /// `RUSTSEC-YYYY-NNNN`.
    pub(super) id: String,
    /// Name of the affected crate.
    pub(super) package: String,
    /// `vulnerability`, or one of the database's informational kinds: `unmaintained`, `unsound`,
    /// `notice`.
    pub(super) kind: String,
    /// Requirements that match versions with the fix.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) patched: Vec<String>,
    /// Requirements that match versions that never had the fault.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) unaffected: Vec<String>,
}

impl Advisory {
    /// True if this version of the package has the fault. An unreadable requirement matches no
    /// version.
    pub(super) fn applies(&self, version: &Version) -> bool {
        let excuses =
            |text: &String| VersionReq::parse(text).is_ok_and(|wanted| wanted.matches(version));
        !self.patched.iter().chain(&self.unaffected).any(excuses)
    }
}

impl Extract {
    pub(super) fn parse(text: &str) -> Result<Self> {
        let mut lines = text.lines();
        let origin: Origin = serde_json::from_str(lines.next().context("it is empty")?)?;
        let advisories =
            lines.map(|line| Ok(serde_json::from_str(line)?)).collect::<Result<_>>()?;
        Ok(Self { commit: origin.commit, date: origin.date, advisories })
    }

    pub(super) fn print(&self) -> Result<String> {
        let origin = Origin { commit: self.commit.clone(), date: self.date.clone() };
        let mut text = serde_json::to_string(&origin)? + "\n";
        for advisory in &self.advisories {
            text.push_str(&serde_json::to_string(advisory)?);
            text.push('\n');
        }
        Ok(text)
    }
}

/// Reads a checkout of the database. Advisories are ordered by id.
pub(super) fn of_checkout(folder: &Path) -> Result<Extract> {
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.current_dir(folder).args(arguments);
        output(command)
    };
    let line = git(&["log", "-1", "--format=%H %cs"]).context("it is not a checkout of git")?;
    let (commit, date) = line.trim().split_once(' ').context("git printed no date")?;
    let mut files = Vec::new();
    collect(&folder.join("crates"), &mut files)?;
    let mut advisories = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file)?;
        advisories
            .extend(advisory(&text).with_context(|| format!("cannot read {}", file.display()))?);
    }
    if advisories.is_empty() {
        bail!("{} holds no advisories below crates/", folder.display());
    }
    advisories.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(Extract { commit: commit.to_owned(), date: date.to_owned(), advisories })
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "md") {
            files.push(path);
        }
    }
    Ok(())
}

/// Parses the front matter of an advisory file. `None` if the advisory was withdrawn.
fn advisory(text: &str) -> Result<Option<Advisory>> {
    #[derive(Deserialize)]
    struct Front {
        advisory: Head,
        #[serde(default)]
        versions: Versions,
    }
    #[derive(Deserialize)]
    struct Head {
        id: String,
        package: String,
        informational: Option<String>,
        withdrawn: Option<toml::Value>,
    }
    #[derive(Default, Deserialize)]
    struct Versions {
        #[serde(default)]
        patched: Vec<String>,
        #[serde(default)]
        unaffected: Vec<String>,
    }
    let front = text.split_once("```toml").and_then(|(_, rest)| rest.split_once("```"));
    let (front, _) = front.context("it has no TOML at its head")?;
    let Front { advisory: head, versions } = toml::from_str(front)?;
    if head.withdrawn.is_some() {
        return Ok(None);
    }
    let kind = head.informational.unwrap_or_else(|| "vulnerability".to_owned());
    let Versions { patched, unaffected } = versions;
    Ok(Some(Advisory { id: head.id, package: head.package, kind, patched, unaffected }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "```toml\n[advisory]\nid = \"RUSTSEC-2020-0001\"\npackage = \"a\"\ndate = \"2020-01-01\"\n\
                        [versions]\npatched = [\">= 1.2.3\"]\nunaffected = [\"< 0.5\"]\n```\n# Title\n";

    #[test]
    fn a_file_becomes_a_line_and_a_line_an_advisory() {
        let read = advisory(FILE).unwrap().unwrap();
        let extract =
            Extract { commit: "c".into(), date: "2026-01-01".into(), advisories: vec![read] };
        let again = Extract::parse(&extract.print().unwrap()).unwrap();
        let [one] = again.advisories.as_slice() else { panic!("not one") };
        let applies = |version: &str| one.applies(&version.parse().unwrap());
        assert_eq!((again.commit.as_str(), one.kind.as_str()), ("c", "vulnerability"));
        assert!(!applies("0.4.9") && applies("0.5.0") && applies("1.2.2") && !applies("1.2.3"));
    }

    #[test]
    fn a_withdrawn_advisory_is_left_out_and_a_strange_file_is_refused() {
        let withdrawn = FILE.replace("date =", "withdrawn = \"2020-02-01\"\ndate =");
        assert!(advisory(&withdrawn).unwrap().is_none());
        assert!(advisory("# no front matter").is_err());
    }
}
