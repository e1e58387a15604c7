//! The rules of a script.

use std::collections::{BTreeMap, BTreeSet};

use crate::doctor::pattern::{Classes, Token, Word};

/// A parsed script.
#[derive(Debug, Clone, Default)]
pub struct Script {
    pub(crate) greetings: Vec<String>,
    pub(crate) farewells: Vec<String>,
    pub(crate) quit: BTreeSet<String>,
    pub(crate) pre: Vec<Substitution>,
    pub(crate) post: Vec<Substitution>,
    pub(crate) post_end: Vec<Substitution>,
    pub(crate) classes: Classes,
    pub(crate) rules: Vec<Rule>,
    pub(crate) keys: BTreeMap<String, usize>,
    pub(crate) memory: Option<Rule>,
    pub(crate) none: Vec<Template>,
    pub(crate) choices: usize,
}

/// A phrase and its replacement.
#[derive(Debug, Clone)]
pub(crate) struct Substitution {
    pub(crate) from: Vec<String>,
    pub(crate) to: Vec<Word>,
}

/// A keyword's rules.
#[derive(Debug, Clone)]
pub(crate) struct Rule {
    pub(crate) key: String,
    pub(crate) rank: i32,
    pub(crate) matches: Vec<Match>,
}

/// A pattern with its steps.
#[derive(Debug, Clone)]
pub(crate) struct Match {
    pub(crate) pattern: Vec<Token>,
    pub(crate) steps: Vec<AnswerStep>,
    /// Index of the counter that rotates the steps.
    pub(crate) choice: usize,
}

/// A step after a match.
#[derive(Debug, Clone)]
pub(crate) enum AnswerStep {
    Say(Template),
    Goto(String),
    Next,
    Restate(Template, String),
}

/// Text with placeholders for parts of the sentence.
#[derive(Debug, Clone, Default)]
pub(crate) struct Template(pub(crate) Vec<TemplatePiece>);

/// A piece of a [`Template`].
#[derive(Debug, Clone)]
pub(crate) enum TemplatePiece {
    Text(String),
    Part(usize),
}
