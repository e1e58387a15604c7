//! Stores messages as if they had been received: those of chat logs and of platforms' exports.

use galatea_core::{
    AgentIdentity, Archive, Incoming, RemoteId, Result, Source, Store, SystemClock, Timestamp,
};
use galatea_runtime::history::{History, STEP, Stored};
use std::collections::BTreeSet;

use crate::{
    Count, Import, Input, Place,
    lines::{last, lines},
    read::{
        log::{Log, SOURCE, speakers},
        own,
        platform::unique,
    },
};

/// Stores the messages of a chat log.
///
/// # Errors
/// `Invalid` (`GAL-MEMORY-OWN`) for an `own` that fits no speaker, or several; those of the store.
pub(crate) async fn log(import: &Import<'_>, file: &Input, now: Timestamp) -> Result<Count> {
    let own = own::own_speakers(speakers(lines(file)), import.own, import.name)?;
    let place = import.place.clone().unwrap_or_else(|| Place::of_file(file));
    let total = last(lines(file));
    let mut log = Log::of(lines(file), place.name, own, now);
    let history = history(import, SOURCE, &[]).await?.within(place.room);
    let stored = store(import, history, &mut log, total).await?;
    let mut count = log.count;
    count.add(stored);
    Ok(count)
}

/// Stores the messages of a platform's export.
///
/// # Errors
/// `Invalid` (`GAL-MEMORY-OWN`) for an `own` that fits no author, or several; those of the store.
pub(crate) async fn platform(
    import: &Import<'_>,
    source: Source,
    archive: Archive,
    now: Timestamp,
) -> Result<Count> {
    let (messages, mut count) = unique(archive, now);
    let total = messages.len();
    let mut own = own::resolve(&own::authors(&messages), import.own)?;
    own.extend(known_accounts(import, &source).await?);
    let history = history(import, source, &own).await?;
    count.add(store(import, history, messages.into_iter(), total).await?);
    Ok(count)
}

/// The agent's accounts on a platform: those of its stored Rooms, and those that are configured.
async fn known_accounts(import: &Import<'_>, source: &Source) -> Result<BTreeSet<RemoteId>> {
    let mut found: BTreeSet<RemoteId> = (import.accounts)(source).into_iter().collect();
    for world in import.store.worlds(import.agent).await? {
        let rooms = import.store.rooms(world.id).await?;
        let here = rooms.into_iter().filter(|room| room.source == *source);
        found.extend(here.map(|room| RemoteId::new(&room.account)));
    }
    Ok(found)
}

/// For messages of this platform, on which the agent has these ids itself.
async fn history<'a>(import: &Import<'a>, source: Source, own: &[RemoteId]) -> Result<History<'a>> {
    let store: &'a dyn Store = import.store;
    // An id is its own text.
    let identity = AgentIdentity::new(Some(&import.agent.to_string()), "");
    History::of(store, identity, source, own, &SystemClock).await
}

/// Reads messages, of which there are about `total`, and stores them.
async fn store(
    import: &Import<'_>,
    mut history: History<'_>,
    mut messages: impl Iterator<Item = Incoming>,
    total: usize,
) -> Result<Stored> {
    let mut all = Stored::default();
    if import.dry_run {
        messages.for_each(drop);
        return Ok(all);
    }
    let mut done = 0;
    loop {
        let some: Vec<Incoming> = messages.by_ref().take(STEP).collect();
        if some.is_empty() {
            return Ok(all);
        }
        let stored = history.store(&some, import.deleted).await?;
        all.new += stored.new;
        all.differing += stored.differing;
        all.deleted += stored.deleted;
        done += some.len();
        (import.progress)(done, total);
    }
}
