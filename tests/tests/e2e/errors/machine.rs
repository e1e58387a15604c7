//! Errors of the machine: a port in use, a second start.

use std::net::TcpListener;

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
