//! A machine without free file descriptors: no failure notice is sent, and no message is lost.

use galatea_core::{Error, ErrorKind};
use galatea_testkit::models::ScriptedModel;
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use crate::{
    house::{Plan, dm},
    platform::Platform,
};

#[tokio::test]
async fn messages_wait_until_the_machine_can_ask_again() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let model = Arc::new(ScriptedModel::answering(move |_| {
        if counted.fetch_add(1, Ordering::SeqCst) < 3 {
            return Err(
                Error::new(ErrorKind::Exhausted, "no more open files").with_code("GAL-LOCAL-LIMIT")
            );
        }
        Ok(ScriptedModel::text("here again"))
    }));
    let platform = Platform::new("1000");
    let house = Plan::new(model).on(Arc::clone(&platform)).build().await;
    house.say(&dm("7"), "hello?").await;
    house.quiet().await;
    assert_eq!(platform.texts("7"), ["here again"], "neither a notice nor silence");
    let line = house.store.audit().await.unwrap().remove(0);
    assert!(line.balances() && line.answered == 1, "{line:?}");
}
