//! Errors that prevent a start, each with its fix.

use super::home::{Home, err};
use std::net::TcpListener;

#[test]
fn a_second_start_names_the_first() {
    let home = Home::new();
    let running = home.start(&[]);
    let second = home.run(&["start", "--port", "0"]);
    assert_eq!(second.status.code(), Some(6));
    assert!(
        err(&second).contains("GAL-LOCK") && err(&second).contains(&running.child.id().to_string()),
        "{}",
        err(&second)
    );
    assert_eq!(running.stop(), Some(0));
}

#[test]
fn a_taken_port_is_reported_and_not_dodged() {
    let home = Home::new();
    let holder = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = holder.local_addr().unwrap().port().to_string();
    let refused = home.run(&["start", "--port", &port]);
    assert_eq!(refused.status.code(), Some(6));
    assert!(
        err(&refused).contains("GAL-PORT") && err(&refused).contains("--port"),
        "{}",
        err(&refused)
    );
    #[cfg(target_os = "linux")]
    assert!(
        err(&refused).contains(&std::process::id().to_string()),
        "the owner is named: {}",
        err(&refused)
    );
}

#[test]
fn the_health_server_stays_on_this_machine() {
    let home = Home::new();
    let refused = home.command(&["start"]).env("SERVER_HOST", "0.0.0.0").output().unwrap();
    assert_eq!(refused.status.code(), Some(3));
    assert!(err(&refused).contains("GAL-BIND"), "{}", err(&refused));
}

#[test]
fn a_broken_character_is_reported_with_its_place() {
    let home = Home::new();
    std::fs::write(home.path().join("ada.json"), "{\n  \"name\": \"Ada\"\n  \"bio\": \"x\"\n}")
        .unwrap();
    let refused = home.run(&["start", "--port", "0", "--character", "ada.json"]);
    assert_eq!(refused.status.code(), Some(3));
    assert!(err(&refused).contains("ada.json:2"), "{}", err(&refused));
    assert!(!home.path().join(".galatea").exists(), "nothing was made");
}
