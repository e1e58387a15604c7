//! `memory export`: memories with their Worlds, rooms, people and relationships, as JSON lines.

use galatea_core::{Clock, Entity, Error, ErrorKind, MemoryId, Store, SystemClock, Timestamp};
use serde_json::json;
use std::{
    collections::{BTreeMap, HashSet},
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
    process::ExitCode,
};

use super::{
    record::{FORMAT, Record},
    select::{Selection, Which, rooms},
};
use crate::{cli::audit::utc, context::Context, failure::Result, files, output::Output};

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
    let mut out: Box<dyn Write> = match output {
        Some(path) => Box::new(BufWriter::new(private(path)?)),
        None => Box::new(BufWriter::new(io::stdout().lock())),
    };
    let at = utc(SystemClock.now());
    let head = Record::Export { format: FORMAT.to_owned(), agent: selection.name.clone(), at };
    let mut lines = Lines { out: &mut *out, place: output, count: 0, closed: false };
    let written = match write(store, which, &selection, &head, &mut lines).await {
        // A closed pipe (`| head`) is not an error.
        Err(_) if lines.closed => return Ok(ExitCode::SUCCESS),
        written => written?,
    };
    let records = lines.count;
    // Without a file, standard output has the export itself.
    if let Some(path) = output {
        if json {
            let file = path.display().to_string();
            let summary = json!({
                "agent": selection.name, "file": file, "memories": written, "records": records,
            });
            context.output.json("galatea.memory.export/1", summary);
        } else {
            context.output.say(format!("{written} memories written to {}", path.display()));
        }
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
    let ids = selected_ids(store, selection, which.limit).await?;
    people_and_places(store, selection, lines).await?;
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
    lines.flush()?;
    Ok(lines.count - before)
}

/// Ids of what is selected, the newest first.
async fn selected_ids(
    store: &dyn Store,
    selection: &Selection,
    limit: Option<u32>,
) -> Result<Vec<MemoryId>> {
    let most = limit.map_or(usize::MAX, |limit| limit as usize);
    let mut ids = Vec::new();
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
                if !selection.excludes(memory.entity_id) {
                    ids.push(memory.id);
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
    ids.truncate(most);
    Ok(ids)
}

async fn people_and_places(
    store: &dyn Store,
    selection: &Selection,
    lines: &mut Lines<'_>,
) -> Result<()> {
    for world in store.worlds(selection.agent).await? {
        lines.write(&Record::World(world))?;
    }
    let mut people: BTreeMap<_, Entity> = BTreeMap::new();
    for room in rooms(store, selection.agent).await? {
        let wanted = selection.room.is_none_or(|only| only == room.id);
        if wanted {
            let inside = store.entities_in_room(room.id).await?;
            people.extend(
                inside
                    .into_iter()
                    .filter(|entity| !selection.excludes(entity.id))
                    .map(|entity| (entity.id, entity)),
            );
            lines.write(&Record::Room(room))?;
        }
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

struct Lines<'a> {
    out: &'a mut dyn Write,
    place: Option<&'a Path>,
    count: usize,
    /// The reader of standard output has left.
    closed: bool,
}

impl Lines<'_> {
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

/// A new file that only the user can read: it contains what people said in private.
fn private(path: &Path) -> Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    Ok(options.open(path).map_err(|e| unwritable(path, &e))?)
}

fn unwritable(path: &Path, error: &io::Error) -> Error {
    let (kind, fix) = if error.kind() == io::ErrorKind::AlreadyExists {
        (ErrorKind::Conflict, "give the name of a file that does not exist yet".to_owned())
    } else {
        let rights = "make the folder writable for this user";
        (ErrorKind::Unavailable, files::remedy(error, rights, "name a file"))
    };
    Error::new(kind, "the export cannot be written")
        .with_code("GAL-MEMORY-WRITE")
        .with("where", path.display())
        .with("cause", error)
        .with_fix(fix)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Exit;

    #[test]
    fn what_cannot_be_written_has_its_code_and_fix() {
        for (kind, right, wrong) in files::CAUSES {
            let error = unwritable(Path::new("a.jsonl"), &kind.into());
            let fix = error.fix().unwrap();
            assert!(fix.contains(right) && !fix.contains(wrong), "{kind:?}: {fix}");
            assert_eq!(Exit::of(&error), Exit::Failure, "{kind:?}");
        }
        let error = unwritable(Path::new("a.jsonl"), &io::ErrorKind::AlreadyExists.into());
        assert_eq!(Exit::of(&error), Exit::Conflict);
        assert!(error.fix().unwrap().contains("does not exist yet"));
    }
}
