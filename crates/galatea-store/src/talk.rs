//! Talks: the messages of Rooms in use, with their terms as numbers, in memory. Every answer searches
//! its Room for what has left the prompt, and to ask the database for each word of the question costs
//! more than the rest of the search.
//!
//! A Room is read when it is searched for the first time. From then on SQLite's writer adds what it
//! has committed before it answers for it; PostgreSQL is asked once per search for what any process
//! has committed since (`postgres/tail.rs`). What changes or removes messages drops their Rooms; the
//! writer asks which these are before it carries out such a change.

mod handle;
mod index;
mod message;
mod numbers;
mod older;
mod postings;
mod rows;
mod space;

use galatea_core::{
    AgentId, Memory, MemoryId, MemoryKind, RoomId, store::RecallQuery, visibility::View,
};
use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

#[cfg(test)]
pub(crate) use self::index::PAGE;
pub(crate) use self::{
    handle::Handle,
    index::{Due, Extent, FIRST, MOST, Talk},
    message::{Having, Message, NEWEST, Places, Shown},
    rows::text_of,
};
use crate::{change::Changed, dialect::Dialects, plan::no_index, terms::Stems};

/// Bytes kept, about, and twice as many while the Rooms in use grow: a hundred Rooms of [`MOST`] messages, or many more short ones.
const BYTES: usize = 16 << 20;
/// A Room of [`MOST`] messages takes about so many.
const ROOM: usize = BYTES / 100;
/// The same once nothing was written for ten minutes (`sqlite/writer.rs`).
const QUIET: usize = 2 << 20;
/// A Room that was searched so recently is not dropped for another one, which is searched in the
/// database instead: with more Rooms in use than are kept, each would be read for every search.
const IN_USE: Duration = Duration::from_secs(60);

/// The newest messages of a Room ($1) of an agent ($2), at most $3.
pub(crate) const READ: Dialects = Dialects {
    sqlite: concat!(
        "SELECT m.seq, m.id, m.entity_id, m.created_at, coalesce(m.content ->> '$.text', '') FROM memories m \
         WHERE m.room_id = $1 AND m.type = 'messages' AND ",
        no_index!("m.agent_id"),
        " = $2 AND m.scope = 'room' ORDER BY m.created_at DESC, m.seq DESC LIMIT +$3"
    ),
    postgres: "SELECT m.seq, m.id, m.entity_id, m.created_at, m.content::text AS content FROM memories m \
               WHERE m.room_id = $1 AND m.type = 'messages' AND m.agent_id = $2 AND m.scope = 'room' \
               ORDER BY m.created_at DESC, m.seq DESC LIMIT $3",
};

/// Messages of a Room ($1) of an agent ($2) before a time ($3) and number ($4), the newest, at most $5.
pub(crate) const READ_BEFORE: Dialects = Dialects {
    sqlite: concat!(
        "SELECT m.seq, m.id, m.entity_id, m.created_at, coalesce(m.content ->> '$.text', '') FROM memories m \
         WHERE m.room_id = $1 AND m.type = 'messages' AND ",
        no_index!("m.agent_id"),
        " = $2 AND m.scope = 'room' AND m.created_at <= $3 AND (m.created_at, m.seq) < ($3, $4) \
         ORDER BY m.created_at DESC, m.seq DESC LIMIT +$5"
    ),
    postgres: "",
};

/// The Rooms of those of these memories ($1) that are messages.
pub(crate) const ROOMS: Dialects = Dialects {
    sqlite: "SELECT DISTINCT m.agent_id, m.room_id FROM memories m WHERE m.id IN (SELECT unhex(value) FROM json_each($1)) AND m.type = 'messages'",
    postgres: "SELECT DISTINCT m.agent_id, m.room_id FROM memories m WHERE m.id = ANY ($1) AND m.type = 'messages'",
};

/// An agent's Room.
pub(crate) type Key = (AgentId, RoomId);

/// The Rooms in use.
pub(crate) struct Talks {
    state: Mutex<State>,
    /// Of words in recent questions and new messages.
    stems: Arc<Mutex<Stems>>,
    /// For how long a Room is kept, where other processes change messages as well.
    good: Option<Duration>,
}

#[derive(Default)]
struct State {
    rooms: HashMap<Key, Kept>,
    bytes: usize,
}

struct Kept {
    talk: Arc<Mutex<Talk>>,
    bytes: usize,
    since: Instant,
    used: Instant,
}

impl Talks {
    /// Of a database with one process: commits report what they change.
    pub(crate) fn of_one_process() -> Self {
        Self { state: Mutex::default(), stems: Arc::default(), good: None }
    }

    /// Of a database whose other processes may change messages at any time: a Room is read again when
    /// it was kept for so long.
    pub(crate) fn of_several_processes(good: Duration) -> Self {
        Self { state: Mutex::default(), stems: Arc::default(), good: Some(good) }
    }

    /// The Room that a query searches by words, if it looks for the messages of one from there. None if
    /// other Rooms in use leave no space for it.
    pub(crate) fn of(&self, query: &RecallQuery) -> Option<Handle> {
        let (key, now) = (key(query)?, Instant::now());
        let mut state = self.lock();
        if let Some(kept) = state.rooms.get_mut(&key) {
            if self.good.is_none_or(|good| now.duration_since(kept.since) < good) {
                kept.used = now;
                return Some(self.handle(key, &kept.talk));
            }
            state.remove(&key);
        }
        if let Some(good) = self.good {
            state.retain(|_, kept| now.duration_since(kept.since) < good);
        }
        // Space for a whole Room: one that `keep` leaves out would be read again by each search.
        if !state.make_space(BYTES - ROOM, now.checked_sub(IN_USE)) {
            return None;
        }
        let kept = Kept { talk: self.unread(), bytes: 0, since: now, used: now };
        let talk = Arc::clone(&kept.talk);
        state.rooms.insert(key, kept);
        Some(self.handle(key, &talk))
    }

    fn handle(&self, key: Key, talk: &Arc<Mutex<Talk>>) -> Handle {
        Handle { key, talk: Arc::clone(talk), stems: Arc::clone(&self.stems) }
    }

    fn unread(&self) -> Arc<Mutex<Talk>> {
        Arc::new(Mutex::new(Talk::new(Arc::clone(&self.stems))))
    }

    /// Stems of words in recent questions and new messages.
    pub(crate) fn stems(&self) -> MutexGuard<'_, Stems> {
        lock(&self.stems)
    }

    /// Returns the Room as [`Talks::of`] does. If the cache has no space, returns an uncached Room,
    /// which the caller reads for this search only.
    pub(crate) fn of_or_alone(&self, query: &RecallQuery) -> Option<Handle> {
        self.of(query).or_else(|| Some(self.handle(key(query)?, &self.unread())))
    }

    /// Updates the counted size of a Room. Called after a search, which may have read more messages.
    /// Drops the least recently used Rooms if all exceed their bound. False if this Room is not kept.
    pub(crate) fn update_size(&self, handle: &Handle) -> bool {
        let mut state = self.lock();
        state.measure(handle) && {
            state.make_space(2 * BYTES, None);
            state.rooms.contains_key(&handle.key)
        }
    }

    /// Whether more of a Room may be read before it is asked for.
    pub(crate) fn has_space(&self) -> bool {
        self.lock().bytes < BYTES - ROOM
    }

    /// Takes what was read of a Room by [`Handle::read`], which gets the same number.
    pub(crate) fn keep(&self, handle: &Handle, read: Vec<Message>, most: usize) {
        handle.talk().fill(read, most);
        let mut state = self.lock();
        if state.measure(handle) {
            // Where all are in use this one is left out, and no other one is taken until there is space.
            let in_use = Instant::now().checked_sub(IN_USE);
            if handle.talk().is_stale() || !state.make_space(BYTES, in_use) {
                state.remove(&handle.key);
            }
        }
    }

    /// Adds messages that were committed, by their numbers.
    pub(crate) fn add<'a>(&self, new: impl Iterator<Item = (i64, &'a Memory)>) {
        self.add_of(new.map(|(seq, memory)| {
            let Memory { id, entity_id, created_at, content, .. } = memory;
            let message = move || Message::new(seq, *id, *entity_id, created_at.0, &content.text);
            ((memory.agent_id, memory.room_id), message)
        }));
    }

    /// The same for messages that are made where their Room is kept.
    pub(crate) fn add_of<M: FnOnce() -> Message>(&self, new: impl Iterator<Item = (Key, M)>) {
        let mut state = self.lock();
        let mut late = HashSet::new();
        for (key, message) in new {
            let State { rooms, bytes } = &mut *state;
            let Some(kept) = rooms.get_mut(&key) else { continue };
            let message = message();
            let added = message.bytes();
            let mut talk = kept.talk.lock().unwrap_or_else(PoisonError::into_inner);
            if !talk.add(message) {
                if talk.has_late() {
                    late.insert(key);
                }
                continue;
            }
            kept.bytes += added;
            *bytes += added;
            if !talk.is_large() {
                continue;
            }
            if talk.extent() == Extent::Unread {
                // Its reader went away.
                drop(talk);
                state.remove(&key);
                continue;
            }
            talk.bound();
            drop(talk);
            state.update(&key);
        }
        for key in late {
            if let Some(kept) = state.rooms.get(&key) {
                kept.talk.lock().unwrap_or_else(PoisonError::into_inner).add_late();
                state.update(&key);
            }
        }
        // Rooms in use may grow up to this.
        state.make_space(2 * BYTES, None);
    }

    /// Drops the Rooms of messages that were changed or removed, and forgets which older messages
    /// of these Rooms have a word. `rooms` are the Rooms of these messages; none if they are
    /// unknown.
    pub(crate) fn changed(&self, changed: &Changed, rooms: Option<&HashSet<Key>>) {
        let concerns_rooms = match changed {
            Changed::Nothing => false,
            Changed::Any => true,
            Changed::These(_) => rooms.is_none_or(|rooms| !rooms.is_empty()),
        };
        if concerns_rooms {
            // Words of removed messages are not kept.
            lock(&self.stems).clear();
        }
        let mut state = self.lock();
        match changed {
            Changed::Nothing => {}
            Changed::Any => *state = State::default(),
            Changed::These(ids) => {
                let ids: HashSet<MemoryId> = ids.iter().copied().collect();
                state.retain(|key, kept| {
                    if rooms.is_some_and(|rooms| !rooms.contains(key)) {
                        return true;
                    }
                    let mut talk = kept.talk.lock().unwrap_or_else(PoisonError::into_inner);
                    talk.forget_older();
                    talk.note_changed(&ids)
                });
            }
        }
    }

    /// Drops a Room, which the next search reads again.
    pub(crate) fn forget(&self, handle: &Handle) {
        let mut state = self.lock();
        let kept = state.rooms.get(&handle.key);
        if kept.is_some_and(|kept| Arc::ptr_eq(&kept.talk, &handle.talk)) {
            state.remove(&handle.key);
        }
    }

    /// Keeps the Rooms that were searched last.
    pub(crate) fn shrink(&self) {
        let mut state = self.lock();
        state.make_space(QUIET, Some(Instant::now()));
        state.rooms.shrink_to_fit();
        lock(&self.stems).clear();
    }

    /// Bytes that all Rooms take, about.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        self.lock().bytes
    }

    /// Leaves no space for any Room.
    #[cfg(test)]
    pub(crate) fn fill_up(&self) {
        let (mut state, now) = (self.lock(), Instant::now());
        let mut talk = Talk::default();
        talk.fill(Vec::new(), MOST);
        let kept =
            Kept { talk: Arc::new(Mutex::new(talk)), bytes: 2 * BYTES, since: now, used: now };
        state.bytes += kept.bytes;
        state.rooms.insert((AgentId(uuid::Uuid::nil()), RoomId(uuid::Uuid::nil())), kept);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Every change is whole before anything in it could panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Counts the size of a Room again, or drops it if it has to be read again.
    fn update(&mut self, key: &Key) {
        let Some(kept) = self.rooms.get_mut(key) else { return };
        let talk = kept.talk.lock().unwrap_or_else(PoisonError::into_inner);
        let (is_stale, bytes) = (talk.is_stale(), talk.bytes());
        drop(talk);
        if is_stale {
            self.remove(key);
        } else {
            let before = std::mem::replace(&mut kept.bytes, bytes);
            self.bytes = (self.bytes + bytes).saturating_sub(before);
        }
    }

    /// Counts the size of a Room again; false if it is not kept.
    fn measure(&mut self, handle: &Handle) -> bool {
        match self.rooms.get_mut(&handle.key) {
            Some(kept) if Arc::ptr_eq(&kept.talk, &handle.talk) => {
                let bytes = handle.talk().bytes();
                let before = std::mem::replace(&mut kept.bytes, bytes);
                self.bytes = (self.bytes + bytes).saturating_sub(before);
                true
            }
            _ => false,
        }
    }

    fn remove(&mut self, key: &Key) {
        if let Some(kept) = self.rooms.remove(key) {
            self.bytes = self.bytes.saturating_sub(kept.bytes);
        }
    }

    fn retain(&mut self, keep: impl Fn(&Key, &Kept) -> bool) {
        self.rooms.retain(|key, kept| keep(key, kept));
        self.bytes = self.rooms.values().map(|kept| kept.bytes).sum();
    }

    /// Drops the least recently used Rooms until the others take so many bytes. False if that needs one
    /// that was used after a time.
    fn make_space(&mut self, most: usize, unused_since: Option<Instant>) -> bool {
        while self.bytes > most
            && let Some((key, used)) = self
                .rooms
                .iter()
                .min_by_key(|(_, kept)| kept.used)
                .map(|(key, kept)| (*key, kept.used))
        {
            if unused_since.is_some_and(|since| used > since) {
                return false;
            }
            self.remove(&key);
        }
        true
    }
}

fn lock(stems: &Mutex<Stems>) -> MutexGuard<'_, Stems> {
    // A stem is added whole or not at all.
    stems.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The Room whose messages a query looks for by their words, if these are all.
pub(crate) fn key(query: &RecallQuery) -> Option<Key> {
    let View::Room { room, .. } = query.visible.view() else { return None };
    let is_here = query.room.is_none_or(|asked| asked == *room);
    let is_talk = query.sorts() == [MemoryKind::Messages] && is_here && !query.text.is_empty();
    is_talk.then(|| (query.visible.agent(), *room))
}

#[cfg(test)]
mod tests;
