//! Pieces that an answer may refer to, and the look of a reference. Pure.

use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// A piece that was in the prompt, under its number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Citation {
    /// Its number in the prompt.
    pub(crate) n: u32,
    /// Its place, such as `Title › Heading, page 3`.
    pub(crate) place: String,
    /// The address of its document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) url: Option<String>,
}

/// Look of references.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CiteForm {
    /// Numbers in the text, and a list at the end: for chats.
    List,
    /// The first source in brackets at the end, without numbers: for public posts, which are short.
    Short,
}

/// Most sources listed.
const MOST: usize = 5;
/// Beginnings of a list of sources, ours or one that the model wrote itself.
const LIST: &str = "Sources:";

/// An answer with references to pieces that were in the prompt. Numbers that stand for nothing go,
/// the others are counted from 1 in the order of the text; code stays as it is.
pub(crate) fn cite(answer: &str, citations: &[Citation], form: CiteForm) -> String {
    let answer = without_own_list(answer);
    let mut used: Vec<&Citation> = Vec::new();
    let mut out = String::with_capacity(answer.len());
    let mut rest = answer;
    while let Some(at) = rest.find(['[', '`']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let code = code(rest);
        if code > 0 {
            out.push_str(&rest[..code]);
            rest = &rest[code..];
            continue;
        }
        let Some((numbers, length)) = numbers(rest) else {
            out.push('[');
            rest = &rest[1..];
            continue;
        };
        rest = &rest[length..];
        let mut shown = Vec::new();
        for citation in numbers.iter().filter_map(|n| citations.iter().find(|c| c.n == *n)) {
            let same =
                |known: &&Citation| (&known.place, &known.url) == (&citation.place, &citation.url);
            let number = used.iter().position(same).unwrap_or_else(|| {
                used.push(citation);
                used.len() - 1
            });
            if number < MOST && !shown.contains(&(number + 1)) {
                shown.push(number + 1);
            }
        }
        if form == CiteForm::Short || shown.is_empty() {
            out.truncate(out.trim_end_matches(' ').len());
        } else {
            for number in shown {
                let _ = write!(out, "[{number}]");
            }
        }
    }
    out.push_str(rest);
    let mut out = out.trim_end().to_owned();
    used.truncate(MOST);
    match (form, used.first()) {
        (_, None) => {}
        (CiteForm::Short, Some(first)) => {
            let _ = write!(out, " ({})", first.url.as_deref().unwrap_or(&first.place));
        }
        (CiteForm::List, Some(_)) => {
            let _ = write!(out, "\n\n{LIST}");
            for (n, citation) in used.iter().enumerate() {
                let _ = write!(out, "\n[{}] {}", n + 1, citation.place);
                if let Some(url) = &citation.url {
                    let _ = write!(out, " {url}");
                }
            }
        }
    }
    out
}

/// Models repeat the list that they see under their earlier answers, sometimes only its head, or
/// twice.
fn without_own_list(answer: &str) -> &str {
    let Some(at) = answer.rfind(LIST) else { return answer };
    let begins_line = at == 0 || answer[..at].ends_with('\n');
    let mut listed = answer[at + LIST.len()..].lines().filter(|line| !line.trim().is_empty());
    let only_list = listed.all(|line| line.trim_start().trim_start_matches("- ").starts_with('['));
    if begins_line && only_list { without_own_list(answer[..at].trim_end()) } else { answer }
}

/// Length of the code at the beginning of a text; 0 if it begins with none.
fn code(text: &str) -> usize {
    let fence = text.len() - text.trim_start_matches('`').len();
    if fence == 0 {
        return 0;
    }
    let mark = &text[..fence];
    text[fence..].find(mark).map_or(fence, |end| 2 * fence + end)
}

/// The numbers in `[1]` or `[1, 2]` at the beginning of a text, and its length. `None` for anything
/// else, such as a link.
fn numbers(text: &str) -> Option<(Vec<u32>, usize)> {
    let inside = text.strip_prefix('[')?;
    let end = inside.find(']').filter(|end| *end <= 24)?;
    if inside[end + 1..].starts_with(['(', ':']) {
        return None;
    }
    let parts = inside[..end].split([',', ';']);
    let numbers = parts.map(|n| n.trim().parse().ok()).collect::<Option<Vec<u32>>>()?;
    Some((numbers, end + 2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pieces() -> Vec<Citation> {
        let of = |n, place: &str, url: Option<&str>| Citation {
            n,
            place: place.to_owned(),
            url: url.map(str::to_owned),
        };
        vec![
            of(1, "House, page 3", None),
            of(2, "Garden › Trees", Some("https://example.org/garden")),
            of(3, "House, page 3", None),
        ]
    }

    #[test]
    fn only_pieces_of_the_prompt_stay_and_are_listed() {
        let listed = |answer: &str| cite(answer, &pieces(), CiteForm::List);
        assert_eq!(
            listed("Oak [2], built 1921 [3][9]. Twice [1, 2]."),
            "Oak [1], built 1921 [2]. Twice [2][1].\n\nSources:\n[1] Garden › Trees https://example.org/garden\n[2] House, page 3"
        );
        assert_eq!(listed("Nothing of it [7]."), "Nothing of it.");
        assert_eq!(
            listed("Take `a[1]` and [1](https://x.org) and [x].\n```\nb[2]\n```"),
            "Take `a[1]` and [1](https://x.org) and [x].\n```\nb[2]\n```"
        );
        assert_eq!(
            listed("Oak [2].\n\nSources:\n[1] invented"),
            "Oak [1].\n\nSources:\n[1] Garden › Trees https://example.org/garden"
        );
        for tail in ["Sources:", "Sources:\n\n", "Sources:\nSources:\n[1] invented"] {
            let answer = format!("Oak [2].\n\n{tail}");
            assert_eq!(
                cite(&answer, &pieces(), CiteForm::List),
                "Oak [1].\n\nSources:\n[1] Garden › Trees https://example.org/garden"
            );
        }
        assert_eq!(listed("Sources: wool and wood."), "Sources: wool and wood.");
    }

    #[test]
    fn posts_name_one_source() {
        let short = |answer| cite(answer, &pieces(), CiteForm::Short);
        assert_eq!(short("Oak [2] of 1921 [1]."), "Oak of 1921. (https://example.org/garden)");
        assert_eq!(short("1921 [1]"), "1921 (House, page 3)");
        assert_eq!(short("No idea."), "No idea.");
    }

    proptest! {
        #[test]
        fn words_stay(answer in "[a-z \\[\\]0-9`\n,(]{0,80}") {
            let letters = |text: &str| text.chars().filter(|c| c.is_ascii_lowercase()).collect::<String>();
            let cited = cite(&answer, &[], CiteForm::List);
            prop_assert_eq!(letters(&cited), letters(&answer));
        }
    }
}
