//! The ELIZA algorithm: computes an answer and the next state from a sentence and a state.

use std::{collections::VecDeque, ops::Range};

use super::{
    pattern::{Word, decompose},
    script::{AnswerStep, Match, Rule, Script, Substitution, Template, TemplatePiece},
};

/// Most characters of an input that are considered.
const MAX_INPUT: usize = 2_000;
/// Most words of a clause that are considered.
const MAX_WORDS: usize = 80;
/// Most topics remembered.
const MAX_MEMORY: usize = 16;
/// Most jumps between keywords for one answer; scripts may contain cycles.
const MAX_JUMPS: usize = 16;

/// State of a conversation: the rotation of answers, and the remembered topics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TalkState {
    turns: Vec<usize>,
    none: usize,
    greeting: usize,
    farewell: usize,
    memory: VecDeque<String>,
    last: String,
}

impl TalkState {
    /// The state at the beginning of a conversation.
    pub fn new(script: &Script) -> Self {
        Self {
            turns: vec![0; script.choices],
            none: 0,
            greeting: 0,
            farewell: 0,
            memory: VecDeque::new(),
            last: String::new(),
        }
    }
}

/// Answers one message. Never empty.
pub(super) fn respond(script: &Script, state: &mut TalkState, input: &str) -> String {
    let fresh = state.last.is_empty();
    let clauses = clauses(script, input);
    let answer = if clauses.is_empty() && fresh {
        in_turn(&script.greetings, &mut state.greeting, &state.last)
            .unwrap_or_else(|| script.greeting().to_owned())
    } else if is_farewell(script, &clauses) {
        in_turn(&script.farewells, &mut state.farewell, &state.last)
            .unwrap_or_else(|| fall_back(script, state))
    } else {
        match best(script, &clauses) {
            Some((words, stack)) => {
                let remembered = remember(script, state, words, &stack);
                let answer = by_keyword(script, state, words, stack)
                    .unwrap_or_else(|| fall_back(script, state));
                // Stored after the answer, so that a topic does not come back as the answer to
                // itself.
                if let Some(topic) = remembered {
                    if state.memory.len() == MAX_MEMORY {
                        state.memory.pop_front();
                    }
                    state.memory.push_back(topic);
                }
                answer
            }
            None => fall_back(script, state),
        }
    };
    state.last.clone_from(&answer);
    answer
}

/// Divides the input into clauses, with substitutions applied. Punctuation and `but` separate
/// clauses.
fn clauses(script: &Script, input: &str) -> Vec<Vec<Word>> {
    let input: String = input
        .chars()
        .take(MAX_INPUT)
        .map(|c| if matches!(c, '\u{2019}' | '\u{2018}' | '`') { '\'' } else { c })
        .collect();
    input
        .split(['.', ',', ';', ':', '!', '?', '\n', '…', '。', '(', ')', '"', '“', '”'])
        .map(|clause| {
            let words = clause
                .split_whitespace()
                .map(|w| w.trim_matches(|c: char| !c.is_alphanumeric()))
                .filter(|w| !w.is_empty())
                .take(MAX_WORDS);
            substitute(&words.map(Word::new).collect::<Vec<_>>(), &script.pre)
        })
        .flat_map(|clause| {
            clause.split(|word| word.key == "but").map(<[Word]>::to_vec).collect::<Vec<_>>()
        })
        .filter(|clause| !clause.is_empty())
        .collect()
}

/// Replaces phrases from left to right. The list is sorted by length, so the longest phrase wins.
fn substitute(words: &[Word], list: &[Substitution]) -> Vec<Word> {
    let mut out = Vec::with_capacity(words.len());
    let mut at = 0;
    while at < words.len() {
        let rest = &words[at..];
        let hit = list.iter().find(|s| {
            s.from.len() <= rest.len()
                && s.from.iter().zip(rest).all(|(from, word)| *from == word.key)
        });
        match hit {
            Some(s) => {
                out.extend(s.to.iter().cloned());
                at += s.from.len();
            }
            None => {
                out.push(words[at].clone());
                at += 1;
            }
        }
    }
    out
}

fn is_farewell(script: &Script, clauses: &[Vec<Word>]) -> bool {
    !clauses.is_empty()
        && clauses.iter().all(|clause| {
            clause.len() <= 2 && clause.iter().any(|word| script.quit.contains(&word.key))
        })
}

/// The clause with the best keyword, and its stack of keywords. Of equal clauses, the first.
fn best<'s, 'w>(
    script: &'s Script,
    clauses: &'w [Vec<Word>],
) -> Option<(&'w [Word], VecDeque<&'s Rule>)> {
    let mut found: Option<(&[Word], VecDeque<&Rule>)> = None;
    for clause in clauses {
        let stack = stack(script, clause);
        let Some(top) = stack.front() else { continue };
        if found
            .as_ref()
            .and_then(|(_, stack)| stack.front())
            .is_none_or(|known| top.rank > known.rank)
        {
            found = Some((clause, stack));
        }
    }
    found
}

/// Builds the stack of keywords. A keyword of higher rank than the top goes on top, any other to
/// the bottom (Weizenbaum 1966, p. 39).
fn stack<'s>(script: &'s Script, words: &[Word]) -> VecDeque<&'s Rule> {
    let mut stack: VecDeque<&Rule> = VecDeque::new();
    for rule in words
        .iter()
        .filter_map(|word| script.keys.get(&word.key))
        .filter_map(|at| script.rules.get(*at))
    {
        if stack.iter().any(|known| known.key == rule.key) {
            continue;
        }
        if stack.front().is_some_and(|top| rule.rank > top.rank) {
            stack.push_front(rule);
        } else {
            stack.push_back(rule);
        }
    }
    stack
}

fn by_keyword(
    script: &Script,
    state: &mut TalkState,
    words: &[Word],
    mut stack: VecDeque<&Rule>,
) -> Option<String> {
    let mut words = words.to_vec();
    let mut jumps = 0;
    let mut rule = stack.pop_front()?;
    loop {
        match apply(script, state, rule, &words) {
            Some(EngineOutcome::Said(text)) => return Some(text),
            Some(EngineOutcome::Goto(key)) if jumps < MAX_JUMPS => {
                jumps += 1;
                rule = script.keys.get(&key).and_then(|at| script.rules.get(*at))?;
            }
            Some(EngineOutcome::Restated(new, key)) if jumps < MAX_JUMPS => {
                jumps += 1;
                words = new;
                rule = script.keys.get(&key).and_then(|at| script.rules.get(*at))?;
            }
            _ => rule = stack.pop_front()?,
        }
    }
}

enum EngineOutcome {
    Said(String),
    Goto(String),
    Restated(Vec<Word>, String),
    Next,
}

/// The outcome of the first match that has one.
fn apply(
    script: &Script,
    state: &mut TalkState,
    rule: &Rule,
    words: &[Word],
) -> Option<EngineOutcome> {
    rule.matches.iter().find_map(|m| {
        let parts = decompose(&m.pattern, words, &script.classes)?;
        next_step(script, state, m, &parts, words)
    })
}

/// The next step in the rotation. A step whose text is empty, or the same as the last answer, is
/// skipped.
fn next_step(
    script: &Script,
    state: &mut TalkState,
    m: &Match,
    parts: &[Range<usize>],
    words: &[Word],
) -> Option<EngineOutcome> {
    let mut repeated = None;
    for _ in 0..m.steps.len() {
        let turn = state.turns.get_mut(m.choice)?;
        let step = m.steps.get(*turn % m.steps.len())?;
        *turn = turn.wrapping_add(1);
        match step {
            AnswerStep::Say(template) => match render(script, template, parts, words) {
                Some(text) if text == state.last => repeated = Some(text),
                Some(text) => return Some(EngineOutcome::Said(text)),
                None => {}
            },
            AnswerStep::Goto(key) => return Some(EngineOutcome::Goto(key.clone())),
            AnswerStep::Next => return Some(EngineOutcome::Next),
            AnswerStep::Restate(template, key) => {
                return Some(EngineOutcome::Restated(restate(template, parts, words), key.clone()));
            }
        }
    }
    repeated.map(EngineOutcome::Said)
}

/// Renders a template, with the pronouns of its parts exchanged (my → your). `None` when a part is
/// empty.
fn render(
    script: &Script,
    template: &Template,
    parts: &[Range<usize>],
    words: &[Word],
) -> Option<String> {
    let mut out = String::new();
    for piece in &template.0 {
        match piece {
            TemplatePiece::Text(text) => out.push_str(text),
            TemplatePiece::Part(n) => {
                let part = words.get(parts.get(*n)?.clone()).filter(|part| !part.is_empty())?;
                let turned: Vec<String> =
                    turn_around(script, part).into_iter().map(|word| word.shown).collect();
                out.push_str(&turned.join(" "));
            }
        }
    }
    let mut characters = out.chars();
    let first = characters.next()?;
    Some(first.to_uppercase().chain(characters).collect())
}

fn turn_around(script: &Script, part: &[Word]) -> Vec<Word> {
    let ending = script.post_end.iter().find(|s| {
        part.len() >= s.from.len()
            && s.from.iter().rev().zip(part.iter().rev()).all(|(from, word)| *from == word.key)
    });
    match ending {
        Some(s) => {
            let mut turned = substitute(&part[..part.len() - s.from.len()], &script.post);
            turned.extend(s.to.iter().cloned());
            turned
        }
        None => substitute(part, &script.post),
    }
}

/// Renders words for another rule. Pronouns are not exchanged, since that happens when the answer
/// is rendered.
fn restate(template: &Template, parts: &[Range<usize>], words: &[Word]) -> Vec<Word> {
    let mut out = Vec::new();
    for piece in &template.0 {
        match piece {
            TemplatePiece::Text(text) => out.extend(text.split_whitespace().map(Word::new)),
            TemplatePiece::Part(n) => out.extend(
                parts
                    .get(*n)
                    .and_then(|part| words.get(part.clone()))
                    .unwrap_or_default()
                    .iter()
                    .cloned(),
            ),
        }
    }
    out.truncate(MAX_WORDS);
    out
}

/// The topic to bring up later, if the best keyword is the memory's.
fn remember(
    script: &Script,
    state: &mut TalkState,
    words: &[Word],
    stack: &VecDeque<&Rule>,
) -> Option<String> {
    let memory = script.memory.as_ref()?;
    if stack.front()?.key != memory.key {
        return None;
    }
    memory.matches.iter().find_map(|m| {
        let parts = decompose(&m.pattern, words, &script.classes)?;
        match next_step(script, state, m, &parts, words)? {
            EngineOutcome::Said(text) => Some(text),
            _ => None,
        }
    })
}

/// The answer when no keyword leads to one: a remembered topic, or a text that always fits.
fn fall_back(script: &Script, state: &mut TalkState) -> String {
    if let Some(topic) = state.memory.pop_front() {
        return topic;
    }
    for _ in 0..script.none.len() {
        let text = script
            .none
            .get(state.none % script.none.len())
            .and_then(|template| render(script, template, &[], &[]));
        state.none = state.none.wrapping_add(1);
        if let Some(text) = text.filter(|text| *text != state.last || script.none.len() == 1) {
            return text;
        }
    }
    script.greeting().to_owned()
}

fn in_turn(list: &[String], turn: &mut usize, last: &str) -> Option<String> {
    let pick = |turn: usize| list.get(turn % list.len().max(1));
    if list.len() > 1 && pick(*turn).is_some_and(|text| text == last) {
        *turn = turn.wrapping_add(1);
    }
    let text = pick(*turn)?.clone();
    *turn = turn.wrapping_add(1);
    Some(text)
}
