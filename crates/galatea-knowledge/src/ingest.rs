//! Takes one document from its bytes to stored pieces, in steps that each leave a record from which
//! the next start continues.

mod read;

use galatea_core::{
    Derived, MemoryId, MemoryScope, Result, Timestamp, kill_point, store::DerivedChange,
};
use std::{collections::HashMap, path::Path, time::Duration};

use super::problem::RETRY;
use crate::{
    chunk::hash,
    format::Format,
    library::Library,
    pieces::Pieces,
    problem::Problem,
    rows::{READING, Record, Stored, fragments, shared_agent},
    scan::{Item, What},
    synced::{Progress, Step},
};
use read::{Bytes, allowed, read};

/// Rows stored or deleted in one commit.
const AT_ONCE: usize = 100;
/// Time for which an address is taken as it was read.
const FRESH: Duration = Duration::from_secs(24 * 3600);
/// Outcome of one document.
pub(crate) struct DocumentOutcome {
    pub(crate) document: Stored,
    /// It was read because it is new or changed.
    pub(crate) read: bool,
    /// Pieces that were stored.
    pub(crate) pieces: usize,
}

/// Brings one document up to date.
///
/// # Errors
/// Those of the store.
pub(crate) async fn item(
    library: &Library,
    item: &Item,
    id: MemoryId,
    before: Option<Stored>,
    known: &HashMap<MemoryId, Stored>,
    nth: usize,
    progress: Progress<'_>,
) -> Result<DocumentOutcome> {
    let own = library.parts.identity.id();
    let under = if item.source.shared { shared_agent() } else { own };
    let before = before.unwrap_or_else(|| Stored {
        id,
        under,
        owner: own,
        record: Record { key: item.key.clone(), ..Record::default() },
    });
    let is_right = before.record.is_complete() && !before.lost_its_original(known);
    if is_right && is_fresh(library, item, &before.record) {
        return Ok(DocumentOutcome { document: before, read: false, pieces: 0 });
    }
    progress(Step::Reading(item.key.clone(), nth));
    let now = library.parts.clock.now();
    let read = read(library, item).await;
    let bytes = read.as_ref().ok().map(|read| read.bytes.len() as u64);
    let text = match read {
        Ok(bytes) => look(library, &before, known, bytes).await,
        Err(error) => Err(error),
    };
    // Another process may have stored the document since the run began, which may be long ago.
    let stored = stored(library, before.id).await?;
    let new = stored.is_none();
    let mut document = stored.unwrap_or(Stored {
        record: Record { key: item.key.clone(), ..Record::default() },
        ..before
    });
    let was = document.record.clone();
    describe(&mut document.record, library, item, bytes, now);
    let mut problem = None;
    let rows = match text {
        Ok(ReadText::Unchanged) => return settle(library, document, &was, new, progress).await,
        Ok(ReadText::Copy { hash, name, of }) => {
            document.record.hash = hash;
            document.record.title = title_of(&name, None);
            document.record.same_as = Some(of);
            Vec::new()
        }
        Ok(ReadText::Pieces { hash, name, pieces }) => {
            document.record.hash = hash;
            document.record.title = title_of(&name, pieces.title.as_deref());
            document.record.same_as = None;
            problem = pieces.unread.map(|unread| Problem::of(&unread.error(), now));
            fragments(&document, &pieces.chunks, now)
        }
        Err(error) => {
            if document.record.title.is_empty() {
                document.record.title = title_of(&item.key, None);
            }
            document.record.problem = Some(Problem::of(&error, now));
            // Pieces that were read before stay, since the fault may pass.
            return settle(library, document, &was, new, progress).await;
        }
    };
    document.record.problem = problem;
    replace(library, document, new, rows, progress).await
}

/// Digest of the bytes and the name of a document; none if it cannot be read now.
pub(crate) async fn digest(library: &Library, item: &Item) -> Option<String> {
    let read = match item.what {
        What::File { .. } => read(library, item).await.ok()?,
        // An address lies where it is, and the lines of a character have one key.
        What::Lines(_) | What::Url(_) => return None,
    };
    Some(hash(&[&read.bytes, read.name.as_bytes()]))
}

/// Stores that a document lies where this item is. What it says is compared later.
///
/// # Errors
/// Those of the store.
pub(crate) async fn moved(
    library: &Library,
    item: &Item,
    document: &mut Stored,
    progress: Progress<'_>,
) -> Result<()> {
    document.record.origin = item.source.origin;
    write(library, document, false, progress).await
}

/// Text that was read of a document.
enum ReadText {
    /// It equals the stored text.
    Unchanged,
    /// It equals the text of another document.
    Copy {
        hash: String,
        name: String,
        of: MemoryId,
    },
    Pieces {
        hash: String,
        name: String,
        pieces: Pieces,
    },
}

/// Compares what was read with what is stored, and parses it if it is new.
///
/// # Errors
/// Those of the parser.
async fn look(
    library: &Library,
    before: &Stored,
    known: &HashMap<MemoryId, Stored>,
    read: Bytes,
) -> Result<ReadText> {
    let Record { hash: was, same_as, problem, .. } = &before.record;
    let hash = hash(&[&read.bytes, read.name.as_bytes()]);
    // A document with a problem is parsed again: the problem may have been a server's.
    if before.record.is_complete() && *was == hash && same_as.is_none() && problem.is_none() {
        return Ok(ReadText::Unchanged);
    }
    let same = same_text(known, before, &hash).filter(|same| same.record.same_as.is_none());
    if let Some(same) = same {
        return Ok(ReadText::Copy { hash, name: read.name, of: same.id });
    }
    let (pieces, name) = parse(library, read).await?;
    Ok(ReadText::Pieces { hash, name, pieces })
}

/// A document as it is stored now.
async fn stored(library: &Library, id: MemoryId) -> Result<Option<Stored>> {
    Ok(library.parts.store.memory(id).await?.as_ref().and_then(Stored::read))
}

/// Another document of the same bytes and name, whose pieces are stored.
fn same_text<'a>(
    known: &'a HashMap<MemoryId, Stored>,
    document: &Stored,
    digest: &str,
) -> Option<&'a Stored> {
    known.values().find(|other| {
        other.record.hash == digest
            && other.id != document.id
            && other.under == document.under
            && !other.record.fragments.is_empty()
            // It may still have the pieces of a text before.
            && other.record.problem.is_none()
    })
}

/// Notes where a document comes from, when it changed, and how long it is.
fn describe(
    record: &mut Record,
    library: &Library,
    item: &Item,
    bytes: Option<u64>,
    now: Timestamp,
) {
    record.origin = item.source.origin;
    record.reading = READING;
    record.modified = match &item.what {
        What::File { modified, .. } => modified.0,
        What::Lines(_) => 0,
        // A refusal by the settings costs no request, and holds only until they change.
        What::Url(address) => {
            allowed(&library.parts.http, &library.parts.hosts, address).map_or(0, |_| now.0)
        }
    };
    record.size = match &item.what {
        What::File { size, .. } => *size,
        What::Lines(text) => text.len() as u64,
        // If it cannot be read, what is stored of it is as long as before.
        What::Url(_) => bytes.unwrap_or(record.size),
    };
}

/// Stores new pieces and deletes those that are gone. The record names each piece before it is
/// stored, and until after it is deleted.
async fn replace(
    library: &Library,
    mut document: Stored,
    new: bool,
    rows: Vec<galatea_core::Memory>,
    progress: Progress<'_>,
) -> Result<DocumentOutcome> {
    let store = &library.parts.store;
    let (mut old, stored) = (document.pieces(), document.record.fragments.clone());
    if !new {
        // Pieces that the record does not name, since two processes wrote it at once.
        let made = store.derived_from(document.under, &[document.id]).await?;
        old.extend(made.into_iter().map(|piece| piece.memory.id));
    }
    let ids: Vec<MemoryId> = rows.iter().map(|row| row.id).collect();
    // A run that was cut off may have given the document another title, and then the pieces of the
    // title before are gone.
    let complete = document.record.pending.is_empty();
    // Pieces that an earlier run wanted to store may be stored or not.
    document.record.pending.extend(&ids);
    // A hash that stands for the old pieces until the new ones are complete.
    let digest = std::mem::take(&mut document.record.hash);
    write(library, &document, new, progress).await?;
    kill_point("knowledge.intent");
    let fresh: Vec<galatea_core::Memory> =
        rows.into_iter().filter(|row| !complete || !stored.contains(&row.id)).collect();
    for batch in fresh.chunks(AT_ONCE) {
        let derive = |piece: &galatea_core::Memory| {
            Derived::new(piece.clone(), MemoryScope::Agent, vec![document.id])
        };
        let new = batch.iter().map(derive).collect();
        let change = DerivedChange { new, ..DerivedChange::default() };
        store.change_derived(document.under, &change).await?;
        progress(Step::Stored);
        kill_point("knowledge.pieces");
    }
    let keep: std::collections::HashSet<MemoryId> = ids.iter().copied().collect();
    old.sort_unstable();
    old.dedup();
    document.record.stale = old.into_iter().filter(|id| !keep.contains(id)).collect();
    document.record.fragments = ids;
    document.record.pending.clear();
    document.record.hash = digest;
    write(library, &document, false, progress).await?;
    if !document.record.stale.is_empty() {
        delete(library, &document, &document.record.stale.clone(), progress).await?;
        document.record.stale.clear();
        write(library, &document, false, progress).await?;
    }
    Ok(DocumentOutcome { document, read: true, pieces: fresh.len() })
}

/// Removes a document: its pieces first, since the document names them.
///
/// # Errors
/// Those of the store.
pub(crate) async fn remove(
    library: &Library,
    document: &Stored,
    progress: Progress<'_>,
) -> Result<()> {
    let mut leaving = document.clone();
    leaving.record.stale = document.pieces();
    leaving.record.fragments.clear();
    leaving.record.pending.clear();
    // If this is cut off and the file comes back, it is read like a new one.
    leaving.record.hash.clear();
    write(library, &leaving, false, progress).await?;
    delete(library, document, &leaving.record.stale, progress).await?;
    library.parts.store.delete_memories(document.under, &[document.id]).await?;
    progress(Step::Stored);
    Ok(())
}

async fn delete(
    library: &Library,
    document: &Stored,
    ids: &[MemoryId],
    progress: Progress<'_>,
) -> Result<()> {
    for batch in ids.chunks(AT_ONCE) {
        library.parts.store.delete_memories(document.under, batch).await?;
        progress(Step::Stored);
        kill_point("knowledge.delete");
    }
    Ok(())
}

/// Writes the record if it changed.
async fn settle(
    library: &Library,
    document: Stored,
    was: &Record,
    new: bool,
    progress: Progress<'_>,
) -> Result<DocumentOutcome> {
    if new || document.record != *was {
        write(library, &document, new, progress).await?;
    }
    Ok(DocumentOutcome { document, read: false, pieces: 0 })
}

async fn write(
    library: &Library,
    document: &Stored,
    new: bool,
    progress: Progress<'_>,
) -> Result<()> {
    let store = &library.parts.store;
    if new {
        store.save_memories(&[document.memory(library.parts.clock.now())]).await?;
    } else {
        store.update_content(document.under, document.id, &document.content()).await?;
    }
    progress(Step::Stored);
    Ok(())
}

/// True if a document need not be looked into.
fn is_fresh(library: &Library, item: &Item, record: &Record) -> bool {
    let now = library.parts.clock.now();
    let age = now.since(Timestamp(record.modified));
    match &item.what {
        // A text is compared by its hash.
        What::Lines(_) => false,
        What::File { size, modified, .. } => {
            (record.size, record.modified) == (*size, modified.0)
                && match &record.problem {
                    Some(problem) => problem.holds(now),
                    None => !record.hash.is_empty(),
                }
        }
        What::Url(_) if record.problem.is_some() => age < RETRY,
        What::Url(_) => !record.hash.is_empty() && age < FRESH,
    }
}

async fn parse(library: &Library, read: Bytes) -> Result<(Pieces, String)> {
    let Bytes { bytes, name, format } = read;
    let format = match format {
        Some(format) => format,
        None => Format::detect(&name, &bytes)?,
    };
    Ok((library.parts.parser.parse(format, bytes).await?, name))
}

/// The title that a document states, otherwise its name without ending.
fn title_of(name: &str, stated: Option<&str>) -> String {
    if let Some(stated) = stated {
        // PostgreSQL cannot compare a text with U+0000, and takes the title for a new one each time.
        return stated.replace('\0', "");
    }
    let name = Path::new(name);
    let stem = name.file_stem().unwrap_or(name.as_os_str()).to_string_lossy();
    galatea_core::visible::one_line(&stem)
}
