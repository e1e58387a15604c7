//! Limits, usage and the block list in the real program, across the platform, the engine, the
//! ledger and the command line.

use serde_json::Value;

use crate::stage::Stage;

async fn json(stage: &Stage, arguments: &[&str]) -> Value {
    let done = stage.program().args(arguments).run().await;
    assert_eq!(done.code, Some(0), "{arguments:?}: {}{}", done.stdout, done.stderr);
    serde_json::from_str(&done.stdout).unwrap()
}

#[tokio::test]
async fn a_stranger_meets_the_limits_and_the_ledger_knows() {
    let stage = Stage::set().await;
    let running = stage
        .program()
        .env("LIMITS", "public")
        .env("LIMIT_PERSON", "2/min, 100/day")
        .arg("start")
        .spawn();
    running.wait_for_line("ready in").await;
    let ann = stage.ann.direct();
    for (question, answer) in [("Q1", "A1"), ("Q2", "A2")] {
        stage.ann.says(&ann, question).send();
        stage.wait_text(&ann, answer).await;
    }
    let refused = stage.ann.says(&ann, "Q3").send();
    let texts = stage
        .wait_text(&ann, "I cannot keep up with so many messages. Please write again in a minute.")
        .await;
    assert_eq!(texts[..2], ["A1", "A2"]);
    let output = stage
        .program()
        .args(["explain".to_owned(), format!("{}:{refused}", ann.id)])
        .run()
        .await
        .stdout;
    assert!(output.contains("To change it: LIMIT_PERSON="), "{output}");
    let used = json(&stage, &["usage", "--by", "person,model", "--json"]).await;
    let sum = |field: &str| {
        used["lines"]
            .as_array()
            .unwrap()
            .iter()
            .map(|line| line[field].as_u64().unwrap())
            .sum::<u64>()
    };
    assert_eq!((sum("answers"), sum("refused"), sum("calls")), (2, 1, 2), "{used}");
    assert!(
        sum("input") > 0 && used["lines"][0]["person"].as_str().unwrap().contains("Ann"),
        "{used}"
    );

    // Agents and rooms are shown by their names, and in JSON by their ids too.
    let used = json(&stage, &["usage", "--by", "agent,room", "--json"]).await;
    let line = &used["lines"][0];
    assert_eq!(
        (line["agent"].as_str(), line["answers"].as_u64(), used["lines"].as_array().unwrap().len()),
        (Some("Eliza"), Some(2), 1),
        "{used}"
    );
    assert!(line["room"].as_str().unwrap().contains("Ann"), "{used}");
    for id in ["agentId", "roomId"] {
        let id = line[id].as_str().unwrap();
        assert!(id.len() == 36 && id.matches('-').count() == 4, "{used}");
    }
    let shown = stage.program().args(["usage", "--by", "room"]).run().await.stdout;
    let mut rows = shown.lines();
    assert!(rows.next().unwrap().starts_with("room "), "{shown}");
    assert!(rows.next().unwrap().contains("Ann"), "{shown}");

    // A block set while the program runs takes effect within two seconds, without any answer.
    let bob = stage.telegram.user("Bob", "bob_b");
    let id = bob.id.to_string();
    json(&stage, &["block", "add", "telegram", "person", &id, "--reason", "spam", "--json"]).await;
    assert_eq!(json(&stage, &["block", "ls", "--json"]).await["blocked"][0]["id"], id);
    // The bound itself is under test: the program may use a list that it read before the block for
    // so long, and nothing announces that it read a newer one.
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    let blocked = bob.says(&bob.direct(), "Q4").send();
    stage.ann.says(&ann, "/help").send();
    let explained = async {
        loop {
            let output = stage
                .program()
                .args(["explain".to_owned(), format!("{}:{blocked}", bob.id)])
                .run()
                .await
                .stdout;
            if output.contains("this person is blocked (spam)") {
                return output;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    let output = tokio::time::timeout(std::time::Duration::from_secs(30), explained).await.unwrap();
    assert!(output.contains(&format!("galatea block rm telegram person {id}")), "{output}");
    assert_eq!(stage.texts(&bob.direct()), Vec::<String>::new());
    json(&stage, &["block", "rm", "telegram", "person", &id, "--json"]).await;
    let twice = stage.program().args(["block", "rm", "telegram", "person", &id]).run().await;
    assert!(
        twice.code == Some(1) && twice.stderr.contains("GAL-BLOCK-UNKNOWN"),
        "{:?} {}",
        twice.code,
        twice.stderr
    );
}
