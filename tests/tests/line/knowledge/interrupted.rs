//! Rows of a run that is cut off, and of two that run at once.

use super::*;

/// Pieces that are stored, and those that a document names.
async fn stored_and_named(store: &dyn Store, library: &Library) -> (Vec<String>, Vec<String>) {
    let documents = library.documents().await.unwrap();
    let mut named: Vec<String> =
        documents.iter().flat_map(|d| &d.record.fragments).map(ToString::to_string).collect();
    named.sort();
    (pieces(store, library).await, named)
}

#[tokio::test]
async fn a_document_whose_removal_was_cut_off_is_read_again_when_its_file_comes_back() {
    let (store, folder) = (store().await, tempfile::tempdir().unwrap());
    let at = |name: &str| folder.path().join(name);
    write(&at("a.txt"), &sentences(100, "kettle"), 1);
    write(&at("b.txt"), "The gate is green.", 1);
    let library = library("Ada", &store, vec![(folder.path(), false)], None);
    library.sync(&|_| {}).await.unwrap();
    let whole = stored_and_named(&*store, &library).await;
    assert!(whole.0.len() > 2 && whole.0 == whole.1);
    let away = folder.path().with_extension("away");
    for stop_at in 1..=3 {
        fs::rename(at("a.txt"), &away).unwrap();
        let (running, count) = (library.clone(), AtomicUsize::new(0));
        let run = tokio::spawn(async move {
            let progress = |step: Step| {
                let nth = usize::from(step == Step::Stored);
                let stored = count.fetch_add(nth, Ordering::Relaxed) + nth;
                assert!(stored < stop_at, "killed here, as planned");
            };
            running.sync(&progress).await.map(drop)
        });
        assert!(run.await.is_err());
        // As it was: of the same size and time.
        fs::rename(&away, at("a.txt")).unwrap();
        library.sync(&|_| {}).await.unwrap();
        assert_eq!(stored_and_named(&*store, &library).await, whole, "stopped at {stop_at}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_runs_at_once_neither_leaves_pieces_that_no_document_names() {
    let (store, folder) = (store().await, tempfile::tempdir().unwrap());
    let file = folder.path().join("a.txt");
    let library = || library("Ada", &store, vec![(folder.path(), false)], None);
    let (first, second) = (library(), library());
    write(&file, &sentences(40, "kettle"), 1);
    first.sync(&|_| {}).await.unwrap();
    write(&file, &sentences(40, "garden"), 2);
    // The first run has looked at what is stored, and then the second one reads the file.
    let between = |step: Step| {
        if matches!(step, Step::Documents(_)) {
            tokio::task::block_in_place(|| {
                let handle = tokio::runtime::Handle::current();
                assert_eq!(handle.block_on(second.sync(&|_| {})).unwrap().read, 1);
            });
            write(&file, &sentences(40, "harbour"), 3);
        }
    };
    assert_eq!(first.sync(&between).await.unwrap().read, 1);
    first.sync(&|_| {}).await.unwrap();
    let (stored, named) = stored_and_named(&*store, &first).await;
    assert_eq!(stored, named);
}

#[tokio::test]
async fn pieces_that_no_document_names_leave_when_their_document_changes() {
    let (store, folder) = (store().await, tempfile::tempdir().unwrap());
    let file = folder.path().join("a.txt");
    let library = library("Ada", &store, vec![(folder.path(), false)], None);
    write(&file, &sentences(40, "kettle"), 1);
    library.sync(&|_| {}).await.unwrap();
    // Rows that two runs at once left.
    let mut document = library.documents().await.unwrap().remove(0);
    let lost = document.record.fragments.pop().unwrap();
    let row = store.memory(document.id).await.unwrap().unwrap();
    let mut content = row.content;
    content.extra.insert("knowledge".into(), serde_json::to_value(&document.record).unwrap());
    store.update_content(library.agent(), document.id, &content).await.unwrap();
    write(&file, &sentences(40, "garden"), 2);
    library.sync(&|_| {}).await.unwrap();
    let (stored, named) = stored_and_named(&*store, &library).await;
    assert_eq!(stored, named);
    assert!(!stored.contains(&lost.to_string()));
}
