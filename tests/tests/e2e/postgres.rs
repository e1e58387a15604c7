//! PostgreSQL instead of SQLite: people see no difference, and problems of the database are
//! reported.

use galatea_testkit::{
    postgres::{Database, Server, TransactionPooler},
    process::{Finished, Program},
};

use crate::stage::Stage;

fn on(program: Program, url: &str) -> Program {
    program.env("DATABASE_URL", url)
}

fn all(finished: &Finished) -> String {
    format!("{}{}", finished.stdout, finished.stderr)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_are_answered_across_a_restart() {
    let (stage, database) = (Stage::set().await, Database::fresh().await);
    let start = || on(stage.program(), &database.url()).arg("start").spawn();
    let mut galatea = start();
    galatea.wait_for_line("(PostgreSQL, created)").await;
    galatea.wait_for_line("ready in").await;
    let direct = stage.ann.direct();
    stage.ann.says(&direct, "Q1: are you there?").send();
    assert_eq!(stage.wait_text(&direct, "A1").await, ["A1"]);
    assert!(!stage.home.path().join(".galatea/galatea.db").exists(), "nothing is stored elsewhere");
    galatea.kill_9().await;

    stage.ann.says(&direct, "Q2: while you were away").send();
    let galatea = start();
    galatea.wait_for_line("ready in").await;
    assert_eq!(stage.wait_text(&direct, "A2").await, ["A1", "A2"]);
    let output = on(stage.program(), &database.url()).args(["doctor", "--offline"]).run().await;
    assert!(!all(&output).contains(database.server().password()), "{}", all(&output));
    let shown = on(stage.program(), &database.url()).args(["config", "show"]).run().await;
    assert!(
        all(&shown).contains("DATABASE_URL") && !all(&shown).contains(database.server().password()),
        "{}",
        all(&shown)
    );
    drop(galatea);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_goes_on_when_the_server_comes_back() {
    let server = tokio::task::spawn_blocking(Server::private).await.unwrap();
    let (stage, database) = (Stage::set().await, Database::on(server.clone()).await);
    let galatea = on(stage.program(), &database.url()).arg("start").spawn();
    galatea.wait_for_line("ready in").await;
    let direct = stage.ann.direct();
    stage.ann.says(&direct, "Q1: are you there?").send();
    stage.wait_text(&direct, "A1").await;
    let stopping = server.clone();
    tokio::task::spawn_blocking(move || stopping.stop()).await.unwrap();
    stage.ann.says(&direct, "Q2: and now?").send();
    galatea.wait_for_line("GAL-DB-HOST").await;
    let starting = server.clone();
    tokio::task::spawn_blocking(move || starting.start()).await.unwrap();
    assert_eq!(stage.wait_text(&direct, "A2").await, ["A1", "A2"]);
    drop((galatea, database));
    tokio::task::spawn_blocking(move || server.end()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_in_the_way_is_reported_without_the_password() {
    let (stage, database) = (Stage::set().await, Database::fresh().await);
    let (url, password) = (database.url(), database.server().password().to_owned());
    let nowhere = galatea_testkit::port::RefusedPort::take();
    let cases = [
        (url.replace(&password, "canary%40wrong"), "GAL-DB-PASSWORD"),
        (url.replace("/test_", "/no_such_"), "GAL-DB-MISSING"),
        (
            url.replace(
                &format!(":{}/", database.server().port()),
                &format!(":{}/", nowhere.number()),
            ),
            "GAL-DB-HOST",
        ),
        (url.replace("sslmode=disable", "sslmode=canary"), "GAL-DB-URL"),
    ];
    for (address, code) in cases {
        for command in [&["start"][..], &["doctor", "--offline"], &["explain", "1:1"]] {
            let output = on(stage.program(), &address).args(command.iter().copied()).run().await;
            let text = all(&output);
            assert!(output.code != Some(0) && text.contains(code), "{command:?}: {text}");
            assert!(
                ["fix:", "DATABASE_URL from environment"].iter().all(|part| text.contains(part)),
                "{command:?}: {text}"
            );
            assert!(!text.contains("canary") && !text.contains(&password), "{command:?}: {text}");
        }
    }
}

/// Exit code 3 (configuration) keeps a supervisor from restarting the program without end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_of_a_newer_version_is_a_matter_of_configuration() {
    let (stage, database) = (Stage::set().await, Database::fresh().await);
    let galatea = on(stage.program(), &database.url()).arg("start").spawn();
    galatea.wait_for_line("ready in").await;
    drop(galatea);
    database.written_by_a_newer_version().await;
    let output = on(stage.program(), &database.url()).arg("start").run().await;
    assert!(
        output.code == Some(3) && output.stderr.contains("GAL-DB-NEWER"),
        "{:?} {}",
        output.code,
        all(&output)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pooler_that_pools_transactions_is_refused() {
    let (stage, database) = (Stage::set().await, Database::fresh().await);
    let pooler = TransactionPooler::start(&database).await;
    let output = on(stage.program(), pooler.url()).arg("start").run().await;
    assert!(
        output.code == Some(3) && output.stderr.contains("GAL-DB-POOLER"),
        "{:?} {}",
        output.code,
        all(&output)
    );
    assert!(output.stderr.contains("pool_mode = session"), "{}", all(&output));
    let output = on(stage.program(), pooler.url()).args(["doctor", "--offline"]).run().await;
    assert!(all(&output).contains("GAL-DB-POOLER"), "{}", all(&output));
}

/// The readiness check takes a bounded time, whatever the database does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readiness_does_not_wait_for_a_server_that_is_away() {
    let server = tokio::task::spawn_blocking(Server::private).await.unwrap();
    let (stage, database) = (Stage::set().await, Database::on(server.clone()).await);
    let galatea = on(stage.program(), &database.url()).arg("start").spawn();
    galatea.wait_for_line("ready in").await;
    let stopping = server.clone();
    tokio::task::spawn_blocking(move || stopping.stop()).await.unwrap();
    galatea.wait_for_line("failed to send a heartbeat").await;
    let output = on(stage.program(), &database.url()).args(["status", "--json"]).run().await;
    let status: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
    let storage: Vec<_> = status["reasons"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|reason| reason["subject"] == "storage")
        .collect();
    assert!(storage.len() == 1 && storage[0]["code"] == "GAL-DB-HOST", "{status:#}");
    drop((galatea, database));
    let started = move || {
        server.start();
        server.end();
    };
    tokio::task::spawn_blocking(started).await.unwrap();
}

/// A process that stops closes the database itself: neither its log nor its readiness blames the
/// server for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopping_process_does_not_blame_the_server() {
    let (stage, database) = (Stage::set().await, Database::fresh().await);
    stage.model.think(std::time::Duration::from_secs(2));
    let mut galatea = on(stage.program(), &database.url()).arg("start").spawn();
    galatea.wait_for_line("ready in").await;
    let direct = stage.ann.direct();
    for n in 1..=4 {
        stage.ann.says(&direct, &format!("Q{n}")).send();
    }
    while stage.model.count() == 0 {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    galatea.hang_up();
    galatea.wait_for_line("Stopping").await;
    let mut looked = 0;
    while galatea.pid().is_some() && looked < 40 {
        let output = on(stage.program(), &database.url()).args(["status", "--json"]).run().await;
        let Ok(status) = serde_json::from_str::<serde_json::Value>(&output.stdout) else { break };
        let Some(reasons) = status["reasons"].as_array() else { break };
        assert!(reasons.iter().all(|reason| reason["subject"] != "storage"), "{status:#}");
        looked += 1;
    }
    let finished = galatea.finish().await;
    assert_eq!(finished.code, Some(0), "{}", all(&finished));
    assert!(looked > 0, "it was never asked while it stopped");
    for blame in ["GAL-DB-", "database does not answer"] {
        assert!(!all(&finished).contains(blame), "{}", all(&finished));
    }
}
