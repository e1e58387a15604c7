//! Documents whose files lie elsewhere: on another machine, or in a folder that moved.

use super::*;

const FILES: usize = 12;

/// A folder with some documents, as each machine has it.
fn folder(what: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for n in 0..FILES {
        let part = folder.path().join(format!("part-{}", n % 3));
        fs::create_dir_all(&part).unwrap();
        write(&part.join(format!("note-{n}.txt")), &sentences(30, &format!("{what} {n}")), 1);
    }
    // Text and name twice.
    for part in ["part-0", "part-1"] {
        write(&folder.path().join(part).join("same.txt"), "The kettle boils.", 1);
    }
    folder
}

async fn keys(library: &Library) -> Vec<String> {
    let documents = library.documents().await.unwrap();
    documents.into_iter().map(|document| document.record.key).collect()
}

#[tokio::test]
async fn another_machines_paths_cost_no_embedding_and_no_moment_without_documents() {
    let (store, bag) = (store().await, bag());
    let (here, there) = (folder("gate"), folder("gate"));
    let on = |path: &Path| library("Ada", &store, vec![(path, false)], Some(Arc::clone(&bag) as _));
    let first = on(here.path()).sync(&|_| {}).await.unwrap();
    assert_eq!(first.read, FILES + 2);
    let (paid, before) =
        (bag.texts.load(Ordering::Relaxed), pieces(&*store, &on(here.path())).await);
    for machine in [&there, &here, &there] {
        let library = on(machine.path());
        let synced = library.sync(&|_| {}).await.unwrap();
        assert_eq!((synced.removed, synced.pieces), (0, 0), "{synced:?}");
        assert_eq!(pieces(&*store, &library).await, before);
        assert_eq!(bag.texts.load(Ordering::Relaxed), paid, "nothing is embedded again");
        let keys = keys(&library).await;
        assert!(
            keys.len() == FILES + 2
                && keys.iter().all(|key| key.starts_with(machine.path().to_str().unwrap())),
            "{keys:?}"
        );
        assert!(library.sync(&|_| {}).await.unwrap().is_empty());
    }
}

#[tokio::test]
async fn of_a_file_that_changed_on_the_way_the_rest_stays() {
    let (store, bag) = (store().await, bag());
    let (here, there) = (folder("gate"), folder("gate"));
    let on = |path: &Path| library("Ada", &store, vec![(path, false)], Some(Arc::clone(&bag) as _));
    on(here.path()).sync(&|_| {}).await.unwrap();
    let paid = bag.texts.load(Ordering::Relaxed);
    let changed = there.path().join("part-1/note-1.txt");
    let text = format!("{}The moat is dry.\n", sentences(30, "gate 1"));
    write(&changed, &text, 2);
    let synced = on(there.path()).sync(&|_| {}).await.unwrap();
    let again = bag.texts.load(Ordering::Relaxed) - paid;
    assert!(
        (synced.removed, synced.read) == (0, 1) && (1..4).contains(&again),
        "{again} pieces were embedded: {synced:?}"
    );
}

/// The successor of a document is read before the document is removed.
#[tokio::test]
async fn a_document_stays_until_what_follows_it_is_read() {
    let store = store().await;
    let (old, new) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(&old.path().join("old.txt"), "The kettle boils.", 1);
    write(&new.path().join("new.txt"), "The gate is green.", 1);
    library("Ada", &store, vec![(old.path(), false)], None).sync(&|_| {}).await.unwrap();
    let library = library("Ada", &store, vec![(new.path(), false)], None);
    let reading = tokio::sync::Notify::new();
    let progress = |step: Step| {
        if matches!(step, Step::Reading(..)) {
            reading.notify_one();
        }
    };
    tokio::select! {
        biased;
        () = reading.notified() => {}
        done = library.sync(&progress) => panic!("nothing was read: {done:?}"),
    }
    assert!(keys(&library).await.iter().any(|key| key.ends_with("old.txt")));
    let synced = library.sync(&|_| {}).await.unwrap();
    assert_eq!(synced.removed, 1, "{synced:?}");
    assert_eq!(keys(&library).await, [new.path().join("new.txt").display().to_string()]);
}

/// A process whose machine does not have the folder removes nothing of the machine that has it.
#[tokio::test]
async fn a_machine_without_the_folder_removes_nothing() {
    let (store, here) = (store().await, folder("gate"));
    library("Ada", &store, vec![(here.path(), false)], None).sync(&|_| {}).await.unwrap();
    let nowhere = here.path().join("nowhere/docs");
    let library = library("Ada", &store, vec![(&nowhere, false)], None);
    let synced = library.sync(&|_| {}).await.unwrap();
    assert_eq!((synced.removed, synced.problems.len()), (0, 1), "{synced:?}");
    assert_eq!(keys(&library).await.len(), FILES + 2);
}

/// A file that appears where a document was found before is another document.
#[tokio::test]
async fn two_documents_never_share_an_id() {
    let store = store().await;
    let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (first, moved) = (a.path().join("x.txt"), b.path().join("x.txt"));
    write(&first, "The kettle boils.", 1);
    library("Ada", &store, vec![(a.path(), false)], None).sync(&|_| {}).await.unwrap();
    fs::rename(&first, &moved).unwrap();
    library("Ada", &store, vec![(b.path(), false)], None).sync(&|_| {}).await.unwrap();
    write(&first, "The gate is green.", 2);
    let both = library("Ada", &store, vec![(a.path(), false), (b.path(), false)], None);
    let synced = both.sync(&|_| {}).await.unwrap();
    assert_eq!((synced.read, synced.removed), (1, 0), "{synced:?}");
    let plugin_store = Arc::clone(&store) as Arc<dyn galatea_core::store::PluginStore>;
    for word in ["kettle", "gate"] {
        let found = search(&*plugin_store, &[both.agent()], word, &[], 5).await.unwrap();
        assert_eq!(found.len(), 1, "{word}");
    }
    assert!(both.sync(&|_| {}).await.unwrap().is_empty());
    assert_eq!(keys(&both).await.len(), 2);
}
