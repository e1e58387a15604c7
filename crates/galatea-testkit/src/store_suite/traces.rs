//! Traces of turns: kept, bounded, and without the words of who was forgotten.

use galatea_core::{
    Memory, Store, Timestamp, TurnId,
    store::{
        PromptBlock, RequestedChange, SecretDigest, StepKind, StepTexts, Trace, TraceBounds,
        TraceStep, TurnRecord,
    },
};
use std::sync::Arc;

use super::fixtures::Scene;

/// A trace of a turn that began at this time, with a conversation that reaches back to `since`.
fn trace(scene: Scene, at: i64, since: i64, text: &str) -> Trace {
    let step = TraceStep {
        kind: StepKind::Model,
        name: "openai m".to_owned(),
        note: Some("\u{0} odd \"note\"".to_owned()),
        at: Timestamp(at),
        millis: 7,
        ..TraceStep::default()
    };
    let block = PromptBlock { from: "people".into(), role: "user".into(), text: text.to_owned() };
    let texts = StepTexts { step: 0, prompt: vec![block], ..StepTexts::default() };
    Trace {
        turn: TurnId::fresh(),
        agent: scene.agent,
        room: scene.room,
        person: scene.person,
        at: Timestamp(at),
        since: Timestamp(since),
        late: false,
        steps: vec![step],
        texts: Some(vec![texts]),
    }
}

/// Whether the texts of a turn are kept.
async fn has_texts(store: &Arc<dyn Store>, turn: TurnId) -> bool {
    let kept = store.traces_of(turn).await.unwrap();
    assert_eq!(kept.len(), 1, "the steps stay");
    kept[0].texts.is_some()
}

/// What was added is read back in its order, whole by turn and without texts in lists.
pub async fn traces_are_read_back(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let first = trace(scene, 10, 5, "\u{0} and 猫 \"quoted\" \\u0000");
    let late = Trace { late: true, at: Timestamp(11), texts: None, ..first.clone() };
    let other = trace(scene.other_room(), 12, 5, "other");
    store.add_traces(&[]).await.unwrap();
    store.add_traces(&[first.clone(), late.clone(), other.clone()]).await.unwrap();
    assert_eq!(store.traces_of(first.turn).await.unwrap(), [first.clone(), late.clone()]);
    assert!(store.traces_of(TurnId::fresh()).await.unwrap().is_empty());
    let steps = store.trace_steps(&[first.turn, other.turn]).await.unwrap();
    let bare = |trace: &Trace| Trace { texts: None, ..trace.clone() };
    assert_eq!(steps, [bare(&first), bare(&late), bare(&other)]);
    assert!(store.trace_steps(&[]).await.unwrap().is_empty());
    let of = store.traces_of_person(scene.agent, scene.person, 2).await.unwrap();
    assert_eq!(of.iter().map(|trace| trace.at.0).collect::<Vec<_>>(), [12, 11], "the newest");
    let stranger = Scene::new();
    assert!(store.traces_of_person(scene.agent, stranger.person, 9).await.unwrap().is_empty());
}

/// Forgetting a person empties the texts of all the agent's traces, those too that are written after it.
pub async fn texts_go_with_a_forgotten_person(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let command = scene.message("forget me", 100);
    let mut ingest = Scene::batch(std::slice::from_ref(&command));
    ingest.connections = scene.connections();
    store.ingest(ingest).await.unwrap();
    let (before, elsewhere) =
        (trace(scene, 50, 5, "secret"), trace(scene.other_room(), 60, 5, "secret"));
    let foreign = trace(Scene::new(), 60, 5, "of another agent");
    store.add_traces(&[before.clone(), elsewhere.clone(), foreign.clone()]).await.unwrap();
    assert!(has_texts(&store, before.turn).await);
    let key = SecretDigest("one".to_owned());
    store
        .take_key(&key, &SecretDigest("r".to_owned()), Timestamp(1), Timestamp(1_000))
        .await
        .unwrap();
    store.keep_answer(&key, 200, "{\"text\":\"secret\"}").await.unwrap();
    let effects = vec![RequestedChange::ForgetPerson { entity: scene.person }];
    let record = TurnRecord { effects, at: Timestamp(200), ..scene.turn(&[&command]) };
    store.finish_turn(record).await.unwrap();
    let request = SecretDigest("r".to_owned());
    let again = store.take_key(&key, &request, Timestamp(2), Timestamp(1_000));
    let kept = again.await.unwrap().unwrap();
    assert_eq!((kept.status, kept.body.as_deref()), (Some(200), Some("{}")), "its words are gone");
    let (waited, later) = (trace(scene, 190, 5, "secret"), trace(scene, 100_000, 5, "new"));
    store.add_traces(&[waited.clone(), later.clone()]).await.unwrap();
    for gone in [&before, &elsewhere, &waited] {
        assert!(!has_texts(&store, gone.turn).await);
        assert_eq!(store.traces_of(gone.turn).await.unwrap()[0].steps, gone.steps);
    }
    assert!(has_texts(&store, later.turn).await && has_texts(&store, foreign.turn).await);
}

/// A deleted message takes the texts of later turns of its Room along, an expired one those of turns that
/// showed it.
pub async fn texts_go_with_deleted_messages(store: Arc<dyn Store>) {
    let scene = Scene::new();
    store.connect(scene.connections()).await.unwrap();
    let far = 10_000_000;
    let said: Vec<Memory> = [far, 2 * far].map(|at| scene.memory("said", at)).into_iter().collect();
    store.save_memories(&said).await.unwrap();
    let earlier = trace(scene, far / 2, 1, "before it was said");
    let shows = trace(scene, 3 * far, far - 5, "shows both");
    let past = trace(scene, 4 * far, 3 * far, "of what followed");
    let elsewhere = trace(scene.other_room(), 3 * far, far - 5, "elsewhere");
    let all = [earlier.clone(), shows.clone(), past.clone(), elsewhere.clone()];
    store.add_traces(&all).await.unwrap();
    store.expire_memories(scene.agent, &[said[0].id]).await.unwrap();
    assert!(!has_texts(&store, shows.turn).await, "its conversation reached back to it");
    assert!(has_texts(&store, past.turn).await, "what was made of it stays");
    store.delete_memories(scene.agent, &[said[1].id]).await.unwrap();
    assert!(!has_texts(&store, past.turn).await, "it may show what was made of it");
    assert!(has_texts(&store, earlier.turn).await && has_texts(&store, elsewhere.turn).await);
}

/// Old traces go, and the oldest texts of too many; other agents keep theirs.
pub async fn traces_are_bounded(store: Arc<dyn Store>) {
    let (scene, other) = (Scene::new(), Scene::new());
    let long = "x".repeat(1_000);
    let traces: Vec<Trace> = (0..10).map(|n| trace(scene, n, n, &long)).collect();
    let foreign = trace(other, 0, 0, &long);
    store.add_traces(&traces).await.unwrap();
    store.add_traces(std::slice::from_ref(&foreign)).await.unwrap();
    let bounds = TraceBounds { before: Timestamp(3), bytes: 3_500 };
    assert_eq!(store.prune_traces(scene.agent, &bounds).await.unwrap(), 3);
    assert_eq!(store.prune_traces(scene.agent, &bounds).await.unwrap(), 0);
    let mut kept = Vec::new();
    for trace in &traces[3..] {
        kept.push(has_texts(&store, trace.turn).await);
    }
    assert_eq!(kept, [false, false, false, false, true, true, true]);
    assert!(store.traces_of(traces[0].turn).await.unwrap().is_empty());
    assert!(has_texts(&store, foreign.turn).await);
    assert_eq!(store.clear_agent(other.agent, false).await.unwrap(), 0);
    assert!(store.traces_of(foreign.turn).await.unwrap().is_empty(), "a reset takes them");
}
