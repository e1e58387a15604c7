//! Tests of what profiles are made, who sees them, and when they are made again.

use galatea_core::{
    Derived, EntityId, FinishedTurn, MemoryId, MemoryKind, MemoryScope, Timestamp, Verdict,
    store::{DerivedChange, DerivedStore, Superseded},
};
use serde_json::json;

use crate::scene::{BOB, MARIA, Scene, someone};

const ABOUT: [&str; 5] = [
    "Maria lives in Ghent.",
    "Maria plays the harp.",
    "Maria has 2 cats.",
    "Maria works at Nautilus.",
    "Maria is afraid of storms.",
];
const PROFILE: &str = "Maria lives in Ghent and works at Nautilus. She has 2 cats.";

/// Facts of a person with a scope, as they were learnt in the scene's room.
async fn learn(scene: &Scene, who: u128, scope: MemoryScope, facts: &[&str]) -> Vec<MemoryId> {
    let mut new = Vec::new();
    for (n, text) in facts.iter().enumerate() {
        let mut memory = scene.message_by(who, text);
        memory.id = MemoryId::fresh();
        memory.kind = MemoryKind::Facts;
        memory.created_at = Timestamp(scene.clock_now().0 + i64::try_from(n).unwrap());
        memory.metadata.insert("saidBy".into(), json!(someone(who)));
        new.push(Derived::new(memory, scope, Vec::new()));
    }
    let ids = new.iter().map(|fact| fact.memory.id).collect();
    let change = DerivedChange { new, ..DerivedChange::default() };
    scene.double.change_derived(scene.agent.identity.id(), &change).await.unwrap();
    ids
}

/// True if the evaluator had something to look at.
async fn profile(scene: &Scene) -> bool {
    let turn = scene.turn();
    let finished = FinishedTurn { turn: &turn, replies: &[], verdict: &Verdict::default() };
    let evaluator = scene.plugin.evaluators.iter().find(|e| e.name() == "PROFILES").unwrap();
    let wanted = evaluator.validate(&finished).await.unwrap();
    if wanted {
        evaluator.evaluate(&finished).await.unwrap();
    }
    wanted
}

/// An hour passes: another process may have learnt something.
fn later(scene: &Scene) {
    scene.clock.advance(std::time::Duration::from_secs(3_600));
}

fn stored(scene: &Scene) -> Vec<Derived> {
    let tables = scene.double.tables();
    let all = tables.memories.iter().filter(|memory| memory.kind == MemoryKind::Profiles);
    all.map(|memory| tables.whole(memory)).collect()
}

#[tokio::test]
async fn five_facts_become_a_profile_that_is_shown_in_their_place() {
    let scene = Scene::group().by(MARIA);
    let room = MemoryScope::Room;
    learn(&scene, MARIA, room, &ABOUT[..4]).await;
    assert!(profile(&scene).await);
    assert_eq!((stored(&scene), scene.model.requests().len()), (Vec::new(), 0), "four are few");
    let ids = [learn(&scene, MARIA, room, &ABOUT[4..]).await].concat();
    assert!(!profile(&scene).await, "looked at a moment ago");
    later(&scene);
    scene.model.enqueue(PROFILE);
    assert!(profile(&scene).await);
    let asked = scene.model.requests()[0].messages[0].text();
    assert!(asked.contains("- Maria plays the harp. (said by themselves, "), "{asked}");
    let [made] = stored(&scene).try_into().unwrap();
    assert_eq!((made.memory.entity_id, made.scope), (someone(MARIA), room));
    assert!(made.sources.len() == 5 && made.sources.contains(&ids[0]));
    let shown = scene.shows("FACTS").await.text;
    assert!(shown.contains(&format!("About Maria it is known: “{PROFILE}”")), "{shown}");
    assert!(shown.matches('“').count() <= 1 + 3, "in place of the list: {shown}");

    // Up to date: no further call. Two more facts stand beside it, a third makes it again.
    later(&scene);
    learn(&scene, MARIA, room, &["Maria sings.", "Maria swims."]).await;
    assert!(profile(&scene).await);
    assert_eq!(scene.model.requests().len(), 1);
    let shown = scene.shows("FACTS").await.text;
    assert!(shown.contains("“Maria sings.” (") && shown.contains("“Maria swims.” ("), "{shown}");
    later(&scene);
    learn(&scene, MARIA, room, &["Maria paints."]).await;
    scene.model.enqueue("Maria paints and swims.");
    assert!(profile(&scene).await);
    let [again] = stored(&scene).try_into().unwrap();
    assert_eq!(
        (again.memory.content.text.as_str(), again.sources.len()),
        ("Maria paints and swims.", 8)
    );
}

#[tokio::test]
async fn a_profile_with_a_fact_that_was_replaced_is_not_shown_and_made_again() {
    let scene = Scene::group().by(MARIA);
    let ids = learn(&scene, MARIA, MemoryScope::Room, &ABOUT).await;
    learn(&scene, MARIA, MemoryScope::Room, &["Maria sings."]).await;
    scene.model.enqueue(PROFILE);
    assert!(profile(&scene).await);
    let moved = Superseded { id: ids[0], at: scene.clock_now(), by: None };
    let change = DerivedChange { superseded: vec![moved], ..DerivedChange::default() };
    scene.double.change_derived(scene.agent.identity.id(), &change).await.unwrap();
    let shown = scene.shows("FACTS").await.text;
    assert!(!shown.contains("Ghent") && shown.contains("harp"), "the facts instead: {shown}");
    later(&scene);
    scene.model.enqueue("Maria works at Nautilus.");
    assert!(profile(&scene).await);
    let shown = scene.shows("FACTS").await.text;
    assert_eq!(shown, "About Maria it is known: “Maria works at Nautilus.”");
    assert_eq!(stored(&scene).len(), 1, "in place of the one before");
}

#[tokio::test]
async fn a_profile_is_made_of_one_scope_and_seen_within_it() {
    let private = Scene::private().by(MARIA);
    learn(&private, MARIA, MemoryScope::Private, &ABOUT).await;
    learn(&private, MARIA, MemoryScope::World, &["Maria is the mayor."]).await;
    private.model.enqueue(PROFILE);
    assert!(profile(&private).await);
    assert!(!private.model.requests()[0].messages[0].text().contains("mayor"));
    let [made] = stored(&private).try_into().unwrap();
    assert_eq!((made.scope, made.sources.len()), (MemoryScope::Private, 5));

    // In an open group only what its World may see, and of each person their own.
    let mut open = Scene::group().by(MARIA);
    open.room.metadata.insert("openToWorld".into(), json!(true));
    learn(&open, MARIA, MemoryScope::Private, &ABOUT).await;
    learn(&open, MARIA, MemoryScope::Room, &ABOUT).await;
    assert!(profile(&open).await);
    assert_eq!(stored(&open).len(), 0, "none of them is the World's");
    learn(&open, MARIA, MemoryScope::World, &ABOUT).await;
    learn(&open, BOB, MemoryScope::World, &["Bob sails."]).await;
    later(&open);
    open.model.enqueue(PROFILE);
    assert!(profile(&open).await);
    let [made] = stored(&open).try_into().unwrap();
    let of: EntityId = made.memory.entity_id;
    assert_eq!((made.scope, of, made.sources.len()), (MemoryScope::World, someone(MARIA), 5));
}

#[tokio::test]
async fn what_stands_in_no_fact_is_refused_and_a_script_makes_none() {
    let mut scene = Scene::group().by(MARIA);
    learn(&scene, MARIA, MemoryScope::Room, &ABOUT).await;
    scene.model.enqueue("Maria lives in Paris. She has 7 cats.");
    scene.model.enqueue("Maria lives in Ghent. She knows Zoltan.");
    assert!(profile(&scene).await);
    let again = scene.model.requests()[1].messages.last().unwrap().text();
    assert!(again.contains("Paris, 7"), "{again}");
    assert_eq!(stored(&scene)[0].memory.content.text, "Maria lives in Ghent.");
    scene.scripted();
    later(&scene);
    assert!(!profile(&scene).await, "no model");
}

#[tokio::test]
async fn two_profiles_made_at_once_are_the_same_row() {
    let mut ids = Vec::new();
    for _ in 0..2 {
        let scene = Scene::group().by(MARIA);
        learn(&scene, MARIA, MemoryScope::Room, &ABOUT).await;
        scene.model.enqueue(PROFILE);
        assert!(profile(&scene).await);
        ids.push(stored(&scene)[0].memory.id);
        // The next one is another row.
        later(&scene);
        learn(&scene, MARIA, MemoryScope::Room, &["Maria sings.", "Maria swims.", "Maria paints."])
            .await;
        scene.model.enqueue("Maria sings.");
        assert!(profile(&scene).await);
        ids.push(stored(&scene)[0].memory.id);
    }
    assert_eq!(ids[..2], ids[2..]);
    assert_ne!(ids[0], ids[1]);
}

#[tokio::test]
async fn profiles_that_no_longer_hold_take_no_place_of_others() {
    let scene = Scene::group().by(MARIA);
    let ids = learn(&scene, MARIA, MemoryScope::Room, &ABOUT).await;
    let made = |n: i64, text: &str, source: MemoryId| {
        let mut memory = scene.message_by(MARIA, text);
        memory.id = MemoryId::fresh();
        memory.kind = MemoryKind::Profiles;
        memory.created_at = Timestamp(scene.clock_now().0 + n);
        Derived::new(memory, MemoryScope::Room, vec![source])
    };
    let old = (0..6).map(|n| made(n + 1, "An old profile.", ids[0]));
    let new: Vec<Derived> = old.chain([made(0, "The profile that holds.", ids[1])]).collect();
    let moved = Superseded { id: ids[0], at: scene.clock_now(), by: None };
    for change in [
        DerivedChange { new, ..DerivedChange::default() },
        DerivedChange { superseded: vec![moved], ..DerivedChange::default() },
    ] {
        scene.double.change_derived(scene.agent.identity.id(), &change).await.unwrap();
    }
    let shown = scene.shows("FACTS").await.text;
    assert!(
        shown.contains("The profile that holds.") && !shown.contains("An old profile"),
        "{shown}"
    );
}
