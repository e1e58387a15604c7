//! Derived memories: sources, validity, and what goes with a source.

use galatea_core::{
    Content, Derived, Memory, MemoryId, MemoryKind, MemoryScope, Store, Timestamp,
    store::{DerivedChange, MemoryQuery, RecallQuery, RequestedChange, Superseded},
};
use std::sync::Arc;

use super::fixtures::{Scene, searched};

fn fact(scene: Scene, text: &str, at: i64, sources: &[MemoryId]) -> Derived {
    let memory = Memory { kind: MemoryKind::Facts, ..scene.memory(text, at) };
    Derived::new(memory, MemoryScope::World, sources.to_vec())
}

fn summary(scene: Scene, text: &str, sources: &[MemoryId]) -> Derived {
    let memory = Memory { kind: MemoryKind::Summaries, ..scene.memory(text, 50) };
    Derived::new(memory, MemoryScope::Room, sources.to_vec())
}

async fn save(store: &Arc<dyn Store>, scene: Scene, new: &[&Derived]) -> u64 {
    let new = new.iter().map(|derived| (*derived).clone()).collect();
    let change = DerivedChange { new, ..DerivedChange::default() };
    store.change_derived(scene.agent, &change).await.unwrap()
}

async fn exist(store: &Arc<dyn Store>, scene: Scene, all: &[&Derived]) -> Vec<bool> {
    let ids: Vec<MemoryId> = all.iter().map(|derived| derived.memory.id).collect();
    let found = store.derived(scene.agent, &ids).await.unwrap();
    ids.iter().map(|id| found.iter().any(|d| d.memory.id == *id)).collect()
}

async fn recalled(store: &Arc<dyn Store>, scene: Scene, text: &str) -> Vec<String> {
    let query = RecallQuery::new(scene.visible(), text, 10, Timestamp(100));
    let found = searched(store, &query).await;
    found.into_iter().map(|hit| hit.memory.content.text).collect()
}

/// A derived memory comes back with scope, validity and sources, and is found by its sources.
pub async fn a_derived_memory_keeps_its_sources(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let said = [scene.memory("I moved to Lyon", 1), scene.memory("Lyon is great", 2)];
    store.save_memories(&said).await.unwrap();
    let lives = fact(scene, "lives in Lyon", 3, &[said[0].id, said[1].id]);
    assert_eq!(save(&store, scene, &[&lives]).await, 1);
    assert_eq!(save(&store, scene, &[&lives]).await, 0, "its id exists");
    let found = store.derived(scene.agent, &[lives.memory.id]).await.unwrap();
    assert_eq!(found.len(), 1);
    let mut sources = lives.sources.clone();
    sources.sort();
    assert_eq!(found[0].sources, sources);
    assert_eq!(Derived { sources: lives.sources.clone(), ..found[0].clone() }, lives);
    let from = store.derived_from(scene.agent, &[said[0].id, said[1].id]).await.unwrap();
    assert_eq!(from.len(), 1);
    assert!(store.derived_from(Scene::new().agent, &[said[0].id]).await.unwrap().is_empty());
    assert!(store.derived(Scene::new().agent, &[lives.memory.id]).await.unwrap().is_empty());
    let message = store.derived(scene.agent, &[said[0].id]).await.unwrap();
    assert_eq!((message[0].scope, message[0].sources.len()), (MemoryScope::Room, 0));
}

/// A fact that was merged from others goes with each of its sources, and what is left of the others
/// is true again, unless the merged fact had been replaced before.
pub async fn a_merged_fact_goes_with_each_of_its_sources(store: Arc<dyn Store>) {
    for replaced in [false, true] {
        let scene = Scene::new();
        let said: Vec<Memory> = (0..3).map(|n| scene.memory("said", n)).collect();
        store.save_memories(&said).await.unwrap();
        let tea = fact(scene, "likes black tea", 3, &[said[0].id]);
        let cake = fact(scene, "likes sweet cake", 4, &[said[1].id]);
        save(&store, scene, &[&tea, &cake]).await;
        let parts = [said[0].id, said[1].id, tea.memory.id, cake.memory.id];
        let both = fact(scene, "likes tea and cake", 4, &parts);
        let by = |old: &Derived, new: &Derived| Superseded {
            id: old.memory.id,
            at: Timestamp(9),
            by: Some(new.memory.id),
        };
        let change = DerivedChange {
            new: vec![both.clone()],
            superseded: vec![by(&tea, &both), by(&cake, &both)],
            ..DerivedChange::default()
        };
        store.change_derived(scene.agent, &change).await.unwrap();
        assert_eq!(recalled(&store, scene, "likes").await, ["likes tea and cake"]);
        let none = fact(scene, "likes nothing now", 5, &[said[2].id]);
        if replaced {
            let change = DerivedChange {
                new: vec![none.clone()],
                superseded: vec![by(&both, &none)],
                ..DerivedChange::default()
            };
            store.change_derived(scene.agent, &change).await.unwrap();
        }
        store.delete_memories(scene.agent, &[said[0].id]).await.unwrap();
        assert_eq!(exist(&store, scene, &[&tea, &cake, &both]).await, [false, true, false]);
        let left = if replaced { "likes nothing now" } else { "likes sweet cake" };
        assert_eq!(recalled(&store, scene, "likes").await, [left]);
        let part = store.derived(scene.agent, &[cake.memory.id]).await.unwrap();
        assert_eq!(part[0].superseded_by, None, "no row names one that is gone");
    }
}

/// Of three facts two are merged, the result with the third, and that is replaced. None of them holds
/// again when a message of the first is deleted.
pub async fn what_was_merged_twice_and_replaced_stays_replaced(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let said: Vec<Memory> = (0..4).map(|n| scene.memory("said", n)).collect();
    store.save_memories(&said).await.unwrap();
    let one = |n: usize, text: &str| fact(scene, text, 5 + n as i64, &[said[n].id]);
    let (tea, cake, milk) = (one(0, "likes tea"), one(1, "likes cake"), one(2, "likes milk"));
    save(&store, scene, &[&tea, &cake, &milk]).await;
    let both = fact(scene, "likes tea, cake", 9, &[tea.memory.id, cake.memory.id]);
    let all = fact(scene, "likes tea, cake, milk", 10, &[both.memory.id, milk.memory.id]);
    let none = one(3, "likes nothing now");
    for (new, old) in [(&both, vec![&tea, &cake]), (&all, vec![&both, &milk]), (&none, vec![&all])]
    {
        let by = Some(new.memory.id);
        let gone = |old: &Derived| Superseded { id: old.memory.id, at: Timestamp(11), by };
        let change = DerivedChange {
            new: vec![new.clone()],
            superseded: old.into_iter().map(gone).collect(),
            ..DerivedChange::default()
        };
        store.change_derived(scene.agent, &change).await.unwrap();
    }
    store.delete_memories(scene.agent, &[said[0].id]).await.unwrap();
    assert_eq!(
        exist(&store, scene, &[&tea, &both, &all, &cake]).await,
        [false, false, false, true]
    );
    assert_eq!(recalled(&store, scene, "likes").await, ["likes nothing now"]);
}

/// What was deleted while a model read it leaves nothing, and another agent's rows are not written.
pub async fn nothing_is_derived_from_what_is_gone(store: Arc<dyn Store>) {
    let (scene, other) = (Scene::new(), Scene::new());
    let said = scene.memory("secret", 1);
    store.save_memories(std::slice::from_ref(&said)).await.unwrap();
    store.delete_memories(scene.agent, &[said.id]).await.unwrap();
    assert_eq!(save(&store, scene, &[&fact(scene, "a secret", 2, &[said.id])]).await, 0);
    let theirs = other.memory("theirs", 1);
    store.save_memories(std::slice::from_ref(&theirs)).await.unwrap();
    assert_eq!(save(&store, scene, &[&fact(scene, "a foreign source", 2, &[theirs.id])]).await, 0);
    assert_eq!(save(&store, scene, &[&fact(other, "a foreign row", 2, &[])]).await, 0);
    let nowhere = Memory { world_id: None, ..scene.memory("nowhere", 1) };
    let new = vec![Derived::new(nowhere, MemoryScope::World, Vec::new())];
    let change = DerivedChange { new, ..DerivedChange::default() };
    assert!(store.change_derived(scene.agent, &change).await.is_err(), "of which World?");
}

/// A fact is superseded in the commit of the one that replaces it, and true again when that goes.
pub async fn a_fact_is_superseded_and_restored(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let said = [scene.memory("I live there", 1), scene.memory("I moved", 2)];
    store.save_memories(&said).await.unwrap();
    let old = fact(scene, "home is Ghent", 3, &[said[0].id]);
    save(&store, scene, &[&old]).await;
    assert_eq!(recalled(&store, scene, "home").await, ["home is Ghent"]);
    let new = fact(scene, "home is Lyon", 4, &[said[1].id]);
    let superseded = |by| Superseded { id: old.memory.id, at: Timestamp(9), by };
    let lost = fact(scene, "home is nowhere", 4, &[MemoryId::fresh()]);
    let change = DerivedChange {
        new: vec![lost.clone()],
        superseded: vec![superseded(Some(lost.memory.id))],
        ..DerivedChange::default()
    };
    store.change_derived(scene.agent, &change).await.unwrap();
    assert_eq!(recalled(&store, scene, "home").await, ["home is Ghent"], "nothing replaced it");
    let change = DerivedChange {
        new: vec![new.clone()],
        superseded: vec![superseded(Some(new.memory.id))],
        ..DerivedChange::default()
    };
    store.change_derived(scene.agent, &change).await.unwrap();
    assert_eq!(recalled(&store, scene, "home").await, ["home is Lyon"]);
    let read = store.derived(scene.agent, &[old.memory.id]).await.unwrap();
    assert_eq!(read[0].valid_until, Some(Timestamp(9)));
    assert_eq!(read[0].superseded_by, Some(new.memory.id));
    let all = RecallQuery {
        superseded: true,
        ..RecallQuery::new(scene.visible(), "home", 10, Timestamp(100))
    };
    assert_eq!(searched(&store, &all).await.len(), 2);
    store.delete_memories(scene.agent, &[said[1].id]).await.unwrap();
    assert_eq!(exist(&store, scene, &[&old, &new]).await, [true, false]);
    assert_eq!(recalled(&store, scene, "home").await, ["home is Ghent"], "it is true again");
    let change = DerivedChange { superseded: vec![superseded(None)], ..DerivedChange::default() };
    store.change_derived(scene.agent, &change).await.unwrap();
    assert!(recalled(&store, scene, "home").await.is_empty());
    let change = DerivedChange { restored: vec![old.memory.id], ..DerivedChange::default() };
    store.change_derived(scene.agent, &change).await.unwrap();
    assert_eq!(recalled(&store, scene, "home").await, ["home is Ghent"]);
}

/// An import stores a replaced fact before what replaced it. It holds again when that goes.
pub async fn a_fact_is_stored_with_what_replaced_it(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let said = [scene.memory("I live there", 1), scene.memory("I moved", 2)];
    store.save_memories(&said).await.unwrap();
    let new = fact(scene, "home is Lyon", 4, &[said[1].id]);
    let old = Derived {
        valid_until: Some(Timestamp(9)),
        superseded_by: Some(new.memory.id),
        ..fact(scene, "home is Ghent", 3, &[said[0].id])
    };
    let holds =
        Derived { valid_until: None, ..fact(scene, "home is where the hat is", 5, &[said[0].id]) };
    let holds = Derived { superseded_by: Some(new.memory.id), ..holds };
    save(&store, scene, &[&old, &holds]).await;
    let ids = [old.memory.id, holds.memory.id];
    let read = store.derived(scene.agent, &ids).await.unwrap();
    let by: Vec<_> = read.iter().map(|row| (row.valid_until, row.superseded_by)).collect();
    assert_eq!(
        by,
        [(old.valid_until, old.superseded_by), (None, None)],
        "what holds is replaced by nothing"
    );
    save(&store, scene, &[&new]).await;
    assert_eq!(recalled(&store, scene, "Ghent Lyon").await, ["home is Lyon"]);
    store.delete_memories(scene.agent, &[said[1].id]).await.unwrap();
    assert_eq!(recalled(&store, scene, "Ghent Lyon").await, ["home is Ghent"]);
}

/// With a source goes what was made from it, step by step; a fact that another message backs stays.
pub async fn derived_memories_go_with_their_sources(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let said = [scene.memory("first", 1), scene.memory("second", 2)];
    store.save_memories(&said).await.unwrap();
    let alone = fact(scene, "alone", 3, &[said[0].id]);
    let backed = fact(scene, "backed", 3, &[said[0].id]);
    let short = summary(scene, "short", &[said[0].id, said[1].id]);
    save(&store, scene, &[&alone, &backed, &short]).await;
    let profile = summary(scene, "profile", &[alone.memory.id]);
    save(&store, scene, &[&profile]).await;
    let change = DerivedChange {
        confirmed: vec![(backed.memory.id, said[1].id)],
        ..DerivedChange::default()
    };
    store.change_derived(scene.agent, &change).await.unwrap();
    store.delete_memories(scene.agent, &[said[0].id]).await.unwrap();
    assert_eq!(
        exist(&store, scene, &[&alone, &backed, &short, &profile]).await,
        [false, true, false, false]
    );
    let read = store.derived(scene.agent, &[backed.memory.id]).await.unwrap();
    assert_eq!(read[0].sources, [said[1].id], "it no longer names what went");
    assert_eq!(
        store.memories(&MemoryQuery::new(scene.agent, 10)).await.unwrap().len(),
        2,
        "one message and one fact"
    );
}

/// When messages expire, a summary is deleted with the last of its source messages, and later
/// summaries of the chain are kept. When a message is deleted on request, every summary of the chain is
/// deleted.
pub async fn summaries_outlive_their_oldest_messages(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let said: Vec<Memory> = (0..6).map(|n| scene.memory(&format!("remark {n}"), n)).collect();
    store.save_memories(&said).await.unwrap();
    let id = |n: usize| said[n].id;
    let first = summary(scene, "first chapter", &[id(0), id(1)]);
    save(&store, scene, &[&first]).await;
    let second = summary(scene, "second chapter", &[first.memory.id, id(2), id(3)]);
    let third = summary(scene, "third chapter", &[second.memory.id, id(4), id(5)]);
    for (new, old) in [(&second, &first), (&third, &second)] {
        let superseded =
            Superseded { id: old.memory.id, at: Timestamp(60), by: Some(new.memory.id) };
        let change = DerivedChange {
            new: vec![new.clone()],
            superseded: vec![superseded],
            ..DerivedChange::default()
        };
        assert_eq!(store.change_derived(scene.agent, &change).await.unwrap(), 1);
    }
    let fact = fact(scene, "a fact", 3, &[id(0)]);
    save(&store, scene, &[&fact]).await;
    let exist = async || exist(&store, scene, &[&first, &second, &third, &fact]).await;
    let expire = async |ids: &[MemoryId]| store.expire_memories(scene.agent, ids).await.unwrap();
    assert_eq!(expire(&[id(0)]).await, 1);
    assert_eq!(exist().await, [true, true, true, false], "another message of the first is kept");
    assert_eq!(expire(&[id(1), id(2)]).await, 2);
    assert_eq!(exist().await, [false, true, true, false]);
    assert_eq!(recalled(&store, scene, "chapter").await, ["third chapter"], "still the newest");
    assert_eq!(expire(&[id(3), id(4)]).await, 2);
    assert_eq!(exist().await, [false, false, true, false]);
    let [left] = store.derived(scene.agent, &[third.memory.id]).await.unwrap().try_into().unwrap();
    assert_eq!(left.sources, [id(5)], "it names what is there");
    assert_eq!(store.expire_memories(Scene::new().agent, &[id(5)]).await.unwrap(), 0);
    let fourth = summary(scene, "fourth chapter", &[third.memory.id]);
    save(&store, scene, &[&fourth]).await;
    assert_eq!(store.delete_memories(scene.agent, &[id(5)]).await.unwrap(), 1);
    let chain = [third.memory.id, fourth.memory.id];
    assert!(store.derived(scene.agent, &chain).await.unwrap().is_empty());
}

/// A text that is replaced takes along what was made from the old one; the same text does not.
pub async fn derived_memories_go_with_a_replaced_text(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let said = scene.memory("my number is 5", 1);
    store.save_memories(std::slice::from_ref(&said)).await.unwrap();
    let number = fact(scene, "the number is 5", 3, &[said.id]);
    save(&store, scene, &[&number]).await;
    store.update_content(scene.agent, said.id, &said.content).await.unwrap();
    assert_eq!(exist(&store, scene, &[&number]).await, [true]);
    store.update_content(scene.agent, said.id, &Content::text("never mind")).await.unwrap();
    assert_eq!(exist(&store, scene, &[&number]).await, [false]);
    // An import of an earlier export does not bring it back.
    let ids = [said.id, number.memory.id];
    assert_eq!(store.deleted(&ids).await.unwrap(), [number.memory.id]);
    assert_eq!(recalled(&store, scene, "never mind number").await, ["never mind"]);
}

/// A row is removed by itself: what was made from it stays.
pub async fn a_derived_memory_is_removed_alone(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let first = summary(scene, "first summary", &[]);
    save(&store, scene, &[&first]).await;
    let second = summary(scene, "second summary", &[first.memory.id]);
    let change = DerivedChange {
        new: vec![second.clone()],
        removed: vec![first.memory.id],
        ..DerivedChange::default()
    };
    assert_eq!(store.change_derived(scene.agent, &change).await.unwrap(), 1);
    assert_eq!(exist(&store, scene, &[&first, &second]).await, [false, true]);
    assert_eq!(recalled(&store, scene, "summary").await, ["second summary"]);
}

/// A summary may contain what an expired message said, whose author is no longer stored. So when a
/// person is forgotten, the summaries of every World with a retention period are deleted.
pub async fn summaries_that_outlived_messages_are_forgotten(store: Arc<dyn Store>) {
    for (days, kept) in [(None, true), (Some(30), false), (Some(0), false)] {
        let scene = Scene::new();
        store.connect(scene.connections()).await.unwrap();
        let message = scene.message("I am ill", 1);
        let question = scene.message("forget me", 2);
        store.ingest(Scene::batch(&[message.clone(), question.clone()])).await.unwrap();
        let other = Scene { person: scene.itself(), ..scene };
        let left = other.memory("good morning", 3);
        store.save_memories(std::slice::from_ref(&left)).await.unwrap();
        let short = summary(other, "one is ill", &[message.memory.id, left.id]);
        let fact = fact(other, "it is morning", 3, &[left.id]);
        save(&store, scene, &[&short, &fact]).await;
        assert_eq!(store.expire_memories(scene.agent, &[message.memory.id]).await.unwrap(), 1);
        assert_eq!(exist(&store, scene, &[&short]).await, [true], "another message backs it");
        let retention = days.map(|days| RequestedChange::SetRetention { world: scene.world, days });
        let mut record = scene.turn(&[]);
        record.effects = retention.into_iter().collect();
        store.finish_turn(record).await.unwrap();
        let mut record = scene.turn(&[&question]);
        record.effects = vec![RequestedChange::ForgetPerson { entity: scene.person }];
        store.finish_turn(record).await.unwrap();
        assert_eq!(exist(&store, scene, &[&short, &fact]).await, [kept, true], "{days:?}");
    }
}

/// Forgetting a person removes what was made from their messages, also about others.
pub async fn what_was_made_of_a_person_is_forgotten(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let message = scene.message("I told you about Ada", 1);
    let question = scene.message("forget me", 2);
    store.ingest(Scene::batch(&[message.clone(), question.clone()])).await.unwrap();
    let other = Scene { person: scene.itself(), ..scene };
    let kept = other.memory("unrelated", 3);
    store.save_memories(std::slice::from_ref(&kept)).await.unwrap();
    let about_ada = fact(other, "Ada paints", 3, &[message.memory.id]);
    let short = summary(other, "they spoke of Ada", &[message.memory.id, kept.id]);
    let unrelated = fact(other, "unrelated fact", 3, &[kept.id]);
    save(&store, scene, &[&about_ada, &short, &unrelated]).await;
    assert!(recalled(&store, scene, "Ada").await.contains(&"Ada paints".to_owned()));
    let mut record = scene.turn(&[&question]);
    record.effects = vec![RequestedChange::ForgetPerson { entity: scene.person }];
    store.finish_turn(record).await.unwrap();
    assert_eq!(exist(&store, scene, &[&about_ada, &short, &unrelated]).await, [false, false, true]);
    assert_eq!(recalled(&store, scene, "Ada").await, Vec::<String>::new());
}
