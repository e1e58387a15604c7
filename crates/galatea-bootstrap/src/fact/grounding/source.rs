//! A text as clauses of words, with the people whom each word means.

use galatea_core::EntityId;

use super::words::{self, Roles, WordRole};
use crate::{
    fold::fold,
    summary::numbers::{Token, tokens},
};

/// Ends of clauses.
const COMMAS: [char; 12] = [',', ':', '(', ')', '—', '–', '"', '，', '、', '：', '…', '|'];

/// Whom a word means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Person {
    Known(EntityId),
    /// "he", "you": some other person.
    Other,
}

/// A word of a text.
#[derive(Debug, Clone)]
pub(super) struct SourceWord<'a> {
    pub(super) text: &'a str,
    pub(super) fold: String,
    pub(super) roles: Roles,
    pub(super) is_number: bool,
    pub(super) person: Option<Person>,
}

/// Words that belong together, said by one person.
#[derive(Debug, Clone)]
pub(super) struct Clause<'a> {
    pub(super) author: EntityId,
    /// Place of its message, and of its sentence.
    pub(super) message: usize,
    pub(super) sentence: usize,
    pub(super) words: Vec<SourceWord<'a>>,
}

/// Names by which people are called, folded, each with the person.
pub(crate) type Names = [(String, EntityId)];

/// Whom a folded word names. Of people of one name the preferred.
pub(super) fn named(names: &Names, word: &str, preferred: EntityId) -> Option<EntityId> {
    let is_named = |name: &str| {
        name == word
            || words::are_cases(name, word)
            || word.strip_suffix('s').is_some_and(|bare| bare.len() > 2 && bare == name)
    };
    let mut found = names.iter().filter(|(name, _)| is_named(name)).map(|(_, person)| *person);
    let first = found.next()?;
    Some(if found.any(|person| person == preferred) { preferred } else { first })
}

/// The words of a text. `author` is whom "I" means.
pub(super) fn words<'a>(
    text: &'a str,
    author: Option<EntityId>,
    names: &Names,
    preferred: EntityId,
) -> Vec<SourceWord<'a>> {
    let word = |token: Token<'a>| {
        let (Token::Word(text) | Token::Number(text)) = token;
        let fold = fold(text);
        let roles = words::roles(&fold);
        let by_role = || {
            if let Some(author) = author.filter(|_| roles.has(WordRole::First)) {
                return Some(Person::Known(author));
            }
            (roles.has(WordRole::Third) || roles.has(WordRole::Second)).then_some(Person::Other)
        };
        let person = named(names, &fold, preferred).map(Person::Known).or_else(by_role);
        SourceWord { text, fold, roles, is_number: matches!(token, Token::Number(_)), person }
    };
    tokens(text).into_iter().map(word).collect()
}

/// The clauses of a message that state something: sentences that ask are left out unless `asks`.
pub(super) fn clauses<'a>(
    text: &'a str,
    (message, author): (usize, EntityId),
    names: &Names,
    preferred: EntityId,
    asks: bool,
) -> Vec<Clause<'a>> {
    let mut clauses = Vec::new();
    for (sentence, part) in sentences(text).into_iter().enumerate() {
        if !asks && part.trim_end().ends_with(['?', '？']) {
            continue;
        }
        for part in pieces(part) {
            let mut rest = words(part, Some(author), names, preferred);
            while !rest.is_empty() {
                let join = rest.iter().skip(1).position(|word| word.roles.has(WordRole::Joins));
                let behind = rest.split_off(join.map_or(rest.len(), |at| at + 1));
                clauses.push(Clause { author, message, sentence, words: rest });
                rest = behind;
            }
        }
    }
    clauses
}

/// Parts of a sentence between commas. A comma between digits belongs to the number.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut start = 0;
    for (at, c) in text.char_indices().filter(|(_, c)| COMMAS.contains(c)) {
        let end = at + c.len_utf8();
        let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        if !(digit(text[..at].chars().next_back()) && digit(text[end..].chars().next())) {
            pieces.push(&text[start..at]);
            start = end;
        }
    }
    pieces.push(&text[start..]);
    pieces
}

fn sentences(text: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut start = 0;
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        let next = text[end..].chars().next();
        let ends = match c {
            '\n' | '。' | '！' | '？' => true,
            '.' | '!' | '?' | ';' => next.is_none_or(char::is_whitespace),
            _ => false,
        };
        if ends {
            sentences.push(&text[start..end]);
            start = end;
        }
    }
    sentences.push(&text[start..]);
    sentences
}
