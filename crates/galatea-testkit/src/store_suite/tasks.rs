//! Tasks as effects of a turn: saved and deleted in the turn's commit, or not at all.

use galatea_core::{
    AgentId, EntityId, ErrorKind, Store, Task, TaskId, Timestamp,
    store::{InboxState, RequestedChange, TurnRecord},
};
use serde_json::json;
use std::sync::Arc;

use super::fixtures::{Scene, object};

fn task(scene: &Scene, name: &str, of: Option<EntityId>) -> Task {
    Task {
        id: TaskId::fresh(),
        agent_id: scene.agent,
        name: name.to_owned(),
        description: "waits for \"ok\"".to_owned(),
        room_id: Some(scene.room),
        world_id: Some(scene.world),
        entity_id: of,
        tags: vec!["waits".to_owned()],
        metadata: object(json!({"code": "7K2QM", "requests": [{"n": 1, "none": null}]})),
        due: Timestamp(2_000),
    }
}

fn save(task: &Task) -> RequestedChange {
    RequestedChange::SaveTask { task: Box::new(task.clone()) }
}

fn delete(task: &Task) -> RequestedChange {
    RequestedChange::DeleteTask { task: task.id }
}

/// Names of an agent's tasks, sorted.
async fn names(store: &Arc<dyn Store>, agent: AgentId) -> Vec<String> {
    let mut names: Vec<String> =
        store.tasks(agent, &[]).await.unwrap().into_iter().map(|task| task.name).collect();
    names.sort_unstable();
    names
}

/// One turn saves a task and a later one deletes it, each in its commit and in the order of its
/// effects.
pub async fn a_turn_saves_and_removes_tasks(store: Arc<dyn Store>) {
    let scene = Scene::new();
    store.connect(scene.connections()).await.unwrap();
    let (kept, brief) = (task(&scene, "kept", Some(scene.person)), task(&scene, "brief", None));
    store
        .finish_turn(TurnRecord {
            effects: vec![save(&brief), save(&kept), delete(&brief)],
            ..scene.turn(&[])
        })
        .await
        .unwrap();
    assert_eq!(
        store.tasks(scene.agent, &["waits".to_owned()]).await.unwrap(),
        std::slice::from_ref(&kept),
        "the task is read back unchanged"
    );

    let later = Task { due: Timestamp(9_000), name: "later".to_owned(), ..kept.clone() };
    store.finish_turn(TurnRecord { effects: vec![save(&later)], ..scene.turn(&[]) }).await.unwrap();
    assert_eq!(
        store.tasks(scene.agent, &[]).await.unwrap(),
        std::slice::from_ref(&later),
        "saved again it is replaced"
    );

    let other = Scene::new();
    store
        .finish_turn(TurnRecord { effects: vec![delete(&later)], ..other.turn(&[]) })
        .await
        .unwrap();
    assert_eq!(
        names(&store, scene.agent).await,
        ["later"],
        "another agent's turn removes none of ours"
    );
    store
        .finish_turn(TurnRecord { effects: vec![delete(&later)], ..scene.turn(&[]) })
        .await
        .unwrap();
    store
        .finish_turn(TurnRecord { effects: vec![delete(&later)], ..scene.turn(&[]) })
        .await
        .unwrap();
    assert!(names(&store, scene.agent).await.is_empty(), "deleting a missing task is not an error");
}

/// A refused turn neither saves its task nor deletes another one.
pub async fn a_conflict_leaves_tasks_as_they_were(store: Arc<dyn Store>) {
    let scene = Scene::new();
    store.connect(scene.connections()).await.unwrap();
    let messages = [scene.message("ok-7K2QM", 1), scene.message("again", 2)];
    store.ingest(Scene::batch(&messages)).await.unwrap();
    let (waits, refused) =
        (task(&scene, "waits", Some(scene.person)), task(&scene, "refused", Some(scene.person)));
    store
        .finish_turn(TurnRecord { effects: vec![save(&waits)], ..scene.turn(&[&messages[0]]) })
        .await
        .unwrap();

    // Another turn has answered one of its messages meanwhile.
    let turn = TurnRecord {
        effects: vec![delete(&waits), save(&refused)],
        ..scene.turn(&[&messages[1], &messages[0]])
    };
    assert_eq!(store.finish_turn(turn).await.unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(names(&store, scene.agent).await, ["waits"]);
    assert_eq!(
        store.inbox_item(messages[1].memory.id).await.unwrap().unwrap().state,
        InboxState::New
    );
}

/// Two turns answer the same button press. Only one commits: it deletes the waiting task, and the
/// other turn's task is not saved.
pub async fn of_two_answers_one_takes_the_task(store: Arc<dyn Store>) {
    for _ in 0..20 {
        let scene = Scene::new();
        let message = scene.message("ok-7K2QM", 1);
        store.ingest(Scene::batch(std::slice::from_ref(&message))).await.unwrap();
        let waits = task(&scene, "waits", Some(scene.person));
        store.save_task(&waits).await.unwrap();
        let turn = |name| TurnRecord {
            effects: vec![delete(&waits), save(&task(&scene, name, None))],
            ..scene.turn(&[&message])
        };
        let (left, right) =
            tokio::join!(store.finish_turn(turn("left")), store.finish_turn(turn("right")));
        let winner = match (left, right) {
            (Ok(()), Err(error)) if error.kind() == ErrorKind::Conflict => "left",
            (Err(error), Ok(())) if error.kind() == ErrorKind::Conflict => "right",
            other => panic!("one must win: {other:?}"),
        };
        assert_eq!(names(&store, scene.agent).await, [winner]);
    }
}

/// Forgetting a person deletes their tasks. Tasks of other people stay, and so do the person's
/// tasks with another agent.
pub async fn a_forgotten_persons_tasks_go(store: Arc<dyn Store>) {
    let (scene, stranger) = (Scene::new(), EntityId::fresh());
    let abroad = Scene { person: scene.person, ..Scene::new() };
    store.connect(scene.connections()).await.unwrap();
    for task in [
        task(&scene, "theirs", Some(scene.person)),
        task(&scene, "theirs too", Some(scene.person)),
        task(&scene, "another's", Some(stranger)),
        task(&scene, "no person's", None),
        task(&abroad, "with another agent", Some(scene.person)),
    ] {
        store.save_task(&task).await.unwrap();
    }
    let forget = RequestedChange::ForgetPerson { entity: scene.person };
    store.finish_turn(TurnRecord { effects: vec![forget], ..scene.turn(&[]) }).await.unwrap();
    assert_eq!(names(&store, scene.agent).await, ["another's", "no person's"]);
    assert_eq!(names(&store, abroad.agent).await, ["with another agent"]);
}
