//! Checks that a derived fact stands in the messages that it names as its evidence: each of its words,
//! said of the same person, with the same numbers, and neither without a "not" nor without an "if".
//! Pure. The words of eight languages are in `words.txt`; in others a word has to stand there as it is.
//! Small models turn "I have a dog called Pip" into "Ada is my dog".

mod claim;
mod looked_for;
mod relation;
mod source;
mod statement;
mod unspaced;
mod words;

pub(crate) use claim::{EvidenceMessage, Statement, Ungrounded};
pub(crate) use looked_for::with_relatives;
pub(crate) use source::Names;

use galatea_core::fusion::is_unspaced;

use self::statement::{Fact, FactSource};

/// True if a folded word may be looked for as the name of a person: it has no meaning of its own.
pub(crate) fn may_be_name(word: &str) -> bool {
    word.chars().count() > 1 && words::is_unknown(word)
}

/// Checks that a fact stands in its messages.
///
/// # Errors
/// The first reason why it does not.
pub(crate) fn grounded(
    claim: &Statement<'_>,
    said: &[EvidenceMessage<'_>],
) -> Result<(), Ungrounded> {
    if claim.text.chars().any(is_unspaced) {
        return unspaced::grounded(claim, said);
    }
    let fact = Fact::of(claim);
    let source = FactSource::of(claim, said);
    if source.joke {
        return Err(Ungrounded::Joke);
    }
    if fact.content.is_empty() {
        return Err(Ungrounded::Empty);
    }
    if fact.speaks_of_itself() && !source.has_verbatim(&fact) {
        return Err(Ungrounded::FirstPerson);
    }
    let places = source.places(&fact)?;
    let best = source.best(&places);
    source.keeps_sense(&fact, &best)?;
    relation::kept(&fact, &source, &places)
}

#[cfg(test)]
mod tests;
