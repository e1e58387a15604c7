//! The shared suite, in memory and in a file.

mod in_memory {
    galatea_testkit::store_suite!(async { crate::Database::in_memory().await.unwrap() });
}

mod in_a_file {
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
}
