//! Links of accounts that two processes change at once: the second waits for the first, and sees what
//! it has stored.

use galatea_core::{
    EntityId, ErrorKind, Task, TaskId, Timestamp,
    store::{InboxStore, RelationshipStore, RequestedChange, TaskStore, TurnRecord},
};
use galatea_testkit::{postgres::Database, store_suite::fixtures::Scene};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, query_scalar, query_with};
use std::time::Duration;

use super::{Store, open};
use crate::change::{Change, Write};

/// Longest time in which the second process begins to wait.
const PATIENCE: Duration = Duration::from_secs(30);

async fn question(store: &Store, scene: Scene) -> TaskId {
    let task = Task {
        id: TaskId::fresh(),
        agent_id: scene.agent,
        name: "QUESTION".to_owned(),
        description: "whether two are one".to_owned(),
        room_id: None,
        world_id: None,
        entity_id: None,
        tags: Vec::new(),
        metadata: serde_json::Map::new(),
        due: Timestamp(9),
        run: None,
    };
    store.save_task(&task).await.unwrap();
    task.id
}

/// A process that has linked two accounts and not committed yet.
async fn half_way(
    database: &Database,
    scene: Scene,
    question: TaskId,
    entities: &[EntityId],
) -> PgConnection {
    let mut connection = PgConnection::connect(&database.url()).await.unwrap();
    connection.execute("SET search_path TO galatea; BEGIN").await.unwrap();
    let mut change = Change::default();
    crate::relationship::push_lock(&mut change, scene.agent).unwrap();
    crate::relationship::push_link(&mut change, scene.agent, question, entities, Timestamp(5))
        .unwrap();
    for write in change.writes {
        let (Write::Other { statements, .. } | Write::Required { statements }) = write else {
            panic!("a link is made of rare statements");
        };
        for statement in statements {
            let arguments = statement.postgres_arguments().unwrap();
            let text = AssertSqlSafe(statement.postgres.into_owned());
            query_with(text, arguments).execute(&mut connection).await.unwrap();
        }
    }
    connection
}

/// Carries out a change of another process, which must wait until the first one commits.
async fn meanwhile(
    store: &Store,
    mut first: PgConnection,
    turn: TurnRecord,
) -> galatea_core::Result<()> {
    let second = store.finish_turn(turn);
    let commit = async {
        let waits = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted";
        let begins = async {
            while query_scalar::<_, i64>(waits).fetch_one(&mut first).await.unwrap() == 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let began = tokio::time::timeout(PATIENCE, begins).await;
        first.execute("COMMIT").await.unwrap();
        began.expect("the second waits for the first");
    };
    tokio::join!(second, commit).0
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_waits_for_one_of_overlapping_accounts() {
    let database = Database::fresh().await;
    let (store, scene) = (open(&database).await, Scene::new());
    let [a, b, c] = [EntityId::fresh(), EntityId::fresh(), EntityId::fresh()];
    let (one, other) = (question(&store, scene).await, question(&store, scene).await);
    let first = half_way(&database, scene, one, &[a, b]).await;
    let link = RequestedChange::LinkPeople { question: other, entities: vec![b, c] };
    let turn = TurnRecord { effects: vec![link], ..scene.turn(&[]) };
    let error = meanwhile(&store, first, turn).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert_eq!(store.linked(scene.agent, b).await.unwrap(), [a]);
    assert_eq!(store.linked(scene.agent, c).await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_a_link_waits_for_its_beginning() {
    let database = Database::fresh().await;
    let store = open(&database).await;
    for forget in [false, true] {
        let scene = Scene::new();
        let [a, b] = [EntityId::fresh(), EntityId::fresh()];
        let asked = question(&store, scene).await;
        let first = half_way(&database, scene, asked, &[a, b]).await;
        let end = match forget {
            true => RequestedChange::ForgetPerson { entity: a },
            false => RequestedChange::Unlink { entity: a },
        };
        let effects = vec![RequestedChange::DeleteTask { task: asked }, end];
        meanwhile(&store, first, TurnRecord { effects, ..scene.turn(&[]) }).await.unwrap();
        for entity in [a, b] {
            assert_eq!(store.linked(scene.agent, entity).await.unwrap(), [], "{forget}");
        }
    }
}
