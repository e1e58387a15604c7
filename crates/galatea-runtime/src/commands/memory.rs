//! Shows what the agent remembers of the person who asks, with sources and dates; they may correct
//! or delete it. Of oneself only: in a group what is visible there, in a direct room all.

use galatea_core::{
    Content, Derived, EntityId, Memory, MemoryId, MemoryKind, MemoryScope, Result, Store, Turn,
    Visibility,
    fact::{self, Origin},
    speakers,
    store::{DerivedChange, MemoryQuery, Superseded},
    visible::one_line,
};
use serde_json::json;
use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use super::mentions;

/// Facts read, those that no longer hold among them.
const READ: u32 = 2_000;
/// Facts listed: two to three messages of a platform.
const LISTED: usize = 40;
/// Characters of a fact, and of a quoted source.
const LONGEST: usize = 300;
const QUOTED: usize = 80;
const PROFILE: usize = 600;
/// Profiles looked at for one that holds.
const PROFILES: usize = 8;
/// Time that the numbers of a list are valid.
const NUMBERS: Duration = Duration::from_secs(24 * 3_600);

const HOW: &str = "Send /memory forget NUMBER to delete one, /memory correct NUMBER and the right words to correct it. /privacy forget me deletes everything.";
const NO_LIST: &str =
    "Which one? Send /memory first: it lists what I remember of you, with numbers.";

/// Lists, corrects or deletes; returns what to say.
pub(super) async fn run(turn: &Turn<'_>, store: &dyn Store, args: &str) -> Result<String> {
    let (verb, rest) = args.trim().split_once(char::is_whitespace).unwrap_or((args.trim(), ""));
    match verb.to_lowercase().as_str() {
        "forget" | "delete" => match numbered(turn, store, rest).await? {
            Some((id, _)) => forget(turn, store, id).await,
            None => Ok(NO_LIST.to_owned()),
        },
        "correct" => match numbered(turn, store, rest).await? {
            Some((id, words)) => correct(turn, store, id, &words).await,
            None => Ok(NO_LIST.to_owned()),
        },
        _ => list(turn, store).await,
    }
}

/// Facts about the person who asks that may be shown here, the newest first; with those that no
/// longer hold. In a direct room also those about the entities that are linked with them.
async fn facts(turn: &Turn<'_>, store: &dyn Store) -> Result<Vec<Derived>> {
    let agent = turn.agent.identity.id();
    let mut person = vec![turn.message.entity_id];
    if turn.room.kind.is_direct() {
        person.extend(store.linked(agent, turn.message.entity_id).await?);
    }
    let mut ids: Vec<MemoryId> = Vec::new();
    for entity in &person {
        let query = MemoryQuery {
            entity: Some(*entity),
            ..MemoryQuery::new(agent, READ).kind(MemoryKind::Facts)
        };
        ids.extend(store.memories(&query).await?.into_iter().map(|m| m.id));
    }
    let mut facts = store.derived(agent, &ids).await?;
    facts.extend(said_by_others(turn, store, &person).await?);
    retain_seen(turn, store, &person, &mut facts).await?;
    facts.sort_by_key(|fact| std::cmp::Reverse((fact.memory.created_at, fact.memory.id.0)));
    Ok(facts)
}

/// Facts about the names of the person: here, or in a direct room wherever they take part.
pub(super) async fn said_by_others(
    turn: &Turn<'_>,
    store: &dyn Store,
    person: &[EntityId],
) -> Result<Vec<Derived>> {
    let identity = &turn.agent.identity;
    if turn.room.kind.is_direct() {
        let rooms = mentions::rooms(store, identity, person).await?;
        return mentions::of(store, identity, person, &rooms).await;
    }
    mentions::of(store, identity, person, std::slice::from_ref(turn.room)).await
}

/// Keeps what this person may see here: in a direct room also what is known in Rooms elsewhere that
/// they take part in.
pub(super) async fn retain_seen(
    turn: &Turn<'_>,
    store: &dyn Store,
    person: &[EntityId],
    derived: &mut Vec<Derived>,
) -> Result<()> {
    let visible = Visibility::in_room(turn.room, person);
    let direct = turn.room.kind.is_direct();
    let mut joined: HashMap<galatea_core::RoomId, bool> = HashMap::new();
    let mut seen = HashSet::new();
    for fact in derived.iter() {
        let memory = &fact.memory;
        let elsewhere = direct && matches!(fact.scope, MemoryScope::World | MemoryScope::Room);
        let may_see = visible.shows(memory, fact.scope)
            || (elsewhere && is_member(store, &mut joined, memory.room_id, person).await?);
        if may_see {
            seen.insert(memory.id);
        }
    }
    derived.retain(|fact| seen.contains(&fact.memory.id));
    Ok(())
}

/// True if any of these takes part in the Room; what was looked up before is in `joined`.
pub(super) async fn is_member(
    store: &dyn Store,
    joined: &mut HashMap<galatea_core::RoomId, bool>,
    room: galatea_core::RoomId,
    person: &[EntityId],
) -> Result<bool> {
    if let Some(known) = joined.get(&room) {
        return Ok(*known);
    }
    let there = store.participants(room).await?;
    let joins = there.iter().any(|participant| person.contains(&participant.entity_id));
    joined.insert(room, joins);
    Ok(joins)
}

async fn list(turn: &Turn<'_>, store: &dyn Store) -> Result<String> {
    let mut valid = facts(turn, store).await?;
    valid.retain(|fact| fact.valid_until.is_none());
    if valid.is_empty() {
        return Ok(format!("I remember nothing of you{}.", place(turn)));
    }
    let more = valid.len().saturating_sub(LISTED);
    valid.truncate(LISTED);
    // Of a merged fact the sources are its facts, too.
    let wanted =
        |fact: &Derived| if fact::is_merged(&fact.memory) { fact.sources.len() } else { 1 };
    let ids: Vec<MemoryId> =
        valid.iter().flat_map(|fact| fact.sources.iter().copied().take(wanted(fact))).collect();
    let sources: HashMap<MemoryId, Memory> = store
        .derived(turn.agent.identity.id(), &ids)
        .await?
        .into_iter()
        .map(|source| (source.memory.id, source.memory))
        .collect();
    let mut text = format!("What I remember of you{}:\n", place(turn));
    if let Some(profile) = profile(turn, store).await? {
        text.push_str(&format!("\nIn short: {profile}\n"));
    }
    for (n, fact) in valid.iter().enumerate() {
        let messages: Vec<&Memory> = fact
            .sources
            .iter()
            .filter_map(|id| sources.get(id))
            .filter(|source| source.kind != MemoryKind::Facts)
            .collect();
        let merged = fact::is_merged(&fact.memory);
        let times = if merged { messages.len() } else { fact.sources.len() };
        let line = line(turn, fact, messages.first().copied(), times);
        text.push_str(&format!("\n{}. {line}", n + 1));
    }
    if more > 0 {
        text.push_str(&format!("\n…and {more} more."));
    }
    let ids: Vec<MemoryId> = valid.iter().map(|fact| fact.memory.id).collect();
    let until = turn.now().plus(NUMBERS);
    store.cache(turn.agent.identity.id(), &list_key(turn), &json!(ids), Some(until)).await?;
    Ok(format!("{text}\n\n{HOW}"))
}

/// The newest profile of the person that may be shown here and whose facts all hold. It goes with
/// each fact it was made of.
async fn profile(turn: &Turn<'_>, store: &dyn Store) -> Result<Option<String>> {
    let (agent, person) = (turn.agent.identity.id(), turn.message.entity_id);
    let query = MemoryQuery {
        entity: Some(person),
        ..MemoryQuery::new(agent, READ).kind(MemoryKind::Profiles)
    };
    let ids: Vec<MemoryId> = store.memories(&query).await?.into_iter().map(|m| m.id).collect();
    let mut profiles = store.derived(agent, &ids).await?;
    let visible = Visibility::in_room(turn.room, &[person]);
    profiles.retain(|profile| visible.shows(&profile.memory, profile.scope));
    profiles.sort_by_key(|profile| std::cmp::Reverse(profile.memory.created_at));
    for profile in profiles.iter().take(PROFILES) {
        let facts = store.derived(agent, &profile.sources).await?;
        let holds = facts.iter().all(|fact| fact.valid_until.is_none());
        if holds && facts.len() == profile.sources.len() {
            return Ok(Some(bounded(&profile.memory.content.text, PROFILE)));
        }
    }
    Ok(None)
}

fn place(turn: &Turn<'_>) -> &'static str {
    if turn.room.kind.is_direct() { "" } else { " that may be shown here" }
}

/// A fact with author, date and the beginning of its source, if the person wrote it or can read it
/// here.
fn line(turn: &Turn<'_>, fact: &Derived, source: Option<&Memory>, times: usize) -> String {
    let memory = &fact.memory;
    let (origin, person) = (Origin::of(memory), memory.entity_id);
    let date = turn.agent.zone.local(memory.created_at).date();
    let author = match origin.said_by {
        Some(author) if author == person => "you said so".to_owned(),
        Some(_) => format!("{} said so", speakers::display(&origin.said_by_name)),
        None => "noted".to_owned(),
    };
    let again = if times > 1 { format!(", {times} messages") } else { String::new() };
    let readable = |source: &&Memory| source.entity_id == person || source.room_id == turn.room.id;
    let quote = source
        .filter(readable)
        .map(|source| format!(": \"{}\"", bounded(&source.content.text, QUOTED).replace('"', "'")));
    format!(
        "{} ({author} on {date}{again}{})",
        bounded(&memory.content.text, LONGEST),
        quote.unwrap_or_default()
    )
}

/// Deletes a fact, and those that it replaced: otherwise the one before it would hold again.
async fn forget(turn: &Turn<'_>, store: &dyn Store, id: MemoryId) -> Result<String> {
    let all = facts(turn, store).await?;
    let Some(fact) = all.iter().find(|fact| fact.memory.id == id) else {
        return Ok("That one is gone already.".to_owned());
    };
    let said = bounded(&fact.memory.content.text, LONGEST);
    let mut gone = vec![id];
    let mut at = 0;
    while let Some(by) = gone.get(at).copied() {
        at += 1;
        let replaced = all.iter().filter(|fact| fact.superseded_by == Some(by));
        let new: Vec<MemoryId> =
            replaced.map(|fact| fact.memory.id).filter(|id| !gone.contains(id)).collect();
        gone.extend(new);
    }
    store.delete_memories(turn.agent.identity.id(), &gone).await?;
    Ok(format!("Deleted: {said}\nThe message itself stays where it was written."))
}

/// Stores the person's own words in place of the fact. Who may see them follows from this room: what
/// is written in private stays private, so a fact of a group is corrected for the person's direct
/// rooms only, and the group does not see either of the two. The answer says so.
async fn correct(turn: &Turn<'_>, store: &dyn Store, id: MemoryId, words: &str) -> Result<String> {
    let words = bounded(words, LONGEST);
    if words.is_empty() {
        return Ok("Write the right words behind the number.".to_owned());
    }
    let all = facts(turn, store).await?;
    let Some(old) = all.iter().find(|fact| fact.memory.id == id) else {
        return Ok("That one is gone already.".to_owned());
    };
    let person = turn.message.entity_id;
    let name = speakers::name_in(turn.message).map(speakers::display).unwrap_or_default();
    let origin =
        Origin { said_by: Some(person), said_by_name: name.clone(), subject_name: name.clone() };
    // A question with the name finds it.
    let text = if name.is_empty() || words.to_lowercase().contains(&name.to_lowercase()) {
        words.clone()
    } else {
        format!("{name}: {words}")
    };
    let memory = Memory {
        id: MemoryId(galatea_core::ids::uuid_of(&format!("correct:{}:{id}", turn.message.id))),
        kind: MemoryKind::Facts,
        agent_id: turn.agent.identity.id(),
        entity_id: person,
        room_id: turn.room.id,
        world_id: Some(turn.room.world_id),
        content: Content::text(text),
        metadata: origin.metadata(person),
        created_at: turn.message.created_at,
    };
    let superseded = vec![Superseded { id, at: memory.created_at, by: Some(memory.id) }];
    let scope = fact::scope(turn.room, person, person);
    let new = vec![Derived::new(memory, scope, vec![turn.message.id])];
    let change = DerivedChange { new, superseded, ..DerivedChange::default() };
    store.change_derived(turn.agent.identity.id(), &change).await?;
    let before = bounded(&old.memory.content.text, LONGEST);
    let left_out = left_out(turn, store, old, scope).await?;
    Ok(format!("Corrected: {words}\nBefore: {before}{left_out}"))
}

/// Says where a corrected fact was known and the correction is not; empty if both are seen in the same
/// places.
async fn left_out(
    turn: &Turn<'_>,
    store: &dyn Store,
    old: &Derived,
    new: MemoryScope,
) -> Result<String> {
    let (memory, direct) = (&old.memory, turn.room.kind.is_direct());
    let place = match (old.scope, new) {
        (MemoryScope::Room, MemoryScope::Private) if memory.room_id != turn.room.id => {
            store.room(memory.room_id).await?.map(|room| room.name)
        }
        (MemoryScope::World, MemoryScope::Private | MemoryScope::Room) => match memory.world_id {
            Some(world) => store.world(world).await?.map(|world| world.name),
            None => None,
        },
        _ => return Ok(String::new()),
    };
    let place = place.map(|name| speakers::display(&name)).filter(|name| !name.is_empty());
    let place = place.map_or_else(|| "the group".to_owned(), |name| format!("\"{name}\""));
    Ok(if direct {
        format!(
            "\n\nWhat you write to me in private stays private: I no longer use the old note in {place}, and I do not use the new one there. Write it there if the people there may know it."
        )
    } else {
        format!(
            "\n\nI use the new note in this room only, and the old one nowhere: not all of {place} can read this room."
        )
    })
}

/// The fact with the number that begins `rest`, in the list that the person saw last in this room,
/// and the words behind it.
async fn numbered(
    turn: &Turn<'_>,
    store: &dyn Store,
    rest: &str,
) -> Result<Option<(MemoryId, String)>> {
    let rest = rest.trim();
    let (number, words) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let number: Option<usize> = number.trim_end_matches(['.', ':', ')']).parse().ok();
    let Some(at) = number.and_then(|number| number.checked_sub(1)) else { return Ok(None) };
    let listed = store.cached(turn.agent.identity.id(), &list_key(turn), turn.now()).await?;
    let listed: Vec<MemoryId> =
        listed.and_then(|value| serde_json::from_value(value).ok()).unwrap_or_default();
    Ok(listed.get(at).map(|id| (*id, words.trim().to_owned())))
}

fn list_key(turn: &Turn<'_>) -> String {
    format!("memory-list:{}:{}", turn.room.id, turn.message.entity_id)
}

fn bounded(text: &str, most: usize) -> String {
    let line = one_line(text);
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
