//! Sentences of a text, in one pass. They follow Unicode's rules (UAX #29, SB6 to SB11) for the marks
//! that most scripts end sentences with. The crate that cuts words looks ahead from each closing mark
//! and takes hours for a megabyte of them.

use std::{iter::Peekable, str::CharIndices};

/// The sentences of a line, each with the spaces behind it. Together they are the whole line.
pub(crate) fn sentences(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (sentence, more) = rest.split_at(first_end(rest));
        rest = more;
        Some(sentence)
    })
}

/// True if a text ends with the end of a sentence: a mark, and what closes behind it.
pub(crate) fn is_ended(text: &str) -> bool {
    let text = text.trim_end_matches(|c: char| is_closing(c) || c.is_whitespace());
    text.ends_with(|c| is_stop(c) || is_end(c))
}

/// End of the first sentence. Each call looks no further than to the first letter or mark behind
/// the end, so all calls for a line are linear in its length.
fn first_end(text: &str) -> usize {
    let mut chars = text.char_indices().peekable();
    let mut before = None;
    while let Some((_, c)) = chars.next() {
        if !is_stop(c) && !is_end(c) {
            before = Some(c);
            continue;
        }
        let next = chars.peek().map(|(_, next)| *next);
        // 3.5 and U.S.
        let inside = is_stop(c)
            && next.is_some_and(|next| {
                next.is_numeric()
                    || next.is_uppercase()
                        && before.is_some_and(|b: char| b.is_lowercase() || b.is_uppercase())
            });
        before = Some(c);
        if inside {
            continue;
        }
        if skip(&mut chars, is_closing) + skip(&mut chars, char::is_whitespace) > 0 {
            before = None;
        }
        let Some(&(at, next)) = chars.peek() else { return text.len() };
        let continues = is_stop(next)
            || is_end(next)
            || is_continuing(next)
            || is_stop(c) && goes_on_small(&text[at..]);
        if !continues {
            return at;
        }
    }
    text.len()
}

/// Skips characters, and says how many.
fn skip(chars: &mut Peekable<CharIndices<'_>>, which: impl Fn(char) -> bool) -> usize {
    std::iter::from_fn(|| chars.next_if(|(_, c)| which(*c))).count()
}

/// True if the next letter is small and no mark stands before it: the stop was one of an abbreviation.
fn goes_on_small(ahead: &str) -> bool {
    ahead
        .chars()
        .find(|c| c.is_alphabetic() || is_stop(*c) || is_end(*c))
        .is_some_and(char::is_lowercase)
}

/// Marks that also abbreviate and divide numbers (`ATerm`).
fn is_stop(c: char) -> bool {
    matches!(c, '.' | '\u{2024}' | '\u{fe52}' | '\u{ff0e}')
}

/// Marks that always end a sentence (`STerm`).
fn is_end(c: char) -> bool {
    matches!(c, '!' | '?' | '\u{589}' | '\u{61d}'..='\u{61f}' | '\u{6d4}' | '\u{700}'..='\u{702}'
        | '\u{964}' | '\u{965}' | '\u{104a}' | '\u{104b}' | '\u{1362}' | '\u{1367}' | '\u{1368}'
        | '\u{166e}' | '\u{1735}' | '\u{1736}' | '\u{17d4}' | '\u{17d5}' | '\u{1803}' | '\u{1809}'
        | '\u{1944}' | '\u{1945}' | '\u{203c}' | '\u{203d}' | '\u{2047}'..='\u{2049}' | '\u{2e2e}'
        | '\u{2e3c}' | '\u{3002}' | '\u{a4ff}' | '\u{fe56}' | '\u{fe57}' | '\u{ff01}' | '\u{ff1f}'
        | '\u{ff61}')
}

/// Quotation marks and brackets (`Close`).
fn is_closing(c: char) -> bool {
    matches!(c, '"' | '\'' | '(' | ')' | '[' | ']' | '{' | '}' | '\u{ab}' | '\u{bb}'
        | '\u{2018}'..='\u{201f}' | '\u{2039}' | '\u{203a}' | '\u{207d}' | '\u{207e}'
        | '\u{2329}' | '\u{232a}' | '\u{275b}'..='\u{2760}' | '\u{2768}'..='\u{2775}'
        | '\u{3008}'..='\u{3011}' | '\u{3014}'..='\u{301b}' | '\u{301d}'..='\u{301f}'
        | '\u{ff08}' | '\u{ff09}' | '\u{ff3b}' | '\u{ff3d}' | '\u{ff5b}' | '\u{ff5d}'
        | '\u{ff5f}' | '\u{ff60}' | '\u{ff62}' | '\u{ff63}')
}

/// Marks behind which a sentence goes on (`SContinue`).
fn is_continuing(c: char) -> bool {
    matches!(
        c,
        ',' | '-'
            | ':'
            | '\u{55d}'
            | '\u{60c}'
            | '\u{60d}'
            | '\u{7f8}'
            | '\u{1802}'
            | '\u{1808}'
            | '\u{2013}'
            | '\u{2014}'
            | '\u{3001}'
            | '\u{fe50}'
            | '\u{fe51}'
            | '\u{fe55}'
            | '\u{fe58}'
            | '\u{fe63}'
            | '\u{ff0c}'
            | '\u{ff0d}'
            | '\u{ff1a}'
            | '\u{ff64}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use unicode_segmentation::UnicodeSegmentation;

    #[test]
    fn sentences_end_where_readers_expect() {
        let text = "It costs 3.50 euros, i.e. less. See U.S. law (\"yes!\"). Ann asked: why? \
                    第一句。第二句！ यह एक है। दूसरा वाक्य";
        let cut: Vec<&str> = sentences(text).map(str::trim).collect();
        assert_eq!(
            cut,
            [
                "It costs 3.50 euros, i.e. less.",
                "See U.S. law (\"yes!\").",
                "Ann asked: why?",
                "第一句。",
                "第二句！",
                "यह एक है।",
                "दूसरा वाक्य"
            ]
        );
        assert!(is_ended("He said \"no.\" ") && is_ended("好。") && !is_ended("so that"));
    }

    /// The crate's search took hours for each of these.
    #[test]
    fn megabytes_of_marks_take_one_pass() {
        for part in [")", "\u{ab}\u{bb}", ".)", ".\u{ab}1", ". ", " )", ")\u{e34}", "?'", ".5)-"] {
            let text = format!("Hello world.{}", part.repeat((2 << 20) / part.len()));
            let begun = std::time::Instant::now();
            assert_eq!(sentences(&text).map(str::len).sum::<usize>(), text.len(), "{part}");
            assert!(begun.elapsed().as_secs() < 20, "{part} took {:?}", begun.elapsed());
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]
        #[test]
        fn sentences_are_those_of_unicode(text in "[a-cA-Cé0-9漢あ .!?()\"'»,:。！「」-]{0,60}") {
            let ours: Vec<&str> = sentences(&text).collect();
            let theirs: Vec<&str> = text.split_sentence_bounds().collect();
            prop_assert_eq!(ours, theirs);
        }
    }
}
