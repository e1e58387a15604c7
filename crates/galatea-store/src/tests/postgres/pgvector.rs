//! With pgvector in the database: the same answers, given by the server.

use galatea_core::{
    Embedding, Memory,
    store::{EmbeddingStore, MemoryQuery, MemoryStore, SimilarityQuery},
};
use galatea_testkit::{
    postgres::Database,
    store_suite::{Fresh, fixtures::Scene},
};
use sqlx::{Connection, Executor, PgConnection};

use super::Store;
use super::open;
use crate::PostgresOptions;

async fn fresh() -> Fresh {
    let database = Database::with_pgvector().await;
    Fresh::keeping(open(&database).await, database)
}

galatea_testkit::embedding_suite!(fresh());

/// It may be in any schema, come and go: nothing has to be restarted, and who compares makes no
/// difference.
#[tokio::test]
async fn it_may_be_anywhere_and_go_while_we_run() {
    let database = Database::with_pgvector().await;
    let mut admin = PgConnection::connect(&database.url()).await.unwrap();
    admin.execute("DROP EXTENSION vector; CREATE SCHEMA \"Odd \"\" place\"; CREATE EXTENSION vector SCHEMA \"Odd \"\" place\"").await.unwrap();
    let store = open(&database).await;
    let scene = Scene::new();
    let memories: Vec<Memory> = (0..300).map(|n| scene.memory(&n.to_string(), n)).collect();
    store.save_memories(&memories).await.unwrap();
    let towards = |n: f32| Embedding::new(vec![(n / 50.0).sin(), (n / 50.0).cos()]).unwrap();
    let embeddings: Vec<_> =
        memories.iter().zip(0_u16..).map(|(memory, n)| (memory, towards(f32::from(n)))).collect();
    store.save_embeddings(scene.agent, "test", &embeddings).await.unwrap();
    let query = SimilarityQuery {
        of: MemoryQuery::new(scene.agent, 20),
        model: "test".to_owned(),
        embedding: towards(70.3),
        at_least: 0.5,
    };

    let (there, statements) = counted(&store, &query).await;
    assert_eq!(
        (there.len(), statements),
        (20, 2),
        "one question to the server, after one whether it can"
    );
    admin.execute("DROP EXTENSION vector").await.unwrap();
    let (here, statements) = counted(&store, &query).await;
    assert_eq!(statements, 5, "three hundred vectors come in two answers");
    let ids =
        |found: &[(Memory, f32)]| found.iter().map(|(memory, _)| memory.id).collect::<Vec<_>>();
    assert_eq!(ids(&here), ids(&there));
    assert!(here.iter().zip(&there).all(|((_, a), (_, b))| (a - b).abs() < 1e-5));
}

async fn counted(store: &Store, query: &SimilarityQuery) -> (Vec<(Memory, f32)>, u64) {
    let before = store.statements();
    (store.search_similar(query).await.unwrap(), store.statements() - before)
}

#[tokio::test]
async fn a_look_tells_of_it() {
    let database = Database::with_pgvector().await;
    let seen = Store::look(&database.url().into(), &PostgresOptions::default()).await.unwrap();
    assert!(seen.pgvector.is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit())));
    let plain = Database::fresh().await;
    assert_eq!(
        Store::look(&plain.url().into(), &PostgresOptions::default()).await.unwrap().pgvector,
        None
    );
}
