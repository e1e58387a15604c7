//! Entry points of the fuzzer (`fuzz/`) for the files that `galatea memory import` reads. Compiled
//! only with the feature `fuzz`.

use galatea_core::{AgentId, AgentIdentity, Timestamp};
use std::{collections::BTreeSet, io::Cursor, path::Path};

use super::{
    format::recognise_in,
    lines::{last, lines_in},
    past::{self, galatea::record, log::Log},
    record::Record,
};

/// The file that errors name.
const FILE: &str = "fuzz.jsonl";
/// The agent whose rows the fixed corpus has.
const AGENT: &str = "b850bc30-45f8-0041-a00a-83df46d8555d";

/// Reads Galatea's own export. A record that is read can be written, and is the same when it is
/// read again.
pub fn import_galatea(bytes: &[u8]) {
    recognise(bytes);
    let mut batch = past::batch::Batch::default();
    for (number, line) in lines_in(bytes) {
        let Ok(read) = line.and_then(|line| record(&line)) else { continue };
        let written = serde_json::to_string(&read).unwrap_or_default();
        assert_eq!(record(&written).ok().as_ref(), Some(&read), "{written}");
        match read {
            Record::Memory(memory) => batch.memory(*memory, number),
            other => batch.connection(agent(), other),
        }
    }
}

/// Reads a chat log. Every line is counted once.
pub fn import_log(bytes: &[u8]) {
    recognise(bytes);
    let own = BTreeSet::from(["Eliza".to_owned()]);
    let mut log = Log::of(lines_in(bytes), "room".to_owned(), own, Timestamp(1_800_000_000_000));
    let messages = log.by_ref().count();
    assert!(messages <= log.count.read);
    assert_eq!(log.count.read + log.count.skipped.count(), lines_in(bytes).count());
}

/// Reads a dump of elizaOS's database, and converts its rows.
pub fn import_elizaos(bytes: &[u8]) {
    recognise(bytes);
    let of = last(lines_in(bytes));
    let lines = lines_in(Cursor::new(bytes.to_vec()));
    past::elizaos::read_all(Box::new(lines), of, agent());
}

/// Recognises the format. A file that is not recognised has an error that says why.
fn recognise(bytes: &[u8]) {
    if let Err(failure) = recognise_in(&mut Cursor::new(bytes), Path::new(FILE)) {
        assert!(!failure.reports.is_empty(), "an error without a report");
    }
}

fn agent() -> AgentId {
    AgentIdentity::new(Some(AGENT), "").id()
}
