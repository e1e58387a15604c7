//! Tasks as effects of a turn: saved and deleted in the turn's commit, or not at all.

use galatea_core::{
    AgentId, EntityId, ErrorKind, Schedule, Store, Task, TaskId, Timestamp, TurnId,
    store::{InboxState, RequestedChange, TaskCommit, TaskQuery, TaskRun, TaskState, TurnRecord},
};
use serde_json::json;
use std::sync::Arc;
use uuid::Uuid;

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
        run: None,
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

fn runs(scene: &Scene, name: &str, due: i64) -> Task {
    let run = TaskRun::by(Schedule::cron("0 9 * * *", "Europe/Berlin").unwrap());
    Task { due: Timestamp(due), ..task(scene, name, Some(scene.person)).runs(run) }
}

fn finish(task: &Task, claim: Uuid, next: Option<Task>) -> TaskCommit {
    TaskCommit {
        task: task.id,
        agent: task.agent_id,
        claim,
        next: next.map(Box::new),
        turn: TurnId::fresh(),
        memories: Vec::new(),
        deliveries: Vec::new(),
        effects: Vec::new(),
        usage: Vec::new(),
        at: Timestamp(5_000),
    }
}

/// Tasks that run by themselves are found in the order of their times, whatever else waits.
pub async fn next_tasks_are_found_in_order(store: Arc<dyn Store>) {
    let (scene, other) = (Scene::new(), Scene::new());
    for one in [
        runs(&scene, "later", 9_000),
        runs(&other, "another agent's", 1_500),
        runs(&scene, "first", 1_000),
        task(&scene, "waits for a person", Some(scene.person)),
        runs(&Scene::new(), "not asked for", 500),
    ] {
        store.save_task(&one).await.unwrap();
    }
    let agents = [scene.agent, other.agent];
    let found = store.next_tasks(&agents, Timestamp(2_000), 10).await.unwrap();
    let found: Vec<&str> = found.iter().map(|task| task.name.as_str()).collect();
    assert_eq!(found, ["first", "another agent's", "later"]);
    let first = store.next_tasks(&agents, Timestamp(2_000), 1).await.unwrap();
    assert_eq!(first.len(), 1);
    assert!(store.next_tasks(&[], Timestamp(2_000), 10).await.unwrap().is_empty());

    let of = async |query| -> Vec<String> {
        let found = store.scheduled(scene.agent, query, 10).await.unwrap();
        found.into_iter().map(|task| task.name).collect()
    };
    assert_eq!(of(TaskQuery::All).await, ["first", "later"]);
    assert_eq!(of(TaskQuery::Person(scene.person)).await, ["first", "later"]);
    assert_eq!(of(TaskQuery::Room(scene.room)).await, ["first", "later"]);
    assert!(of(TaskQuery::Person(other.person)).await.is_empty());
    assert!(of(TaskQuery::Room(other.room)).await.is_empty());
}

/// A task is claimed once until its lease ends, and finished under its newest claim only.
pub async fn a_claimed_task_is_finished_once(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let one = runs(&scene, "report", 1_000);
    store.save_task(&one).await.unwrap();
    let (a, b) = (Uuid::now_v7(), Uuid::now_v7());
    let claim = |by, now, until| store.claim_task(one.id, by, Timestamp(now), Timestamp(until));
    assert!(!claim(a, 999, 2_000).await.unwrap(), "not due yet");
    assert!(claim(a, 1_000, 2_000).await.unwrap());
    assert!(!claim(b, 1_999, 3_000).await.unwrap(), "leased");
    assert!(store.next_tasks(&[scene.agent], Timestamp(1_999), 10).await.unwrap().is_empty());
    let read = store.task(scene.agent, one.id).await.unwrap().unwrap();
    assert_eq!(read.run.unwrap().leased_until, Some(Timestamp(2_000)));
    assert!(claim(b, 2_000, 3_000).await.unwrap(), "the lease of a dead process ends");

    let late = store.finish_task(finish(&one, a, None)).await.unwrap_err();
    assert_eq!(late.kind(), ErrorKind::Conflict);
    assert!(!store.renew_task(one.id, a, Timestamp(9_000)).await.unwrap(), "it is another's");
    assert!(store.renew_task(one.id, b, Timestamp(4_000)).await.unwrap());
    assert!(!claim(a, 3_999, 9_000).await.unwrap(), "the lease was renewed");
    let next = one.clone().after_run(Timestamp(1_000), Some(Timestamp(7_000))).unwrap();
    let say = RequestedChange::SaveTask { task: Box::new(task(&scene, "effect", None)) };
    let commit = TaskCommit { effects: vec![say], ..finish(&one, b, Some(next.clone())) };
    store.finish_task(commit.clone()).await.unwrap();
    assert_eq!(store.task(scene.agent, one.id).await.unwrap(), Some(next.clone()));
    assert_eq!(names(&store, scene.agent).await, ["effect", "report"]);
    assert_eq!(store.finish_task(commit).await.unwrap_err().kind(), ErrorKind::Conflict, "once");

    assert!(!claim(a, 6_999, 9_000).await.unwrap());
    assert!(claim(b, 7_000, 99_000).await.unwrap());
    store.release_tasks(&[AgentId::fresh()]).await.unwrap();
    assert!(!claim(a, 7_000, 9_000).await.unwrap(), "another agent's claims are released");
    store.release_tasks(&[scene.agent]).await.unwrap();
    assert!(claim(a, 7_000, 9_000).await.unwrap());
    store.finish_task(finish(&one, a, None)).await.unwrap();
    assert_eq!(store.task(scene.agent, one.id).await.unwrap(), None);
    assert_eq!(names(&store, scene.agent).await, ["effect"]);
}

/// Of two processes that claim a task at once one gets it.
pub async fn of_two_claims_one_counts(store: Arc<dyn Store>) {
    let scene = Scene::new();
    for _ in 0..20 {
        let one = runs(&scene, "report", 1_000);
        store.save_task(&one).await.unwrap();
        let claim = || store.claim_task(one.id, Uuid::now_v7(), Timestamp(1_000), Timestamp(9_000));
        let (left, right) = tokio::join!(claim(), claim());
        assert_ne!(left.unwrap(), right.unwrap());
    }
}

/// A task that is changed or removed while it runs takes no effect as it was; a paused one does not
/// run.
pub async fn a_changed_task_is_not_finished_as_it_was(store: Arc<dyn Store>) {
    let scene = Scene::new();
    store.connect(scene.connections()).await.unwrap();
    let (changed, removed, forgotten) = (
        runs(&scene, "changed", 1_000),
        runs(&scene, "removed", 1_000),
        runs(&scene, "forgotten", 1_000),
    );
    let claim = Uuid::now_v7();
    for one in [&changed, &removed, &forgotten] {
        store.save_task(one).await.unwrap();
        assert!(store.claim_task(one.id, claim, Timestamp(1_000), Timestamp(9_000)).await.unwrap());
    }
    store.save_task(&changed).await.unwrap();
    assert!(store.delete_task(scene.agent, removed.id).await.unwrap());
    let forget = RequestedChange::ForgetPerson { entity: scene.person };
    store
        .finish_turn(TurnRecord { effects: vec![delete(&changed), forget], ..scene.turn(&[]) })
        .await
        .unwrap();
    for one in [&changed, &removed, &forgotten] {
        let late = store.finish_task(finish(one, claim, None)).await.unwrap_err();
        assert_eq!(late.kind(), ErrorKind::Conflict, "{}", one.name);
    }

    let mut paused = runs(&scene, "paused", 1_000);
    if let Some(run) = paused.run.as_deref_mut() {
        run.state = TaskState::Paused;
    }
    store.save_task(&paused).await.unwrap();
    assert!(!store.claim_task(paused.id, claim, Timestamp(2_000), Timestamp(9_000)).await.unwrap());
    assert!(store.next_tasks(&[scene.agent], Timestamp(2_000), 10).await.unwrap().is_empty());
}
