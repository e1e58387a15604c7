//! The shared suite.

use galatea_testkit::{postgres::Database, store_suite::Fresh};

async fn fresh() -> Fresh {
    let database = Database::fresh().await;
    Fresh::keeping(super::open(&database).await, database)
}

galatea_testkit::store_suite!(fresh());
