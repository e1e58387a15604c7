//! `cargo xtask advisories`: compares `Cargo.lock` with the pinned extract of the RustSec advisory
//! database.
//!
//! A CI without network access cannot fetch the database, so the extract is stored in the
//! repository (`xtask/data/advisories.jsonl`). `--from FOLDER` rewrites it from a checkout of the
//! database.

mod data;
mod lock;

use anyhow::{Context, Result, bail};
use cargo_metadata::semver::Version;
use clap::Args;
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use time::{Date, OffsetDateTime, macros::format_description};

use self::{
    data::{Advisory, Extract},
    lock::Package,
};

#[derive(Args, Default)]
pub(crate) struct Advisories {
    /// Rewrites the pinned extract from this checkout of the advisory database first
    #[arg(long, value_name = "FOLDER")]
    from: Option<PathBuf>,
}

/// Age in days at which a warning says that the extract is old. The database gains about 30
/// advisories a month.
const OLD: i64 = 180;
/// Path of the extract.
const EXTRACT: &str = "xtask/data/advisories.jsonl";

/// Updates the extract if requested, then checks the lock file against it.
///
/// # Errors
/// If an advisory applies that `deny.toml` does not accept, or if `deny.toml` accepts one that no
/// longer applies.
pub(crate) fn run(root: &Path, advisories: &Advisories) -> Result<()> {
    let path = root.join(EXTRACT);
    if let Some(folder) = &advisories.from {
        let extract = data::of_checkout(folder)?;
        fs::write(&path, extract.print()?).with_context(|| format!("cannot write {EXTRACT}"))?;
    }
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {EXTRACT}"))?;
    let extract = Extract::parse(&text).with_context(|| format!("{EXTRACT} is damaged"))?;
    let packages = lock::packages(&fs::read_to_string(root.join("Cargo.lock"))?)?;
    let accepted = accepted(&fs::read_to_string(root.join("deny.toml"))?)?;
    let faults = faults(&extract.advisories, &packages, &accepted);
    eprintln!(
        "{} packages compared with {} advisories of {} (commit {})",
        packages.len(),
        extract.advisories.len(),
        extract.date,
        extract.commit
    );
    let age = age(&extract.date, OffsetDateTime::now_utc().date())?;
    if age > OLD {
        eprintln!(
            "warning: the extract is {age} days old; write it again with `cargo xtask advisories --from FOLDER`"
        );
    }
    for fault in &faults {
        eprintln!("error: {fault}");
    }
    if faults.is_empty() { Ok(()) } else { bail!("{} advisories need a decision", faults.len()) }
}

/// Number of days from `date` to `today`.
fn age(date: &str, today: Date) -> Result<i64> {
    let format = format_description!("[year]-[month]-[day]");
    let date = Date::parse(date, format).context("the extract's date is not YYYY-MM-DD")?;
    Ok((today - date).whole_days())
}

/// Ids that `deny.toml` accepts. The reasons are stated there.
fn accepted(deny: &str) -> Result<BTreeSet<String>> {
    let table: toml::Table = deny.parse().context("deny.toml is not TOML")?;
    let ignored = table.get("advisories").and_then(|part| part.get("ignore"));
    let entries = ignored.and_then(toml::Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let id = |entry: &toml::Value| entry.get("id").and_then(toml::Value::as_str).map(str::to_owned);
    Ok(entries.iter().filter_map(id).collect())
}

/// Advisories that need a decision: those that apply and are not accepted, and accepted ones that
/// do not apply.
fn faults(all: &[Advisory], packages: &[Package], accepted: &BTreeSet<String>) -> Vec<String> {
    let mut applying = BTreeSet::new();
    let mut faults = Vec::new();
    for package in packages {
        for advisory in
            all.iter().filter(|a| a.package == package.name && a.applies(&package.version))
        {
            if applying.insert(advisory.id.clone()) && !accepted.contains(&advisory.id) {
                faults.push(describe(advisory, &package.version));
            }
        }
    }
    let unused = accepted.iter().filter(|id| !applying.contains(*id));
    faults.extend(
        unused.map(|id| format!("{id} is accepted in deny.toml but applies to no package")),
    );
    faults
}

fn describe(advisory: &Advisory, version: &Version) -> String {
    let Advisory { id, package, kind, patched, .. } = advisory;
    let cure = match patched.as_slice() {
        [] => "no version without it exists".to_owned(),
        versions => format!("fixed in {}", versions.join(" or ")),
    };
    format!(
        "{id}: {package} {version} ({kind}), {cure}; update it, or accept it in deny.toml with a reason"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use cargo_metadata::semver::VersionReq;

    fn advisory(id: &str, package: &str, patched: &[&str], unaffected: &[&str]) -> Advisory {
        let texts = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect();
        let kind = "vulnerability".to_owned();
        Advisory {
            id: id.into(),
            package: package.into(),
            kind,
            patched: texts(patched),
            unaffected: texts(unaffected),
        }
    }

    fn packages() -> Vec<Package> {
        let package = |name: &str, version: &str| Package {
            name: name.into(),
            version: version.parse().unwrap(),
        };
        vec![package("h2", "0.3.20"), package("h2", "0.4.9"), package("time", "0.3.41")]
    }

    #[test]
    fn what_applies_has_to_be_accepted_and_what_is_accepted_has_to_apply() {
        let all = [
            advisory("A-1", "h2", &[">=0.3.24, <0.4.0", ">=0.4.2"], &[]),
            advisory("A-2", "time", &[], &[">=0.3.0"]),
            advisory("A-3", "absent", &[], &[]),
        ];
        let none = BTreeSet::new();
        let found = faults(&all, &packages(), &none);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("A-1: h2 0.3.20"), "{found:?}");
        assert!(faults(&all, &packages(), &["A-1".to_owned()].into()).is_empty());
        let found = faults(&all, &packages(), &["A-1".to_owned(), "A-3".to_owned()].into());
        assert_eq!(found, ["A-3 is accepted in deny.toml but applies to no package"]);
    }

    #[test]
    fn every_requirement_of_the_extract_can_be_read() {
        let text = include_str!("../../data/advisories.jsonl");
        let extract = Extract::parse(text).unwrap();
        assert!(extract.advisories.len() > 1_000);
        assert!(age(&extract.date, time::macros::date!(2030 - 01 - 01)).unwrap() > OLD);
        let requirements =
            extract.advisories.iter().flat_map(|a| a.patched.iter().chain(&a.unaffected));
        let strange: Vec<_> =
            requirements.filter(|text| VersionReq::parse(text).is_err()).collect();
        assert!(strange.is_empty(), "{strange:?}");
    }

    #[test]
    fn the_accepted_ones_are_those_of_cargo_deny() {
        let deny = "[advisories]\nignore = [{ id = \"A-1\", reason = \"r\" }]\n";
        assert_eq!(accepted(deny).unwrap(), ["A-1".to_owned()].into());
        assert!(accepted("[bans]\n").unwrap().is_empty());
    }
}
