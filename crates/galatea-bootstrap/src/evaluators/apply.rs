//! A lesson → a change of what is known. Pure: the program sets author, source, time and scope of
//! each fact, and drops what stands on nothing that a person said.

use galatea_core::{
    Content, Derived, Memory, MemoryId, MemoryKind, Turn,
    fact::{self, Origin},
    store::{DerivedChange, Superseded},
};

use super::{
    lesson::{LearntFact, Relation},
    people::{People, Subject},
    talk::Talk,
};
use crate::{
    fact::{
        LONGEST, plain,
        rules::{self, Claim, Proposal, Ruling},
        same,
    },
    words,
};

/// Maximum number of facts per reflection.
pub(super) const MOST: usize = 16;

/// The change that a lesson amounts to. `known` are the facts of the question in its order;
/// evidence before the message `shown_from` was not shown.
pub(super) fn change(
    turn: &Turn<'_>,
    talk: &Talk,
    people: &People<'_>,
    known: &[Memory],
    shown_from: usize,
    facts: &[LearntFact],
) -> DerivedChange {
    let mut change = DerivedChange::default();
    for fact in facts.iter().take(MOST) {
        let shown = fact.evidence.iter().filter(|number| **number > shown_from);
        let evidence: Vec<&Memory> =
            shown.filter_map(|number| talk.evidence(*number)).map(AsRef::as_ref).collect();
        let Some(first) = evidence.first() else { continue };
        let Some(subject) = people.subject(turn, &fact.about, first) else { continue };
        // One author: what several said is a fact of each.
        let author = first.entity_id;
        let sources: Vec<MemoryId> = evidence
            .iter()
            .filter(|message| message.entity_id == author)
            .map(|message| message.id)
            .collect();
        let new = remember(turn, talk, &subject, first, sources, &fact.text);
        if new.memory.content.text.is_empty() {
            continue;
        }
        add(&mut change, new, known, fact.relation);
    }
    change
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
    // The same sentence is the same fact, whatever the model says of it.
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
