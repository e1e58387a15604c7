//! Errors of the machine: a port in use, a second start, a full disk.

use std::net::TcpListener;

use galatea_testkit::machine::Machine;

use super::{Scene, finding, says};

#[tokio::test]
async fn a_taken_port_names_its_owner_and_is_not_dodged() {
    let mut scene = Scene::set().await;
    let holder = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = holder.local_addr().unwrap().port().to_string();
    scene.env("SERVER_PORT", &port);
    let program = scene.program().without_env("SERVER_PORT");
    let refused = program.clone().arg("start").run().await;
    assert_eq!(refused.code, Some(6), "{}", refused.stderr);
    let owner = format!("({})", std::process::id());
    let expected = [
        "GAL-PORT",
        &port,
        &owner,
        "cause: something listens on 127.0.0.1",
        "where: SERVER_PORT from .env line 5",
        "fix:",
        "--port",
    ];
    says(&refused.stderr, &expected);
    let doctor = program.clone().arg("doctor").run().await;
    assert_eq!(doctor.code, Some(7));
    says(
        &doctor.stdout,
        &[&owner, "GAL-PORT", "cause:", "where: SERVER_PORT from .env line 5", "fix:", "--port"],
    );
    let json = program.clone().args(["doctor", "--json"]).run().await;
    assert_eq!(finding(&json, "GAL-PORT")["subject"], "port");
    // The advice in the message works.
    let running = program.args(["start", "--port", "0"]).spawn();
    running.wait_for_line("ready in").await;
    scene.end(running).await;
}

#[tokio::test]
async fn an_invalid_port_is_reported_with_its_line() {
    let mut scene = Scene::set().await;
    scene.env("SERVER_PORT", "canary-port");
    let refused = scene.program().without_env("SERVER_PORT").arg("start").run().await;
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    says(
        &refused.stderr,
        &["error[GAL-CFG-VALUE]: SERVER_PORT is not a port number", "where: .env line 5", "fix:"],
    );
    assert!(!refused.stderr.contains("canary-port"), "values are not repeated");
}

#[tokio::test]
async fn a_second_start_names_the_first() {
    let scene = Scene::set().await;
    let running = scene.start().await;
    let second = scene.run(&["start"]).await;
    assert_eq!(second.code, Some(6));
    says(&second.stderr, &["error[GAL-LOCK]", &running.pid().unwrap().to_string(), "fix:"]);
    scene.end(running).await;
}

#[tokio::test]
async fn a_full_disk_is_named_with_its_fix_and_no_network_is_blamed() {
    let scene = Scene::set().await;
    let program = scene.program();
    let machine = Machine::new(scene.stage.home.path());
    let run =
        async |args: &[&str]| machine.runs(program.clone()).args(args.iter().copied()).run().await;
    machine.fill_disk(true);
    let expected = [
        "GAL-DATA-DIR",
        "cause: No space left on device",
        "fix: free space on that disk, or set GALATEA_DATA_DIR to a folder on another disk",
    ];
    let doctor = run(&["doctor"]).await;
    assert_eq!(doctor.code, Some(7), "{}", doctor.stdout);
    for part in expected {
        says(&doctor.stdout, &[part]);
    }
    // The folder cannot be made, and when it exists the lock cannot be written.
    for _ in 0..2 {
        let refused = run(&["start"]).await;
        assert_eq!(refused.code, Some(1), "{}", refused.stderr);
        for part in expected {
            says(&refused.stderr, &[part]);
        }
    }
    machine.fill_disk(false);
    let answered = run(&["chat", "-m", "Q1"]).await;
    assert_eq!(answered.code, Some(0), "{}", answered.stderr);
    // Only the disk of the export is full.
    let small = scene.stage.home.path().join("small");
    std::fs::create_dir(&small).unwrap();
    let machine = Machine::new(&small);
    let export = async |file: &str| {
        let program = machine.runs(program.clone());
        program.args(["memory", "export", "-o", file]).run().await
    };
    machine.fill_disk(true);
    let full = export("small/full.jsonl").await;
    assert_eq!(full.code, Some(1), "{}", full.stderr);
    says(
        &full.stderr,
        &[
            "error[GAL-MEMORY-WRITE]",
            "cause: No space left on device",
            "fix: free space on that disk, or name a file on another disk",
        ],
    );
    machine.fill_disk(false);
    assert_eq!(export("small/whole.jsonl").await.code, Some(0));
}
