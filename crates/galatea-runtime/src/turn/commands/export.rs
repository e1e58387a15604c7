//! Export: a person gets what is stored about them, as a file where the platform takes files. In the
//! form of `galatea memory export`.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use galatea_core::{
    Content, Derived, Error, Media, MediaKind, Memory, MemoryId, MemoryKind, Result, Turn,
    export::{FORMAT, Record},
    store::{Day, MemoryQuery},
};
use serde_json::json;
use std::time::Duration;

use super::{Done, memory, say};
use crate::turn::engine::Engine;

/// One export of a person in this time: it may read thousands of rows.
const AGAIN: Duration = Duration::from_secs(3_600);
/// Memories read at most, the newest.
const MOST: u32 = 5_000;
/// Read at once.
const PAGE: usize = 500;
/// Bytes of a file: what every platform with files takes.
const FILE: usize = 1_000_000;
/// Bytes where no files are taken: some messages of a platform.
const TEXT: usize = 16_000;

/// `/privacy export`.
pub(super) async fn run(engine: &Engine, turn: &Turn<'_>) -> Result<Done> {
    if !turn.room.kind.is_direct() {
        return Ok(say("I send that in a direct chat only: write /privacy export to me there."));
    }
    let (agent, person, now) = (turn.agent.identity.id(), turn.message.entity_id, turn.now());
    let key = format!("export:{person}");
    let last = engine.store.cached(agent, &key, now).await?;
    // The same message again: its turn was cut off.
    if last.is_some_and(|message| message != json!(turn.message.id)) {
        return Ok(say("You had an export within the last hour. Please ask again later."));
    }
    engine.store.cache(agent, &key, &json!(turn.message.id), Some(now.plus(AGAIN))).await?;
    let export = collect(engine, turn, if turn.files { FILE } else { TEXT }).await?;
    let note = export.note();
    let reply = if turn.files {
        Content { attachments: vec![file(&export.text)], ..Content::text(note) }
    } else {
        Content::text(format!("{note}\n\n```json\n{}```", export.text))
    };
    Ok(Done { reply, ..Done::default() })
}

/// What was found, and how much of it there was.
struct Export {
    text: String,
    written: usize,
    left_out: bool,
    linked: bool,
}

impl Export {
    fn note(&self) -> String {
        let mut note = format!(
            "This is what I store about you here: your names, {} of your messages and what I noted from them, your relationships, linked accounts, and what answers to you used. One JSON object a line.",
            self.written
        );
        if self.left_out {
            note.push_str(" There is more than fits: the oldest messages are left out. The operator of this machine can give you all of it.");
        }
        if self.linked {
            note.push_str(" Ask for it on your linked accounts, too.");
        }
        note.push_str(" What other people said of you in places that you do not see is not in it.");
        note
    }
}

async fn collect(engine: &Engine, turn: &Turn<'_>, most: usize) -> Result<Export> {
    let (store, agent) = (engine.store.as_ref(), turn.agent.identity.id());
    let person = turn.message.entity_id;
    let at = turn.agent.zone.local(turn.now());
    let mut lines = Lines { text: String::new(), most };
    let head = Record::Export {
        format: FORMAT.to_owned(),
        agent: turn.agent.character.name.clone(),
        at: format!("{} {}", at.long_date(), at.clock()),
    };
    lines.add(&head)?;
    for entity in store.entities(&[person]).await? {
        lines.add(&Record::Entity(entity))?;
    }
    let linked = store.linked(agent, person).await?;
    for entity in store.entities(&linked).await? {
        lines.add(&Record::Linked(entity))?;
    }
    let mut fits = true;
    for tie in store.relationships(agent, person).await? {
        fits &= lines.add(&Record::Relationship(tie))?;
    }
    for row in store.usage_of(agent, person, Day(0)).await? {
        fits &= lines.add(&Record::Usage(row))?;
    }
    let query = MemoryQuery { entity: Some(person), ..MemoryQuery::new(agent, MOST) };
    let total = store.count_memories(&query).await?;
    let memories = store.memories(&query).await?;
    fits &= total <= memories.len() as u64;
    let (mut newest_first, mut bytes) = (Vec::new(), lines.text.len());
    'all: for page in memories.chunks(PAGE) {
        for record in seen(engine, turn, page).await? {
            let line = line(&Record::Memory(Box::new(record)))?;
            bytes += line.len();
            if bytes > most {
                fits = false;
                break 'all;
            }
            newest_first.push(line);
        }
    }
    let written = newest_first.len();
    newest_first.iter().rev().for_each(|line| lines.text.push_str(line));
    Ok(Export { text: lines.text, written, left_out: !fits, linked: !linked.is_empty() })
}

/// What the person may see of these, in their order. Their own messages are theirs wherever they
/// stand.
async fn seen(engine: &Engine, turn: &Turn<'_>, page: &[Memory]) -> Result<Vec<Derived>> {
    let ids: Vec<MemoryId> = page.iter().map(|memory| memory.id).collect();
    let found = engine.store.derived(turn.agent.identity.id(), &ids).await?;
    let (mut seen, mut others): (Vec<Derived>, Vec<Derived>) =
        found.into_iter().partition(|one| one.memory.kind == MemoryKind::Messages);
    memory::retain_seen(turn, &*engine.store, &[turn.message.entity_id], &mut others).await?;
    seen.append(&mut others);
    seen.sort_by_key(|one| ids.iter().position(|id| *id == one.memory.id));
    Ok(seen)
}

struct Lines {
    text: String,
    most: usize,
}

impl Lines {
    /// False if it does not fit any more.
    fn add(&mut self, record: &Record) -> Result<bool> {
        let line = line(record)?;
        let fits = self.text.len() + line.len() <= self.most;
        if fits {
            self.text.push_str(&line);
        }
        Ok(fits)
    }
}

fn line(record: &Record) -> Result<String> {
    let mut line = serde_json::to_string(record)
        .map_err(|e| Error::unexpected("a memory cannot be written as JSON").with_source(e))?;
    line.push('\n');
    Ok(line)
}

fn file(text: &str) -> Media {
    let mime = "application/json";
    Media {
        id: "export".to_owned(),
        url: format!("data:{mime};base64,{}", BASE64_STANDARD.encode(text)),
        title: "export.jsonl".to_owned(),
        content_type: MediaKind::Document,
        mime: Some(mime.to_owned()),
        size: u64::try_from(text.len()).ok(),
        ..Media::default()
    }
}
