//! `/privacy forget me` of a person who wrote much, killed between its commits.

use serde_json::{Value, json};

use super::{count, has_died};
use crate::stage::Stage;

/// Some commits of what goes before the turn.
const MESSAGES: usize = 700;
const STORED: &str =
    "SELECT CAST(count(*) AS text) FROM memories WHERE content ->> '$.text' LIKE 'remark %'";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_is_forgotten_whole_after_two_kills() {
    let stage = Stage::set().await;
    let mut running = stage.start().await;
    running.terminate();
    running.finish().await;
    let ann = format!("user{}", stage.ann.id);
    let message = |n: usize| {
        let at = (1_767_607_200 + n).to_string();
        json!({ "id": n, "type": "message", "date_unixtime": at, "from": "Ann", "from_id": ann, "text": format!("remark {n}") })
    };
    let messages: Vec<Value> = (1..=MESSAGES).map(message).collect();
    let export =
        json!({ "name": "Old", "type": "private_supergroup", "id": 77, "messages": messages });
    stage.home.write("result.json", &export.to_string());
    let done = stage.program().args(["memory", "import", "result.json"]).run().await;
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert_eq!(count(&stage, STORED).await, MESSAGES);

    let direct = stage.ann.direct();
    stage.ann.says(&direct, "/privacy forget me").send();
    for (point, left) in [("forget.some=1*off->return", 600), ("forget.some=2*off->return", 400)] {
        let mut running = stage.program().env("FAILPOINTS", point).arg("start").spawn();
        has_died(&mut running, point).await;
        assert_eq!(count(&stage, STORED).await, left, "after {point}");
        assert_eq!(stage.texts(&direct), [""; 0], "nothing is said before all is done");
    }
    let mut running = stage.start().await;
    let said = |_: &galatea_testkit::telegram::Handle| {
        Some(stage.texts(&direct)).filter(|texts| !texts.is_empty())
    };
    let texts = stage.telegram.wait_for("the answer", said).await;
    assert!(texts.len() == 1 && texts[0].starts_with("Done. I deleted"), "{texts:?}");
    assert_eq!(count(&stage, STORED).await, 0);
    running.kill_9().await;
}
