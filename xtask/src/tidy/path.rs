//! Checks that section 3 of ARCHITECTURE.md names files that exist, and few enough to be read: a
//! message passes them on its way from the platform until its answer is settled.

use anyhow::{Context, Result};
use std::{collections::BTreeSet, fs, path::Path};

/// Files and folders that the steps may name together.
const MOST: usize = 30;
/// The heading of the section.
const HEADING: &str = "\n## 3. ";
/// Paths without a crate are those of the engine.
const ENGINE: &str = "crates/galatea-runtime/src";

/// Violations in the steps of a message's path.
pub(super) fn check(root: &Path) -> Result<Vec<String>> {
    let file = root.join("ARCHITECTURE.md");
    let text =
        fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let connectors = connectors(&root.join("connectors"))?;
    Ok(compare(&named(&text), |path| exists(root, &connectors, path)))
}

fn compare(paths: &BTreeSet<String>, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let section = "ARCHITECTURE.md, section 3";
    if paths.is_empty() {
        return vec![format!("{section}: no step names a file")];
    }
    let mut breaches: Vec<String> = paths
        .iter()
        .filter(|path| !exists(path))
        .map(|path| format!("{section}: {path} does not exist"))
        .collect();
    if paths.len() > MOST {
        breaches.push(format!(
            "{section}: a message's path names {} files, {MOST} are allowed: merge what a reader need not see apart",
            paths.len()
        ));
    }
    breaches
}

/// The paths that the numbered steps of the section name in backticks.
fn named(text: &str) -> BTreeSet<String> {
    let Some((_, section)) = text.split_once(HEADING) else { return BTreeSet::new() };
    let section = section.split("\n## ").next().unwrap_or_default();
    steps(section)
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|word| is_path(word))
        .map(str::to_owned)
        .collect()
}

/// The numbered list: its items and their indented lines.
fn steps(section: &str) -> String {
    let mut in_list = false;
    section
        .lines()
        .filter(|line| {
            let number = line.split_once(". ").is_some_and(|(n, _)| n.parse::<u32>().is_ok());
            in_list = number || (in_list && line.starts_with(' '));
            in_list
        })
        .collect::<Vec<_>>()
        .join("\n")
}

fn is_path(word: &str) -> bool {
    let plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./*".contains(c));
    plain && (word.ends_with(".rs") || word.contains('/'))
}

fn exists(root: &Path, connectors: &[String], path: &str) -> bool {
    if let Some(module) = path.strip_prefix("connectors/*/") {
        return connectors.iter().all(|connector| {
            let src = root.join("connectors").join(connector).join("src");
            src.join(format!("{module}.rs")).is_file() || src.join(module).join("mod.rs").is_file()
        });
    }
    let folder = if path.starts_with("galatea-") { "crates" } else { ENGINE };
    root.join(folder).join(path).exists()
}

fn connectors(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?
    {
        let entry = entry?;
        if entry.path().is_dir() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# A\n\n## 3. A path\n\nWords about `other.rs`.\n\n1. `connectors/*/receive` gets it, `Ok(())`.\n   Then `turn/run.rs`: `run_turn`.\n2. `turn/run.rs` and `lanes.rs`.\n\n- beside `aside.rs`\n\n## 4. More\n\n1. `late.rs`\n";

    #[test]
    fn the_steps_name_paths_and_nothing_beside_them_counts() {
        let expected = ["connectors/*/receive", "lanes.rs", "turn/run.rs"];
        assert_eq!(named(TEXT), expected.map(str::to_owned).into());
    }

    #[test]
    fn what_is_missing_or_too_much_is_reported() {
        assert!(compare(&named(TEXT), |_| true).is_empty());
        assert_eq!(compare(&named(TEXT), |path| path != "lanes.rs").len(), 1);
        let many = (0..=MOST).map(|n| format!("{n}.rs")).collect();
        assert_eq!(compare(&many, |_| true).len(), 1);
        assert_eq!(compare(&BTreeSet::new(), |_| true).len(), 1);
    }

    #[test]
    fn the_paths_of_this_checkout_exist() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        assert_eq!(check(root).unwrap(), Vec::<String>::new());
    }
}
