//! Checks that every code in the sources has a page, and that every page belongs to a code in the
//! sources.

use super::*;
use crate::look::{Plain, WIDTH};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// Every production source file of the workspace except the catalogue, the connectors' pages and
/// the list of exit codes.
fn sources() -> Vec<PathBuf> {
    fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap().map(|e| e.unwrap()) {
            let (path, name) = (entry.path(), entry.file_name().into_string().unwrap());
            if path.is_dir() && !["tests", "catalogue", "target"].contains(&name.as_str()) {
                walk(&path, files);
            } else if name.ends_with(".rs")
                && !["tests.rs", "pages.rs", "exit.rs"].contains(&name.as_str())
            {
                files.push(path);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for folder in ["crates", "connectors"] {
        for entry in fs::read_dir(root.join(folder)).unwrap().map(|e| e.unwrap()) {
            let source = entry.path().join("src");
            if source.is_dir() && entry.file_name() != "galatea-testkit" {
                walk(&source, &mut files);
            }
        }
    }
    files
}

/// The codes in a text: `GAL-` followed by at least one part. A match that ends with a dash is a
/// prefix, not a code.
fn codes(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '-';
    text.match_indices("GAL-")
        .map(|(at, _)| text[at..].chars().take_while(|c| is_part(*c)).collect::<String>())
        .filter(|code| !code.ends_with('-'))
        .collect()
}

/// A file's text in front of its tests.
fn production(text: &str) -> &str {
    text.find("#[cfg(test)]\nmod tests {").map_or(text, |at| &text[..at])
}

fn used() -> BTreeMap<String, PathBuf> {
    let mut used = BTreeMap::new();
    for path in sources() {
        let text = fs::read_to_string(&path).unwrap();
        // A code used only in tests needs no page.
        let production = production(&text);
        used.extend(codes(production).into_iter().map(|code| (code, path.clone())));
    }
    used
}

#[test]
fn every_code_in_the_sources_has_a_page() {
    let used = used();
    assert!(used.len() > 80, "the search finds codes: {}", used.len());
    let missing: Vec<_> = used
        .iter()
        .filter(|(code, _)| find(code).is_none())
        .map(|(code, path)| format!("{code} in {}", path.display()))
        .collect();
    assert!(missing.is_empty(), "write a page for:\n{}", missing.join("\n"));
}

#[test]
fn every_page_is_about_a_code_in_the_sources() {
    let used = used();
    // Only the catalogue itself, which is not searched, uses this code.
    let idle: Vec<_> = all()
        .map(|e| e.0.code)
        .filter(|code| *code != "GAL-EXPLAIN-CODE" && !used.contains_key(*code))
        .collect();
    assert!(idle.is_empty(), "nothing uses {idle:?}");
}

#[test]
fn pages_are_whole_and_there_is_one_of_each() {
    let mut seen = BTreeSet::new();
    for Entry(page) in all() {
        assert!(seen.insert(page.code), "{} twice", page.code);
        assert!(
            !page.title.is_empty() && page.cause.ends_with('.') && page.fix.ends_with(['.', '?']),
            "{page:?}"
        );
        let text = Entry(page).render(Plain);
        assert!(text.lines().all(|l| l.chars().count() <= WIDTH), "{text}");
    }
}

/// The texts that the sources give to `fix(…)` and `with_fix(…)`, also as templates of `format!`.
fn fixes(text: &str) -> Vec<&str> {
    let literal = |(at, call): (usize, &str)| {
        let given = text[at + call.len()..].trim_start();
        let given = given.strip_prefix("format!(").map_or(given, str::trim_start);
        given.strip_prefix('"')?.split_once('"').map(|(literal, _)| literal)
    };
    text.match_indices("fix(").filter_map(literal).collect()
}

#[test]
fn no_fix_is_taken_for_a_secret() {
    let mut checked = 0;
    for path in sources() {
        let text = fs::read_to_string(&path).unwrap();
        for fix in fixes(production(&text)) {
            assert_eq!(galatea_core::redact::mask_shapes(fix), fix, "{}", path.display());
            checked += 1;
        }
    }
    assert!(checked > 100, "the search finds texts: {checked}");
}

#[test]
fn codes_are_found_in_any_case_and_near_misses_are_suggested() {
    assert_eq!(find("gal-tg-409").unwrap().0.code, "GAL-TG-409");
    assert!(unknown("GAL-TG-408").fix().unwrap().starts_with("did you mean GAL-TG-40"));
    let area = unknown("gal-tg-4");
    assert!(
        area.fix().unwrap().starts_with("did you mean one of GAL-TG-401, GAL-TG-403"),
        "{area:?}"
    );
    assert!(unknown("GAL-ENTIRELY-ELSE").fix().unwrap().contains("brackets"));
}

#[test]
fn a_page_reads_well() {
    insta::assert_snapshot!(find("GAL-TG-409").unwrap().render(Plain), @r###"
GAL-TG-409
Another program is reading this bot's messages.

  Why  Telegram gives a bot's messages to one reader. A second copy runs: an old
       terminal, a container, a server, elizaOS with the same token.

  Fix  Stop the other copy, or make a second bot for testing. Galatea asks again
       every 30 seconds and then continues.
"###);
}

#[test]
fn the_search_knows_codes_from_prefixes() {
    assert_eq!(
        codes("\"GAL-A-1\" starts_with(\"GAL-B-\") GAL-C. GAL-*"),
        ["GAL-A-1".to_owned(), "GAL-C".to_owned()].into()
    );
}
