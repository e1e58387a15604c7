//! Exports with rows that the store refuses at first, or for good.

use galatea_core::{
    AgentIdentity,
    export::FORMAT,
    store::{
        DerivedStore as _, EntityStore as _, MemoryStore as _, RelationshipStore as _,
        RoomStore as _,
    },
};
use galatea_store::{Database, SqliteOptions};
use serde_json::{Value, json};

use super::{
    read::galatea::{connection, record},
    write::batch::Batch,
    *,
};

/// An import for this agent that stores what was not deleted.
pub(crate) fn plain(store: &dyn Store, agent: AgentId) -> Import<'_> {
    Import {
        store,
        agent,
        name: "Eliza",
        own: &[],
        accounts: &|_| Vec::new(),
        place: None,
        links: false,
        deleted: false,
        dry_run: false,
        progress: &|_, _| {},
    }
}

fn agent() -> AgentId {
    AgentIdentity::new(None, "Eliza").id()
}

fn id(n: usize) -> String {
    format!("00000000-0000-4000-8000-{n:012}")
}

fn memory(n: usize, kind: &str, more: Value) -> String {
    let mut record = json!({
        "record": "memory", "id": id(n), "type": kind, "agentId": agent(), "entityId": id(1), "roomId": id(2),
        "content": { "text": format!("row {n}") }, "metadata": {}, "createdAt": 1_767_607_200_000_u64 + n as u64,
    });
    for (key, value) in more.as_object().unwrap() {
        record[key] = value.clone();
    }
    record.to_string()
}

fn fact(n: usize, sources: &[usize]) -> String {
    let sources: Vec<String> = sources.iter().map(|n| id(*n)).collect();
    memory(n, "facts", json!({ "sources": sources }))
}

/// Imports these lines; the agent's memories and what was counted.
async fn imported(lines: &[String], arguments: &[&str]) -> Result<(usize, Count)> {
    let folder = tempfile::tempdir().unwrap();
    let store =
        Database::sqlite(&folder.path().join("a.db"), SqliteOptions::default()).await.unwrap();
    let count = imported_into(&store, lines, arguments).await?;
    let all: Vec<_> = (0..3_000).map(|n| id(n).parse().unwrap()).collect();
    let stored = store.derived(agent(), &all).await.unwrap().len();
    Ok((stored, count))
}

/// Imports these lines into a store.
async fn imported_into(store: &Database, lines: &[String], arguments: &[&str]) -> Result<Count> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("export.jsonl");
    let head = json!({ "record": "export", "format": FORMAT, "agent": "Eliza", "at": "" });
    std::fs::write(&file, format!("{head}\n{}\n", lines.join("\n"))).unwrap();
    let import = Import {
        deleted: arguments.contains(&"--deleted"),
        dry_run: arguments.contains(&"--dry-run"),
        ..plain(store, agent())
    };
    let file = Input::open(&file).unwrap();
    import.run(&file, Format::Galatea).await
}

#[tokio::test]
async fn what_was_made_from_a_later_row_is_stored_at_the_end() {
    // A fact of the first message that the last one confirmed, and what was merged from it.
    let mut lines =
        vec![memory(10, "messages", json!({})), fact(11, &[12]), fact(12, &[10, 1_900])];
    lines.extend((1_000..=1_900).map(|n| memory(n, "messages", json!({}))));
    lines.push(fact(13, &[1_000, 2_500]));
    let all = lines.len();
    let (stored, count) = imported(&lines, &[]).await.unwrap();
    assert_eq!(
        (stored, count.new, count.read, count.skipped.count()),
        (all - 1, all - 1, all - 1, 1)
    );
    let named = count.skipped.first()[0].clone();
    assert!(named.contains(&format!("line {}: {}", all + 1, id(2_500))), "{named}");
    let (stored, count) = imported(&lines, &["--dry-run"]).await.unwrap();
    assert_eq!((stored, count.new, count.read), (0, 0, all));
}

#[tokio::test]
async fn a_room_that_is_here_keeps_its_address() {
    let folder = tempfile::tempdir().unwrap();
    let store =
        Database::sqlite(&folder.path().join("a.db"), SqliteOptions::default()).await.unwrap();
    let room = |account: &str, name: &str| {
        let room = json!({
            "record": "room", "id": id(2), "agentId": agent(), "worldId": id(3), "source": "telegram",
            "account": account, "remote": "-100", "type": "GROUP", "name": name, "metadata": {},
        });
        record(&room.to_string()).unwrap()
    };
    for (account, name) in [("777", "Club"), ("888", "Old club")] {
        let mut batch = Batch::default();
        batch.add(1, connection(agent(), room(account, name)));
        batch.store(&store, agent(), &mut Count::default()).await.unwrap();
    }
    let stored = store.room(id(2).parse().unwrap()).await.unwrap().unwrap();
    assert_eq!((stored.account.0.as_str(), stored.name.as_str()), ("777", "Club"));
}

#[tokio::test]
async fn what_was_deleted_here_does_not_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let lines = [
        memory(10, "messages", json!({})),
        memory(11, "messages", json!({})),
        fact(12, &[10]),
        fact(13, &[11]),
    ];
    let store =
        Database::sqlite(&folder.path().join("a.db"), SqliteOptions::default()).await.unwrap();
    let again = async |arguments: &[&str]| {
        let count = imported_into(&store, &lines, arguments).await.unwrap();
        (count.new, count.deleted, count.skipped.count())
    };
    assert_eq!(again(&[]).await, (4, 0, 0));
    let gone = [id(10).parse().unwrap(), id(13).parse().unwrap()];
    store.delete_memories(agent(), &gone).await.unwrap();
    assert_eq!(again(&[]).await, (0, 3, 0), "the fact of the first message went with it");
    assert_eq!(again(&["--deleted"]).await, (3, 0, 0));
    assert_eq!(again(&[]).await, (0, 0, 0));
}

#[tokio::test]
async fn a_person_who_was_forgotten_here_does_not_come_back() {
    let person = |names: &[&str]| {
        let metadata = if names.is_empty() { json!({}) } else { json!({ "telegram": {} }) };
        json!({ "record": "entity", "id": id(1), "agentId": agent(), "names": names, "metadata": metadata }).to_string()
    };
    let own = |n, more: Value| {
        let mut row = json!({ "entityId": agent() });
        row["content"] = more;
        memory(n, "messages", row)
    };
    let lines = |names| {
        vec![
            person(names),
            json!({ "record": "relationship", "id": id(5), "sourceEntityId": id(1), "targetEntityId": id(4),
                "agentId": agent(), "tags": ["friend"], "metadata": {} })
            .to_string(),
            memory(10, "messages", json!({})),
            own(11, json!({ "text": "as you said", "inReplyTo": id(10) })),
            own(12, json!({ "text": "Good night" })),
            memory(13, "messages", json!({ "entityId": id(4) })),
            fact(14, &[]),
            memory(15, "facts", json!({ "entityId": id(4), "sources": [id(10)] })),
        ]
    };
    let ann = lines(&["Ann"]);
    let unnamed = lines(&[]);
    for (lines, arguments, expected) in [
        (&ann, &[][..], (2, 4)),
        (&ann, &["--deleted"], (6, 0)),
        // The file is from after the person was forgotten.
        (&unnamed, &[], (6, 0)),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let store =
            Database::sqlite(&folder.path().join("a.db"), SqliteOptions::default()).await.unwrap();
        let forgotten = record(&person(&[])).unwrap();
        let mut batch = Batch::default();
        batch.add(1, connection(agent(), forgotten));
        batch.store(&store, agent(), &mut Count::default()).await.unwrap();
        let count = imported_into(&store, lines, arguments).await.unwrap();
        assert_eq!((count.new, count.deleted, count.skipped.count()), (expected.0, expected.1, 0));
        let again = imported_into(&store, lines, &[]).await.unwrap();
        assert_eq!((again.new, again.deleted), (0, expected.1), "what is stored stays");
        let person = store.entities(&[id(1).parse().unwrap()]).await.unwrap().remove(0);
        assert_eq!(person.names, [""; 0]);
        let ties = store.relationships(agent(), person.id).await.unwrap().len();
        assert_eq!(ties, usize::from(arguments == ["--deleted"]), "of a person without a name");
    }
}

#[tokio::test]
async fn what_was_made_from_rows_that_are_left_out_is_left_out_too() {
    let folder = tempfile::tempdir().unwrap();
    let store =
        Database::sqlite(&folder.path().join("a.db"), SqliteOptions::default()).await.unwrap();
    let said = [memory(10, "messages", json!({})), memory(11, "messages", json!({}))];
    imported_into(&store, &said, &[]).await.unwrap();
    store.delete_memories(agent(), &[id(10).parse().unwrap()]).await.unwrap();
    // Each made from the one before, in any order.
    let [first, second, third] = [fact(20, &[10]), fact(21, &[20]), fact(22, &[21])];
    let others: Vec<String> =
        (1_000..1_600).map(|n| memory(n, "messages", json!({}))).chain([fact(23, &[11])]).collect();
    let mut lines = said.to_vec();
    lines.extend([second.clone(), first.clone(), third.clone()]);
    let together = imported_into(&store, &lines, &[]).await.unwrap();
    assert_eq!((together.new, together.deleted, together.skipped.count()), (0, 4, 0));
    let apart = [&said[..], &[third, second], &others, &[first]].concat();
    let apart = imported_into(&store, &apart, &[]).await.unwrap();
    assert_eq!((apart.new, apart.deleted, apart.skipped.count()), (others.len(), 4, 0));
}

#[tokio::test]
async fn a_row_that_cannot_be_stored_is_named_and_the_others_are_stored() {
    let lines = [
        memory(10, "messages", json!({})),
        memory(11, "facts", json!({ "scope": "world", "worldId": null })),
        memory(12, "messages", json!({ "createdAt": i64::MAX })),
        memory(13, "messages", json!({})),
    ];
    let (stored, count) = imported(&lines, &[]).await.unwrap();
    assert_eq!((stored, count.read, count.skipped.count()), (2, 2, 2));
    let named = count.skipped.first().join("\n");
    for cause in ["line 3: a memory for a whole World names no World", "line 4: its time"] {
        assert!(named.contains(cause), "{cause}: {named}");
    }
}

#[tokio::test]
async fn the_export_of_another_agent_is_refused() {
    let other = AgentIdentity::new(None, "Ada").id();
    let lines = [memory(10, "messages", json!({ "agentId": other }))];
    let error = imported(&lines, &[]).await.unwrap_err();
    assert!(error.report().contains(&other.to_string()), "{}", error.report());
    assert!(error.fix().unwrap().contains("character file"), "{:?}", error.fix());
    let lines = [lines[0].clone(), memory(11, "messages", json!({}))];
    let (stored, count) = imported(&lines, &[]).await.unwrap();
    assert_eq!((stored, count.read, count.skipped.count()), (1, 1, 1));
}

#[tokio::test]
async fn a_long_name_of_a_format_is_shown_in_part() {
    let head = json!({ "record": "export", "format": "x".repeat(1 << 20), "agent": "", "at": "" });
    let text = imported(&[head.to_string()], &[]).await.unwrap_err().report().to_string();
    assert!(text.contains("xxx…") && text.len() < 10_000, "{}", text.len());
}

/// What an import of these lines names as left out.
async fn named(lines: &[Value]) -> (usize, String) {
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    let (stored, count) = imported(&lines, &[]).await.unwrap();
    (stored, format!("{:?}", count.skipped.first()))
}

#[tokio::test]
async fn an_export_without_its_end_was_cut_off() {
    let head = || json!({ "record": "export", "format": FORMAT, "agent": "Eliza", "at": "", "has_end": true });
    let row = |n: usize| serde_json::from_str::<Value>(&memory(n, "messages", json!({}))).unwrap();
    let end = |records: usize| json!({ "record": "end", "records": records });
    let older = json!({ "record": "export", "format": FORMAT, "agent": "Eliza", "at": "" });
    for (lines, stored, expected) in [
        (vec![head(), row(10), row(11), end(3)], 2, "[]"),
        (vec![head(), row(10), row(11)], 2, "line 4: the export ends here"),
        (
            vec![head(), row(10), end(3)],
            1,
            "line 4: the export had 3 lines before this one, of which 1",
        ),
        (vec![older, row(10)], 1, "[]"),
        (vec![head(), row(10), end(2), head(), row(11), end(2)], 2, "[]"),
        // Of two files in one, the first was cut off at the end of a line.
        (vec![head(), row(10), head(), row(11), end(2)], 2, "line 4: the export ends here"),
    ] {
        let (found, names) = named(&lines).await;
        assert_eq!(found, stored, "what is whole is stored");
        assert!(names.contains(expected), "{names}");
    }
}
