//! An agent moves from SQLite to PostgreSQL and back: audit, search and queues are the same.

use galatea_core::{
    MemoryId, Timestamp, Visibility,
    store::{
        AgentStore as _, AuditStore as _, ConsoleStore as _, DerivedStore as _, InboxStore as _,
        MemoryStore as _, OutboxState, OutboxStore as _, Place, RecallQuery, RecallStore as _,
        TaskStore as _, TurnsQuery,
    },
    task::Task,
};
use galatea_testkit::{
    postgres::Database as Server,
    store_suite::fixtures::{Scene, settlement},
};

use super::{Store, open};

async fn move_to(from: &Store, to: &Store, scene: Scene) -> u64 {
    let mut added = 0;
    for table in Store::agent_tables() {
        let mut before = 0;
        loop {
            let rows = from.agent_rows(scene.agent, table, before, 3).await.unwrap();
            let count = u32::try_from(rows.len()).unwrap();
            added += to.add_agent_rows(table, rows.clone()).await.unwrap();
            // Once more: what is there stays as it is.
            assert_eq!(to.add_agent_rows(table, rows).await.unwrap(), 0, "{table}");
            before += count;
            if count < 3 {
                break;
            }
        }
    }
    added
}

async fn found(store: &Store, scene: Scene, words: &str) -> Vec<MemoryId> {
    while !store.index_words().await.unwrap() {}
    let query = RecallQuery::new(Visibility::operator(scene.agent), words, 10, Timestamp(999));
    store.recall(&query).await.unwrap().into_iter().map(|hit| hit.memory.id).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_moves_to_a_server_and_back() {
    let server = Server::fresh().await;
    let (file, there, back) =
        (Store::in_memory().await.unwrap(), open(&server).await, Store::in_memory().await.unwrap());
    let scene = Scene::new();
    let character = galatea_core::Character { name: "Ada".into(), ..Default::default() };
    file.save_agent(scene.agent, &character).await.unwrap();
    let said: Vec<_> = ["red \u{0} boats", "green 猫 boats", "blue trains", "waits"]
        .iter()
        .zip(1_i64..)
        .map(|(text, n)| scene.message(text, n))
        .collect();
    let mut ingest = Scene::batch(&said);
    ingest.connections = scene.connections();
    file.ingest(ingest).await.unwrap();
    let record = scene.turn(&said[..3].iter().collect::<Vec<_>>());
    let part = record.deliveries[0].delivery.id;
    file.finish_turn(record).await.unwrap();
    file.settle(vec![settlement(part, OutboxState::Dead)]).await.unwrap();
    let mut task = Task::new(scene.agent, "REMIND", "feed the \"cat\"", Timestamp(77));
    task.entity_id = Some(scene.person);
    file.save_task(&task).await.unwrap();

    let moved = move_to(&file, &there, scene).await;
    assert!(moved > 10, "{moved}");
    assert_eq!(move_to(&there, &back, scene).await, moved);
    for store in [&there, &back] {
        assert_eq!(store.audit().await.unwrap(), file.audit().await.unwrap());
        assert_eq!(store.agents().await.unwrap(), [(scene.agent, "Ada".to_owned())]);
        assert_eq!(store.tasks(scene.agent, &[]).await.unwrap(), [task.clone()]);
        for words in ["boats", "猫", "trains", "waits", "nothing"] {
            let mut same = [found(&file, scene, words).await, found(store, scene, words).await];
            same.iter_mut().for_each(|ids| ids.sort());
            assert_eq!(same[0], same[1], "{words}");
        }
        let open = store.unfinished_in_room(scene.room, 9).await.unwrap();
        assert_eq!(open.len(), 1, "what waits is answered there");
        let ids = [said[1].memory.id];
        let derived = store.derived(scene.agent, &ids).await.unwrap();
        assert_eq!(derived[0].memory, file.derived(scene.agent, &ids).await.unwrap()[0].memory);
        let parts = store.outbox_item(part).await.unwrap().unwrap();
        assert_eq!(parts.state, OutboxState::Dead);
        let query = TurnsQuery {
            agent: Some(scene.agent),
            room: None,
            source: None,
            state: None,
            before: Place::NEWEST,
            limit: 50,
        };
        let listed = store.list_turns(&query).await.unwrap().rows;
        let before = file.list_turns(&query).await.unwrap().rows;
        let ids = |rows: &[galatea_core::store::InboxItem]| {
            rows.iter().map(|row| (row.entry.memory.id, row.state)).collect::<Vec<_>>()
        };
        assert_eq!(ids(&listed), ids(&before), "in the same order");
    }
    assert!(there.memory(said[0].memory.id).await.unwrap().is_some());
    for (table, row) in [("inbox", serde_json::json!([1])), ("users", serde_json::json!([]))] {
        let refused = back.add_agent_rows(table, vec![row]).await.unwrap_err();
        assert_eq!(refused.code(), Some("GAL-EXPORT-FILE"), "{table}");
    }
    there.close().await;
}
