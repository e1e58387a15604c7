//! `memory export`: memories with their Worlds, rooms, people and relationships, as JSON lines.

mod file;

use galatea_core::{
    Clock, Entity, Error, MemoryId, Room, RoomId, Store, SystemClock, Timestamp, WorldId,
    export::{FORMAT, Record},
};
use serde_json::json;
use std::{
    collections::{BTreeMap, HashSet},
    io::{self, BufWriter, Write},
    path::Path,
    process::ExitCode,
};

use super::select::{Selection, Which, rooms};
use crate::{
    cli::audit::utc,
    context::Context,
    report::failure::{Failure, Result},
    report::output::Output,
};
use file::{NewFile, unwritable};

/// Memories read at once.
const PAGE: u32 = 1_000;

pub(super) async fn export(
    store: &dyn Store,
    which: &Which,
    output: Option<&Path>,
    json: bool,
    context: &Context,
) -> Result<ExitCode> {
    let selection = which.select(store).await?;
    let at = utc(SystemClock.now());
    let agent = selection.name.clone();
    let head = Record::Export { format: FORMAT.to_owned(), agent, at, has_end: true };
    let Some(path) = output else {
        // Without a file, standard output has the export itself.
        let mut out = BufWriter::new(io::stdout().lock());
        let mut lines = Lines::to(&mut out, None);
        return match write(store, which, &selection, &head, &mut lines).await {
            // A closed pipe (`| head`) is not an error.
            Err(_) if lines.closed => Ok(ExitCode::SUCCESS),
            written => written.map(|_| ExitCode::SUCCESS),
        };
    };
    let mut file = NewFile::create(path)?;
    let mut lines = Lines::to(&mut file, Some(path));
    let written = tokio::select! {
        written = write(store, which, &selection, &head, &mut lines) => written?,
        // The unfinished file is removed.
        Ok(()) = tokio::signal::ctrl_c() => return Err(Failure::interrupted()),
    };
    let records = lines.count;
    file.keep()?;
    if json {
        let file = path.display().to_string();
        let summary = json!({
            "agent": selection.name, "file": file, "memories": written, "records": records,
        });
        context.output.json("galatea.memory.export/1", summary);
    } else {
        context.output.say(format!("{written} memories written to {}", path.display()));
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes everything; the number of memories.
async fn write(
    store: &dyn Store,
    which: &Which,
    selection: &Selection,
    head: &Record,
    lines: &mut Lines<'_>,
) -> Result<usize> {
    lines.write(head)?;
    let (ids, inhabited) = selected(store, selection, which.limit).await?;
    let only = which.is_narrow().then_some(&inhabited);
    people_and_places(store, selection, only, lines).await?;
    let before = lines.count;
    // Oldest first: what a memory was made from stands before it.
    for some in ids.rchunks(PAGE as usize) {
        let mut page = store.derived(selection.agent, some).await?;
        // Of equal times, the one that was stored first.
        let place = |id| some.iter().rev().position(|one| *one == id);
        page.sort_by_key(|derived| place(derived.memory.id));
        for derived in page {
            lines.write(&Record::Memory(Box::new(derived)))?;
        }
    }
    let memories = lines.count - before;
    lines.write(&Record::End { records: lines.count })?;
    lines.flush()?;
    Ok(memories)
}

/// Ids of what is selected, the newest first, and the Rooms of these.
async fn selected(
    store: &dyn Store,
    selection: &Selection,
    limit: Option<u32>,
) -> Result<(Vec<MemoryId>, HashSet<RoomId>)> {
    let most = limit.map_or(usize::MAX, |limit| limit as usize);
    let (mut ids, mut inhabited) = (Vec::new(), HashSet::new());
    let mut seen: HashSet<MemoryId> = HashSet::new();
    let mut query = selection.query(PAGE);
    loop {
        let page = store.memories(&query).await?;
        let oldest = page.iter().map(|memory| memory.created_at).min();
        let full = page.len() == query.limit as usize;
        let mut new = 0;
        for memory in page {
            if seen.insert(memory.id) {
                new += 1;
                if !selection.excludes(memory.entity_id) && ids.len() < most {
                    ids.push(memory.id);
                    inhabited.insert(memory.room_id);
                }
            }
        }
        let Some(oldest) = oldest.filter(|_| full && ids.len() < most) else { break };
        // Of memories with equal times the page may have had some only.
        query.before = Some(Timestamp(oldest.0.saturating_add(1)));
        if new == 0 {
            query.limit = query.limit.saturating_mul(2);
        }
    }
    Ok((ids, inhabited))
}

/// Writes Worlds, Rooms and people. A selection has those of its memories only (`only`): others have
/// the names of people who are no part of it.
async fn people_and_places(
    store: &dyn Store,
    selection: &Selection,
    only: Option<&HashSet<RoomId>>,
    lines: &mut Lines<'_>,
) -> Result<()> {
    let mut rooms = rooms(store, selection.agent).await?;
    if let Some(inhabited) = only {
        let wanted = with_parents(&rooms, inhabited);
        rooms.retain(|room| wanted.contains(&room.id));
    }
    let inside: HashSet<WorldId> = rooms.iter().map(|room| room.world_id).collect();
    for world in store.worlds(selection.agent).await? {
        if only.is_none() || inside.contains(&world.id) {
            lines.write(&Record::World(world))?;
        }
    }
    let mut people: BTreeMap<_, Entity> = BTreeMap::new();
    for room in rooms {
        // Of a parent, only that it is one.
        if only.is_none_or(|inhabited| inhabited.contains(&room.id)) {
            let inside = store.entities_in_room(room.id).await?;
            people.extend(
                inside
                    .into_iter()
                    .filter(|entity| !selection.excludes(entity.id))
                    .map(|entity| (entity.id, entity)),
            );
        }
        lines.write(&Record::Room(room))?;
    }
    let mut ties = HashSet::new();
    for link in store.links(selection.agent).await? {
        // Of a selection, those that name a person in it.
        if [link.entity_id, link.linked_id].iter().any(|entity| people.contains_key(entity)) {
            lines.write(&Record::Link(link))?;
        }
    }
    for entity in people.into_values() {
        for tie in store.relationships(selection.agent, entity.id).await? {
            if ties.insert(tie.id) {
                lines.write(&Record::Relationship(tie))?;
            }
        }
        lines.write(&Record::Entity(entity))?;
    }
    Ok(())
}

/// These Rooms, and those of which they are threads or topics.
fn with_parents(rooms: &[Room], wanted: &HashSet<RoomId>) -> HashSet<RoomId> {
    let parents: BTreeMap<RoomId, RoomId> =
        rooms.iter().filter_map(|room| Some((room.id, room.parent_id?))).collect();
    let mut all = HashSet::new();
    for room in wanted {
        let mut next = Some(room);
        while let Some(room) = next.filter(|room| all.insert(**room)) {
            next = parents.get(room);
        }
    }
    all
}

struct Lines<'a> {
    out: &'a mut dyn Write,
    place: Option<&'a Path>,
    count: usize,
    /// The reader of standard output has left.
    closed: bool,
}

impl<'a> Lines<'a> {
    fn to(out: &'a mut dyn Write, place: Option<&'a Path>) -> Self {
        Self { out, place, count: 0, closed: false }
    }

    fn write(&mut self, record: &Record) -> Result<()> {
        let line = serde_json::to_string(record)
            .map_err(|e| Error::unexpected("a memory cannot be written as JSON").with_source(e))?;
        let written = writeln!(self.out, "{line}");
        self.check(written)?;
        self.count += 1;
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let flushed = self.out.flush();
        self.check(flushed)
    }

    fn check(&mut self, written: io::Result<()>) -> Result<()> {
        written.map_err(|error| {
            self.closed = self.place.is_none() && error.kind() == io::ErrorKind::BrokenPipe;
            self.place.map_or_else(|| Output::unwritten(&error), |path| unwritable(path, &error))
        })?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use galatea_core::{Account, AgentId, ChannelType, RemoteId, Source};

    #[test]
    fn the_parents_of_a_room_belong_to_it() {
        let ids: Vec<RoomId> = (0..5).map(|_| RoomId::fresh()).collect();
        let room = |n: usize, parent: Option<usize>| Room {
            id: ids[n],
            agent_id: AgentId::fresh(),
            world_id: WorldId::fresh(),
            parent_id: parent.map(|parent| ids[parent]),
            source: Source::new("telegram"),
            account: Account("1".into()),
            remote: RemoteId::new(n),
            kind: ChannelType::Group,
            name: String::new(),
            metadata: serde_json::Map::new(),
        };
        // The last two name each other.
        let rooms =
            [room(0, None), room(1, Some(0)), room(2, Some(1)), room(3, Some(4)), room(4, Some(3))];
        let of = |n: usize| with_parents(&rooms, &[ids[n]].into()).len();
        assert_eq!([of(0), of(1), of(2), of(3)], [1, 2, 3, 2]);
    }
}
