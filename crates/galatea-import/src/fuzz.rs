//! Entry points of the fuzzer (`fuzz/`) for the files that an import reads. Compiled only with the
//! feature `fuzz`.

use galatea_core::{AgentId, AgentIdentity, Timestamp};
use std::{collections::BTreeSet, path::Path};

use crate::{
    format::recognise_in,
    lines::{last, lines_in},
    read::{Read, elizaos::Rows, galatea, log::Log},
    write::batch::Batch,
};

/// The file that errors name.
const FILE: &str = "fuzz.jsonl";
/// The agent whose rows the fixed corpus has.
const AGENT: &str = "b850bc30-45f8-0041-a00a-83df46d8555d";
const NOW: Timestamp = Timestamp(1_800_000_000_000);

/// Reads Galatea's own export. A record that is read can be written, and is the same when it is
/// read again.
pub fn import_galatea(bytes: &[u8]) {
    recognise(bytes);
    for (_, line) in lines_in(bytes) {
        let Ok(read) = line.and_then(|line| galatea::record(&line)) else { continue };
        let written = serde_json::to_string(&read).unwrap_or_default();
        assert_eq!(galatea::record(&written).ok().as_ref(), Some(&read), "{written}");
    }
    add(galatea::Export::of(lines_in(bytes), agent(), NOW), bytes);
}

/// Reads a chat log. Every line is counted once.
pub fn import_log(bytes: &[u8]) {
    recognise(bytes);
    let own = BTreeSet::from(["Eliza".to_owned()]);
    let mut log = Log::of(lines_in(bytes), "room".to_owned(), own, NOW);
    let messages = log.by_ref().count();
    assert!(messages <= log.count.read);
    assert_eq!(log.count.read + log.count.skipped.count(), lines_in(bytes).count());
}

/// Reads a dump of elizaOS's database, and converts its rows.
pub fn import_elizaos(bytes: &[u8]) {
    recognise(bytes);
    add(Rows::of(|| lines_in(bytes), agent(), NOW), bytes);
}

/// Adds the rows to a batch. Each stands on a line of the file.
fn add(rows: impl Iterator<Item = Read>, bytes: &[u8]) {
    let of = last(lines_in(bytes));
    let mut batch = Batch::default();
    for entry in rows.flatten() {
        assert!(entry.line <= of, "line {} of {of}", entry.line);
        batch.add(entry.line, entry.item);
    }
}

/// Recognises the format. A file that is not recognised has an error that says why.
fn recognise(bytes: &[u8]) {
    if let Err(error) = recognise_in(|| bytes, Path::new(FILE), &[]) {
        assert!(error.code().is_some(), "an error without a code");
    }
}

fn agent() -> AgentId {
    AgentIdentity::new(Some(AGENT), "").id()
}
