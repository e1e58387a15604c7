//! Embeddings with words of a message that another process removes or edits before their commit.

use galatea_core::{
    Content, Embedding, Timestamp, Visibility,
    store::{InboxStore, MemoryStore, NewEmbedding, RecallQuery, RecallStore, RequestedChange},
};
use galatea_testkit::{postgres::Database, store_suite::fixtures::Scene};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, query_scalar, query_with};
use std::time::Duration;

use super::open;
use crate::embedding;

/// Longest time in which the second process begins to wait.
const PATIENCE: Duration = Duration::from_secs(30);
const MODEL: &str = "test small";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_removal_waits_for_an_embedding_that_is_being_stored() {
    let database = Database::fresh().await;
    let store = open(&database).await;
    let vector = || Embedding::new(vec![1.0, 0.0]).unwrap();
    for way in ["forget", "delete", "expire", "edit"] {
        let scene = Scene::new();
        let before = scene.message("secret", 1);
        store.ingest(Scene::batch(std::slice::from_ref(&before))).await.unwrap();
        let other = Scene { person: scene.itself(), ..scene };
        let memory = other.memory("next", 2);
        store.save_memories(std::slice::from_ref(&memory)).await.unwrap();
        // A process that has stored the embedding and not committed yet.
        let mut first = PgConnection::connect(&database.url()).await.unwrap();
        first.execute("SET search_path TO galatea; BEGIN").await.unwrap();
        let new =
            NewEmbedding { memory: &memory, before: Some(&before.memory), embedding: vector() };
        for statement in embedding::save(scene.agent, MODEL, &new) {
            let arguments = statement.postgres_arguments().unwrap();
            let text = AssertSqlSafe(statement.postgres.into_owned());
            query_with(text, arguments).execute(&mut first).await.unwrap();
        }
        let id = before.memory.id;
        let second = async {
            match way {
                "forget" => {
                    let forget = RequestedChange::ForgetPerson { entity: scene.person };
                    let mut turn = scene.turn(&[]);
                    turn.effects = vec![forget];
                    store.finish_turn(turn).await.unwrap();
                }
                "delete" => drop(store.delete_memories(scene.agent, &[id]).await.unwrap()),
                "expire" => drop(store.expire_memories(scene.agent, &[id]).await.unwrap()),
                _ => {
                    let text = Content::text("edited");
                    assert!(store.update_content(scene.agent, id, &text).await.unwrap());
                }
            }
        };
        let commit = async {
            let waits =
                "SELECT count(*) FROM pg_locks WHERE locktype = 'transactionid' AND NOT granted";
            let begins = async {
                while query_scalar::<_, i64>(waits).fetch_one(&mut first).await.unwrap() == 0 {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            };
            let began = tokio::time::timeout(PATIENCE, begins).await;
            first.execute("COMMIT").await.unwrap();
            began.expect("the second waits for the first");
        };
        tokio::join!(second, commit);
        let query = RecallQuery::new(Visibility::operator(scene.agent), "", 9, Timestamp(9))
            .meaning(MODEL, vector());
        assert_eq!(store.recall(&query).await.unwrap(), [], "{way}");
    }
    store.close().await;
}
