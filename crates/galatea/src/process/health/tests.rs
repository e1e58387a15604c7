//! Tests of the address of the server.

use super::*;

#[tokio::test]
async fn a_taken_port_names_its_owner() {
    let first = bind("127.0.0.1:0".parse().unwrap(), "here").await.unwrap();
    let error = bind(first.local_addr().unwrap(), "here").await.unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Conflict, Some("GAL-PORT")));
    #[cfg(target_os = "linux")]
    assert!(error.message().contains(&std::process::id().to_string()), "{error}");
    assert!(error.fix().unwrap().contains("--port"));
}

#[test]
fn only_the_loopback_interface() {
    let settings =
        |host: &str| Settings::from_pairs([("SERVER_HOST", host), ("SERVER_PORT", "8080")]);
    assert_eq!(address(&settings("localhost"), None).unwrap().to_string(), "127.0.0.1:8080");
    assert_eq!(address(&settings("::1"), Some(9)).unwrap().to_string(), "[::1]:9");
    assert_eq!(address(&Settings::default(), None).unwrap().to_string(), "127.0.0.1:3000");
    for open in ["0.0.0.0", "::", "192.168.1.1"] {
        assert_eq!(address(&settings(open), None).unwrap_err().code(), Some("GAL-BIND"), "{open}");
    }
    assert_eq!(address(&settings("example.org"), None).unwrap_err().code(), Some("GAL-CFG-VALUE"));
    assert_eq!(
        address(&Settings::from_pairs([("SERVER_PORT", "70000")]), None).unwrap_err().code(),
        Some("GAL-CFG-VALUE")
    );
}
