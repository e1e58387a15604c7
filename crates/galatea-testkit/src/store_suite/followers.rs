//! Embeddings have words of the message before: they go with it, and are made again without it.

use galatea_core::{
    Content, Embedding, EntityId, Memory, Store, Timestamp, Visibility,
    store::{EmbeddingClaim, NewEmbedding, RecallQuery, RequestedChange, Unembedded},
};
use std::sync::Arc;

use super::fixtures::{Scene, searched};

const MODEL: &str = "test small";

fn vector() -> Embedding {
    Embedding::new(vec![1.0, 0.0]).unwrap()
}

/// Waiting memories, claimed for a minute.
async fn claimed(store: &Arc<dyn Store>, scene: Scene, now: i64) -> Vec<Unembedded> {
    let claim = EmbeddingClaim {
        agent: scene.agent,
        model: MODEL.to_owned(),
        kinds: Vec::new(),
        limit: 20,
        now: Timestamp(now),
        until: Timestamp(now + 60),
    };
    store.claim_unembedded(&claim).await.unwrap()
}

/// Their texts, each with that of the message before it.
async fn waiting(store: &Arc<dyn Store>, scene: Scene, now: i64) -> Vec<[String; 2]> {
    let text = |memory: Memory| memory.content.text;
    let waiting = claimed(store, scene, now).await.into_iter();
    waiting.map(|of| [of.before.map(text).unwrap_or_default(), text(of.memory)]).collect()
}

async fn embed(store: &Arc<dyn Store>, scene: Scene, waiting: &[Unembedded]) -> u64 {
    let new = waiting.iter().map(|Unembedded { memory, before }| NewEmbedding {
        memory,
        before: before.as_ref(),
        embedding: vector(),
    });
    let new: Vec<NewEmbedding<'_>> = new.collect();
    store.save_new_embeddings(scene.agent, MODEL, &new, &[]).await.unwrap()
}

/// The memories that are found by their embeddings.
async fn embedded(store: &Arc<dyn Store>, scene: Scene) -> Vec<String> {
    let mut query = RecallQuery::new(Visibility::operator(scene.agent), "", 100, Timestamp(0))
        .meaning(MODEL, vector());
    query.fusion.neighbours = 0.0;
    let hits = searched(store, &query).await;
    let mut texts: Vec<String> = hits.into_iter().map(|hit| hit.memory.content.text).collect();
    texts.sort();
    texts
}

/// Messages in two rooms of an agent, all embedded. The second of each room is of another person.
struct Follower {
    scene: Scene,
    other: EntityId,
    here: Vec<Memory>,
}

impl Follower {
    /// `alone`: as a version stored them that did not store the message before.
    async fn new(store: &Arc<dyn Store>, alone: bool) -> Self {
        let (scene, other) = (Scene::new(), EntityId::fresh());
        let elsewhere = scene.other_room();
        let mut followed = Self { scene, other, here: Vec::new() };
        for (n, text) in (0..).zip(["first", "second", "third", "fourth"]) {
            for place in [scene, elsewhere] {
                let place = if n == 1 { Scene { person: other, ..place } } else { place };
                // Of a platform with whole seconds.
                let message = place.message(text, n / 2);
                store.ingest(Scene::batch(std::slice::from_ref(&message))).await.unwrap();
                if place.room == scene.room {
                    followed.here.push(message.memory);
                }
            }
        }
        let mut all = claimed(store, scene, 0).await;
        assert_eq!(all.len(), 8);
        if alone {
            all.iter_mut().for_each(|of| of.before = None);
        }
        assert_eq!(embed(store, scene, &all).await, 8);
        assert_eq!(waiting(store, scene, 1_000).await, [[""; 2]; 0]);
        followed
    }
}

/// Deleted: the next one waits again, with the message that is before it now.
pub async fn an_embedding_goes_with_a_deleted_message_before_it(store: Arc<dyn Store>) {
    for alone in [true, false] {
        let Follower { scene, here, .. } = Follower::new(&store, alone).await;
        store.delete_memories(scene.agent, &[here[1].id]).await.unwrap();
        let left = ["first", "first", "fourth", "fourth", "second", "third"];
        assert_eq!(embedded(&store, scene).await, left);
        assert_eq!(waiting(&store, scene, 2_000).await, [["first", "third"]]);
        // The last one has no next one.
        store.delete_memories(scene.agent, &[here[3].id]).await.unwrap();
        assert_eq!(waiting(&store, scene, 2_000).await, [[""; 2]; 0]);
        // Several at once.
        let again = claimed(&store, scene, 3_000).await;
        assert_eq!(embed(&store, scene, &again).await, 1);
        let late = scene.memory("late", 9);
        store.save_memories(&[late]).await.unwrap();
        let again = claimed(&store, scene, 4_000).await;
        assert_eq!(embed(&store, scene, &again).await, 1);
        store.delete_memories(scene.agent, &[here[0].id, here[2].id]).await.unwrap();
        assert_eq!(waiting(&store, scene, 5_000).await, [["", "late"]]);
    }
}

/// Edited: the next one waits again, with the new text. The same text changes nothing.
pub async fn an_embedding_goes_with_an_edited_message_before_it(store: Arc<dyn Store>) {
    for alone in [true, false] {
        let Follower { scene, here, .. } = Follower::new(&store, alone).await;
        let mut same = here[1].content.clone();
        same.url = Some("https://example.org".to_owned());
        assert!(store.update_content(scene.agent, here[1].id, &same).await.unwrap());
        assert_eq!(waiting(&store, scene, 2_000).await, [["first", "second"]], "its own");
        let edited = Content::text("edited");
        assert!(store.update_content(scene.agent, here[1].id, &edited).await.unwrap());
        let all = waiting(&store, scene, 3_000).await;
        assert_eq!(all, [["edited", "third"], ["first", "edited"]]);
        let left = ["first", "first", "fourth", "fourth", "second", "third"];
        assert_eq!(embedded(&store, scene).await, left);
    }
}

/// Expired: the oldest message that is kept waits again, alone.
pub async fn an_embedding_goes_with_an_expired_message_before_it(store: Arc<dyn Store>) {
    for alone in [true, false] {
        let Follower { scene, here, .. } = Follower::new(&store, alone).await;
        store.expire_memories(scene.agent, &[here[0].id, here[1].id]).await.unwrap();
        assert_eq!(waiting(&store, scene, 2_000).await, [["", "third"]]);
        let left = ["first", "fourth", "fourth", "second", "third"];
        assert_eq!(embedded(&store, scene).await, left);
    }
}

/// Forgotten: in all rooms of the person the next ones of others wait again.
pub async fn an_embedding_goes_with_a_forgotten_message_before_it(store: Arc<dyn Store>) {
    for alone in [true, false] {
        let Follower { scene, other, .. } = Follower::new(&store, alone).await;
        let mut record = scene.turn(&[]);
        record.effects = vec![RequestedChange::ForgetPerson { entity: other }];
        store.finish_turn(record).await.unwrap();
        let thirds = [["first", "third"], ["first", "third"]];
        let all = waiting(&store, scene, 2_000).await;
        let all: Vec<_> = all.into_iter().filter(|[_, text]| text != "answer").collect();
        assert_eq!(all, thirds);
        assert_eq!(embedded(&store, scene).await, ["first", "first", "fourth", "fourth"]);
    }
}

/// A message with an older time comes between two that are embedded already. The embedding of the
/// second one goes with the first one all the same, which it was made with.
pub async fn an_embedding_goes_with_the_message_it_was_made_with(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let said = [scene.memory("before", 10), scene.memory("after", 20)];
    store.save_memories(&said).await.unwrap();
    let both = claimed(&store, scene, 0).await;
    assert_eq!(embed(&store, scene, &both).await, 2);
    for n in 11..14 {
        store.save_memories(&[scene.memory("between", n)]).await.unwrap();
    }
    let between = claimed(&store, scene, 1_000).await;
    assert_eq!(embed(&store, scene, &between).await, 3);
    store.delete_memories(scene.agent, &[said[0].id]).await.unwrap();
    let all = waiting(&store, scene, 2_000).await;
    assert_eq!(all, [["", "between"], ["between", "after"]]);
    assert_eq!(embedded(&store, scene).await, ["between", "between"]);
}

/// A process embeds a message while the one before it changes or goes: what it made is not stored,
/// and the message waits again at once, also if the model had refused it with the words of before.
pub async fn an_embedding_of_words_that_are_gone_is_not_stored(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let said = [scene.memory("secret", 1), scene.memory("next", 2), scene.memory("refused", 3)];
    store.save_memories(&said).await.unwrap();
    let edit = Content::text("changed");
    for (now, changed) in [(0, true), (1_000, false)] {
        let mut taken = claimed(&store, scene, now).await;
        taken.retain(|of| of.memory.id == said[1].id);
        if changed {
            store.update_content(scene.agent, said[0].id, &edit).await.unwrap();
        } else {
            store.delete_memories(scene.agent, &[said[0].id]).await.unwrap();
        }
        assert_eq!(embed(&store, scene, &taken).await, 0);
        assert_eq!(embedded(&store, scene).await, [""; 0]);
        let again = waiting(&store, scene, now + 1).await;
        let before = if changed { "changed" } else { "" };
        assert!(again.contains(&[before.to_owned(), "next".to_owned()]), "{again:?}");
    }
    store.give_up_embedding(scene.agent, &[said[2].id]).await.unwrap();
    store.delete_memories(scene.agent, &[said[1].id]).await.unwrap();
    assert_eq!(waiting(&store, scene, 2_000).await, [["", "refused"]]);
}
