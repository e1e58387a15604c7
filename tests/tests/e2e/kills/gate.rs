//! A message whose judging ends the process each time.

use super::{count, has_died, until_counted};
use crate::stage::Stage;

/// Starts until the message is given up: the turn in which it arrived, ten more, and the last one.
const STARTS: usize = 12;
const POINT: &str = "gate=return";
const DEAD: &str = "SELECT CAST(count(*) AS text) FROM inbox WHERE state = 'dead'";

#[tokio::test]
async fn a_message_that_ends_the_process_in_the_gate_is_given_up() {
    let stage = Stage::set().await;
    stage.ann.says(&stage.ann.direct(), "Q1").send();
    for start in 1..=STARTS {
        let mut running = stage.program().env("FAILPOINTS", POINT).arg("start").spawn();
        if start == 1 {
            // The message arrives, and is stored.
            has_died(&mut running, POINT).await;
            continue;
        }
        tokio::select! {
            () = has_died(&mut running, POINT) => assert!(start < STARTS, "start {start}"),
            () = until_counted(&stage, DEAD, 1) => {
                running.kill_9().await;
                break;
            }
        }
    }
    assert_eq!(count(&stage, DEAD).await, 1);
    let _running = stage.start().await;
    let bob = stage.telegram.user("Bob", "bob_c");
    bob.says(&bob.direct(), "Q2").send();
    assert_eq!(stage.wait_text(&bob.direct(), "A2").await, ["A2"]);
    assert_eq!(count(&stage, DEAD).await, 1);
}
