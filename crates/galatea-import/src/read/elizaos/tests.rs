//! Tests with dumps as `pg_dump` writes them.

use galatea_core::store::MemoryStore as _;
use galatea_store::{Database, SqliteOptions};

use super::*;
use crate::{Format, Import, Input, lines::lines_in, tests::plain, write::batch::Batch};

const AGENT: &str = "b850bc30-45f8-0041-a00a-83df46d8555d";
const NOW: Timestamp = Timestamp(1_800_000_000_000);
const COPY: &str = "--\n-- PostgreSQL database dump\n--\n\
COPY public.entities (id, agent_id, created_at, names, metadata) FROM stdin;\n\
11111111-1111-4111-8111-111111111111\tb850bc30-45f8-0041-a00a-83df46d8555d\t2025-11-02 10:00:00\t{Ann,\"ann b\"}\t{\"telegram\": {\"id\": \"7\"}}\n\
\\.\n\n\
COPY public.memories (id, type, created_at, content, entity_id, agent_id, room_id, world_id, \"unique\", metadata) FROM stdin;\n\
22222222-2222-4222-8222-222222222222\tmessages\t2025-11-02 10:00:00.123\t{\"text\": \"tabs\\\\tand \\\\\"quotes\\\\\"\", \"source\": \"telegram\"}\t11111111-1111-4111-8111-111111111111\tb850bc30-45f8-0041-a00a-83df46d8555d\t33333333-3333-4333-8333-333333333333\t\\N\tt\t{}\n\
44444444-4444-4444-8444-444444444444\tfacts\t2025-11-02 10:00:01\t{\"text\": \"Ann keeps bees\"}\t11111111-1111-4111-8111-111111111111\tb850bc30-45f8-0041-a00a-83df46d8555d\t33333333-3333-4333-8333-333333333333\t\\N\tt\t{\"type\": \"fact\"}\n\
\\.\n";
const INSERTS: &str = "-- PostgreSQL database dump\n\
CREATE TABLE public.rooms (\n    id uuid NOT NULL,\n    agent_id uuid,\n    source text,\n    type text,\n    world_id uuid,\n    name text,\n    metadata jsonb,\n    channel_id text,\n    CONSTRAINT x CHECK (true)\n);\n\
INSERT INTO public.rooms VALUES ('33333333-3333-4333-8333-333333333333', 'b850bc30-45f8-0041-a00a-83df46d8555d', 'telegram', 'GROUP', NULL, 'it''s\n(open); here', '{}', '-1001');\n";

/// What is read of a dump.
fn read(text: &str) -> Vec<Read> {
    Rows::of(|| lines_in(text.as_bytes()), AGENT.parse().unwrap(), NOW).collect()
}

/// The rows of a dump together.
fn batch(text: &str) -> Batch {
    let mut batch = Batch::default();
    for entry in read(text).into_iter().flatten() {
        batch.add(entry.line, entry.item);
    }
    batch
}

#[test]
fn copied_rows_become_people_messages_and_facts() {
    assert!(is_dump(COPY));
    let batch = batch(COPY);
    let person = &batch.ingest.connections.entities[0];
    assert_eq!(person.names, ["Ann", "ann b"]);
    let message = &batch.ingest.memories[0];
    assert_eq!(message.content.text, "tabs\tand \"quotes\"");
    assert_eq!(
        (message.kind, message.created_at),
        (MemoryKind::Messages, Timestamp(1_762_077_600_123))
    );
    assert_eq!(message.entity_id, person.id);
    assert_eq!(batch.derived.new[0].memory.content.text, "Ann keeps bees");
}

#[test]
fn a_person_without_a_name_is_not_taken_for_a_forgotten_one() {
    let row = COPY.replace("{Ann,\"ann b\"}\t{\"telegram\": {\"id\": \"7\"}}", "{}\t{}");
    let batch = batch(&row);
    let person = &batch.ingest.connections.entities[0];
    assert_eq!((person.names.len(), &person.metadata["elizaos"]["id"]), (0, &json!(person.id)));
}

#[test]
fn inserted_rows_take_their_columns_from_the_table() {
    let batch = batch(INSERTS);
    let room = &batch.ingest.connections.rooms[0];
    assert_eq!(room.name.as_deref(), Some("it's\n(open); here"));
    assert_eq!((room.remote.as_str(), room.kind), ("-1001", ChannelType::Group));
}

#[test]
fn tasks_keep_their_period_and_wait_for_a_person_to_start_them() {
    use galatea_core::{Schedule, Task, store::TaskState};
    let row = |id: u8, tags: &str, metadata: &str| {
        format!(
            "{id}{id}{id}{id}{id}{id}{id}{id}-1111-4111-8111-111111111111\tDIGEST\tsums up\t33333333-3333-4333-8333-333333333333\t\\N\t\\N\t{AGENT}\t{tags}\t{metadata}\t2025-11-02 10:00:00\n"
        )
    };
    let rows = [
        row(1, "{queue,repeat}", "{\"updateInterval\": 3600000, \"updatedAt\": 1799999000000}"),
        row(2, "{queue,repeat,immediate}", "{\"updateInterval\": 1000}"),
        row(3, "{queue}", "{}"),
        row(4, "{AWAITING_CHOICE}", "{\"options\": [\"a\", \"b\"]}"),
    ];
    let text = format!(
        "-- PostgreSQL database dump\nCOPY public.tasks (id, name, description, room_id, world_id, entity_id, agent_id, tags, metadata, created_at) FROM stdin;\n{}\\.\n",
        rows.concat()
    );
    let tasks: Vec<Task> = read(&text)
        .into_iter()
        .flatten()
        .filter_map(|entry| match entry.item {
            Item::Task(task) => Some(*task),
            _ => None,
        })
        .collect();
    assert_eq!(tasks.len(), 4);
    let rule = |at: usize| tasks[at].run.as_deref().unwrap();
    let anchor = Timestamp(1_799_999_000_000);
    assert_eq!(rule(0).schedule, Schedule::Every { millis: 3_600_000, anchor });
    assert_eq!(tasks[0].due, Timestamp(1_800_002_600_000), "an hour after its last run");
    assert_eq!(tasks[1].due, NOW, "at once");
    assert!(
        matches!(rule(1).schedule, Schedule::Every { millis: 60_000, .. }),
        "a minute at least"
    );
    assert_eq!(rule(2).schedule, Schedule::Once);
    assert!((0..3).all(|at| rule(at).state == TaskState::Paused));
    assert_eq!((tasks[3].run.clone(), tasks[3].tags[0].as_str()), (None, "AWAITING_CHOICE"));
}

/// The lines of a dump that are not read, and why.
fn faults(text: &str) -> Vec<(usize, String)> {
    let faults = read(text).into_iter().filter_map(Result::err);
    faults
        .map(|fault| match fault {
            Fault::Line(line, cause) => (line, cause),
            Fault::File(cause) => panic!("{cause}"),
        })
        .collect()
}

#[test]
fn rows_that_cannot_be_read_are_named() {
    let whole = format!("{COPY}--\n-- PostgreSQL database dump complete\n--\n");
    assert_eq!(faults(&whole), []);
    for (from, to, line, cause) in [
        ("\tt\t{}\n", "\n", 9, "has 8 values in place of 10"),
        ("{\"text\": \"Ann keeps", "{\"text: \"Ann keeps", 10, "not valid JSON"),
        ("44444444-4444-4444-8444-444444444444", "nonsense", 10, "is not an id: nonsense"),
        ("2025-11-02 10:00:01", "garbage", 10, "`created_at` of a memory is not a time: garbage"),
        ("2025-11-02 10:00:01", "\\N", 10, "is not a time: NULL"),
        ("2025-11-02 10:00:01", "2925-11-02 10:00:01", 10, "in the future"),
        (
            "44444444-4444-4444-8444-444444444444",
            "22222222-2222-4222-8222-222222222222",
            10,
            "line 9 has another",
        ),
    ] {
        let found = faults(&whole.replace(from, to));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].0 == line && found[0].1.contains(cause), "{found:?}");
    }
}

#[test]
fn a_dump_that_was_cut_off_says_so() {
    let rows = COPY.trim_end_matches("\\.\n");
    for (text, place) in [
        (rows.to_owned(), "in the rows of the table memories"),
        (COPY.to_owned(), "before its last line"),
    ] {
        let found = faults(&text);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].1.contains(place) && found[0].1.contains("cut off"), "{found:?}");
    }
    let found = faults(INSERTS.trim_end_matches(");\n"));
    assert!(found[0].1.contains("no end") && found[1].1.contains("cut off"), "{found:?}");
}

#[test]
fn a_content_keeps_what_can_be_read() {
    let question: MemoryId = "22222222-2222-4222-8222-222222222222".parse().unwrap();
    let usual = json!({ "text": "In May.", "inReplyTo": question, "source": "telegram", "thought": "t", "plan": 3 });
    for (field, value) in [
        ("attachments", json!(null)),
        ("actions", json!(null)),
        ("buttons", json!({})),
        ("attachments", json!([{ "id": "1", "url": "u", "contentType": "hologram" }])),
        ("quotes", json!("x")),
    ] {
        let mut content = usual.clone();
        content[field] = value;
        let read = readable(content);
        assert_eq!((read.text.as_str(), read.in_reply_to), ("In May.", Some(question)), "{field}");
        assert_eq!(
            (read.source.as_deref(), read.thought.as_deref()),
            (Some("telegram"), Some("t"))
        );
        assert_eq!(read.extra.get("plan"), Some(&json!(3)));
    }
    assert_eq!(readable(json!("text")), Content::default());
}

/// Entities stand before the memories and participants behind them, as `pg_dump` writes them.
#[test]
fn people_have_their_names_and_the_facts_that_name_them() {
    let fact = |n: u32, text: &str| {
        format!(
            "5555555{n}-1111-4111-8111-111111111111\tfacts\t2025-11-02 10:00:01\t{{\"text\": \"{text}\"}}\t{AGENT}\t{AGENT}\t33333333-3333-4333-8333-333333333333\t\\N\tt\t{{\"type\": \"fact\"}}\n"
        )
    };
    let document = format!(
        "66666666-1111-4111-8111-111111111111\tdocuments\t2025-11-02 10:00:01\t{{\"text\": \"statute\"}}\t{AGENT}\t{AGENT}\t{AGENT}\t\\N\tt\t{{}}\n"
    );
    let dump = COPY.replace("\\.\n", "");
    let dump = dump.replace("\nCOPY public.memories", "\\.\n\nCOPY public.memories");
    let facts = [fact(1, "Ann is allergic to walnuts"), fact(2, "The club meets on Tuesdays")];
    let dump = format!(
        "{dump}{}{document}\\.\n\n\
        COPY public.participants (id, entity_id, room_id, agent_id) FROM stdin;\n\
        77777777-1111-4111-8111-111111111111\t11111111-1111-4111-8111-111111111111\t33333333-3333-4333-8333-333333333333\t{AGENT}\n\\.\n",
        facts.concat()
    );
    let remarks: Vec<Remark> = read(&dump)
        .into_iter()
        .filter_map(|entry| match entry.ok()?.item {
            Item::Memory { remark, .. } => Some(remark),
            _ => None,
        })
        .collect();
    let batch = batch(&dump);
    let person = batch.ingest.connections.entities[0].id;
    assert_eq!(batch.ingest.memories[0].metadata["entityName"], "Ann");
    let facts: Vec<_> = batch.derived.new.iter().map(|row| &row.memory).collect();
    let about: Vec<_> = facts.iter().map(|fact| fact.entity_id == person).collect();
    assert_eq!(about, [true, true, false, false], "{facts:?}");
    assert_eq!(facts[1].metadata["subjectName"], "Ann");
    assert!(is_of_agent(facts[2]) && !facts[2].metadata.contains_key("subjectName"));
    let count = |wanted: fn(&Remark) -> bool| remarks.iter().filter(|one| wanted(one)).count();
    assert_eq!(count(|one| *one == Remark::Unattributed), 1);
    assert_eq!(count(|one| matches!(one, Remark::Document { .. })), 1);
}

#[tokio::test]
async fn the_notes_count_what_is_stored() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dump.sql");
    let own = |n: usize| {
        format!(
            "44444444-4444-4444-8444-{n:012}\tfacts\t2025-11-02 10:00:01\t{{\"text\": \"it rains\"}}\t{AGENT}\t{AGENT}\t33333333-3333-4333-8333-333333333333\t\\N\tt\t{{}}\n"
        )
    };
    let document = own(3).replace("facts", "documents");
    let rows = format!("{}{}{document}\\.\n", own(1), own(2));
    let at = COPY.rfind("\\.\n").unwrap();
    std::fs::write(&path, format!("{}{rows}", &COPY[..at])).unwrap();
    let store =
        Database::sqlite(&folder.path().join("a.db"), SqliteOptions::default()).await.unwrap();
    let agent: AgentId = AGENT.parse().unwrap();
    let again = async |arguments: &[&str]| {
        let import = Import {
            deleted: arguments.contains(&"--deleted"),
            dry_run: arguments.contains(&"--dry-run"),
            ..plain(&store, agent)
        };
        let file = Input::open(&path).unwrap();
        let count = import.run(&file, Format::ElizaOs).await.unwrap();
        (count.unattributed, count.documents, count.deleted)
    };
    assert_eq!(again(&["--dry-run"]).await, (2, 1, 0), "what it would store");
    assert_eq!(again(&[]).await, (2, 1, 0));
    let gone = "44444444-4444-4444-8444-000000000001".parse().unwrap();
    store.delete_memories(agent, &[gone]).await.unwrap();
    assert_eq!(again(&[]).await, (1, 1, 1));
    assert_eq!(again(&["--deleted"]).await, (2, 1, 0));
}
