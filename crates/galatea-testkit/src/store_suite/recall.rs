//! Searches by words, by meaning, and never out of scope.

use galatea_core::{
    ChannelType, Derived, Embedding, Memory, MemoryKind, MemoryScope, Settings, Store, Timestamp,
    Visibility, WorldId,
    fusion::{Fusion, HALF_LIFE},
    store::{DerivedChange, RecallQuery, Recalled},
};
use std::sync::Arc;

use super::fixtures::{Scene, searched};

pub(super) const MODEL: &str = "test small";

pub(super) fn towards(degrees: f32) -> Embedding {
    let angle = degrees.to_radians();
    Embedding::new(vec![angle.cos(), angle.sin()]).unwrap()
}

pub(super) fn asking(scene: Scene, text: &str) -> RecallQuery {
    RecallQuery::new(scene.visible(), text, 10, Timestamp(1_000))
}

pub(super) async fn found(store: &Arc<dyn Store>, query: &RecallQuery) -> Vec<String> {
    texts(&searched(store, query).await)
}

fn texts(hits: &[Recalled]) -> Vec<String> {
    hits.iter().map(|hit| hit.memory.content.text.clone()).collect()
}

/// Any word of a question is enough, the rarer ones count more; also in other forms and scripts.
pub async fn words_are_recalled_in_other_forms(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let said = [
        "The garden party is on Friday",
        "We carried boxes to the party",
        "I like the party",
        "Seine Katze schläft",
        "我明天去东京出差",
        "nothing of that sort",
    ];
    let memories: Vec<Memory> =
        said.iter().zip(1..).map(|(text, at)| scene.memory(text, at)).collect();
    store.save_memories(&memories).await.unwrap();
    let plain = |text: &str| {
        let mut query = asking(scene, text);
        query.fusion.neighbours = 0.0;
        query
    };
    let parties = found(&store, &plain("When is the garden party?")).await;
    assert_eq!((parties.len(), parties[0].as_str()), (3, said[0]), "{parties:?}");
    assert_eq!(found(&store, &plain("who carries a box?")).await, [said[1]]);
    assert_eq!(found(&store, &plain("Welche Katzen?")).await, [said[3]]);
    assert_eq!(found(&store, &plain("东京")).await, [said[4]]);
    assert_eq!(found(&store, &plain("xylophone")).await, Vec::<String>::new());
    let late = scene.memory("a late garden", 9);
    store.save_memories(std::slice::from_ref(&late)).await.unwrap();
    assert_eq!(found(&store, &plain("gardens")).await.len(), 2, "stored since the last search");
    let newest = found(&store, &plain("")).await;
    assert_eq!((newest.len(), newest[0].as_str()), (7, "a late garden"), "without a question");
    let covered = |text: &str| RecallQuery { coverage: 0.5, ..plain(text) };
    let garden = found(&store, &covered("Is the garden party on Friday?")).await;
    assert_eq!(garden, [said[0]], "the others have too few of the words");
    for nothing in ["", "🙂!", "xylophone"] {
        assert_eq!(found(&store, &covered(nothing)).await, Vec::<String>::new(), "{nothing}");
    }
}

/// Words and meaning together: each finds what the other cannot, and a hit names both ranks.
pub async fn words_and_meaning_are_fused(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let memories = [
        scene.memory("the beagle is called Biscuit", 1),
        scene.memory("an animal lives with us", 2),
        scene.memory("rain again", 3),
    ];
    store.save_memories(&memories).await.unwrap();
    let embeddings = [
        (&memories[0], towards(60.0)),
        (&memories[1], towards(5.0)),
        (&memories[2], towards(170.0)),
    ];
    store.save_embeddings(scene.agent, MODEL, &embeddings).await.unwrap();
    let mut query = asking(scene, "Biscuit").meaning(MODEL, towards(0.0));
    query.fusion.neighbours = 0.0;
    let hits = searched(&store, &query).await;
    assert_eq!(texts(&hits)[2..], ["rain again"]);
    let beagle = hits.iter().find(|hit| hit.memory == memories[0]).unwrap();
    assert_eq!(beagle.words.unwrap().rank, 1);
    assert_eq!(beagle.meaning.unwrap().rank, 2);
    assert!((beagle.meaning.unwrap().score - 0.5).abs() < 1e-5);
    let animal = hits.iter().find(|hit| hit.memory == memories[1]).unwrap();
    assert_eq!((animal.words, animal.meaning.unwrap().rank), (None, 1));
    query.text = String::new();
    assert_eq!(found(&store, &query).await[0], "an animal lives with us");
    query.meanings[0].model = "another".to_owned();
    assert_eq!(found(&store, &query).await, Vec::<String>::new());
}

/// During a change of the model both models' embeddings answer.
pub async fn two_models_answer_together(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let memories = [scene.memory("old", 1), scene.memory("new", 2)];
    store.save_memories(&memories).await.unwrap();
    store.save_embeddings(scene.agent, "before", &[(&memories[0], towards(10.0))]).await.unwrap();
    let wide = Embedding::new(vec![1.0, 0.0, 0.0]).unwrap();
    store.save_embeddings(scene.agent, MODEL, &[(&memories[1], wide.clone())]).await.unwrap();
    let query = asking(scene, "").meaning(MODEL, wide).meaning("before", towards(0.0));
    let mut hits = found(&store, &query).await;
    hits.sort();
    assert_eq!(hits, ["new", "old"]);
}

/// The message before and the one after come along, and a hit's neighbours can be hits.
pub async fn neighbours_come_along(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let elsewhere = scene.other_room();
    let memories = [
        scene.memory("hello", 1),
        scene.memory("When do we leave for the airport?", 2),
        elsewhere.memory("elsewhere", 3),
        scene.memory("at twenty to seven", 4),
        scene.memory("bye", 5),
    ];
    store.save_memories(&memories).await.unwrap();
    let query = RecallQuery { neighbours: true, ..asking(scene, "airport") };
    let hits = searched(&store, &query).await;
    let first = &hits[0];
    assert_eq!(first.memory, memories[1]);
    assert_eq!(first.before.as_ref(), Some(&memories[0]));
    assert_eq!(first.after.as_ref(), Some(&memories[3]));
    assert!(texts(&hits).contains(&"at twenty to seven".to_owned()), "{hits:?}");
    assert!(!texts(&hits).contains(&"elsewhere".to_owned()));
    let mut alone = asking(scene, "airport");
    alone.fusion.neighbours = 0.0;
    let hits = searched(&store, &alone).await;
    assert_eq!((hits.len(), &hits[0].before), (1, &None));
}

/// Filters narrow a search; a person's name in the question lifts what they said.
pub async fn recall_is_filtered(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let ada = Scene { person: galatea_core::EntityId::fresh(), ..scene };
    let memories = [
        scene.memory("tea is fine", 10),
        ada.memory("tea is great", 20),
        Memory { kind: MemoryKind::ActionResult, ..scene.memory("tea was made", 30) },
    ];
    store.save_memories(&memories).await.unwrap();
    let mut base = asking(scene, "tea");
    base.fusion.neighbours = 0.0;
    assert_eq!(found(&store, &base).await.len(), 2, "an action's result is not asked for");
    let results = base.clone().kind(MemoryKind::ActionResult);
    assert_eq!(found(&store, &results).await, ["tea was made"]);
    for query in [
        RecallQuery { people: vec![ada.person], ..base.clone() },
        RecallQuery { since: Some(Timestamp(20)), ..base.clone() },
    ] {
        assert_eq!(found(&store, &query).await, ["tea is great"]);
    }
    let before = RecallQuery { before: Some(Timestamp(20)), ..base.clone() };
    assert_eq!(found(&store, &before).await, ["tea is fine"]);
    let room = RecallQuery { room: Some(scene.other_room().room), ..base.clone() };
    assert_eq!(found(&store, &room).await, Vec::<String>::new());
    for person in [scene.person, ada.person] {
        let named = RecallQuery { named: vec![person], ..base.clone() };
        assert_eq!(searched(&store, &named).await[0].memory.entity_id, person);
    }
    assert_eq!(found(&store, &RecallQuery { limit: 0, ..base.clone() }).await.len(), 0);
    assert_eq!(found(&store, &RecallQuery { limit: 1, ..base }).await.len(), 1);
}

/// The same hits come first whatever the limit, among them the one that has all words of the question,
/// though a hundred others are more similar.
pub async fn the_order_of_hits_is_that_of_every_limit(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let mut memories = vec![scene.memory("the kettle has no lid", 1)];
    let other = |n: i64| if n % 7 == 0 { format!("kettle {n}") } else { format!("word{n}") };
    memories.extend((2..160).map(|n| scene.memory(&other(n), n)));
    store.save_memories(&memories).await.unwrap();
    let angle = |n: f32| if n == 0.0 { 170.0 } else { n * 37.0 % 160.0 };
    let embeddings: Vec<(&Memory, Embedding)> =
        memories.iter().zip(0_u8..).map(|(memory, n)| (memory, towards(angle(n.into())))).collect();
    store.save_embeddings(scene.agent, MODEL, &embeddings).await.unwrap();
    for by_meaning in [true, false] {
        let mut query = asking(scene, "kettle lid");
        if by_meaning {
            query = query.meaning(MODEL, towards(0.0));
        }
        let all = found(&store, &RecallQuery { limit: 20, ..query.clone() }).await;
        assert!(all[..5].contains(&"the kettle has no lid".to_owned()), "{all:?}");
        for limit in [1, 3, 5, 12] {
            let some = found(&store, &RecallQuery { limit, ..query.clone() }).await;
            let first = all.len().min(usize::try_from(limit).unwrap());
            assert_eq!(some, all[..first], "{limit}, by meaning: {by_meaning}");
        }
    }
}

/// Each scope is seen where it may be and nowhere else, by words, by meaning and as the newest.
pub async fn scopes_are_kept(store: Arc<dyn Store>) {
    let home = Scene::new();
    let scopes = [MemoryScope::Private, MemoryScope::Room, MemoryScope::World, MemoryScope::Agent];
    let new: Vec<Derived> = scopes
        .iter()
        .map(|scope| {
            let memory =
                Memory { kind: MemoryKind::Facts, ..home.memory(&format!("canary {scope:?}"), 1) };
            Derived::new(memory, *scope, Vec::new())
        })
        .collect();
    let change = DerivedChange { new: new.clone(), ..DerivedChange::default() };
    assert_eq!(store.change_derived(home.agent, &change).await.unwrap(), 4);
    let embeddings: Vec<(&Memory, Embedding)> =
        new.iter().map(|derived| (&derived.memory, towards(1.0))).collect();
    store.save_embeddings(home.agent, MODEL, &embeddings).await.unwrap();
    let same_world = home.other_room();
    let abroad = Scene { world: WorldId::fresh(), ..home.other_room() };
    let stranger = Scene { person: galatea_core::EntityId::fresh(), ..abroad };
    for (name, visible, expected) in [
        ("its room", home.visible(), vec!["Agent", "Room", "World"]),
        ("its room, alone", home.visible_alone(), vec!["Agent", "Private", "Room", "World"]),
        ("its World", same_world.visible(), vec!["Agent", "World"]),
        ("another World", abroad.visible(), vec!["Agent"]),
        ("alone elsewhere", abroad.visible_alone(), vec!["Agent", "Private"]),
        ("another person alone", stranger.visible_alone(), vec!["Agent"]),
        ("another agent", Scene::new().visible_alone(), vec![]),
        (
            "a group that names its person",
            Visibility::in_room(&abroad.as_room(ChannelType::Group), &[home.person]),
            vec!["Agent"],
        ),
        (
            "the operator",
            Visibility::operator(home.agent),
            vec!["Agent", "Private", "Room", "World"],
        ),
        ("another operator", Visibility::operator(Scene::new().agent), vec![]),
    ] {
        let query = RecallQuery::new(visible, "canary", 10, Timestamp(5));
        let words = query.clone();
        let meaning =
            RecallQuery { text: String::new(), ..query.clone() }.meaning(MODEL, towards(0.0));
        let newest = RecallQuery { text: String::new(), ..query };
        for query in [words, meaning, newest] {
            let mut hits = found(&store, &query).await;
            hits.sort();
            let expected: Vec<String> =
                expected.iter().map(|scope| format!("canary {scope}")).collect();
            assert_eq!(hits, expected, "{name}: {query:?}");
        }
    }
}

/// Twenty agents hold the same words in one shared room and in their own; none sees another's.
pub async fn another_agents_memories_are_not_recalled(store: Arc<dyn Store>) {
    let scenes: Vec<Scene> = (0..20).map(|_| Scene::new()).collect();
    let shared = scenes[0].room;
    for (n, scene) in scenes.iter().enumerate() {
        let in_shared = Scene { room: shared, ..*scene };
        let memories =
            [scene.memory(&format!("canary {n}"), 1), in_shared.memory(&format!("canary {n}"), 2)];
        store.save_memories(&memories).await.unwrap();
        let embeddings = [(&memories[0], towards(1.0)), (&memories[1], towards(2.0))];
        store.save_embeddings(scene.agent, MODEL, &embeddings).await.unwrap();
    }
    for (n, scene) in scenes.iter().enumerate() {
        for scene in [*scene, Scene { room: shared, ..*scene }] {
            for text in ["canary", "canary 1 2 3 4 5", ""] {
                let query = RecallQuery { neighbours: true, ..asking(scene, text) }
                    .meaning(MODEL, towards(0.0));
                let hits = searched(&store, &query).await;
                let all: Vec<&Memory> = hits
                    .iter()
                    .flat_map(|hit| [Some(&hit.memory), hit.before.as_ref(), hit.after.as_ref()])
                    .flatten()
                    .collect();
                assert!(!all.is_empty());
                assert!(all.iter().all(|memory| memory.content.text == format!("canary {n}")));
            }
        }
    }
}

/// A question is taken as words and never as query syntax.
pub async fn hostile_questions_are_harmless(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let elsewhere = scene.other_room();
    let own = format!("messagesr{}", scene.room.0.simple());
    store
        .save_memories(&[
            scene.memory("don't drop tables", 1),
            elsewhere.memory(&format!("planted {own}"), 2),
        ])
        .await
        .unwrap();
    for text in [
        "\"",
        "\"\"",
        "a\"b",
        "drop*",
        "NEAR(drop tables)",
        "terms:drop",
        "{place} : drop",
        "drop OR",
        "NOT",
        "^drop",
        "(",
        "drop AND",
        "'; DROP TABLE memories; --",
        "\0",
        "{}",
        "-",
        "a & !b | c:*",
        "\\' : drop",
        "planted",
        &own,
    ] {
        let hits = found(&store, &asking(scene, text)).await;
        assert!(hits.iter().all(|hit| hit == "don't drop tables"), "{text:?}: {hits:?}");
    }
    assert_eq!(found(&store, &asking(scene, "DROP tables!")).await, ["don't drop tables"]);
}

/// A text that is edited or deleted is recalled as it is now; a moved room takes its index along.
pub async fn recall_follows_changes(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let memories: Vec<Memory> = (0..20).map(|n| scene.memory(&format!("apple {n}"), n)).collect();
    store.save_memories(&memories).await.unwrap();
    let apples = RecallQuery { limit: 50, ..asking(scene, "apple") };
    assert_eq!(found(&store, &apples).await.len(), 20);
    let pear = galatea_core::Content::text("pear");
    store.update_content(scene.agent, memories[3].id, &pear).await.unwrap();
    store.delete_memories(scene.agent, &[memories[4].id, memories[19].id]).await.unwrap();
    let mut plain = apples.clone();
    plain.fusion.neighbours = 0.0;
    assert_eq!(found(&store, &plain).await.len(), 17);
    assert_eq!(
        found(&store, &RecallQuery { text: "pears".to_owned(), ..plain.clone() }).await,
        ["pear"]
    );
    store.save_memories(&[scene.memory("new apple", 30)]).await.unwrap();
    assert_eq!(found(&store, &plain).await.len(), 18, "a row that reuses a deleted one's place");
}

/// Of two messages that say the same, the one with the later time comes first only with a half-life.
pub async fn age_counts_with_a_half_life_only(store: Arc<dyn Store>) {
    const DAY: i64 = 86_400_000;
    let scene = Scene::new();
    let late = scene.memory("the kettle is on the shelf", 40 * DAY);
    let early = scene.memory("the kettle is on the shelf", 10 * DAY);
    // Of equals the one that was stored last comes first, whatever its time.
    store.save_memories(std::slice::from_ref(&late)).await.unwrap();
    store.save_memories(std::slice::from_ref(&early)).await.unwrap();
    let first = async |settings: Settings| {
        let fusion = Fusion::of(&settings).unwrap();
        let query = RecallQuery { fusion, now: Timestamp(41 * DAY), ..asking(scene, "kettle") };
        searched(&store, &query).await[0].memory.created_at
    };
    assert_eq!(first(Settings::default()).await, early.created_at);
    for (days, at) in [(0, early.created_at), (30, late.created_at)] {
        let settings = Settings::from_pairs([(HALF_LIFE.name, days)]);
        assert_eq!(first(settings).await, at, "{days}");
    }
}
