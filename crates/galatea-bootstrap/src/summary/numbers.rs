//! Numbers as a text writes them, in one form: `1,240`, `1.240`, `1 240` and `1240` are the same.

use std::collections::HashSet;

use super::lexicon::{self, Lexicon};
use crate::fold::fold;

/// Separators of groups of three digits.
const GROUPS: [char; 8] = [',', '.', '\'', '’', ' ', '\u{a0}', '\u{2009}', '\u{202f}'];
/// Letters behind the digits of one word: units and endings of ordinals ("3rd", "10km", "5e").
const SUFFIX: usize = 5;

/// A word or a number of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    /// A run of letters and digits that begins with a letter.
    Word(&'a str),
    /// Digits with their separators and the letters behind them.
    Number(&'a str),
}

/// The words and numbers of a text. An apostrophe ends a word: "Maria's" is "Maria" and "s". Digits
/// in a script without spaces are numbers of their own.
pub(crate) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(char::is_alphanumeric) {
        rest = &rest[start..];
        let is_number = rest.starts_with(|c: char| c.is_ascii_digit());
        let end = if is_number { number_end(rest) } else { word_end(rest) };
        let (token, behind) = rest.split_at(end);
        tokens.push(if is_number { Token::Number(token) } else { Token::Word(token) });
        rest = behind;
    }
    tokens
}

/// Letters, and digits behind Latin, Greek or Cyrillic ones ("B12").
fn word_end(text: &str) -> usize {
    let mut spaced = true;
    for (at, c) in text.char_indices() {
        if !c.is_alphanumeric() || (c.is_ascii_digit() && !spaced) {
            return at;
        }
        spaced = !galatea_core::fusion::is_unspaced(c);
    }
    text.len()
}

fn number_end(text: &str) -> usize {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let mut end = digits(text);
    let first = end;
    while let Some(separator) = text[end..].chars().next().filter(|c| GROUPS.contains(c)) {
        let next = end + separator.len_utf8();
        let long = digits(&text[next..]);
        let is_group = long == 3 && first <= 3;
        // Other digits behind a point or a comma are a decimal; those behind a blank are a number of
        // their own.
        if long == 0 || !(is_group || matches!(separator, '.' | ',')) {
            break;
        }
        end = next + long;
    }
    let suffix = text[end..]
        .chars()
        .take_while(|c| c.is_alphabetic() && !galatea_core::fusion::is_unspaced(*c));
    let suffix: Vec<char> = suffix.take(SUFFIX + 1).collect();
    if suffix.len() > SUFFIX {
        return end;
    }
    end + suffix.iter().map(|c| c.len_utf8()).sum::<usize>()
}

/// The numbers that one token may mean, as digits; with those that stand for all of it first.
struct Readings {
    /// The number as a whole: joined groups, or a decimal.
    whole: Vec<String>,
    /// Its parts, where it may be several numbers: a date ("3.5."), or numbers behind each other.
    parts: Vec<String>,
}

fn readings(token: &str) -> Readings {
    let end = token.rfind(|c: char| c.is_ascii_digit()).map_or(0, |at| at + 1);
    let (digits, suffix) = token.split_at(end);
    let groups: Vec<&str> = digits.split(|c| GROUPS.contains(&c)).collect();
    let has_blank = digits.contains(' ');
    let is_grouped = groups.len() > 1 && groups[1..].iter().all(|group| group.len() == 3);
    let mut whole = Vec::new();
    if groups.len() == 1 || is_grouped {
        whole.push(plain(&groups.concat()));
    }
    if let [int, fraction] = groups.as_slice()
        && !has_blank
    {
        let fraction = fraction.trim_end_matches('0');
        let int = plain(int);
        whole.push(if fraction.is_empty() { int } else { format!("{int}.{fraction}") });
    }
    if suffix.eq_ignore_ascii_case("k") {
        let thousands: Vec<String> = whole.iter().map(|number| format!("{number}000")).collect();
        whole.extend(thousands);
    }
    let is_parted = groups.len() > 1 && (!is_grouped || has_blank);
    let parts =
        if is_parted { groups.iter().map(|group| plain(group)).collect() } else { Vec::new() };
    Readings { whole, parts }
}

/// Without leading zeros.
fn plain(digits: &str) -> String {
    match digits.trim_start_matches('0') {
        "" => "0".to_owned(),
        digits => digits.to_owned(),
    }
}

/// The numbers of texts, however they are written.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    said: HashSet<String>,
    /// Numbers of months that are written as words: they count in dates of digits only.
    months: HashSet<String>,
}

impl Numbers {
    /// Adds those of a text: digits, number words, the numbers of months, and the hours of an afternoon
    /// as a clock of 24 hours has them.
    pub(crate) fn add(&mut self, text: &str) {
        let lexicon = lexicon::lexicon();
        let tokens = tokens(text);
        for (at, token) in tokens.iter().enumerate() {
            match token {
                Token::Number(number) => {
                    let Readings { whole, mut parts } = readings(number);
                    if is_afternoon(number, tokens.get(at + 1)) {
                        self.said.extend(whole.iter().filter_map(|hour| later(hour)));
                    }
                    // "1 240" is one number.
                    if parts.len() > 1 && number.contains(' ') && !whole.is_empty() {
                        parts.clear();
                    }
                    self.said.extend(whole.into_iter().chain(parts));
                }
                Token::Word(word) => {
                    let word = fold(word);
                    self.months.extend(lexicon.month(&word).map(|month| month.to_string()));
                    self.said.extend(lexicon.number(&word).map(|number| number.to_string()));
                    self.said.extend(digits_of(&word));
                }
            }
        }
    }

    /// True if the number at a place among these tokens stands in the texts.
    pub(crate) fn has(&self, tokens: &[Token<'_>], at: usize) -> bool {
        let Some(Token::Number(number)) = tokens.get(at) else { return false };
        let Readings { whole, parts } = readings(number);
        let month = |at: Option<usize>| match at.and_then(|at| tokens.get(at)) {
            Some(Token::Word(word)) => lexicon::lexicon().month(&fold(word)).is_some(),
            Some(Token::Number(_)) | None => false,
        };
        // In "5 May" the number is the day.
        let is_day = month(at.checked_sub(1)) || month(Some(at + 1));
        let knows = |number: &String| {
            self.said.contains(number) || (!is_day && self.months.contains(number))
        };
        let as_hour = || {
            is_afternoon(number, tokens.get(at + 1))
                && whole.iter().filter_map(|hour| later(hour)).any(|hour| self.said.contains(&hour))
        };
        // Full hours are written with and without minutes.
        whole.iter().any(knows)
            || (!parts.is_empty() && parts.iter().all(knows))
            || *number == "00"
            || as_hour()
    }

    /// True if the number of this month stands in the texts.
    pub(crate) fn has_month(&self, lexicon: &Lexicon, word: &str) -> bool {
        lexicon.month(word).is_some_and(|month| {
            let month = month.to_string();
            self.said.contains(&month) || self.months.contains(&month)
        })
    }
}

/// The digits of a word such as "B12": a model may write "B 12".
fn digits_of(word: &str) -> Option<String> {
    let digits = word.trim_start_matches(|c: char| !c.is_ascii_digit());
    let only = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    only.then(|| plain(digits))
}

fn is_afternoon(number: &str, next: Option<&Token<'_>>) -> bool {
    let pm = |text: &str| text.eq_ignore_ascii_case("pm");
    let behind = number.trim_start_matches(|c: char| !c.is_alphabetic());
    pm(behind) || matches!(next, Some(Token::Word(word)) if pm(word))
}

fn later(hour: &str) -> Option<String> {
    let hour: u32 = hour.parse().ok()?;
    (1..12).contains(&hour).then(|| (hour + 12).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<&str> {
        let number = |token| match token {
            Token::Number(number) => Some(number),
            Token::Word(_) => None,
        };
        tokens(text).into_iter().filter_map(number).collect()
    }

    #[test]
    fn a_number_is_one_token_with_its_separators() {
        assert_eq!(of("1,240 and 1.240, 1 240; 1'240."), ["1,240", "1.240", "1 240", "1'240"]);
        assert_eq!(
            of("on 3.5. at 9:30, 4.50 euros, B12, 3rd, 5pm"),
            ["3.5", "9", "30", "4.50", "3rd", "5pm"]
        );
        assert_eq!(of("3 May 2026, 12 chairs 100 tables"), ["3", "2026", "12", "100"]);
        assert_eq!(of("会议在5点30分"), ["5", "30"]);
    }

    #[test]
    fn one_number_in_many_forms_is_known() {
        let known = |text: &str, said: &str| {
            let mut numbers = Numbers::default();
            numbers.add(said);
            let tokens = tokens(text);
            tokens.iter().enumerate().all(|(at, token)| match token {
                Token::Number(_) => numbers.has(&tokens, at),
                Token::Word(_) => true,
            })
        };
        for said in ["it cost 1240", "1,240", "1.240 €", "1 240 kr", "1\u{202f}240", "1'240"] {
            for text in ["1,240", "1.240", "1 240", "1240", "1\u{a0}240", "1’240"] {
                assert!(known(text, said), "{text} in {said}");
            }
            assert!(!known("240", said) && !known("12,400", said) && !known("124", said), "{said}");
        }
        for (text, said) in [
            ("5 %", "5%"),
            ("5 percent", "five percent"),
            ("the 3rd", "3 May"),
            ("3.", "am 3. Mai"),
            ("le 1er", "1 mai"),
            ("12 chairs", "twelve chairs"),
            ("2026-05-03", "3 May 2026"),
            ("3 May", "3.5."),
            ("17:00", "at 5 pm"),
            ("5pm", "17:00"),
            ("4.5", "4,50"),
            ("4,000", "4k"),
            ("03:05", "3:05"),
        ] {
            assert!(known(text, said), "{text} in {said}");
        }
        for (text, said) in
            [("6", "5"), ("1,241", "1240"), ("3.6.", "3.5."), ("18:00", "5 pm"), ("5 May", "3 May")]
        {
            assert!(!known(text, said), "{text} in {said}");
        }
    }
}
