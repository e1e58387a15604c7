//! A person's name as prompts show it, and which names read alike.

use unicode_segmentation::UnicodeSegmentation;

use crate::visible::one_line;

/// Longest name in a prompt, in graphemes, and in bytes: a grapheme may carry any number of marks.
const LONGEST: usize = 64;
const LONGEST_BYTES: usize = 256;

/// A name fit for a prompt: one line, bounded, without the marks that prompts set around names.
pub fn display(name: &str) -> String {
    let cut = &name[..name.floor_char_boundary(LONGEST_BYTES * 4)];
    let plain: String = one_line(cut).chars().map(|c| if is_mark(c) { ' ' } else { c }).collect();
    let mut out = String::new();
    for grapheme in one_line(&plain).graphemes(true).take(LONGEST) {
        if out.len() + grapheme.len() > LONGEST_BYTES {
            break;
        }
        out.push_str(grapheme);
    }
    out.trim_end().to_owned()
}

/// True if prompts set this mark around or between names, or it reads like one that they set. A name
/// with such marks could pass for the agent (`Eliza (you): …`), for the program (`[Notes]`), for a
/// quotation, for a date, or for two people of a list.
fn is_mark(c: char) -> bool {
    // The end of a name, and what stands between names.
    let between = matches!(c, ':' | '：' | '﹕' | '꞉' | ',' | '，' | '﹐');
    // `(you)`, `(hearsay from …)`, `[when]`, `[Notes]`, and their like.
    let around = matches!(
        c,
        '(' | ')'
            | '（'
            | '）'
            | '﹙'
            | '﹚'
            | '⁽'
            | '⁾'
            | '❨'
            | '❩'
            | '['
            | ']'
            | '［'
            | '］'
            | '【'
            | '】'
    );
    // Quotations, suffixes and headings, further lines of a message.
    between || around || matches!(c, '"' | '#' | '＃' | '<' | '>' | '＞')
}

/// Skeleton that names share if they read alike.
pub(crate) fn skeleton(name: &str) -> String {
    let letters: String = name
        .chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .map(confusable)
        .collect();
    // Of emoji, for example.
    if letters.is_empty() { name.to_owned() } else { letters }
}

/// The Latin letter that a Greek or Cyrillic one looks like (Unicode, confusables: those that are
/// the same in most typefaces).
fn confusable(c: char) -> char {
    match c {
        'а' | 'α' => 'a',
        'в' => 'b',
        'с' => 'c',
        'е' => 'e',
        'һ' => 'h',
        'і' | 'ι' | 'ı' | 'l' | '1' => 'i',
        'ј' => 'j',
        'к' | 'κ' => 'k',
        'м' => 'm',
        'н' => 'h',
        'о' | 'ο' | '0' => 'o',
        'р' | 'ρ' => 'p',
        'ѕ' => 's',
        'т' | 'τ' => 't',
        'у' | 'υ' => 'y',
        'х' | 'χ' => 'x',
        'ԁ' => 'd',
        'ν' => 'v',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_bounded_line_without_a_prompts_signs() {
        assert_eq!(display("Bob: I approve\nMaria"), "Bob I approve Maria");
        assert_eq!(display("[Mon 14:05] \"Bob\" #1a2b"), "Mon 14 05 Bob 1a2b");
        for name in ["Eliza (you)", "Eliza（you）", "(Eliza) (you)", "Eliza ⁽you⁾"] {
            assert_eq!(display(name), "Eliza you", "the agent's own lines have `(you)`");
        }
        assert_eq!(display("Ann, Bob (said Mon)"), "Ann Bob said Mon", "one of a list");
        assert_eq!(display(&"👩‍👩‍👧".repeat(100)).graphemes(true).count(), LONGEST_BYTES / "👩‍👩‍👧".len());
        assert!(display(&format!("a{}", "\u{301}".repeat(100_000))).len() <= LONGEST_BYTES);
    }
}
