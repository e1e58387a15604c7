//! What happens to documents when their sources change or fail.

use galatea_core::{Error, ErrorKind};

use super::*;

/// A model whose server does not answer.
struct Down(ModelInfo);

#[async_trait]
impl EmbeddingModel for Down {
    fn info(&self) -> &ModelInfo {
        &self.0
    }
    async fn embed(&self, _: &[String]) -> Result<Vec<Vec<f32>>> {
        Err(Error::new(ErrorKind::Unavailable, "no answer"))
    }
}

#[tokio::test]
async fn the_document_of_a_named_file_leaves_with_it_unless_its_folder_is_missing_too() {
    let (store, folder) = (store().await, tempfile::tempdir().unwrap());
    let drive = folder.path().join("drive");
    fs::create_dir(&drive).unwrap();
    let (a, b) = (drive.join("a.txt"), drive.join("b.txt"));
    write(&a, "The kettle boils.", 1);
    write(&b, "The gate is green.", 1);
    let library = library("Ada", &store, vec![(&a, false), (&b, false)], None);
    assert_eq!(library.sync(&|_| {}).await.unwrap().read, 2);
    fs::remove_file(&a).unwrap();
    let second = library.sync(&|_| {}).await.unwrap();
    assert_eq!((second.removed, second.problems.len()), (1, 1), "{second:?}");
    assert_eq!(library.problems().await.unwrap().len(), 1);
    // A drive that is not there.
    fs::rename(&drive, folder.path().join("elsewhere")).unwrap();
    let third = library.sync(&|_| {}).await.unwrap();
    assert_eq!((third.removed, third.problems.len()), (0, 2), "{third:?}");
    assert_eq!(library.documents().await.unwrap().len(), 1);
}

#[tokio::test]
async fn words_find_documents_while_the_embedding_model_does_not_answer() {
    let (store, folder) = (store().await, tempfile::tempdir().unwrap());
    write(&folder.path().join("a.txt"), "The kettle boils.", 1);
    let info = ModelInfo { provider: "test".into(), model: "down".into(), ..ModelInfo::default() };
    let library = library("Ada", &store, vec![(folder.path(), false)], Some(Arc::new(Down(info))));
    let synced = library.sync(&|_| {}).await.unwrap();
    assert_eq!((synced.read, synced.embedded), (1, 0));
    assert!(synced.unembedded.unwrap().to_string().contains("no answer"));
    let agents = [library.agent()];
    let plugin_store = Arc::clone(&store) as Arc<dyn galatea_core::store::PluginStore>;
    let found = search(&*plugin_store, &agents, "kettle", &[], 5);
    assert_eq!(found.await.unwrap().len(), 1);
    // The service tries again although no file changed.
    assert!(library.sync_changes().await.unwrap().unwrap().unembedded.is_some());
    assert!(library.sync_changes().await.unwrap().unwrap().unembedded.is_some());
}
