//! Tests of reading the settings.

use super::*;

fn read(pairs: &[(&str, &str)]) -> Result<Option<DiscordConfig>> {
    DiscordConfig::read(&Settings::from_pairs(pairs.iter().map(|(k, v)| (*k, *v))))
}

/// `112233445566778899` in base64, then what Discord appends.
const GOOD: &str = "MTEyMjMzNDQ1NTY2Nzc4ODk5.GcanAr.canaryCANARYcanaryCANARYcanaryCAN_-12345";

#[test]
fn a_token_is_enough() {
    let config = read(&[("DISCORD_API_TOKEN", GOOD)]).unwrap().unwrap();
    assert_eq!(config.account().unwrap().0, "112233445566778899");
    assert_eq!(config.api_root.as_str(), "https://discord.com/");
    assert!(read(&[("DISCORD_BOT_TOKEN", &format!(" \"{GOOD}\" "))]).unwrap().is_some());
    assert!(read(&[]).unwrap().is_none());
}

#[test]
fn what_was_pasted_instead_is_reported_without_being_repeated() {
    for (wrong, reason) in [
        (format!("Bot {GOOD}"), "word Bot"),
        (format!("\"{GOOD}\""), "quotes"),
        ("112233445566778899".to_owned(), "application's id"),
        ("c0ffee00".repeat(8), "public key"),
        ("canaryCANARYcanaryCANARYcanary12".to_owned(), "client secret"),
        (GOOD.replace('.', ""), "three parts"),
        (format!("canary.{}", &GOOD[25..]), "three parts"),
        (format!("{GOOD} x"), "three parts"),
        (String::new(), "three parts"),
    ] {
        let config = DiscordConfig::new(SecretString::from(wrong.clone()));
        let error = config.account().unwrap_err();
        assert_eq!(error.code(), Some("GAL-DC-TOKEN"), "{wrong}");
        assert!(error.to_string().contains(reason), "{error}");
        assert!(
            !format!("{error} {error:?} {} {config:?}", error.report())
                .to_lowercase()
                .contains("canary"),
            "{wrong}"
        );
    }
}

#[test]
fn a_server_of_ones_own_may_have_tokens_of_another_shape() {
    let with_root = |token: &str| {
        let root = ("DISCORD_API_ROOT", "http://127.0.0.1:8081");
        read(&[("DISCORD_API_TOKEN", token), root]).map(|c| c.unwrap().account().unwrap())
    };
    let form = "canaryCANARYcanaryCANARYcanary12";
    for token in ["test-token", "a.b.c", "botty", form, &"c0ffee00".repeat(8)] {
        let account = with_root(token).unwrap();
        assert!(
            account.0.starts_with("bot-") && account.0.len() == 12 && !account.0.contains(token),
            "{account:?}"
        );
        assert_eq!(account, with_root(token).unwrap(), "the same after a restart");
        for own in ["https://discord.com", "https://canary.discord.com/api/v10"] {
            let refused = read(&[("DISCORD_API_TOKEN", token), ("DISCORD_API_ROOT", own)]);
            let code = refused.unwrap_err().code().map(str::to_owned);
            assert_eq!(code.as_deref(), Some("GAL-DC-TOKEN"), "{token}: Discord has one shape");
        }
        assert!(read(&[("DISCORD_API_TOKEN", token)]).is_err(), "{token}");
    }
    assert_ne!(with_root("test-token").unwrap(), with_root("test-tokem").unwrap());
    assert_eq!(with_root(GOOD).unwrap().0, "112233445566778899");
    for something_else in ["Bot test-token", "112233445566778899", "a b", "ü", "x\u{1}"] {
        let error = with_root(something_else).unwrap_err();
        assert_eq!(error.code(), Some("GAL-DC-TOKEN"), "{something_else}");
    }
    assert!(!is_discords(&"https://notdiscord.com".parse().unwrap()));
}

#[test]
fn settings_that_make_no_sense_are_refused_with_their_place() {
    for (name, value) in [
        ("DISCORD_API_ROOT", "ftp://x"),
        ("DISCORD_API_ROOT", "https://user:pw@host"),
        ("DISCORD_APPLICATION_ID", "x"),
        ("DISCORD_BOT_URL", "x"),
    ] {
        let error = read(&[("DISCORD_API_TOKEN", GOOD), (name, value)]).unwrap_err();
        assert!(error.message().contains(name), "{name}: {error}");
    }
}

#[test]
fn elizaos_switches_become_the_gates() {
    let settings = Settings::from_pairs([
        ("CHANNEL_IDS", "[1, \"2\"]"),
        ("DISCORD_LISTEN_CHANNEL_IDS", "3, 4"),
        ("DISCORD_SHOULD_IGNORE_BOT_MESSAGES", "true"),
        ("DISCORD_SHOULD_IGNORE_DIRECT_MESSAGES", "true"),
        ("DISCORD_SHOULD_RESPOND_ONLY_TO_MENTIONS", "true"),
    ]);
    let read = policy(&settings).unwrap();
    assert_eq!(
        read,
        [
            ("DISCORD_ALLOWED_CHATS", "1,2".to_owned()),
            ("DISCORD_LISTEN_CHATS", "3,4".to_owned()),
            ("DISCORD_ALLOW_BOTS", "false".to_owned()),
            ("DISCORD_DM_POLICY", "disabled".to_owned()),
            ("DISCORD_GROUP_POLICY", "mention,reply".to_owned())
        ]
    );
    assert!(policy(&Settings::default()).unwrap().is_empty());
    assert!(policy(&Settings::from_pairs([("CHANNEL_IDS", "[1")])).is_err());
}
