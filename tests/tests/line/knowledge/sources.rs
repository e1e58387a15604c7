//! Documents whose sources change or fail.

use galatea_core::{Error, ErrorKind};
use galatea_testkit::clock::ManualClock;

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
    assert!(library.sync_changes().await.unwrap().synced.unwrap().unembedded.is_some());
    assert!(library.sync_changes().await.unwrap().synced.unwrap().unembedded.is_some());
}

#[tokio::test]
async fn a_file_that_is_written_all_the_time_holds_up_no_other() {
    let (store, folder) = (store().await, tempfile::tempdir().unwrap());
    let (log, note) = (folder.path().join("log.txt"), folder.path().join("note.txt"));
    write(&log, "The kettle boils.", 1);
    let library = library("Ada", &store, vec![(folder.path(), false)], None);
    assert_eq!(library.sync_changes().await.unwrap().synced.unwrap().read, 1);
    write(&note, "The gate is green.", 1);
    // A file that the program has looked at a hundred milliseconds after it was written, however slow
    // the machine is.
    let clock = ManualClock::new();
    let mut parts = parts("Ada", &store, vec![(folder.path(), false)], None);
    parts.clock = clock.shared();
    let library = Library::new(parts);
    fs::write(&log, "The kettle boils. The water").unwrap();
    let written = clock.shared().now().0 - 100;
    let written = std::time::UNIX_EPOCH + Duration::from_millis(u64::try_from(written).unwrap());
    fs::File::options().write(true).open(&log).unwrap().set_modified(written).unwrap();
    let look = library.sync_changes().await.unwrap();
    assert!(look.is_written, "the next look comes soon");
    let synced = look.synced.unwrap();
    assert_eq!((synced.read, synced.removed), (1, 0), "{synced:?}");
    let look = library.sync_changes().await.unwrap();
    assert!(look.synced.is_none() && look.is_written);
    let sizes = async || {
        let documents = library.documents().await.unwrap();
        documents.iter().map(|document| document.record.size).collect::<Vec<_>>()
    };
    assert_eq!(sizes().await, [17, 18], "it is as it was");
    clock.advance(Duration::from_secs(1));
    let look = library.sync_changes().await.unwrap();
    assert!(look.synced.unwrap().read == 1 && !look.is_written);
    assert_eq!(sizes().await, [27, 18]);
}

#[tokio::test]
async fn a_copy_has_its_text_although_its_original_changes() {
    let (store, folder) = (store().await, tempfile::tempdir().unwrap());
    let at = |name: &str| folder.path().join(name).join("note.txt");
    for name in ["a", "b"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    write(&at("b"), "The kettle boils.", 1);
    let library = library("Ada", &store, vec![(folder.path(), false)], None);
    library.sync(&|_| {}).await.unwrap();
    let plugin_store = Arc::clone(&store) as Arc<dyn galatea_core::store::PluginStore>;
    let found = async |word: &str| {
        let agents = [library.agent()];
        search(&*plugin_store, &agents, word, &[], 5).await.unwrap().len()
    };
    // The copy comes before its original.
    write(&at("a"), "The kettle boils.", 1);
    assert_eq!(library.sync(&|_| {}).await.unwrap().pieces, 0);
    write(&at("b"), "The gate is green.", 2);
    let synced = library.sync(&|_| {}).await.unwrap();
    assert_eq!((synced.read, synced.unchanged, synced.removed), (2, 0, 0), "{synced:?}");
    assert_eq!((found("kettle").await, found("gate").await), (1, 1));
    assert!(library.sync(&|_| {}).await.unwrap().is_empty());
}

#[tokio::test]
async fn documents_of_a_folder_that_is_empty_stay_until_it_is_clear_that_they_are_gone() {
    let (store, folder) = (store().await, tempfile::tempdir().unwrap());
    let file = folder.path().join("a.txt");
    write(&file, "The kettle boils.", 1);
    let library = library("Ada", &store, vec![(folder.path(), false)], None);
    library.sync(&|_| {}).await.unwrap();
    // As where a drive was mounted.
    fs::remove_file(&file).unwrap();
    for synced in [
        library.sync(&|_| {}).await.unwrap(),
        library.sync_changes().await.unwrap().synced.unwrap(),
    ] {
        assert_eq!((synced.removed, synced.problems.len()), (0, 1), "{synced:?}");
    }
    fs::write(folder.path().join(".keep"), "").unwrap();
    assert_eq!(library.sync_changes().await.unwrap().synced.unwrap().removed, 1);
}

#[tokio::test]
async fn a_file_is_tried_again_if_its_fault_may_pass() {
    let (store, folder) = (store().await, tempfile::tempdir().unwrap());
    // No program reads it here. The other one is damaged, and stays so until it changes.
    write(&folder.path().join("a.md"), "The kettle boils.", 1);
    write(&folder.path().join("b.pdf"), "no PDF", 1);
    let library = library("Ada", &store, vec![(folder.path(), false)], None);
    for expected in [2, 1, 1] {
        let tried = AtomicUsize::new(0);
        let progress = |step: Step| {
            tried.fetch_add(usize::from(matches!(step, Step::Reading(..))), Ordering::Relaxed);
        };
        let synced = library.sync(&progress).await.unwrap();
        assert_eq!(tried.into_inner(), expected);
        let codes: Vec<_> = synced.problems.iter().map(|(_, p)| p.code.as_deref()).collect();
        assert_eq!(codes, [Some("GAL-KNOW-CHILD"), Some("GAL-KNOW-READ")]);
    }
}

#[tokio::test]
async fn documents_stay_if_the_sources_that_were_added_are_stored_in_an_unknown_form() {
    let (store, folder) = (store().await, tempfile::tempdir().unwrap());
    write(&folder.path().join("a.txt"), "The kettle boils.", 1);
    let library = library("Ada", &store, vec![], None);
    let place = Place::Path(folder.path().to_owned());
    let source = Source { place, shared: false, origin: Origin::Added };
    // Each place once.
    library.add(&[source.clone(), source.clone()]).await.unwrap();
    assert_eq!(library.added().await.unwrap(), [source]);
    assert_eq!(library.sync(&|_| {}).await.unwrap().read, 1);
    let cache = PluginCache::new(Arc::clone(&store) as _, library.agent(), galatea_knowledge::NAME);
    let mut noted = cache.get("sources", SystemClock.now()).await.unwrap().unwrap();
    noted.as_array_mut().unwrap().push(serde_json::json!({ "place": { "bucket": "s3" } }));
    cache.set("sources", &noted, None).await.unwrap();
    let error = library.sync(&|_| {}).await.unwrap_err();
    assert!(error.fix().unwrap().contains("version"), "{error}");
    assert_eq!(library.documents().await.unwrap().len(), 1);
}
