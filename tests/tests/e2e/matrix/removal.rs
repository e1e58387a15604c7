//! A message is deleted, and the program is killed around the commit: after the restart the message
//! is gone.

use galatea_core::{
    AgentIdentity, MemoryId,
    store::{InboxStore as _, MemoryStore as _},
};
use galatea_store::{Database, SqliteOptions};

use super::point::{MUTATING, Point};
use crate::discord::Stage;

#[tokio::test]
async fn a_deletion_survives_a_crash_around_its_commit() {
    for point in MUTATING {
        let Point::Inside(name) = point else { panic!("{point} is not in the program") };
        let stage = Stage::set().await;
        let direct = stage.ann.direct();
        let mut galatea = stage.start().await;
        let secret = stage.ann.says(&direct, "Q1 and my secret").send();
        stage.wait_text(&direct, "A1").await;
        galatea.kill_9().await;

        let armed = stage.program().env("FAILPOINTS", format!("{name}=return"));
        let mut dying = stage.run(armed).await;
        stage.ann.deletes(&direct, &[secret]);
        let ended = dying.finish().await;
        assert_eq!(ended.code, None, "at {point} it ended by itself");

        let mut galatea = stage.start().await;
        stage.ann.says(&direct, "Q2").send();
        stage.wait_text(&direct, "A2").await;
        galatea.kill_9().await;
        let file = stage.home.path().join(".galatea/galatea.db");
        let store = Database::sqlite(file, SqliteOptions::default()).await.unwrap();
        let id = MemoryId(AgentIdentity::new(None, "Eliza").swizzle(&secret.to_string()));
        assert!(store.inbox_item(id).await.unwrap().is_some(), "it has another id");
        assert_eq!(store.memory(id).await.unwrap(), None, "killed at {point}");
    }
}
