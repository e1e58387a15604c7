//! What today's store reads of the older rows.

use galatea_core::{
    Account, AgentId, ChannelType, DeliveryId, Embedding, EntityId, IdentityLink, MemoryId,
    ParticipantState, RoomId, Source, StepOutcome, Timestamp, Visibility, WorldId,
    store::{
        AgentStore, Amount, AuditStore, BlockStore, CacheStore, Day, EntityStore, Holder,
        InboxState, InboxStore, LinkStore, MemoryQuery, MemoryStore, OutboxState, OutboxStore,
        PluginCache, RecallQuery, RecallStore, RelationshipStore, RequestedChange, RoomStore,
        StepStore, TaskStore, TurnRecord, UsageStore, WorldStore,
    },
};
use galatea_testkit::store_suite::fixtures::Scene;
use serde_json::json;
use std::sync::Arc;

use super::rows::{self, id};
use crate::Database;

pub(super) const SOURCE: Source = Source::new("suite");

pub(super) fn account() -> Account {
    Account("7".to_owned())
}

/// Every row reads as it was written.
pub(super) async fn check(store: &Database) {
    people_and_places(store).await;
    memories(store).await;
    recall(store).await;
    queues(store).await;
    ledger(store).await;
}

/// Links of accounts are there with their time, are searched, and can be ended.
pub(super) async fn check_links(store: &Database) {
    let agent = AgentId(id(rows::AGENT));
    let (person, abroad) = (EntityId(id(rows::PERSON)), EntityId(id(rows::ABROAD)));
    for (entity, other) in [(person, abroad), (abroad, person)] {
        assert_eq!(store.linked(agent, entity).await.unwrap(), [other]);
    }
    let link = IdentityLink {
        entity_id: person,
        linked_id: abroad,
        linked_at: Timestamp(rows::LINKED_AT),
    };
    assert_eq!(store.links(agent).await.unwrap(), [link]);
    let scene = Scene { agent, room: RoomId(id(rows::ROOM)), ..Scene::new() };
    let turn = TurnRecord {
        memories: Vec::new(),
        deliveries: Vec::new(),
        effects: vec![RequestedChange::Unlink { entity: abroad }],
        ..scene.turn(&[])
    };
    store.finish_turn(turn).await.unwrap();
    assert_eq!(store.links(agent).await.unwrap(), []);
    assert_eq!(store.restore_links(agent, &[link]).await.unwrap(), 1);
    assert_eq!(store.links_of(agent, person).await.unwrap(), [link]);
}

/// Older rows are indexed in the background; embeddings are compared at once.
async fn recall(store: &Database) {
    let room = store.room(RoomId(id(rows::ROOM))).await.unwrap().unwrap();
    let mut query = RecallQuery::new(Visibility::in_room(&room, &[]), "hello", 50, Timestamp(1));
    query.fusion.neighbours = 0.0;
    let meaning = Embedding::new(vec![1.0, 0.0]).unwrap();
    let by_meaning =
        RecallQuery { text: String::new(), ..query.clone() }.meaning("embedder", meaning);
    let alike = async || {
        let hits = store.recall(&by_meaning).await.unwrap();
        hits.into_iter().map(|hit| (hit.memory.id, hit.meaning.unwrap().score)).collect::<Vec<_>>()
    };
    let before = alike().await;
    assert!(
        matches!(before.as_slice(), [(fact, score)] if *fact == MemoryId(id(rows::FACT)) && (score - 0.6).abs() < 1e-6)
    );
    while store.index_step().await.unwrap() {}
    assert_eq!(alike().await, before);
    let by_words = store.recall(&query).await.unwrap();
    assert!(by_words.len() > 1 && by_words.iter().all(|hit| hit.words.is_some()));
}

async fn people_and_places(store: &Database) {
    let (agent, world, room) =
        (AgentId(id(rows::AGENT)), WorldId(id(rows::WORLD)), RoomId(id(rows::ROOM)));
    let person = EntityId(id(rows::PERSON));
    assert_eq!(store.agents().await.unwrap(), [(agent, "Galatea".to_owned())]);
    let worlds = store.worlds(agent).await.unwrap();
    assert_eq!(worlds.len(), 1);
    assert_eq!(worlds[0].metadata.ownership.unwrap().owner_id, person);
    assert_eq!(worlds[0].metadata.roles.len(), 1);
    let found = store.room(room).await.unwrap().unwrap();
    assert_eq!(
        (found.kind, found.world_id, found.name.as_str()),
        (ChannelType::Group, world, "Room")
    );
    assert_eq!(found.metadata["topic"], "stone");
    let people = store.entities_in_room(room).await.unwrap();
    assert_eq!(people.len(), 1, "the agent's own entity was never written");
    assert_eq!((people[0].names[0].as_str(), &people[0].metadata["age"]), ("Pygmalion", &json!(3)));
    assert_eq!(
        store.participant_state(room, EntityId(agent.0)).await.unwrap(),
        Some(ParticipantState::Muted)
    );
    let known = store.relationships(agent, person).await.unwrap();
    assert_eq!((known.len(), known[0].tags[0].as_str()), (1, "maker"));
    let tasks = store.tasks(agent, &[]).await.unwrap();
    assert_eq!((tasks.len(), tasks[0].name.as_str(), tasks[0].room_id), (1, "REMIND", Some(room)));
    assert_eq!(tasks[0].due, Timestamp(70));
    let kept = store.cached(agent, "plugin:k", Timestamp(1)).await.unwrap();
    assert_eq!(kept, Some(json!({ "v": [1] })));
    let engine = store.cached(agent, "pairing:approved:p", Timestamp(1)).await.unwrap();
    assert_eq!(engine, Some(json!(4)));
    for (plugin, key, value) in [
        ("bootstrap", "relationships", json!(true)),
        ("bootstrap", "reflection:r", json!(1)),
        ("bootstrap", "fact-uses:r", json!(2)),
        ("knowledge", "sources", json!([3])),
    ] {
        let cache = PluginCache::new(Arc::new(store.clone()), agent, plugin);
        assert_eq!(cache.get(key, Timestamp(1)).await.unwrap(), Some(value), "{key}");
    }
}

async fn memories(store: &Database) {
    let agent = AgentId(id(rows::AGENT));
    let all = store.memories(&MemoryQuery::new(agent, 50)).await.unwrap();
    assert_eq!(all.len(), 8);
    let new = all.iter().find(|m| m.id == MemoryId(id(rows::NEW))).unwrap();
    assert_eq!(new.content.text, format!("hello {}", rows::NEW));
    assert_eq!(new.metadata["trust"], "stranger");
    let steps = store.steps(MemoryId(id(rows::BEGUN))).await.unwrap();
    assert_eq!(steps.len(), 2);
    assert_eq!(
        (steps[0].output.clone(), steps[1].output.clone()),
        (Some(json!({ "ok": true })), None)
    );
}

async fn queues(store: &Database) {
    for (n, state, attempts) in [
        (rows::NEW, InboxState::New, 0),
        (rows::BEGUN, InboxState::New, 2),
        (rows::DONE, InboxState::Done, 1),
        (rows::SKIPPED, InboxState::Skipped, 1),
        (rows::EXPIRED, InboxState::Expired, 0),
        (rows::DEAD, InboxState::Dead, 5),
    ] {
        let item = store.inbox_item(MemoryId(id(n))).await.unwrap().unwrap();
        assert_eq!((item.state, item.attempts), (state, attempts), "{n}");
        assert!(item.entry.envelope.addressed.mention, "{n}");
        assert_eq!(item.entry.envelope.user_name.as_deref(), Some("pyg"), "{n}");
        let outcome = item.verdict.map(|verdict| verdict.steps[0].outcome);
        let expected = (state != InboxState::New).then_some(StepOutcome::Answer);
        assert_eq!(outcome, expected, "{n}");
    }
    let states = [
        OutboxState::Pending,
        OutboxState::Sending,
        OutboxState::Sent,
        OutboxState::Ambiguous,
        OutboxState::Expired,
        OutboxState::Dead,
    ];
    for (n, state) in (0..).zip(states) {
        let part = store.outbox_item(DeliveryId(id(rows::FIRST_PART + n))).await.unwrap().unwrap();
        assert_eq!(part.state, state);
        assert_eq!(part.outcome_unknown, state == OutboxState::Sending, "{state:?}");
        assert_eq!(
            (part.delivery.body.0["text"].as_str(), part.delivery.attempt),
            (Some("hello"), u32::from(n))
        );
        assert_eq!(part.remote.is_some(), state == OutboxState::Sent);
    }
    let cursor = store.cursor(AgentId(id(rows::AGENT)), &SOURCE, &account(), "updates").await;
    assert_eq!(cursor.unwrap().unwrap().position, "41");
    let audit = store.audit().await.unwrap();
    assert_eq!((audit.len(), audit[0].received, audit[0].balances()), (1, 6, true), "{audit:?}");
}

async fn ledger(store: &Database) {
    let agent = AgentId(id(rows::AGENT));
    let used = store.usage(Some(agent), Day(0)).await.unwrap();
    assert_eq!(used.len(), 2);
    let large = Amount {
        calls: 3,
        input: 300,
        cached: 30,
        output: 40,
        unpriced: 5,
        micros: 6_000,
        ..Amount::default()
    };
    assert_eq!((used[1].model.as_str(), used[1].amount), ("large", large));
    let person = Holder::Person(EntityId(id(rows::PERSON)));
    let standing = store.standing(agent, Day(20_001), &person).await.unwrap();
    assert_eq!((standing.today, standing.earlier), (large, true), "a regular stays one");
    let blocks = store.blocks(agent).await.unwrap();
    assert_eq!((blocks.len(), blocks[0].remote.as_str()), (1, "@mallory"));
}
