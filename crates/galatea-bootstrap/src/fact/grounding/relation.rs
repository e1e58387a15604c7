//! Checks that the words of a fact are said of the same person, in the same role.

use galatea_core::EntityId;

use super::{
    claim::Ungrounded,
    source::{Clause, Person, SourceWord},
    statement::{Fact, FactSource, stands_for},
    words::WordRole,
};

/// Words between a possessive and its noun ("my old black dog").
const BETWEEN: usize = 3;

/// Each word of the fact is said of its person, and none of another one in its place.
pub(super) fn kept(
    fact: &Fact<'_>,
    source: &FactSource<'_>,
    places: &[(usize, Vec<usize>)],
) -> Result<(), Ungrounded> {
    for (at, here) in places {
        let word = &fact.words[*at];
        // A word of the question before, a date, or a person, who is looked at with the words.
        if here.is_empty() || word.person.is_some() {
            continue;
        }
        if !here.iter().any(|n| is_said_of(fact.subject, &source.clauses, *n, (word, *at))) {
            return Err(Ungrounded::Relation(word.text.to_owned()));
        }
    }
    let Some((at, here)) = places.iter().find(|(at, _)| fact.words[*at].person.is_none()) else {
        return Ok(());
    };
    let role = role(fact, *at);
    let passive = fact
        .words
        .iter()
        .any(|word| word.roles.has(WordRole::Passive) && !word.roles.has(WordRole::First));
    let keeps = |n: &usize| {
        let clause = &source.clauses[*n];
        let before = source.clauses[..*n].iter().filter(|before| before.message == clause.message);
        let before: Vec<&Clause<'_>> = before.collect();
        role.is_kept(fact, &before, clause, (&fact.words[*at], *at))
    };
    if here.is_empty() || passive || here.iter().any(keeps) {
        return Ok(());
    }
    Err(Ungrounded::Relation(fact.words[*at].text.to_owned()))
}

/// True if a clause says a word of a person: it names the person, or what was said before it does.
fn is_said_of(
    subject: EntityId,
    clauses: &[Clause<'_>],
    n: usize,
    word: (&SourceWord<'_>, usize),
) -> bool {
    let clause = &clauses[n];
    let means = |person: Person| {
        person == Person::Known(subject) || (person == Person::Other && subject != clause.author)
    };
    let mut people = clause.words.iter().filter_map(|word| word.person).peekable();
    if people.peek().is_some() {
        // A clause about another person only is not about this one.
        if people.any(means) {
            return true;
        }
        let is_before = |at: usize| clause.words[..at].iter().any(|word| word.person.is_some());
        let at = clause.words.iter().position(|of| stands_for(of, word.0, word.1));
        if at.is_some_and(is_before) {
            return false;
        }
    }
    let before = clauses[..n].iter().rev().take_while(|before| before.message == clause.message);
    let mut before =
        before.flat_map(|before| before.words.iter().rev()).filter_map(|word| word.person);
    match before.next() {
        // Without a person the author speaks of themselves.
        None => subject == clause.author || names_it(clauses, subject),
        Some(person) => means(person) || before.next().is_some_and(means),
    }
}

/// True if the messages name a person at all.
fn names_it(clauses: &[Clause<'_>], subject: EntityId) -> bool {
    let mut words = clauses.iter().flat_map(|clause| &clause.words);
    words.any(|word| word.person == Some(Person::Known(subject)))
}

/// Relation of a fact's person to its first word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Relation {
    /// The person does it: "Ada sold".
    Acts,
    /// The person is it: "Ada is a baker".
    Is,
    /// The person has it: "Ada has a dog".
    Has,
    Unknown,
}

fn role(fact: &Fact<'_>, at: usize) -> Relation {
    let is_subject = |word: &SourceWord<'_>| word.person == Some(Person::Known(fact.subject));
    let Some(subject) = fact.words[..at].iter().rposition(is_subject) else {
        return Relation::Unknown;
    };
    match &fact.words[subject + 1..at] {
        [] if fact.words[at].roles.is_content() => Relation::Acts,
        between
            if between.iter().all(|word| is_between(word)) && fact.words[at].roles.is_content() =>
        {
            Relation::Acts
        }
        [first, rest @ ..] => {
            let small = |word: &SourceWord<'_>| !word.roles.is_content() || word.is_number;
            if !rest.iter().all(small) {
                return Relation::Unknown;
            }
            // "Ada's" ends in a letter that is a form of "to be".
            if first.fold == "s" {
                Relation::Unknown
            } else if first.roles.has(WordRole::Have) {
                Relation::Has
            } else if first.roles.has(WordRole::Be) {
                Relation::Is
            } else {
                Relation::Unknown
            }
        }
        _ => Relation::Unknown,
    }
}

/// True if a word between a person and a verb leaves their relation as it is: "does not".
fn is_between(word: &SourceWord<'_>) -> bool {
    let small = word.roles.has(WordRole::Negation) || word.roles.has(WordRole::Function);
    small && word.fold != "s" && !word.roles.has(WordRole::Be) && !word.roles.has(WordRole::Have)
}

/// True if the word before a verb names a person who is not known: no word of its own sense with a
/// capital letter.
fn is_stranger(words: &[SourceWord<'_>], at: usize, fact: &Fact<'_>) -> bool {
    let before =
        words[..at].iter().rev().find(|word| word.roles.is_content() || word.person.is_some());
    before.is_some_and(|word| {
        word.person.is_none()
            && !word.is_number
            && word.text.starts_with(char::is_uppercase)
            && super::words::is_unknown(&word.fold)
            && !crate::summary::is_opening(&word.fold)
            && !fact.words.iter().any(|of| of.fold == word.fold)
    })
}

impl Relation {
    /// True if a clause with the word has the person in this relation to it. Only what speaks against
    /// it counts: languages say the same in many ways.
    fn is_kept(
        self,
        fact: &Fact<'_>,
        before: &[&Clause<'_>],
        clause: &Clause<'_>,
        word: (&SourceWord<'_>, usize),
    ) -> bool {
        let (words, subject) = (&clause.words, fact.subject);
        let Some(at) = words.iter().position(|of| stands_for(of, word.0, word.1)) else {
            return true;
        };
        let is = |person: Option<Person>| person == Some(Person::Known(subject));
        let person_before = |at: usize| {
            let here = words[..at].iter().rev().filter_map(|word| word.person);
            let earlier = before.iter().rev().flat_map(|clause| clause.words.iter().rev());
            here.chain(earlier.filter_map(|word| word.person)).next()
        };
        let known = |person: Option<Person>| matches!(person, Some(Person::Known(_)));
        match self {
            Self::Acts => {
                let left = words[..at].iter().rev().find(|word| word.person.is_some());
                let Some(left) = left else { return !is_stranger(words, at, fact) };
                // In "my sister works" the sister does it.
                let owns = left.roles.has(WordRole::First) && !is_subject_form(&left.fold);
                let stranger = is_stranger(words, at, fact);
                (is(left.person) && !owns && !stranger) || !known(Some(left.person).flatten())
            }
            Self::Is => {
                if owner(words, at).is_some_and(|owner| owner == Person::Known(subject)) {
                    return false;
                }
                let has = words[..at].iter().rposition(|word| {
                    word.roles.has(WordRole::Have) && !word.roles.has(WordRole::Be)
                });
                let be = words[..at]
                    .iter()
                    .rposition(|word| word.roles.has(WordRole::Be) && word.fold != "s");
                if let Some(has) = has.filter(|has| be.is_none_or(|be| be < *has)) {
                    let holder = person_before(has);
                    // Without a person the author has it.
                    let own = holder.is_none() && subject == clause.author;
                    return !(is(holder) || own);
                }
                let Some(be) = be else { return true };
                let left = person_before(be);
                is(left) || !known(left) || !words[be + 1..].iter().any(|word| is(word.person))
            }
            Self::Has => {
                let Some(has) = words[..at].iter().rposition(|word| word.roles.has(WordRole::Have))
                else {
                    return true;
                };
                let holder = person_before(has);
                is(holder)
                    || !known(holder)
                    || owner(words, at).is_some_and(|owner| owner == Person::Known(subject))
            }
            Self::Unknown => true,
        }
    }
}

/// Owner of a noun: "my dog", "Carl's boat".
fn owner(words: &[SourceWord<'_>], at: usize) -> Option<Person> {
    let from = at.saturating_sub(BETWEEN);
    let near = &words[from..at];
    // Only small words and one adjective stand between them.
    let last = near.iter().rposition(|word| word.person.is_some())?;
    let genitive = near.get(last + 1).is_some_and(|word| word.fold == "s");
    let possessive = near[last].roles.has(WordRole::First) && !is_subject_form(&near[last].fold);
    (genitive || possessive).then_some(near[last].person).flatten()
}

/// Forms of the first person that are subjects of a verb, not owners.
fn is_subject_form(word: &str) -> bool {
    [
        "i", "we", "im", "ive", "ich", "wir", "je", "j", "nous", "yo", "nosotros", "io", "noi",
        "eu", "nos", "ik", "wij", "я", "мы", "me", "us", "mich", "mir", "m", "мне", "меня",
    ]
    .contains(&word)
}
