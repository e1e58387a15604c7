//! Agents, tasks, the cache, relationships, and who is one person.

use galatea_core::{
    AgentId, Character, EntityId, ErrorKind, IdentityLink, Relationship, RelationshipId, Store,
    Task, TaskId, Timestamp,
    store::{MOST_LINKED, MemoryQuery, RequestedChange, TurnRecord},
};
use serde_json::{Value, json};
use std::{collections::BTreeSet, sync::Arc};

use super::fixtures::{Scene, object};

/// Agents are listed by name; saving under a known id updates the agent.
pub async fn agents_are_saved_without_secrets(store: Arc<dyn Store>) {
    let (a, b) = (AgentId::fresh(), AgentId::fresh());
    let named = |name: &str| Character {
        name: name.to_owned(),
        settings: object(json!({"secrets": {"TOKEN": "canary"}})),
        secrets: object(json!({"TOKEN": "canary"})).into(),
        ..Character::default()
    };
    store.save_agent(a, &named("Zoe")).await.unwrap();
    store.save_agent(b, &named("Bob")).await.unwrap();
    store.save_agent(a, &named("Ann")).await.unwrap();
    assert_eq!(store.agents().await.unwrap(), [(a, "Ann".to_owned()), (b, "Bob".to_owned())]);
}

/// Everything that an agent remembers goes, and nothing of another one; what it spent stays until it is
/// erased as a whole.
pub async fn an_agent_is_cleared_and_erased(store: Arc<dyn Store>) {
    let (scene, other) = (Scene::new(), Scene::new());
    for scene in [scene, other] {
        let character = Character { name: "Ann".to_owned(), ..Character::default() };
        store.save_agent(scene.agent, &character).await.unwrap();
        store.connect(scene.connections()).await.unwrap();
        let messages: Vec<_> = (0..20).map(|n| scene.message(&format!("m {n}"), n)).collect();
        store.ingest(Scene::batch(&messages)).await.unwrap();
        store.finish_turn(scene.turn(&messages.iter().collect::<Vec<_>>())).await.unwrap();
        store.save_task(&task(scene.agent, "late", 300, &[])).await.unwrap();
        store.cache(scene.agent, "key", &json!(1), None).await.unwrap();
    }
    let count = async |scene: Scene| {
        let memories = store.memories(&MemoryQuery::new(scene.agent, 100)).await.unwrap();
        let tasks = store.tasks(scene.agent, &[]).await.unwrap();
        let cached = store.cached(scene.agent, "key", Timestamp(0)).await.unwrap();
        let worlds = store.worlds(scene.agent).await.unwrap();
        (memories.len(), tasks.len(), cached.is_some(), worlds.len())
    };
    let before = count(other).await;
    assert!(before.0 > 20 && before == count(scene).await, "{before:?}");
    let spent = async |scene: Scene| {
        store.open_accounts().await.unwrap().iter().any(|open| open.agent == scene.agent)
    };
    assert!(spent(scene).await);
    assert!(store.clear_agent(scene.agent, false).await.unwrap() > 20);
    assert_eq!(count(scene).await, (0, 0, false, 0));
    assert!(!spent(scene).await, "nothing of it is sent any more");
    assert_eq!(store.agents().await.unwrap().len(), 2);
    // The same conversation can begin again.
    store.connect(scene.connections()).await.unwrap();
    store.ingest(Scene::batch(&[scene.message("again", 1)])).await.unwrap();
    assert_eq!(store.clear_agent(scene.agent, true).await.unwrap(), 1);
    assert_eq!(store.agents().await.unwrap(), [(other.agent, "Ann".to_owned())]);
    assert_eq!(count(other).await, before);
    assert!(spent(other).await);
}

/// One question for the values of several agents.
pub async fn values_of_several_agents_are_read_at_once(store: Arc<dyn Store>) {
    let agents = [AgentId::fresh(), AgentId::fresh(), AgentId::fresh()];
    store.cache(agents[0], "key", &json!("a"), None).await.unwrap();
    store.cache(agents[0], "other", &json!("x"), None).await.unwrap();
    store.cache(agents[1], "key", &json!("b"), Some(Timestamp(10))).await.unwrap();
    let read = async |now: i64| -> BTreeSet<(AgentId, String)> {
        let found = store.cached_of(&agents[..2], "key", Timestamp(now)).await.unwrap();
        found.into_iter().map(|(id, value)| (id, value.to_string())).collect()
    };
    assert_eq!(read(10).await, BTreeSet::from([(agents[0], "\"a\"".to_owned())]));
    assert_eq!(read(9).await.len(), 2);
    assert_eq!(store.cached_of(&agents[2..], "key", Timestamp(0)).await.unwrap(), []);
}

/// Agents with a World that keeps its messages for some days only.
pub async fn agents_with_retention_are_told(store: Arc<dyn Store>) {
    let (scene, other) = (Scene::new(), Scene::new());
    for (scene, settings) in [(scene, json!({"retention_days": "30"})), (other, json!({}))] {
        let mut connections = scene.connections();
        connections.worlds[0].metadata = object(json!({"settings": settings}));
        store.connect(connections).await.unwrap();
    }
    assert_eq!(store.agents_with_retention().await.unwrap(), [scene.agent]);
}

fn task(agent: AgentId, name: &str, due: i64, tags: &[&str]) -> Task {
    let scene = Scene::new();
    Task {
        id: TaskId::fresh(),
        agent_id: agent,
        name: name.to_owned(),
        description: "for \"people\"".to_owned(),
        room_id: Some(scene.room),
        world_id: None,
        entity_id: Some(scene.person),
        tags: tags.iter().map(|t| (*t).to_owned()).collect(),
        metadata: object(json!({"updateInterval": 5})),
        due: Timestamp(due),
        run: None,
    }
}

/// Tasks are listed by the time they are due, filtered by tags that must all be present, for one
/// agent only.
pub async fn tasks_are_found_in_order_and_deleted(store: Arc<dyn Store>) {
    let agent = AgentId::fresh();
    let late = task(agent, "late", 300, &["queue"]);
    let mut early = task(agent, "early", 100, &["queue", "repeat"]);
    let foreign = task(AgentId::fresh(), "foreign", 1, &["queue", "repeat"]);
    for task in [&late, &early, &foreign] {
        store.save_task(task).await.unwrap();
    }
    assert_eq!(store.tasks(agent, &[]).await.unwrap(), [early.clone(), late.clone()]);
    early.due = Timestamp(400);
    early.tags.push("more".to_owned());
    store.save_task(&early).await.unwrap();
    assert_eq!(store.tasks(agent, &[]).await.unwrap(), [late.clone(), early.clone()]);
    let tagged = |tags: &[&str]| tags.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>();
    assert_eq!(store.tasks(agent, &tagged(&["repeat", "queue"])).await.unwrap(), [early.clone()]);
    assert_eq!(store.tasks(agent, &tagged(&["queue"])).await.unwrap().len(), 2);
    assert_eq!(store.tasks(agent, &tagged(&["queue", "none"])).await.unwrap(), []);
    assert_eq!(store.tasks(agent, &[]).await.unwrap().len(), 2);
    assert!(!store.delete_task(agent, foreign.id).await.unwrap());
    assert!(store.delete_task(agent, early.id).await.unwrap());
    assert!(!store.delete_task(agent, early.id).await.unwrap());
    assert_eq!(store.tasks(foreign.agent_id, &[]).await.unwrap(), [foreign]);
}

/// A cached value disappears at its time of expiry; each agent has its own values.
pub async fn cached_values_expire(store: Arc<dyn Store>) {
    let (agent, other) = (AgentId::fresh(), AgentId::fresh());
    let value = json!({"a": [1, null, "x"]});
    store.cache(agent, "k", &value, Some(Timestamp(100))).await.unwrap();
    store.cache(agent, "for ever", &Value::Null, None).await.unwrap();
    assert_eq!(store.cached(agent, "k", Timestamp(99)).await.unwrap(), Some(value.clone()));
    assert_eq!(store.cached(agent, "k", Timestamp(100)).await.unwrap(), None);
    assert_eq!(
        store.cached(agent, "for ever", Timestamp(i64::MAX)).await.unwrap(),
        Some(Value::Null)
    );
    assert_eq!(store.cached(other, "for ever", Timestamp(0)).await.unwrap(), None);
    store.cache(agent, "k", &json!("new"), None).await.unwrap();
    assert_eq!(store.cached(agent, "k", Timestamp(500)).await.unwrap(), Some(json!("new")));
    store.forget(other, "k").await.unwrap();
    assert_eq!(store.cached(agent, "k", Timestamp(500)).await.unwrap(), Some(json!("new")));
    store.forget(agent, "k").await.unwrap();
    store.forget(agent, "k").await.unwrap();
    assert_eq!(store.cached(agent, "k", Timestamp(500)).await.unwrap(), None);
}

/// Of several writers that saw the same value, one replaces it, and the others learn of it.
pub async fn a_cached_value_is_swapped_by_one_of_two(store: Arc<dyn Store>) {
    let (agent, other) = (AgentId::fresh(), AgentId::fresh());
    let (first, second) = (json!([{"path": "a", "b": 1.5}]), json!(["ü\n", null]));
    // A value that has expired is none.
    store.cache(agent, "brief", &first, Some(Timestamp(100))).await.unwrap();
    assert!(!store.swap(agent, "brief", None, &second).await.unwrap());
    assert_eq!(store.cached(agent, "brief", Timestamp(100)).await.unwrap(), None);
    assert!(store.swap(agent, "brief", None, &second).await.unwrap());
    assert_eq!(store.cached(agent, "brief", Timestamp(101)).await.unwrap(), Some(second.clone()));
    assert!(store.swap(agent, "k", None, &first).await.unwrap());
    assert!(!store.swap(agent, "k", None, &second).await.unwrap());
    let seen = store.cached(agent, "k", Timestamp(0)).await.unwrap();
    assert_eq!(seen, Some(first.clone()));
    assert!(!store.swap(other, "k", seen.as_ref(), &second).await.unwrap());
    assert!(store.swap(agent, "k", seen.as_ref(), &second).await.unwrap());
    assert!(!store.swap(agent, "k", seen.as_ref(), &first).await.unwrap());
    let seen = store.cached(agent, "k", Timestamp(i64::MAX)).await.unwrap();
    assert_eq!(seen, Some(second.clone()));
    let writers = (0..8).map(|n| {
        let (store, seen) = (Arc::clone(&store), seen.clone());
        async move { store.swap(agent, "k", seen.as_ref(), &json!(n)).await.unwrap() }
    });
    let swapped = futures::future::join_all(writers).await;
    assert_eq!(swapped.into_iter().filter(|swapped| *swapped).count(), 1);
    assert_eq!(store.cached(other, "k", Timestamp(0)).await.unwrap(), None);
}

/// A relationship is unique per agent, source and target, and found from both ends.
pub async fn relationships_are_unique(store: Arc<dyn Store>) {
    let (agent, a, b, c) =
        (AgentId::fresh(), EntityId::fresh(), EntityId::fresh(), EntityId::fresh());
    let tie = |agent, source, target, tag: &str| Relationship {
        id: RelationshipId::fresh(),
        agent_id: agent,
        source_entity_id: source,
        target_entity_id: target,
        tags: vec![tag.to_owned()],
        metadata: object(json!({"interactions": 1})),
    };
    let newer = tie(agent, a, b, "friend");
    let back = tie(agent, b, a, "fan");
    let third = tie(agent, c, b, "maker");
    for relationship in [
        &tie(agent, a, b, "stranger"),
        &back,
        &third,
        &newer,
        &tie(AgentId::fresh(), a, b, "foreign"),
    ] {
        store.save_relationship(relationship).await.unwrap();
    }
    let of = |entity| {
        let store = Arc::clone(&store);
        async move {
            store
                .relationships(agent, entity)
                .await
                .unwrap()
                .into_iter()
                .map(|r| (r.id, r.tags))
                .collect::<BTreeSet<_>>()
        }
    };
    let ids = |list: &[&Relationship]| {
        list.iter().map(|r| (r.id, r.tags.clone())).collect::<BTreeSet<_>>()
    };
    assert_eq!(of(a).await, ids(&[&newer, &back]));
    assert_eq!(of(b).await, ids(&[&newer, &back, &third]));
    assert_eq!(of(c).await, ids(&[&third]));
    let renamed = Relationship { tags: vec!["rival".to_owned()], ..newer.clone() };
    store.save_relationship(&renamed).await.unwrap();
    assert_eq!(of(a).await, ids(&[&renamed, &back]));
}

/// People are linked each with each, seen from every side and by one agent only, until one of them
/// ends it or is forgotten.
pub async fn people_are_linked_and_unlinked(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let other = Scene::new();
    let [a, b, c] = [EntityId::fresh(), EntityId::fresh(), EntityId::fresh()];
    let does = |scene: Scene, effect: RequestedChange| {
        let store = Arc::clone(&store);
        let turn = TurnRecord { effects: vec![effect], ..scene.turn(&[]) };
        async move { store.finish_turn(turn).await }
    };
    let ask = |scene: Scene| {
        let store = Arc::clone(&store);
        async move {
            let task = task(scene.agent, "whether two are one", 1, &[]);
            store.save_task(&task).await.unwrap();
            task.id
        }
    };
    let link = async |of: &[EntityId]| RequestedChange::LinkPeople {
        question: ask(scene).await,
        entities: of.to_vec(),
    };
    let linked = |agent: AgentId| {
        let store = Arc::clone(&store);
        async move {
            let mut all = Vec::new();
            for entity in [a, b, c] {
                let with = store.linked(agent, entity).await.unwrap();
                assert!(with.is_sorted_by_key(|entity| entity.0) && !with.contains(&entity));
                all.push(with.into_iter().collect::<BTreeSet<_>>());
            }
            all
        }
    };
    let sets = |sets: [&[EntityId]; 3]| sets.map(|set| set.iter().copied().collect()).to_vec();
    assert_eq!(linked(scene.agent).await, sets([&[], &[], &[]]));
    does(scene, link(&[a, b]).await).await.unwrap();
    does(scene, link(&[a, b, c]).await).await.unwrap();
    assert_eq!(store.tasks(scene.agent, &[]).await.unwrap(), [], "the questions are answered");
    assert_eq!(linked(scene.agent).await, sets([&[b, c], &[a, c], &[a, b]]));
    assert_eq!(linked(other.agent).await, sets([&[], &[], &[]]), "another agent's people");
    does(other, RequestedChange::Unlink { entity: a }).await.unwrap();
    does(scene, RequestedChange::Unlink { entity: a }).await.unwrap();
    assert_eq!(linked(scene.agent).await, sets([&[], &[c], &[b]]));
    does(scene, RequestedChange::ForgetPerson { entity: c }).await.unwrap();
    assert_eq!(linked(scene.agent).await, sets([&[], &[], &[]]));
    let many: Vec<EntityId> = (0..=MOST_LINKED).map(|_| EntityId::fresh()).collect();
    assert!(does(scene, link(&many).await).await.is_err());
    // Only as long as the question stands, and for this agent.
    let gone = link(&many[..2]).await;
    let RequestedChange::LinkPeople { question, .. } = gone else { panic!() };
    let refused = async |scene: Scene, link: RequestedChange| {
        let error = does(scene, link).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
    };
    refused(other, gone.clone()).await;
    assert!(store.delete_task(scene.agent, question).await.unwrap(), "another agent's question");
    refused(scene, gone).await;
    for agent in [scene.agent, other.agent] {
        assert_eq!(store.linked(agent, many[0]).await.unwrap(), []);
    }
    does(scene, link(&many[1..]).await).await.unwrap();
    // No link that the question did not name.
    refused(scene, link(&many[..2]).await).await;
    assert_eq!(store.linked(scene.agent, many[0]).await.unwrap(), []);
    let with = store.linked(scene.agent, many[1]).await.unwrap();
    assert_eq!(with.len(), MOST_LINKED - 1);
}

/// Of two questions about overlapping accounts that are confirmed at once, one is answered: each
/// account is linked with all others of its person, or with none.
pub async fn of_two_links_at_once_one_is_made(store: Arc<dyn Store>) {
    for _ in 0..20 {
        let scene = Scene::new();
        let [a, b, c] = [EntityId::fresh(), EntityId::fresh(), EntityId::fresh()];
        let mut turns = Vec::new();
        for entities in [vec![a, b], vec![b, c]] {
            let question = task(scene.agent, "whether two are one", 1, &[]);
            store.save_task(&question).await.unwrap();
            let link = RequestedChange::LinkPeople { question: question.id, entities };
            turns.push(TurnRecord { effects: vec![link], ..scene.turn(&[]) });
        }
        let [one, other] = <[TurnRecord; 2]>::try_from(turns).unwrap();
        let (one, other) = tokio::join!(store.finish_turn(one), store.finish_turn(other));
        let (linked, error) = match (one, other) {
            (Ok(()), Err(error)) => ([a, b], error),
            (Err(error), Ok(())) => ([b, c], error),
            other => panic!("one is refused: {other:?}"),
        };
        assert_eq!(error.kind(), ErrorKind::Conflict);
        for entity in [a, b, c] {
            let with = store.linked(scene.agent, entity).await.unwrap();
            let expected: Vec<EntityId> = linked
                .into_iter()
                .filter(|other| linked.contains(&entity) && *other != entity)
                .collect();
            assert_eq!(with, expected);
        }
        assert_eq!(store.tasks(scene.agent, &[]).await.unwrap().len(), 1, "the refused question");
    }
}

/// The end of a link that is being made at the same time leaves both sides apart, or is made before
/// it: never half a link.
pub async fn a_link_and_its_end_at_once_leave_one_state(store: Arc<dyn Store>) {
    for _ in 0..20 {
        let scene = Scene::new();
        let [a, b] = [EntityId::fresh(), EntityId::fresh()];
        let question = task(scene.agent, "whether two are one", 1, &[]);
        store.save_task(&question).await.unwrap();
        let link = RequestedChange::LinkPeople { question: question.id, entities: vec![a, b] };
        let end = vec![
            RequestedChange::DeleteTask { task: question.id },
            RequestedChange::Unlink { entity: a },
        ];
        let (link, end) = tokio::join!(
            store.finish_turn(TurnRecord { effects: vec![link], ..scene.turn(&[]) }),
            store.finish_turn(TurnRecord { effects: end, ..scene.turn(&[]) })
        );
        end.unwrap();
        assert!(link.map_or_else(|error| error.kind() == ErrorKind::Conflict, |()| true));
        assert_eq!(store.tasks(scene.agent, &[]).await.unwrap(), []);
        for entity in [a, b] {
            assert_eq!(store.linked(scene.agent, entity).await.unwrap(), []);
        }
    }
}

/// Links are listed with their time and restored whole: to another agent, and never so that an account
/// is linked with some of a person's accounts only.
pub async fn links_are_listed_and_restored(store: Arc<dyn Store>) {
    let (scene, other) = (Scene::new(), Scene::new());
    let mut ids: Vec<EntityId> = (0..5).map(|_| EntityId::fresh()).collect();
    ids.sort_by_key(|id| id.0);
    let link = |a: usize, b: usize, at| IdentityLink {
        entity_id: ids[a],
        linked_id: ids[b],
        linked_at: Timestamp(at),
    };
    for (at, of) in [(7, vec![ids[0], ids[1]]), (9, ids[..3].to_vec())] {
        let question = task(scene.agent, "whether two are one", 1, &[]);
        store.save_task(&question).await.unwrap();
        let link = RequestedChange::LinkPeople { question: question.id, entities: of };
        let turn = TurnRecord { effects: vec![link], at: Timestamp(at), ..scene.turn(&[]) };
        store.finish_turn(turn).await.unwrap();
    }
    let all = [link(0, 1, 7), link(0, 2, 9), link(1, 2, 9)];
    assert_eq!(store.links(scene.agent).await.unwrap(), all);
    assert_eq!(store.links_of(scene.agent, ids[1]).await.unwrap(), [link(1, 0, 7), link(1, 2, 9)]);
    assert_eq!(store.links(other.agent).await.unwrap(), []);

    assert_eq!(store.restore_links(other.agent, &all[..2]).await.unwrap(), 0, "not each with each");
    assert_eq!(store.restore_links(other.agent, &all).await.unwrap(), 3);
    assert_eq!(store.restore_links(other.agent, &all).await.unwrap(), 0, "they are there");
    assert_eq!(store.links(other.agent).await.unwrap(), all);
    let more = [link(2, 3, 11), link(3, 4, 11), link(2, 4, 11)];
    assert_eq!(store.restore_links(other.agent, &more).await.unwrap(), 0, "one is another's");
    assert_eq!(store.restore_links(other.agent, &more[1..2]).await.unwrap(), 1);
    assert_eq!(store.linked(other.agent, ids[3]).await.unwrap(), [ids[4]]);
    assert_eq!(store.links(scene.agent).await.unwrap(), all, "the other agent's are as they were");
}
