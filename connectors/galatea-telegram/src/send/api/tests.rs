//! Tests of calls of the Bot API.

use super::*;
use galatea_core::SystemClock;

#[test]
fn teloxides_names_are_spelled_as_the_bot_api_does() {
    assert_eq!(method_name(teloxide::payloads::GetMe::NAME), "getMe");
    assert_eq!(method_name(teloxide::payloads::GetUpdates::NAME), "getUpdates");
    assert_eq!(method_name(teloxide::payloads::SetMyCommands::NAME), "setMyCommands");
}

#[test]
fn answers_are_distinguished() {
    assert!(read::<bool>(200, "h", br#"{"ok":true,"result":true}"#).unwrap());
    let Failure::Refused(r) =
        read::<bool>(429, "h", br#"{"ok":false,"error_code":429,"description":"Too Many Requests","parameters":{"retry_after":3}}"#).unwrap_err()
    else {
        panic!("a refusal")
    };
    assert_eq!((r.code, r.retry_after), (429, Some(3)));
    let Failure::Refused(r) = read::<bool>(
        400,
        "h",
        br#"{"ok":false,"description":"group upgraded","parameters":{"migrate_to_chat_id":-1007}}"#,
    )
    .unwrap_err() else {
        panic!("a refusal")
    };
    assert_eq!((r.code, r.migrate_to), (400, Some(-1007)));
    for (status, body) in [
        (200, "<html>"),
        (502, "<html>bad gateway"),
        (200, "{}"),
        (200, r#"{"ok":true}"#),
        (200, r#"{"ok":true,"result":"x"}"#),
        (200, ""),
    ] {
        assert!(
            matches!(read::<bool>(status, "h", body.as_bytes()), Err(Failure::Garbage { .. })),
            "{body}"
        );
    }
}

#[test]
fn the_token_is_not_shown() {
    let api = BotApi::new(
        &TelegramConfig::new(SecretString::from("1:CANARYcanary".to_owned())),
        Arc::new(SystemClock),
    )
    .unwrap();
    assert!(!format!("{api:?}").to_lowercase().contains("canary"));
}
