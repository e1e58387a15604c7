//! Tests of the Telegram settings.

use super::*;

fn read(pairs: &[(&str, &str)]) -> Result<Option<TelegramConfig>> {
    TelegramConfig::read(&Settings::from_pairs(pairs.iter().map(|(k, v)| (*k, *v))))
}

const GOOD: &str = "123456789:AAcanaryCANARYcanaryCANARYcanaryCAN_-1";

#[test]
fn a_token_is_enough() {
    let config = read(&[("TELEGRAM_BOT_TOKEN", GOOD)]).unwrap().unwrap();
    assert_eq!(config.account().unwrap().0, "123456789");
    assert_eq!(config.api_root.as_str(), "https://api.telegram.org/");
    assert_eq!((config.mode, config.poll_timeout, config.drop_pending), (Mode::Polling, 50, false));
    assert_eq!(config.webhook_listen, "127.0.0.1:8443".parse().unwrap());
    assert!(read(&[]).unwrap().is_none());
}

#[test]
fn pasted_quotes_and_spaces_around_a_token_do_no_harm() {
    assert_eq!(
        read(&[("TELEGRAM_BOT_TOKEN", &format!(" \"{GOOD}\" "))])
            .unwrap()
            .unwrap()
            .account()
            .unwrap()
            .0,
        "123456789"
    );
}

#[test]
fn broken_tokens_are_refused_without_being_repeated() {
    for wrong in [
        format!("Bot {GOOD}"),
        GOOD.replace(':', ""),
        GOOD.replace(':', ": "),
        format!("\"{GOOD}"),
        "123456789:".into(),
        ":AAcanary".into(),
        format!("{GOOD}\nx"),
    ] {
        let inner = TelegramConfig::new(SecretString::from(wrong.clone()));
        let error = inner.account().unwrap_err();
        assert_eq!(error.code(), Some("GAL-TG-TOKEN"), "{wrong}");
        assert!(
            !format!("{error} {error:?} {} {inner:?}", error.report())
                .to_lowercase()
                .contains("canary"),
            "{wrong}"
        );
    }
}

#[test]
fn a_server_of_ones_own_may_have_tokens_of_another_shape() {
    let with_root = |token: &str| {
        read(&[("TELEGRAM_BOT_TOKEN", token), ("TELEGRAM_API_ROOT", "http://127.0.0.1:8081")])
            .map(|c| c.unwrap().account().unwrap())
    };
    for token in ["test-token", "abc:def", "botty", "1:a.b~c", "9999999999999999999999:x"] {
        let account = with_root(token).unwrap();
        assert!(
            account.0.starts_with("bot-") && account.0.len() == 12 && !account.0.contains(token),
            "{account:?}"
        );
        assert_eq!(account, with_root(token).unwrap(), "the same after a restart");
        assert_eq!(
            read(&[("TELEGRAM_BOT_TOKEN", token)]).unwrap_err().code(),
            Some("GAL-TG-TOKEN"),
            "{token}: Telegram has one shape only"
        );
    }
    assert_ne!(with_root("test-token").unwrap(), with_root("test-tokem").unwrap());
    assert_eq!(with_root(GOOD).unwrap().0, "123456789");
    for something_else in ["sk-proj-canary", "123456789", "a b", "a/b", "a?b", "ü", "bot12:AA"] {
        assert_eq!(
            with_root(something_else).unwrap_err().code(),
            Some("GAL-TG-TOKEN"),
            "{something_else}"
        );
    }
}

#[test]
fn settings_that_make_no_sense_are_refused_with_their_place() {
    for (name, value) in [
        ("TELEGRAM_MODE", "push"),
        ("TELEGRAM_API_ROOT", "ftp://x"),
        ("TELEGRAM_API_ROOT", "https://user:pw@host"),
        ("TELEGRAM_POLL_TIMEOUT", "51"),
        ("TELEGRAM_POLL_TIMEOUT", "soon"),
        ("TELEGRAM_WEBHOOK_LISTEN", "localhost"),
        ("TELEGRAM_DROP_PENDING", "maybe"),
        ("TELEGRAM_ALLOWED_CHATS", "[1"),
        ("TELEGRAM_WEBHOOK_SECRET", "with space"),
    ] {
        let error = read(&[("TELEGRAM_BOT_TOKEN", GOOD), (name, value)]).unwrap_err();
        assert!(
            error.message().contains(name) || error.fix().is_some_and(|f| f.contains(name)),
            "{name}: {error}"
        );
    }
    let error = read(&[("TELEGRAM_BOT_TOKEN", GOOD), ("TELEGRAM_MODE", "webhook")]).unwrap_err();
    assert!(error.fix().unwrap().contains("TELEGRAM_WEBHOOK_URL"));
}

#[test]
fn chats_may_be_numbers_or_strings() {
    assert!(
        read(&[("TELEGRAM_BOT_TOKEN", GOOD), ("TELEGRAM_ALLOWED_CHATS", "[-100123, \"42\"]")])
            .is_ok()
    );
}
