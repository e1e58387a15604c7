//! A derived fact and the messages that it names, to be compared.

use galatea_core::EntityId;

use super::source::Names;

/// A message that a fact names as its evidence.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EvidenceMessage<'a> {
    pub(crate) author: EntityId,
    pub(crate) text: &'a str,
    /// The message before it, by whom: it may be the question that this one answers.
    pub(crate) before: Option<(EntityId, &'a str)>,
}

/// A fact to be checked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Statement<'a> {
    pub(crate) text: &'a str,
    /// The person it is about, and the name under which the fact shows them.
    pub(crate) subject: EntityId,
    pub(crate) name: &'a str,
    /// People whose names may stand in texts.
    pub(crate) names: &'a Names,
}

/// Why a fact is dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ungrounded {
    /// It has no word that says something.
    Empty,
    /// A word, name or number stands in none of its messages.
    Word(String),
    /// It speaks of itself in the first or second person.
    FirstPerson,
    /// A "not" was added or left out.
    Negation,
    /// An "if", "want" or "maybe" was left out.
    Hedge,
    /// An ended state is said to last.
    Ended,
    /// It was said in jest.
    Joke,
    /// A word was said of another person, or in another role.
    Relation(String),
}
