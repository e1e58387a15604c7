//! A fact and its messages in words, and what of the one stands in the other.

use galatea_core::EntityId;

use super::{
    claim::{EvidenceMessage, Statement, Ungrounded},
    source::{Clause, Person, SourceWord, clauses, named, words as words_of},
    words::{WordRole, are_alike, are_cases, are_same},
};
use crate::{
    fold::fold,
    summary::numbers::{Numbers, Token},
};

/// Letters that a longer form of a name or noun may have in addition.
const ENDING: usize = 2;

/// A fact in words.
pub(super) struct Fact<'a> {
    pub(super) subject: EntityId,
    pub(super) words: Vec<SourceWord<'a>>,
    /// The places of the words that have to stand in the source.
    pub(super) content: Vec<usize>,
}

impl<'a> Fact<'a> {
    pub(super) fn of(claim: &Statement<'a>) -> Self {
        let own = own_names(claim);
        let mut words = words_of(claim.text, None, claim.names, claim.subject);
        for word in &mut words {
            if named(&own, &word.fold, claim.subject).is_some() {
                word.person = Some(Person::Known(claim.subject));
            }
        }
        let is_content = |word: &SourceWord<'_>| {
            word.is_number
                || (word.person != Some(Person::Known(claim.subject))
                    && word.fold.chars().count() > 1
                    && (word.roles.is_content() || matches!(word.person, Some(Person::Known(_)))))
        };
        let content = (0..words.len()).filter(|at| is_content(&words[*at])).collect();
        Self { subject: claim.subject, words, content }
    }

    fn tokens(&self) -> Vec<Token<'a>> {
        self.words.iter().map(token).collect()
    }

    fn has(&self, role: WordRole) -> bool {
        self.words.iter().any(|word| word.roles.has(role))
    }

    pub(super) fn speaks_of_itself(&self) -> bool {
        // Some words are another one in another language.
        let only = |word: &SourceWord<'_>, role: WordRole| {
            word.roles.has(role)
                && !word.roles.has(WordRole::Third)
                && !word.roles.has(WordRole::Be)
                && !word.roles.has(WordRole::Joins)
                && word.person.is_none()
        };
        self.words.iter().any(|word| only(word, WordRole::First) || only(word, WordRole::Second))
    }
}

/// The names of the subject, folded.
fn own_names(claim: &Statement<'_>) -> Vec<(String, EntityId)> {
    let words = claim.name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(|word| (fold(word), claim.subject)).collect()
}

/// The messages of a fact.
pub(super) struct FactSource<'a> {
    pub(super) clauses: Vec<Clause<'a>>,
    /// Text that the messages answer: gives words, and states nothing.
    asked: Vec<Clause<'a>>,
    numbers: Numbers,
    /// A date may stand for "tomorrow".
    relative: bool,
    pub(super) joke: bool,
}

impl<'a> FactSource<'a> {
    pub(super) fn of(claim: &Statement<'a>, said: &[EvidenceMessage<'a>]) -> Self {
        let mut names = claim.names.to_vec();
        names.extend(own_names(claim));
        let (mut source_clauses, mut asked) = (Vec::new(), Vec::new());
        let mut numbers = Numbers::default();
        for (n, message) in said.iter().enumerate() {
            let of = |text, by, asks| clauses(text, (n, by), &names, claim.subject, asks);
            source_clauses.extend(of(message.text, message.author, false));
            numbers.add(message.text);
            if let Some((by, text)) = message.before.filter(|(_, text)| is_question(text)) {
                asked.extend(of(text, by, true));
                numbers.add(text);
            }
        }
        let has = |role| {
            let mut words = source_clauses.iter().flat_map(|clause: &Clause<'_>| &clause.words);
            words.any(|word| word.roles.has(role))
        };
        let (relative, joke) = (has(WordRole::Relative), has(WordRole::Joke));
        Self { clauses: source_clauses, asked, numbers, relative, joke }
    }

    /// Position of each content word of a fact: the clauses that have it.
    pub(super) fn places(&self, fact: &Fact<'_>) -> Result<Vec<(usize, Vec<usize>)>, Ungrounded> {
        let mut places = Vec::new();
        for at in &fact.content {
            let word = &fact.words[*at];
            let has =
                |clause: &&Clause<'_>| clause.words.iter().any(|of| stands_for(of, word, *at));
            let here: Vec<usize> =
                (0..self.clauses.len()).filter(|n| has(&&self.clauses[*n])).collect();
            let known = if word.is_number {
                self.numbers.has(&fact.tokens(), *at) || self.is_date(fact, *at)
            } else {
                !here.is_empty()
                    || self.asked.iter().any(|clause| has(&clause))
                    || self.is_date(fact, *at)
                    || is_author(word, &self.clauses)
            };
            if !known {
                return Err(Ungrounded::Word(word.text.to_owned()));
            }
            places.push((*at, here));
        }
        Ok(places)
    }

    /// True if a word may be part of a date that stands for "tomorrow".
    fn is_date(&self, fact: &Fact<'_>, at: usize) -> bool {
        let month = |at: Option<usize>| {
            let word = at.and_then(|at| fact.words.get(at));
            word.is_some_and(|word| crate::summary::month(&word.fold).is_some())
        };
        let word = &fact.words[at];
        let is_part = || {
            if word.is_number {
                let is_year = word.text.len() == 4 && word.text.starts_with("20");
                is_year || month(at.checked_sub(1)) || month(Some(at + 1))
            } else {
                month(Some(at)) || word.roles.has(WordRole::Relative)
            }
        };
        self.relative && is_part()
    }

    /// The clause that has most of the fact's words, the last of several, with the sentence's others.
    pub(super) fn best(&self, places: &[(usize, Vec<usize>)]) -> Vec<&Clause<'a>> {
        let count = |n: usize| places.iter().filter(|(_, here)| here.contains(&n)).count();
        let best = (0..self.clauses.len()).max_by_key(|n| count(*n));
        let Some(best) = best.and_then(|n| self.clauses.get(n)) else { return Vec::new() };
        let same = |clause: &&Clause<'_>| {
            (clause.message, clause.sentence) == (best.message, best.sentence)
        };
        // The best itself comes first.
        std::iter::once(best).chain(self.clauses.iter().filter(same)).collect()
    }

    /// Neither a "not" nor an "if" is lost or added.
    pub(super) fn keeps_sense(
        &self,
        fact: &Fact<'_>,
        best: &[&Clause<'_>],
    ) -> Result<(), Ungrounded> {
        let has = |clause: &Clause<'_>, role| clause.words.iter().any(|word| word.roles.has(role));
        let repeats = |clause: &&Clause<'_>| {
            let stands =
                |at: &usize| clause.words.iter().any(|of| stands_for(of, &fact.words[*at], *at));
            fact.content.iter().any(stands)
        };
        // Among the clauses whose words the fact has.
        let said = |role| self.clauses.iter().filter(repeats).any(|clause| has(clause, role));
        let Some(own) = best.first() else { return Ok(()) };
        // An answer of one word ("No.") speaks of what was asked.
        let answers =
            self.clauses.first().filter(|clause| clause.words.len() == 1 && !self.asked.is_empty());
        let refused = answers.is_some_and(|clause| has(clause, WordRole::Negation));
        if fact.has(WordRole::Negation) {
            if !said(WordRole::Negation) && !refused {
                return Err(Ungrounded::Negation);
            }
        } else if (has(own, WordRole::Negation) && own.words.len() > 1)
            || (refused && own.words.len() == 1)
        {
            return Err(Ungrounded::Negation);
        }
        let hedged =
            best.iter().any(|clause| clause.words.len() > 1 && has(clause, WordRole::Hedge));
        if hedged && !fact.has(WordRole::Hedge) {
            return Err(Ungrounded::Hedge);
        }
        if has(own, WordRole::Ended) && !fact.has(WordRole::Ended) && !fact.has(WordRole::Negation)
        {
            return Err(Ungrounded::Ended);
        }
        Ok(())
    }

    /// True if the words of a fact follow each other in a message as well, without the name before it.
    pub(super) fn has_verbatim(&self, fact: &Fact<'_>) -> bool {
        let is_own = |word: &&SourceWord<'_>| word.person == Some(Person::Known(fact.subject));
        let fact: Vec<&str> =
            fact.words.iter().skip_while(is_own).map(|word| word.fold.as_str()).collect();
        let messages = self.clauses.chunk_by(|a, b| a.message == b.message);
        messages.into_iter().any(|message| {
            let words = message.iter().flat_map(|clause| &clause.words);
            let words: Vec<&str> = words.map(|word| word.fold.as_str()).collect();
            words.windows(fact.len().max(1)).any(|window| window == fact.as_slice())
        })
    }
}

fn token<'a>(word: &SourceWord<'a>) -> Token<'a> {
    if word.is_number { Token::Number(word.text) } else { Token::Word(word.text) }
}

pub(super) fn is_question(text: &str) -> bool {
    text.trim_end().ends_with(['?', '？'])
}

/// True if a word of a fact names the author of a message.
fn is_author(word: &SourceWord<'_>, clauses: &[Clause<'_>]) -> bool {
    clauses.iter().any(|clause| word.person == Some(Person::Known(clause.author)))
}

/// True if a word of the source gives the word of a fact at this place.
pub(super) fn stands_for(source: &SourceWord<'_>, fact: &SourceWord<'_>, at: usize) -> bool {
    if let (Some(Person::Known(a)), Some(Person::Known(b))) = (source.person, fact.person) {
        return a == b;
    }
    if source.is_number || fact.is_number {
        return source.is_number && fact.is_number && same_number(source, fact);
    }
    let is_name = at > 0 && fact.text.starts_with(char::is_uppercase);
    if is_name { same_name(source, fact) } else { are_same(&source.fold, &fact.fold) }
}

fn same_number(a: &SourceWord<'_>, b: &SourceWord<'_>) -> bool {
    let mut numbers = Numbers::default();
    numbers.add(a.text);
    numbers.has(&[Token::Number(b.text)], 0)
}

/// Names have to be the same but for an ending: "Mario" is not "Maria".
fn same_name(source: &SourceWord<'_>, fact: &SourceWord<'_>) -> bool {
    let (a, b) = (source.fold.as_str(), fact.fold.as_str());
    let longer = |long: &str, short: &str| {
        let more = long.strip_prefix(short).map(|more| more.chars().count());
        short.chars().count() > 2 && more.is_some_and(|more| more <= ENDING)
    };
    let month = |word: &str| crate::summary::month(word);
    a == b
        || are_cases(a, b)
        || month(a).is_some_and(|of| month(b) == Some(of))
        || longer(a, b)
        || longer(b, a)
        || are_alike(a, b)
}
