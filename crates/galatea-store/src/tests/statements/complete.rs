//! No statement is missing in the lists: the source is read for constants and for places that put
//! statements together.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use super::{of_postgres, of_sqlite};

/// Texts that begin like a statement and are parts of one, or ask nothing of a table.
const PARTS: &[&str] = &["search::TOGETHER"];

/// How many places of each file build a statement at run time. `filter_statements` and
/// `search::statements` return all statements built there, or the text is a listed constant.
const MADE: &[(&str, usize)] = &[
    ("postgres/event.rs", 3),
    ("postgres/hints.rs", 1),
    ("postgres/lease.rs", 3),
    ("postgres/limits.rs", 2),
    ("postgres/memory.rs", 3),
    ("search/view.rs", 2),
    ("sqlite/memory.rs", 2),
];

/// Every source file of the store but its tests, with its path below `src`.
fn sources() -> Vec<(String, String)> {
    fn walk(folder: &Path, out: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && name != "tests" {
                walk(&path, out);
            } else if name.ends_with(".rs") && name != "tests.rs" {
                out.push(path);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    walk(&root, &mut files);
    let read = |path: PathBuf| {
        let name = path.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/");
        (name, fs::read_to_string(path).unwrap())
    };
    files.into_iter().map(read).collect()
}

/// The outermost module of a file.
fn module(file: &str) -> &str {
    file.split_once('/').map_or_else(|| file.trim_end_matches(".rs"), |(folder, _)| folder)
}

/// The constants of a file that are statements.
fn constants(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("const ") {
        let Some((head, value)) = text[at + "const ".len()..].split_once('=') else { continue };
        let Some((name, kind)) = head.split_once(": ") else { continue };
        let kind = kind.trim();
        let begins = || {
            let literal = value.split_once('"').map_or("", |(_, literal)| literal.trim_start());
            ["SELECT", "INSERT", "UPDATE", "DELETE", "WITH"].iter().any(|v| literal.starts_with(v))
        };
        if kind == "Dialects"
            || kind.starts_with("[Dialects;")
            || (matches!(kind, "&str" | "&'static str") && begins())
        {
            found.push(name);
        }
    }
    found
}

#[test]
fn every_statement_is_listed() {
    // The first module and the last part: `search::candidates::MEANINGS` is used as `search::MEANINGS`.
    let of = |name: &str| {
        let (first, last) = (name.split_once("::").unwrap().0, name.rsplit_once("::").unwrap().1);
        format!("{first}::{last}")
    };
    let listed: BTreeSet<String> = of_sqlite()
        .iter()
        .chain(&of_postgres())
        .filter(|statement| statement.name.contains("::"))
        .map(|statement| of(statement.name))
        .collect();
    let mut found = BTreeSet::new();
    for (file, text) in sources() {
        for name in constants(&text) {
            let name = format!("{}::{name}", module(&file));
            assert!(found.insert(name.clone()), "{name} is there twice; give one another name");
        }
    }
    found.retain(|name| !PARTS.contains(&name.as_str()));
    assert!(found.len() > 100, "{found:?}");
    let missing: Vec<_> = found.difference(&listed).collect();
    assert!(missing.is_empty(), "list these in tests/statements.rs: {missing:?}");
    let gone: Vec<_> = listed.difference(&found).collect();
    assert!(gone.is_empty(), "the source has no such constant: {gone:?}");
}

#[test]
fn every_place_that_makes_statements_is_known() {
    let (sources, mut made) = (sources(), BTreeMap::new());
    for (file, text) in sources.iter().filter(|(file, _)| file != "dialect.rs") {
        let count = text.matches("::for_sqlite(").count() + text.matches("::for_postgres(").count();
        if count > 0 {
            made.insert(file.as_str(), count);
        }
    }
    let known: BTreeMap<&str, usize> = MADE.iter().copied().collect();
    assert_eq!(made, known, "let tests/statements.rs know what the new place makes");
}

#[test]
fn constants_are_found_in_every_form() {
    let text = "const A: Dialects = Dialects::same(\n\"SELECT 1\");\npub(crate) const B: [Dialects; 2] = [];\n\
                const C: &str =\n    concat!(\"DELETE FROM a\");\nconst D: &str = \"a\";\nconst E: usize = 1;\nconst fn f() {}";
    assert_eq!(constants(text), ["A", "B", "C"]);
}
