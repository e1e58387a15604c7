//! Bounds of the hand-written documents: a page that is too long to be read is soon wrong.

use anyhow::{Context, Result};
use std::{fs, path::Path};

/// Pages with the largest number of words that each may have.
const MOST_WORDS: &[(&str, usize)] = &[
    ("ARCHITECTURE.md", 5_000),
    ("CHANGELOG.md", 1_500),
    ("docs/memory.md", 2_500),
    ("docs/benchmarks.md", 1_500),
];
/// Lines of the template of settings: what a newcomer sets.
const MOST_SETTINGS: usize = 60;
/// Words of one paragraph, list item or row of a table in `ARCHITECTURE.md`.
const MOST_IN_A_PARAGRAPH: usize = 150;

/// Violations in the documents of a checkout.
pub(super) fn check(root: &Path) -> Result<Vec<String>> {
    let read = |name: &str| {
        let path = root.join(name);
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
    };
    let mut breaches = Vec::new();
    for (name, most) in MOST_WORDS {
        breaches.extend(too_long(name, &read(name)?, *most));
    }
    let template = read(".env.example")?.lines().count();
    if template > MOST_SETTINGS {
        breaches.push(format!(".env.example has {template} lines, {MOST_SETTINGS} are allowed"));
    }
    breaches.extend(walls("ARCHITECTURE.md", &read("ARCHITECTURE.md")?));
    breaches.extend(repairs_of_nothing(&read("CHANGELOG.md")?));
    Ok(breaches)
}

fn too_long(name: &str, text: &str, most: usize) -> Option<String> {
    let words = words(text);
    (words > most).then(|| format!("{name} has {words} words, {most} are allowed"))
}

/// Paragraphs with too many words.
fn walls(name: &str, text: &str) -> Vec<String> {
    paragraphs(text)
        .into_iter()
        .map(|(line, paragraph)| (line, words(&paragraph)))
        .filter(|(_, words)| *words > MOST_IN_A_PARAGRAPH)
        .map(|(line, words)| {
            format!(
                "{name}:{line}: a paragraph of {words} words, {MOST_IN_A_PARAGRAPH} are allowed"
            )
        })
        .collect()
}

/// A section "Fixed" under the oldest version of the changelog. Before its first release a program
/// has no faults that its users knew.
fn repairs_of_nothing(text: &str) -> Option<String> {
    let oldest = text.rsplit("\n## ").next()?;
    let fixed = oldest.lines().any(|line| line.trim_end() == "### Fixed");
    fixed.then(|| "CHANGELOG.md: the first version has no section \"Fixed\"".to_owned())
}

/// Words have a letter or a digit, so the marks of tables and lists are none.
fn words(text: &str) -> usize {
    text.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric)).count()
}

/// Paragraphs, list items, rows and headings with the line on which each begins. Code is left out.
fn paragraphs(text: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let (mut in_code, mut open) = (false, false);
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.starts_with("```") {
            in_code = !in_code;
            open = false;
        } else if in_code || line.is_empty() {
            open = false;
        } else if let Some((_, paragraph)) = found.last_mut().filter(|_| open && !begins(line)) {
            paragraph.push(' ');
            paragraph.push_str(line);
        } else {
            found.push((number + 1, line.to_owned()));
            open = true;
        }
    }
    found
}

/// True if a line begins a list item, a row of a table or a heading.
fn begins(line: &str) -> bool {
    let numbered = line.split_once(". ").is_some_and(|(number, _)| number.parse::<u32>().is_ok());
    numbered || ["- ", "* ", "|", "#"].iter().any(|mark| line.starts_with(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paragraph_ends_at_a_blank_line_an_item_a_row_or_code() {
        let text = "# Head\n\nOne\ntwo.\n- three\n  four\n- five\n\n1. six\n| 7 | 8 |\n```\nnine\n```\nten\n";
        let found: Vec<(usize, String)> = paragraphs(text);
        let expected = [
            (1, "# Head"),
            (3, "One two."),
            (5, "- three four"),
            (7, "- five"),
            (9, "1. six"),
            (10, "| 7 | 8 |"),
            (14, "ten"),
        ];
        assert_eq!(found, expected.map(|(line, text)| (line, text.to_owned())));
    }

    #[test]
    fn long_pages_and_walls_are_reported() {
        let wall = |count: usize| format!("Head\n\n{}\n", "word\n".repeat(count));
        assert_eq!(walls("A.md", &wall(MOST_IN_A_PARAGRAPH)), [""; 0]);
        assert_eq!(
            walls("A.md", &wall(MOST_IN_A_PARAGRAPH + 1)),
            ["A.md:3: a paragraph of 151 words, 150 are allowed"]
        );
        assert_eq!(too_long("A.md", "one – two | three\n", 3), None);
        assert!(too_long("A.md", "one two three four", 3).is_some());
    }

    #[test]
    fn only_a_later_version_repairs() {
        assert!(repairs_of_nothing("# C\n\n## 0.1.0\n\n### Fixed\n\n- it\n").is_some());
        let later = "# C\n\n## 0.2.0\n\n### Fixed\n\n- it\n\n## 0.1.0\n\n### The program\n";
        assert_eq!(repairs_of_nothing(later), None);
    }

    #[test]
    fn the_documents_of_this_checkout_are_short_enough() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        assert_eq!(check(root).unwrap(), Vec::<String>::new());
    }
}
