//! The shared suite, in a file.

use galatea_testkit::store_suite::Fresh;

async fn fresh() -> Fresh {
    let folder = tempfile::tempdir().unwrap();
    let store =
        crate::Database::sqlite(folder.path().join("test.db"), crate::SqliteOptions::default())
            .await
            .unwrap();
    Fresh::keeping(store, folder)
}

galatea_testkit::store_suite!(fresh());
