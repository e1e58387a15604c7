//! The newest messages and summaries of Rooms, kept in memory: every turn reads them, and what it reads
//! was mostly written by this process a moment ago.
//!
//! The writer adds what it has committed before it answers for it, in the order of commits, so a
//! caller that got its answer finds its change here. Whatever changes or removes a stored memory
//! empties everything (`Change::changed`), and so does a commit of another process.

use galatea_core::{AgentId, Memory, MemoryId, MemoryKind, RoomId, Timestamp, store::MemoryQuery};
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Map, Value};
use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

/// Bytes of memories held, about: a hundred busy Rooms, or many more quiet ones. A message of a
/// chat takes 1 KiB.
const BYTES: usize = 8 << 20;
/// The same once nothing was written for a while: the Rooms that go on first are most likely the
/// last ones asked for.
const QUIET: usize = 2 << 20;
/// Longest page that is held.
const LONGEST: u32 = 512;
/// Pages grow in steps: a queue that grows by one message must not be a reason to read again.
const STEP: u32 = 16;
/// Rooms whose page is being read, at most; a reader that went away leaves its own.
const READING: usize = 1024;

type Key = (AgentId, RoomId, MemoryKind);

/// The newest messages of some Rooms.
#[derive(Default)]
pub(crate) struct Recent(Mutex<State>);

#[derive(Default)]
struct State {
    rooms: HashMap<Key, Page>,
    /// Who reads a Room's page now; gone once something was committed there meanwhile.
    reading: HashMap<Key, u64>,
    bytes: usize,
    ticks: u64,
}

/// Of one Room, the oldest first: by time, and by commit where times are equal.
struct Page {
    messages: VecDeque<CachedMessage>,
    most: usize,
    /// There are no older ones.
    whole: bool,
    used: u64,
}

struct CachedMessage {
    at: Timestamp,
    id: MemoryId,
    weight: usize,
    memory: Arc<Memory>,
}

impl CachedMessage {
    fn new(memory: Memory) -> Self {
        Self {
            at: memory.created_at,
            id: memory.id,
            weight: weight(&memory),
            memory: Arc::new(memory),
        }
    }
}

/// A page that is being read from the tables.
pub(crate) struct Reading {
    key: Key,
    ticket: u64,
    most: u32,
}

impl Reading {
    /// What to read: the page of the query, a little longer, however old.
    pub(crate) fn query(&self) -> MemoryQuery {
        MemoryQuery::new(self.key.0, self.most).room(self.key.1).kind(self.key.2)
    }
}

/// What the cache has for a query.
pub(crate) enum CacheLookup {
    /// The whole answer.
    Hit(Vec<Arc<Memory>>),
    /// Nothing yet: the caller reads this and calls [`Recent::fill`].
    Miss(Reading),
    /// Answers to such queries are not cached.
    Uncacheable,
}

impl Recent {
    /// Answers a query.
    pub(crate) fn lookup(&self, query: &MemoryQuery) -> CacheLookup {
        let MemoryQuery {
            agent,
            kinds,
            room: Some(room),
            world: None,
            entity: None,
            before: None,
            limit,
            ..
        } = query
        else {
            return CacheLookup::Uncacheable;
        };
        let &[kind @ (MemoryKind::Messages | MemoryKind::Summaries)] = kinds.as_slice() else {
            return CacheLookup::Uncacheable;
        };
        if *limit == 0 || *limit > LONGEST {
            return CacheLookup::Uncacheable;
        }
        let key = (*agent, *room, kind);
        let mut state = self.lock();
        state.ticks += 1;
        let ticks = state.ticks;
        if let Some(page) = state.rooms.get_mut(&key)
            && let Some(messages) = page.newest(query)
        {
            page.used = ticks;
            return CacheLookup::Hit(messages);
        }
        if state.reading.len() >= READING {
            state.reading.clear();
        }
        state.reading.insert(key, ticks);
        CacheLookup::Miss(Reading { key, ticket: ticks, most: limit.next_multiple_of(STEP) })
    }

    /// Keeps a page that was read, the newest first, unless something was committed meanwhile;
    /// gives what the query asked for.
    pub(crate) fn fill(
        &self,
        reading: &Reading,
        query: &MemoryQuery,
        read: Vec<Memory>,
    ) -> Vec<Arc<Memory>> {
        let most = usize::try_from(reading.most).unwrap_or(usize::MAX);
        let whole = read.len() < most;
        let page = Page {
            messages: read.into_iter().rev().map(CachedMessage::new).collect(),
            most,
            whole,
            used: reading.ticket,
        };
        // A little longer than what was asked for, so it is enough.
        let answer = page.newest(query).unwrap_or_default();
        let mut state = self.lock();
        if state.reading.get(&reading.key) == Some(&reading.ticket) {
            state.reading.remove(&reading.key);
            state.drop_room(&reading.key);
            state.bytes += page.messages.iter().map(|held| held.weight).sum::<usize>();
            state.rooms.insert(reading.key, page);
            state.bound(BYTES);
        }
        answer
    }

    /// Adds messages that were committed, in the order of commits.
    pub(crate) fn add(&self, memories: impl Iterator<Item = Memory>) {
        let mut state = self.lock();
        for memory in memories {
            let key = (memory.agent_id, memory.room_id, MemoryKind::Messages);
            state.reading.remove(&key);
            let State { rooms, bytes, .. } = &mut *state;
            if let Some(page) = rooms.get_mut(&key) {
                *bytes = bytes.saturating_add_signed(page.add(memory));
            }
        }
        state.bound(BYTES);
    }

    /// Forgets the summaries of Rooms: others were stored.
    pub(crate) fn forget_summaries(&self, rooms: &[(AgentId, RoomId)]) {
        let mut state = self.lock();
        for (agent, room) in rooms {
            let key = (*agent, *room, MemoryKind::Summaries);
            state.reading.remove(&key);
            state.drop_room(&key);
        }
    }

    /// Keeps what was asked for last: after a burst most of it is not asked for again.
    pub(crate) fn shrink(&self) {
        let mut state = self.lock();
        state.bound(QUIET);
        state.rooms.shrink_to_fit();
        state.reading.shrink_to_fit();
    }

    /// Forgets everything.
    pub(crate) fn clear(&self) {
        let mut state = self.lock();
        *state = State { ticks: state.ticks, ..State::default() };
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }
}

impl State {
    fn drop_room(&mut self, key: &Key) {
        if let Some(page) = self.rooms.remove(key) {
            self.bytes =
                self.bytes.saturating_sub(page.messages.iter().map(|held| held.weight).sum());
        }
    }

    /// The least recently used Rooms go first.
    fn bound(&mut self, most: usize) {
        while self.bytes > most
            && let Some(key) =
                self.rooms.iter().min_by_key(|(_, page)| page.used).map(|(key, _)| *key)
        {
            self.drop_room(&key);
        }
    }
}

impl Page {
    /// The newest first; none when older ones would be needed that are not here.
    fn newest(&self, query: &MemoryQuery) -> Option<Vec<Arc<Memory>>> {
        let limit = usize::try_from(query.limit).unwrap_or(usize::MAX);
        let mut out = Vec::with_capacity(limit.min(self.messages.len()));
        for held in self.messages.iter().rev().take(limit) {
            if query.since.is_some_and(|since| held.at < since) {
                return Some(out);
            }
            out.push(Arc::clone(&held.memory));
        }
        (self.whole || out.len() == limit).then_some(out)
    }

    /// By how many bytes it grew.
    fn add(&mut self, memory: Memory) -> isize {
        // The reader of the page may have seen the commit before the writer reports it.
        if self.messages.iter().any(|held| held.id == memory.id) {
            return 0;
        }
        let place = self.messages.partition_point(|held| held.at <= memory.created_at);
        if place == 0 && !self.whole {
            return 0;
        }
        let held = CachedMessage::new(memory);
        let mut grew = held.weight.cast_signed();
        self.messages.insert(place, held);
        while self.messages.len() > self.most
            && let Some(oldest) = self.messages.pop_front()
        {
            self.whole = false;
            grew -= oldest.weight.cast_signed();
        }
        grew
    }
}

/// Bytes a memory takes, about.
fn weight(memory: &Memory) -> usize {
    let content = &memory.content;
    let options = [&content.thought, &content.source, &content.url]
        .into_iter()
        .flatten()
        .map(String::len)
        .sum::<usize>();
    let lists = content
        .actions
        .iter()
        .chain(&content.providers)
        .map(|name| size_of::<String>() + name.len())
        .sum::<usize>();
    let media = content.attachments.iter().map(|m| {
        size_of_val(m)
            + m.id.len()
            + m.url.len()
            + m.title.len()
            + m.source.len()
            + m.description.len()
            + m.text.len()
            + m.mime.as_ref().map_or(0, String::len)
    });
    let buttons = content
        .buttons
        .iter()
        .flatten()
        .map(|button| size_of_val(button) + 2 * button.text.len() + 64)
        .sum::<usize>();
    size_of::<CachedMessage>()
        + size_of::<Memory>()
        + content.text.len()
        + options
        + lists
        + media.sum::<usize>()
        + buttons
        + object(&content.extra)
        + object(&memory.metadata)
}

/// Bytes of a JSON object beyond its own size.
fn object(map: &Map<String, Value>) -> usize {
    // A key, its hash and its place in the index.
    map.iter()
        .map(|(key, value)| size_of::<String>() + 24 + key.len() + size_of::<Value>() + json(value))
        .sum()
}

fn json(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(list) => list.iter().map(|value| size_of::<Value>() + json(value)).sum(),
        Value::Object(map) => object(map),
    }
}

#[cfg(test)]
mod tests;
