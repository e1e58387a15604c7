//! Checks that every connector has the same files, so that knowing one connector helps with all.

use anyhow::{Context, Result};
use std::{collections::BTreeSet, fs, path::Path};

/// Required files in a connector's `src`, each as `x.rs` or `x/mod.rs`.
const FILES: &[&str] =
    &["config", "connector", "decode", "encode", "error", "lib", "receive", "send"];

/// Additional files of single connectors, with the reason.
const EXTRA: &[(&str, &str, &str)] = &[
    (
        "galatea-terminal",
        "client",
        "the terminal's own end of the socket: other platforms bring their clients",
    ),
    ("galatea-telegram", "fuzz", "entry points for the fuzzer"),
    ("galatea-discord", "fuzz", "entry points for the fuzzer"),
    ("galatea-x", "fuzz", "entry points for the fuzzer"),
    ("galatea-terminal", "frame", "the wire format both ends speak"),
];

/// Violations in the folder of connectors.
pub(super) fn check(folder: &Path) -> Result<Vec<String>> {
    let mut breaches = Vec::new();
    for entry in
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?
    {
        let path = entry?.path();
        if path.is_dir() {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            breaches.extend(compare(
                &name,
                &modules(&path.join("src"))?,
                path.join("README.md").is_file(),
            ));
        }
    }
    breaches.sort();
    Ok(breaches)
}

/// Names of the modules in a `src` folder. A folder counts if it contains a `mod.rs`, or if a file
/// has its name.
fn modules(src: &Path) -> Result<BTreeSet<String>> {
    let mut modules = BTreeSet::new();
    for entry in fs::read_dir(src).with_context(|| format!("cannot read {}", src.display()))? {
        let path = entry?.path();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if path.extension().is_some_and(|e| e == "rs") || path.join("mod.rs").is_file() {
            modules.insert(stem);
        }
    }
    Ok(modules)
}

fn compare(connector: &str, modules: &BTreeSet<String>, readme: bool) -> Vec<String> {
    let mut breaches = Vec::new();
    for file in FILES.iter().filter(|file| !modules.contains(**file)) {
        breaches.push(format!(
            "connectors/{connector}/src/{file}.rs is missing: every connector has it"
        ));
    }
    for module in modules {
        let known = FILES.contains(&module.as_str())
            || EXTRA.iter().any(|(c, m, _)| *c == connector && m == module);
        if !known {
            breaches.push(format!("connectors/{connector}/src/{module}.rs is a file other connectors do not have: put it inside one of {FILES:?}"));
        }
    }
    if !readme {
        breaches.push(format!("connectors/{connector}/README.md is missing"));
    }
    breaches
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|n| (*n).to_owned()).collect()
    }

    #[test]
    fn the_usual_files_pass() {
        assert!(compare("galatea-x", &set(FILES), true).is_empty());
    }

    #[test]
    fn what_is_missing_or_too_many_is_reported() {
        let mut files = set(FILES);
        files.remove("decode");
        files.insert("util".to_owned());
        let breaches = compare("galatea-x", &files, false);
        assert_eq!(breaches.len(), 3);
        assert!(
            breaches[0].contains("decode.rs is missing")
                && breaches[1].contains("util.rs")
                && breaches[2].contains("README.md"),
            "{breaches:?}"
        );
    }

    #[test]
    fn an_exception_holds_for_its_connector_only() {
        let mut files = set(FILES);
        files.insert("frame".to_owned());
        assert!(compare("galatea-terminal", &files, true).is_empty());
        assert_eq!(compare("galatea-x", &files, true).len(), 1);
    }

    #[test]
    fn folders_count_by_their_mod_file() {
        let src = tempfile::tempdir().unwrap();
        fs::write(src.path().join("lib.rs"), "").unwrap();
        fs::create_dir_all(src.path().join("decode")).unwrap();
        fs::write(src.path().join("decode/mod.rs"), "").unwrap();
        fs::create_dir_all(src.path().join("assets")).unwrap();
        assert_eq!(modules(src.path()).unwrap(), set(&["lib", "decode"]));
    }
}
