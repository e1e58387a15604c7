//! `cargo xtask seeds`: the statements that the project began with, each with its name here and the test
//! that runs it. They lie in `docs/seeds.toml`; the table `docs/seeds.md` is written from it. CI fails
//! if a named test does not exist, a cell is empty, or the table is not up to date.

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path};

const DATA: &str = "docs/seeds.toml";
const TABLE: &str = "docs/seeds.md";
/// In place of a test: what comes with the web server, which is not there yet.
const SERVER: &str = "server";
/// In place of a test: a sentence that no test can run, such as a rule of the layout that `tidy`
/// checks.
const CHECKED_BY: &[&str] = &["tidy", "xtask"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Seeds {
    statement: Vec<Statement>,
}

/// One statement of a seed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Statement {
    /// Number of the text that it is from.
    seed: String,
    /// What the text asks for, in its words.
    says: String,
    /// The name here.
    here: String,
    /// `PATH::NAME` of a test, `server`, or `tidy`.
    test: String,
}

/// Checks the data, and writes the table. With `check`, fails if the table differs instead.
pub(crate) fn run(root: &Path, only_check: bool) -> Result<()> {
    let text = fs::read_to_string(root.join(DATA)).with_context(|| format!("{DATA} is missing"))?;
    let seeds: Seeds = toml::from_str(&text).with_context(|| format!("{DATA} cannot be read"))?;
    let mut files = BTreeMap::new();
    let faults: Vec<String> =
        seeds.statement.iter().filter_map(|statement| fault(root, statement, &mut files)).collect();
    if !faults.is_empty() {
        bail!("{DATA}:\n{}", faults.join("\n"));
    }
    let table = table(&seeds.statement)?;
    let file = root.join(TABLE);
    if !only_check {
        fs::write(&file, table)?;
    } else if fs::read_to_string(&file).unwrap_or_default() != table {
        bail!("{TABLE} is not up to date: run `cargo xtask seeds`");
    }
    let waiting = seeds.statement.iter().filter(|statement| statement.test == SERVER).count();
    eprintln!("{} statements, {waiting} of them wait for the web server", seeds.statement.len());
    Ok(())
}

/// What is wrong with a statement.
fn fault(
    root: &Path,
    statement: &Statement,
    files: &mut BTreeMap<String, Option<String>>,
) -> Option<String> {
    let Statement { says, here, test, .. } = statement;
    let wrong = |what: &str| Some(format!("`{says}`: {what}"));
    if here.trim().is_empty() || test.trim().is_empty() {
        return wrong("a cell is empty");
    }
    if test == SERVER || CHECKED_BY.contains(&test.as_str()) {
        return None;
    }
    let Some((path, name)) = test.rsplit_once("::") else {
        return wrong("the test is written PATH::NAME");
    };
    let text =
        files.entry(path.to_owned()).or_insert_with(|| fs::read_to_string(root.join(path)).ok());
    match text {
        None => wrong(&format!("there is no file {path}")),
        Some(text) if !text.contains(&format!("fn {name}(")) => {
            wrong(&format!("{path} has no test {name}"))
        }
        Some(_) => None,
    }
}

fn table(statements: &[Statement]) -> Result<String> {
    let mut text = String::from(
        "# The seeds, statement by statement\n\n\
         Written by `cargo xtask seeds` from `docs/seeds.toml`. Do not edit.\n\n\
         The project began with five texts about elizaOS: its architecture (000), its runtime (001), \
         the orchestrator (002), the `ElizaOS` class (003) and the command line (004). Each of their \
         statements has a row: the name here, and the test that runs it.\n",
    );
    let mut seed = "";
    for Statement { seed: of, says, here, test } in statements {
        if of != seed {
            seed = of;
            write!(text, "\n## Seed {seed}\n\n| statement | here | test |\n|---|---|---|\n")?;
        }
        let shown = match (test.as_str(), test.rsplit_once("::")) {
            (SERVER, _) => "comes with the web server".to_owned(),
            (_, Some((path, name))) => format!("[{name}](../{path})"),
            (by, None) => format!("checked by `cargo xtask {by}`"),
        };
        writeln!(text, "| {} | {} | {shown} |", cell(says), cell(here))?;
    }
    Ok(text)
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
