//! Tests of the socket file: its path, its permissions, and its removal.

use crate::bench::{Bench, agent, connector, heard};
use galatea_core::{ConnectorConfig, Gateway, Host, Settings, SystemClock};
use galatea_terminal::{Config, Heard, TerminalClient};
use std::{os::unix::fs::PermissionsExt, sync::Arc};
use tokio_util::sync::CancellationToken;

#[tokio::test]
async fn the_socket_is_private_replaces_a_stale_one_and_goes_away() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("terminal.sock");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(path.exists(), "left behind by a crash");
    let bench = Bench::start_in(dir).await;
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let findings = bench.connector.check().await;
    assert_eq!((findings.len(), findings[0].id.as_str()), (1, "GAL-TERM-OK"));

    let second = connector(&bench.dir);
    let gateway =
        Gateway::new(second.info().clone(), agent(), bench.recorder.clone(), Arc::new(SystemClock));
    let error = second.run(gateway, CancellationToken::new()).await.unwrap_err();
    assert_eq!(error.code(), Some("GAL-TERM-TAKEN"));
    drop(bench.client("maria").await);

    bench.stop.cancel();
    bench.task.await.unwrap().unwrap();
    assert!(!path.exists());
}

#[tokio::test]
async fn a_file_in_its_place_and_a_path_too_long_are_reported_not_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("terminal.sock"), "precious").unwrap();
    let findings = connector(&dir).check().await;
    assert_eq!(findings[0].id, "GAL-TERM-PATH");
    assert!(findings[0].fix.is_some());
    assert_eq!(std::fs::read_to_string(dir.path().join("terminal.sock")).unwrap(), "precious");

    let host = Host {
        agent: agent(),
        agent_name: "Eliza".into(),
        data_dir: format!("/tmp/{}", "d".repeat(120)).into(),
        clock: Arc::new(SystemClock),
    };
    let long = Config::from_settings(&Settings::default()).unwrap().unwrap().build(&host).unwrap();
    assert_eq!(long.check().await[0].id, "GAL-TERM-PATH");
}

#[tokio::test]
async fn connecting_to_nothing_names_the_next_action() {
    let dir = tempfile::tempdir().unwrap();
    let Err(error) = TerminalClient::connect(&dir.path().join("terminal.sock"), "maria").await
    else {
        panic!()
    };
    assert_eq!(error.code(), Some("GAL-TERM-CONNECT"));
    assert!(error.fix().unwrap().contains("galatea start"));
}

#[tokio::test]
async fn after_a_stop_nothing_is_taken_in_and_answers_under_way_still_arrive() {
    let bench = Bench::start().await;
    let mut maria = bench.client("maria").await;
    let [delivery] = bench.deliveries("maria", "k", "Hello.", None).try_into().unwrap();
    let (socket, handler, recorder) = (bench.socket(), bench.handler(), bench.recorder.clone());
    bench.end().await;
    let Err(error) = TerminalClient::connect(&socket, "late").await else { panic!() };
    assert_eq!(error.code(), Some("GAL-TERM-CONNECT"));

    let refused =
        |heard| matches!(heard, Heard::Refused { code, .. } if code == "GAL-TERM-STOPPING");
    assert!(refused(heard(&mut maria).await), "the client gets the refusal");
    maria.say("too late").await.unwrap();
    assert!(refused(heard(&mut maria).await));
    assert!(recorder.ids.lock().unwrap().is_empty());

    let (sent, ()) = tokio::join!(handler.send(&delivery), async {
        let Heard::Message(message) = heard(&mut maria).await else { panic!() };
        maria.confirm(&message).await.unwrap();
    });
    sent.unwrap();
}
