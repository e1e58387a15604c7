//! Gives a person what is stored about them, as a file where the platform takes files. In the form
//! of `galatea memory export`.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use galatea_core::{
    Content, Derived, EntityId, Error, Media, MediaKind, Memory, MemoryId, MemoryKind,
    Relationship, Result, RoomId, Store, Timestamp, Turn,
    export::{FORMAT, Record},
    store::{Day, MemoryQuery, Trace},
    zone::Zone,
};
use serde_json::{Map, Value, json};
use std::{collections::HashMap, time::Duration};

use super::{
    done::{Done, say},
    memory,
};

/// Time for one export of a person: it may read thousands of rows.
const AGAIN: Duration = Duration::from_secs(3_600);
/// Traces read at most, the newest.
const TRACES: u32 = 500;
/// Memories read at most, the newest.
const MOST: u32 = 5_000;
/// Memories whose visibility is read at once.
const PAGE: usize = 500;
/// Bytes of a file: what every platform with files takes.
const FILE: usize = 1_000_000;
/// Bytes where no files are taken: some messages of a platform.
const TEXT: usize = 16_000;

/// Key of a relationship's metadata: the tags learnt in each Room.
const ROOMS: &str = "rooms";

/// Answers `/privacy export`, once an hour per person.
pub(super) async fn run(store: &dyn Store, turn: &Turn<'_>) -> Result<Done> {
    if !turn.room.kind.is_direct() {
        return Ok(say("I send that in a direct chat only: write /privacy export to me there."));
    }
    let (agent, person, now) = (turn.agent.identity.id(), turn.message.entity_id, turn.now());
    let key = format!("export:{person}");
    let last = store.cached(agent, &key, now).await?;
    // This message again: its turn was cut off.
    if last.is_some_and(|message| message != json!(turn.message.id)) {
        return Ok(say("You had an export within the last hour. Please ask again later."));
    }
    let export = collect(store, turn, if turn.files { FILE } else { TEXT }).await?;
    // Not before it is there: one that failed may be asked for again.
    store.cache(agent, &key, &json!(turn.message.id), Some(now.plus(AGAIN))).await?;
    let note = export.note();
    let reply = if turn.files {
        Content { attachments: vec![file(&export.text)], ..Content::text(note) }
    } else {
        Content::text(format!("{note}\n\n```json\n{}```", export.text))
    };
    Ok(Done { reply, ..Done::default() })
}

/// Findings, and their number.
struct Export {
    text: String,
    written: usize,
    left_out: bool,
    linked: bool,
}

impl Export {
    fn note(&self) -> String {
        let mut note = format!(
            "This is what I store about you here: your names, {} of your messages and what I noted from them, your relationships, linked accounts, reminders and consents, what answers to you used, and the recorded steps of their turns. One JSON object a line.",
            self.written
        );
        if self.left_out {
            note.push_str(" There is more than fits: older records are left out. The operator of this machine can give you all of it.");
        }
        if self.linked {
            note.push_str(" Ask for it on your linked accounts, too.");
        }
        note.push_str(" What other people said of you in places that you do not see is not in it.");
        note
    }
}

async fn collect(store: &dyn Store, turn: &Turn<'_>, most: usize) -> Result<Export> {
    let agent = turn.agent.identity.id();
    let person = turn.message.entity_id;
    let mut head = ExportLines::of(most);
    head.add(&Record::Export {
        format: FORMAT.to_owned(),
        agent: turn.agent.character.name.clone(),
        at: utc(turn.now()),
        has_end: false,
    })?;
    for entity in store.entities(&[person]).await? {
        head.add(&Record::Entity(entity))?;
    }
    let linked = store.linked(agent, person).await?;
    for entity in store.entities(&linked).await? {
        head.add(&Record::Linked(entity))?;
    }
    for link in store.links_of(agent, person).await? {
        head.add(&Record::Link(link))?;
    }

    // Words of the person and notes of them come before anything else.
    let query = MemoryQuery { entity: Some(person), ..MemoryQuery::new(agent, MOST) };
    let total = store.count_memories(&query).await?;
    let mut newest = store.memories(&query).await?;
    let mut memories = ExportLines::of(head.left());
    memories.complete = total <= newest.len() as u64;
    let of_others = memory::said_by_others(turn, store, &[person]).await?;
    newest.extend(of_others.into_iter().map(|fact| fact.memory));
    newest.sort_by_key(|memory| std::cmp::Reverse(memory.created_at));
    'all: for page in newest.chunks(PAGE) {
        for record in seen(store, turn, page).await? {
            if !memories.add(&Record::Memory(Box::new(record)))? {
                break 'all;
            }
        }
    }
    let mut ties = ExportLines::of(memories.left());
    let mut joined = HashMap::new();
    for tie in store.relationships(agent, person).await? {
        if let Some(tie) = tie_of(store, &mut joined, person, tie).await? {
            ties.add(&Record::Relationship(tie))?;
        }
    }
    let mut usage = ExportLines::of(ties.left().min(most / 4));
    for row in store.usage_of(agent, person, Day(0)).await?.into_iter().rev() {
        if !usage.add(&Record::Usage(row))? {
            break;
        }
    }
    let mut tasks = ExportLines::of(usage.left().min(most / 8));
    for task in store.tasks(agent, &[]).await? {
        if task.entity_id == Some(person) {
            tasks.add(&Record::Task(Box::new(task)))?;
        }
    }
    for grant in store.grants(agent).await? {
        if grant.person == Some(person) {
            tasks.add(&Record::Consent { grant: grant.to_string() })?;
        }
    }
    let mut traces = ExportLines::of(tasks.left().min(most / 8));
    for Trace { turn, room, at, steps, .. } in store.traces_of_person(agent, person, TRACES).await?
    {
        if !traces.add(&Record::Trace { turn, room, at, steps })? {
            break;
        }
    }
    let written = memories.lines.len();
    memories.lines.reverse();
    usage.lines.reverse();
    traces.lines.reverse();
    let parts = [head, ties, tasks, usage, traces, memories];
    Ok(Export {
        left_out: parts.iter().any(|part| !part.complete),
        text: parts.iter().flat_map(|part| &part.lines).map(String::as_str).collect(),
        written,
        linked: !linked.is_empty(),
    })
}

/// RFC 3339 in seconds and UTC.
fn utc(at: Timestamp) -> String {
    format!("{}Z", Zone::default().local(at).iso())
}

/// A relationship as the person may see it: the tags of Rooms that they take part in. None if it
/// was learnt elsewhere only.
async fn tie_of(
    store: &dyn Store,
    joined: &mut HashMap<RoomId, bool>,
    person: EntityId,
    mut tie: Relationship,
) -> Result<Option<Relationship>> {
    let rooms = tie.metadata.remove(ROOMS);
    let mut kept = Map::new();
    tie.tags.clear();
    for (key, tags) in rooms.as_ref().and_then(Value::as_object).into_iter().flatten() {
        let Ok(room) = serde_json::from_value::<RoomId>(json!(key)) else { continue };
        if !memory::is_member(store, joined, room, &[person]).await? {
            continue;
        }
        for tag in tags.as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !tie.tags.iter().any(|known| known == tag) {
                tie.tags.push(tag.to_owned());
            }
        }
        kept.insert(key.clone(), tags.clone());
    }
    let known = !kept.is_empty();
    tie.metadata = Map::from_iter([(ROOMS.to_owned(), Value::Object(kept))]);
    Ok(known.then_some(tie))
}

/// Memories of these that the person may see, in their order. Their own messages are theirs
/// wherever they stand.
async fn seen(store: &dyn Store, turn: &Turn<'_>, page: &[Memory]) -> Result<Vec<Derived>> {
    let ids: Vec<MemoryId> = page.iter().map(|memory| memory.id).collect();
    let found = store.derived(turn.agent.identity.id(), &ids).await?;
    let (mut seen, mut others): (Vec<Derived>, Vec<Derived>) =
        found.into_iter().partition(|one| one.memory.kind == MemoryKind::Messages);
    memory::retain_seen(turn, store, &[turn.message.entity_id], &mut others).await?;
    seen.append(&mut others);
    seen.sort_by_key(|one| ids.iter().position(|id| *id == one.memory.id));
    Ok(seen)
}

/// Lines of one part, of a bounded length together.
struct ExportLines {
    lines: Vec<String>,
    left: usize,
    /// False if some did not fit.
    complete: bool,
}

impl ExportLines {
    fn of(most: usize) -> Self {
        Self { lines: Vec::new(), left: most, complete: true }
    }

    /// Bytes for the parts after it. What did not fit here leaves room for smaller records.
    fn left(&self) -> usize {
        self.left
    }

    /// False if it does not fit any more.
    fn add(&mut self, record: &Record) -> Result<bool> {
        let line = line(record)?;
        match self.left.checked_sub(line.len()) {
            Some(left) => {
                self.left = left;
                self.lines.push(line);
                Ok(true)
            }
            None => {
                self.complete = false;
                Ok(false)
            }
        }
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
