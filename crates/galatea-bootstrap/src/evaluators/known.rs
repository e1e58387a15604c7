//! The known facts of a reflection's question: those that match the conversation, those about the people
//! concerned, whatever the words, and the newest.

use galatea_core::{
    Entity, EntityId, Memory, MemoryKind, Result, Turn, Visibility,
    fusion::{self, MOST_KNOWN},
    mentioned::{self, Mentioned},
    store::{RecallQuery, Recalled},
};
use std::collections::HashSet;

use super::talk::Talk;
use crate::{
    fact::{LONGEST, grounding::with_relatives, view},
    learning_cache::LearningCache,
    words,
};

/// People whose facts are looked for by person: who speaks, then who is spoken of.
const PEOPLE: usize = 16;
/// Newest facts of each of them, and those of a person with more that match the conversation.
const PER_PERSON: u32 = 8;
const MATCHING: u32 = 6;
/// Names in the conversation that are looked for as those of people who have not written themselves.
const NAMES: usize = 48;
/// Facts that match the conversation, and the newest.
const NEAREST: u32 = 8;
const NEWEST: u32 = 3;
/// Graphemes of the conversation by which known facts are looked for: the newest messages.
const LOOKED_FOR: usize = 4_000;
/// Tokens of all known facts in the question: a background call should cost less than an answer.
const TOKENS: u64 = 2_400;
/// Tokens of a fact's number, author and date.
const FRAME: u64 = 14;

/// Known facts that may be seen in this room, the most relevant first, as many as the question takes.
pub(super) async fn known(
    cache: &LearningCache,
    turn: &Turn<'_>,
    talk: &Talk,
    members: &[Entity],
) -> Result<Vec<Memory>> {
    let person = view::person(turn).await?;
    let visible = view::of_person(turn, &person);
    let said = said(talk);
    let subjects = cache.subjects(turn, &person).await?;
    let concerned = concerned(talk, &said, members, &subjects);
    let alike = with_relatives(&said);
    let mut found =
        turn.store.recall(&of_people(&visible, turn, Vec::new(), alike.clone(), NEAREST)).await?;
    let mut lists: Vec<std::vec::IntoIter<Recalled>> = Vec::new();
    for person in &concerned {
        let mut people = vec![*person];
        people.extend(ids_by_name(turn, *person, members, talk));
        let newest = of_people(&visible, turn, people.clone(), String::new(), PER_PERSON);
        let newest = turn.store.recall(&newest).await?;
        if newest.len() == PER_PERSON as usize {
            let matching = of_people(&visible, turn, people, alike.clone(), MATCHING);
            lists.push(turn.store.recall(&matching).await?.into_iter());
        }
        lists.push(newest.into_iter());
    }
    let spoken_of = named_in(turn, &said);
    if !spoken_of.is_empty() {
        let query = of_people(&visible, turn, spoken_of, String::new(), 2 * PER_PERSON);
        lists.push(turn.store.recall(&query).await?.into_iter());
    }
    // Take one of each in turn: what does not fit is then the least of everyone.
    loop {
        let before = found.len();
        found.extend(lists.iter_mut().filter_map(Iterator::next));
        if found.len() == before {
            break;
        }
    }
    let newest = of_people(&visible, turn, Vec::new(), String::new(), NEWEST);
    found.extend(turn.store.recall(&newest).await?);
    let mut seen = HashSet::new();
    let facts = found.into_iter().map(|hit| hit.memory).filter(|fact| seen.insert(fact.id));
    let mut facts = words::first_within(facts, TOKENS, |fact| {
        words::tokens(&words::line(&fact.content.text, LONGEST)) + FRAME
    });
    credit(turn, &mut facts).await?;
    Ok(facts)
}

fn of_people(
    visible: &Visibility,
    turn: &Turn<'_>,
    people: Vec<EntityId>,
    text: String,
    limit: u32,
) -> RecallQuery {
    RecallQuery {
        people,
        ..RecallQuery::new(visible.clone(), text, limit, turn.now()).kind(MemoryKind::Facts)
    }
}

/// Words of people in the new messages, the newest first.
fn said(talk: &Talk) -> String {
    let new = talk.messages.iter().filter(|memory| talk.is_new(memory)).rev();
    let said: Vec<&str> = new
        .filter(|message| !talk.is_agent(message.entity_id))
        .map(|message| message.content.text.as_str())
        .collect();
    words::line(&said.join(" . "), LOOKED_FOR)
}

/// Speakers of the new messages, the newest first, then the people spoken of.
fn concerned(
    talk: &Talk,
    said: &str,
    members: &[Entity],
    subjects: &[(EntityId, String)],
) -> Vec<EntityId> {
    let speaking = talk.messages.iter().rev().filter(|memory| talk.is_new(memory));
    let speaking = speaking.map(|memory| memory.entity_id);
    let names: Vec<(EntityId, &str)> = members
        .iter()
        .flat_map(Entity::called)
        .chain(subjects.iter().map(|(person, name)| (*person, name.as_str())))
        .collect();
    let named =
        names.chunks(MOST_KNOWN).flat_map(|some| fusion::named(said, some.iter().copied()).people);
    let mut seen = HashSet::new();
    let mut concerned: Vec<EntityId> = speaking.chain(named).collect();
    concerned.retain(|person| !talk.is_agent(*person) && seen.insert(*person));
    concerned.truncate(PEOPLE);
    concerned
}

/// The ids under which facts about a person were stored while only their names were known.
fn ids_by_name(
    turn: &Turn<'_>,
    person: EntityId,
    members: &[Entity],
    talk: &Talk,
) -> Vec<EntityId> {
    let called = members.iter().filter(|member| member.id == person).flat_map(Entity::called);
    let shown = crate::fact::plain(&talk.name(person)).to_owned();
    let id = |name: &str| mentioned::id(&turn.agent.identity, turn.room.world_id, name);
    let mut ids: Vec<EntityId> = called.map(|(_, name)| id(name)).chain([id(&shown)]).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// The ids of people whom a text may name and who have not written themselves: those of its words with
/// a capital letter, and of two of them behind each other.
fn named_in(turn: &Turn<'_>, said: &str) -> Vec<EntityId> {
    let id = |name: &str| mentioned::id(&turn.agent.identity, turn.room.world_id, name);
    let mut ids = Vec::new();
    let mut before: Option<&str> = None;
    for word in said.split_whitespace() {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let bare = bare.strip_suffix("'s").or_else(|| bare.strip_suffix("’s")).unwrap_or(bare);
        if !bare.starts_with(char::is_uppercase) || bare.chars().count() < 2 {
            before = None;
            continue;
        }
        ids.push(id(bare));
        ids.extend(before.map(|before| id(&format!("{before} {bare}"))));
        // A sign behind the word ends the name.
        before = word.ends_with(bare).then_some(bare);
        if ids.len() >= NAMES {
            break;
        }
    }
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// Puts facts that were stored under a name under the person whom the name means.
async fn credit(turn: &Turn<'_>, known: &mut [Memory]) -> Result<()> {
    let (identity, world) = (&turn.agent.identity, turn.room.world_id);
    let is_by_name = |fact: &&mut Memory| mentioned::is_by_name(identity, world, fact);
    let by_name: Vec<&mut Memory> = known.iter_mut().filter(is_by_name).collect();
    if by_name.is_empty() {
        return Ok(());
    }
    // Not from the cache: who joined since may be about to correct what was said of them.
    let mentioned = Mentioned::read(turn.store.as_ref(), world).await?;
    for fact in by_name {
        fact.entity_id = mentioned.subject(fact);
    }
    Ok(())
}
