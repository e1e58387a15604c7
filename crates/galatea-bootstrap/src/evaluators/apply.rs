//! A lesson → a change of what is known. Pure: the program sets author, source, time and scope of
//! each fact, and drops what stands on nothing that a person said.

use galatea_core::{
    Content, Derived, EntityId, Memory, MemoryId, MemoryKind, Turn,
    fact::{self, Origin},
    store::{DerivedChange, Superseded},
};

use super::{
    lesson::{LearntFact, Relation},
    people::{Subject, TalkPeople},
    talk::Talk,
};
use crate::{
    fact::{
        LONGEST,
        grounding::{self, EvidenceMessage, Names, Statement},
        plain,
        rules::{self, Claim, Proposal, Ruling},
        same,
    },
    words,
};

/// Maximum number of facts per reflection.
pub(super) const MOST: usize = 16;

/// Bytes of a message that are compared with a fact.
const COMPARED: usize = 4 * words::LONGEST;

/// Changes by a lesson.
#[derive(Debug, Default)]
pub(super) struct Applied {
    pub(super) change: DerivedChange,
    /// Facts about people that stand in no message of theirs, and were dropped.
    pub(super) dropped: usize,
}

/// The change that a lesson amounts to. `known` are the facts of the question in its order;
/// evidence before the message `shown_from` was not shown.
pub(super) fn change(
    turn: &Turn<'_>,
    talk: &Talk,
    people: &TalkPeople<'_>,
    known: &[Memory],
    shown_from: usize,
    facts: &[LearntFact],
) -> Applied {
    let mut applied = Applied::default();
    let texts = talk.messages.iter().map(|memory| memory.content.text.as_str());
    let names = people.names(texts.chain(facts.iter().map(|fact| fact.text.as_str())));
    for fact in facts.iter().take(MOST) {
        let Some(Evidence { messages, subject }) =
            evidence(turn, talk, people, &names, shown_from, fact)
        else {
            applied.dropped += 1;
            continue;
        };
        let Some(first) = messages.first() else { continue };
        let sources: Vec<MemoryId> = messages.iter().map(|message| message.id).collect();
        let new = remember(turn, talk, &subject, first, sources, &fact.text);
        if new.memory.content.text.is_empty() {
            continue;
        }
        add(&mut applied.change, new, known, fact.relation);
    }
    applied
}

/// The messages of one author in which a fact stands, and whom it is about.
struct Evidence<'a> {
    messages: Vec<&'a Memory>,
    subject: Subject,
}

/// Messages that the model names, as far as the fact stands in them; otherwise the nearest message
/// in which it stands: small models count badly. None if it stands in none.
fn evidence<'a>(
    turn: &Turn<'_>,
    talk: &'a Talk,
    people: &TalkPeople<'_>,
    names: &Names,
    shown_from: usize,
    fact: &LearntFact,
) -> Option<Evidence<'a>> {
    let text = words::line(&without_suffixes(talk, &fact.text), LONGEST);
    let shown = |number: &usize| *number > shown_from && talk.evidence(*number).is_some();
    let stands = |numbers: &[usize]| {
        let messages: Vec<&Memory> =
            numbers.iter().filter_map(|number| talk.evidence(*number)).map(AsRef::as_ref).collect();
        let first = *messages.first()?;
        let subject = people.subject(turn, &fact.about, first)?;
        let said: Vec<EvidenceMessage<'_>> = numbers
            .iter()
            .zip(&messages)
            .map(|(number, message)| EvidenceMessage {
                author: message.entity_id,
                text: bounded(&message.content.text),
                before: before(talk, *number),
            })
            .collect();
        let name = plain(&subject.name).to_owned();
        let claim = Statement { text: &text, subject: subject.entity, name: &name, names };
        if let Err(why) = grounding::grounded(&claim, &said) {
            tracing::trace!(room = %turn.room.id, ?why, "a derived fact does not stand in its message");
            return None;
        }
        Some(Evidence { messages, subject })
    };
    let named: Vec<usize> = fact.evidence.iter().copied().filter(shown).collect();
    let first = named.iter().find_map(|number| talk.evidence(*number));
    // A fact has one author: what several said is a fact of each.
    let of_one = |number: &usize| {
        talk.evidence(*number).map(|message| message.entity_id)
            == first.map(|first| first.entity_id)
    };
    let of_one: Vec<usize> = named.iter().copied().filter(of_one).collect();
    let begin = fact.evidence.first().copied().unwrap_or_default();
    let mut others: Vec<usize> = (1..=talk.messages.len()).filter(shown).collect();
    others.sort_by_key(|number| number.abs_diff(begin));
    stands(&of_one).or_else(|| others.iter().find_map(|number| stands(&[*number])))
}

/// A text without what tells people of one name apart in the question: no message has it.
fn without_suffixes(talk: &Talk, text: &str) -> String {
    let mut text = text.to_owned();
    if !text.contains(" #") {
        return text;
    }
    for memory in &talk.messages {
        let shown = talk.name(memory.entity_id);
        let bare = plain(&shown);
        if bare.len() < shown.len() {
            text = text.replace(&shown, bare);
        }
    }
    text
}

/// Message that a message may answer.
fn before(talk: &Talk, number: usize) -> Option<(EntityId, &str)> {
    let message = talk.messages.get(number.checked_sub(2)?)?;
    Some((message.entity_id, bounded(&message.content.text)))
}

/// The beginning of a message that is compared with facts: as much as the question shows of it.
fn bounded(text: &str) -> &str {
    text.get(..text.floor_char_boundary(COMPARED)).unwrap_or(text)
}

/// Gives the first new fact this id, which tells later whether the change was stored.
pub(super) fn name_first(change: &mut DerivedChange, id: MemoryId) {
    let Some(first) = change.new.first_mut() else { return };
    let before = std::mem::replace(&mut first.memory.id, id);
    for gone in change.superseded.iter_mut().filter(|gone| gone.by == Some(before)) {
        gone.by = Some(id);
    }
}

/// Adds a fact, beside or instead of known ones.
fn add(change: &mut DerivedChange, new: Derived, known: &[Memory], relation: Relation) {
    let text = new.memory.content.text.as_str();
    let again =
        |fact: &Memory| fact.entity_id == new.memory.entity_id && same(&fact.content.text, text);
    if change.new.iter().any(|fact| again(&fact.memory)) {
        return;
    }
    // An equal sentence is an equal fact, whatever the model says of it.
    let repeated = known.iter().find(|fact| again(fact)).map(|fact| (fact, Proposal::Same));
    let proposed = repeated.or_else(|| match relation {
        Relation::New => None,
        Relation::Confirms(n) => Some((numbered(known, n)?, Proposal::Same)),
        Relation::Replaces(n) => Some((numbered(known, n)?, Proposal::Replaced)),
    });
    let Some((old, proposal)) = proposed else { return change.new.push(new) };
    let gone = change.superseded.iter().any(|gone| gone.id == old.id);
    match rules::rule(claim(&new.memory), claim(old), proposal) {
        Ruling::Confirm if !gone => {
            change.confirmed.extend(new.sources.iter().map(|source| (old.id, *source)));
        }
        Ruling::Supersede if !gone => {
            change.superseded.push(Superseded {
                id: old.id,
                at: new.memory.created_at,
                by: Some(new.memory.id),
            });
            change.new.push(new);
        }
        Ruling::Confirm | Ruling::Supersede | Ruling::Beside => change.new.push(new),
    }
}

fn numbered(known: &[Memory], number: usize) -> Option<&Memory> {
    known.get(number.checked_sub(1)?)
}

fn claim(fact: &Memory) -> Claim {
    Claim { subject: fact.entity_id, said_by: Origin::of(fact).said_by }
}

fn remember(
    turn: &Turn<'_>,
    talk: &Talk,
    subject: &Subject,
    evidence: &Memory,
    sources: Vec<MemoryId>,
    sentence: &str,
) -> Derived {
    let origin = Origin {
        said_by: Some(evidence.entity_id),
        said_by_name: plain(&talk.name(evidence.entity_id)).to_owned(),
        subject_name: plain(&subject.name).to_owned(),
    };
    let memory = Memory {
        id: MemoryId::fresh(),
        kind: MemoryKind::Facts,
        agent_id: turn.agent.identity.id(),
        entity_id: subject.entity,
        room_id: turn.room.id,
        world_id: Some(turn.room.world_id),
        content: Content::text(with_name(&subject.name, sentence)),
        metadata: origin.metadata(subject.entity),
        created_at: evidence.created_at,
    };
    let scope = fact::scope(turn.room, subject.entity, evidence.entity_id);
    Derived::new(memory, scope, sources)
}

/// The sentence with the person's name in it, so that a question with the name finds it.
fn with_name(name: &str, sentence: &str) -> String {
    let sentence = words::line(sentence, LONGEST);
    let plain = plain(name);
    if sentence.is_empty() || sentence.to_lowercase().contains(&plain.to_lowercase()) {
        return sentence;
    }
    words::line(&format!("{plain}: {sentence}"), LONGEST)
}
