//! Tests of reading the settings.

use super::*;
use galatea_core::{ConnectorConfig, Settings};

const KEYS: [(&str, &str); 4] = [
    ("TWITTER_API_KEY", "canarykey"),
    ("TWITTER_API_SECRET_KEY", "canarysecret"),
    ("TWITTER_ACCESS_TOKEN", "1445-canaryToken"),
    ("TWITTER_ACCESS_TOKEN_SECRET", "canarytokensecret"),
];

fn read(more: &[(&str, &str)]) -> Result<Option<XConfig>> {
    XConfig::from_settings(&Settings::from_pairs(KEYS.iter().chain(more).map(|(k, v)| (*k, *v))))
}

#[test]
fn four_keys_are_enough_and_nothing_is_posted() {
    let config = read(&[]).unwrap().unwrap();
    assert_eq!(config.credentials.account().unwrap().unwrap().0, "1445");
    assert!(config.dry_run && config.replies && config.posting.is_none());
    assert_eq!(
        (config.api_root.as_str(), config.daily_limit),
        ("https://api.x.com/", Usd::from_cents(100))
    );
    assert_eq!(config.poll, PollPace::default());
    assert!(XConfig::from_settings(&Settings::default()).unwrap().is_none());
}

#[test]
fn a_missing_key_is_named_and_no_value_repeated() {
    for left_out in 0..3 {
        let some = KEYS
            .iter()
            .enumerate()
            .filter(|(n, _)| *n != left_out && *n != 3 || *n == 2)
            .map(|(_, pair)| *pair);
        let error = XConfig::from_settings(&Settings::from_pairs(
            some.filter(|(k, _)| *k != "TWITTER_ACCESS_TOKEN_SECRET"),
        ))
        .unwrap_err();
        assert!(error.fix().unwrap().contains("TWITTER_ACCESS_TOKEN_SECRET"), "{error}");
        assert!(!format!("{error} {error:?}").contains("canary"));
    }
}

#[test]
fn a_client_id_is_the_other_way_in() {
    let config = XConfig::from_settings(&Settings::from_pairs([("TWITTER_CLIENT_ID", "abc")]))
        .unwrap()
        .unwrap();
    let Credentials::OAuth2 { client_id, client_secret, redirect } = config.credentials else {
        panic!("OAuth 2")
    };
    assert_eq!(
        (client_id.as_str(), client_secret.is_none(), redirect.as_str()),
        ("abc", true, "http://127.0.0.1:8765/callback")
    );
}

#[test]
fn tokens_of_another_shape_are_refused_without_being_repeated() {
    for wrong in ["canary", "12x-canary", "-canary", "12-", "12-can ary"] {
        let error = read(&[("TWITTER_ACCESS_TOKEN", wrong)]).unwrap_err();
        assert_eq!(error.code(), Some("GAL-X-TOKEN"));
        assert!(
            !format!("{error} {error:?} {}", error.report()).contains("can"),
            "{wrong}: {error}"
        );
    }
}

#[test]
fn a_server_of_ones_own_may_have_tokens_of_another_shape() {
    let with_root = |token: &str, root: &str| {
        read(&[("TWITTER_ACCESS_TOKEN", token), ("TWITTER_API_ROOT", root)])
            .map(|config| config.unwrap().account().unwrap().unwrap())
    };
    let own = "http://127.0.0.1:8081";
    for token in ["test-token", "canary", "12x-canary", "12-can.ary"] {
        let account = with_root(token, own).unwrap();
        assert!(
            account.0.starts_with("account-")
                && account.0.len() == 16
                && !account.0.contains(token),
            "{account:?}"
        );
        assert_eq!(account, with_root(token, own).unwrap(), "the same after a restart");
        for xs in ["https://api.x.com", "https://api.twitter.com"] {
            assert_eq!(with_root(token, xs).unwrap_err().code(), Some("GAL-X-TOKEN"), "{token}");
        }
    }
    assert_ne!(with_root("test-token", own).unwrap(), with_root("test-tokem", own).unwrap());
    assert_eq!(with_root("1445-canaryToken", own).unwrap().0, "1445");
    for nothing in ["a b", "ü", "x\u{1}"] {
        assert_eq!(with_root(nothing, own).unwrap_err().code(), Some("GAL-X-TOKEN"), "{nothing}");
    }
    assert!(!is_xs(&"https://notx.com".parse().unwrap()));
}

#[test]
fn times_are_minutes() {
    let config = read(&[
        ("TWITTER_POLL_INTERVAL", "0.05"),
        ("TWITTER_POST_ENABLE", "true"),
        ("TWITTER_POST_QUIET_HOURS", "22-7"),
    ])
    .unwrap()
    .unwrap();
    assert_eq!(
        config.poll,
        PollPace { fastest: Duration::from_secs(3), slowest: Duration::from_secs(3) }
    );
    let posting = config.posting.unwrap();
    assert_eq!(
        (posting.least, posting.most),
        (Duration::from_secs(90 * 60), Duration::from_secs(150 * 60))
    );
    assert_eq!(posting.quiet, Some(Quiet { from: 22, to: 7 }));
    let config = read(&[
        ("TWITTER_ENABLE_POST", "1"),
        ("TWITTER_POST_INTERVAL_MIN", "240"),
        ("TWITTER_POST_INTERVAL_MAX", "540"),
    ])
    .unwrap()
    .unwrap();
    assert_eq!(config.posting.unwrap().most, Duration::from_secs(540 * 60));
    assert_eq!(
        read(&[("TWITTER_POLL_INTERVAL", "0.0001")]).unwrap().unwrap().poll.slowest,
        Duration::from_secs(3),
        "X allows 300 looks in 15 minutes"
    );
}

#[test]
fn names_and_prices() {
    let config = read(&[
        ("TWITTER_TARGET_USERS", "@Ann, bob, 12, @34"),
        ("TWITTER_PRICES", "post=0.02,link=0.3"),
        ("TWITTER_DAILY_SPEND_LIMIT", "2.5"),
    ])
    .unwrap()
    .unwrap();
    assert_eq!(config.target_users.to_string(), "@ann,@bob,12,@34");
    assert_eq!(
        (config.prices.post, config.prices.link, config.prices.reply),
        (Usd(20_000), Usd(300_000), Usd(10_000))
    );
    assert_eq!(config.daily_limit, Usd::from_cents(250));
    assert!(read(&[("TWITTER_TARGET_USERS", "*")]).unwrap().unwrap().target_users.is_empty());
}

#[test]
fn settings_that_make_no_sense_are_refused_with_their_name() {
    for (name, value) in [
        ("TWITTER_API_ROOT", "ftp://x"),
        ("TWITTER_API_ROOT", "https://user:pw@host"),
        ("TWITTER_DRY_RUN", "maybe"),
        ("TWITTER_POLL_INTERVAL", "soon"),
        ("TWITTER_POLL_INTERVAL", "-1"),
        ("TWITTER_POLL_INTERVAL", "inf"),
        ("TWITTER_POST_QUIET_HOURS", "22"),
        ("TWITTER_POST_QUIET_HOURS", "25-7"),
        ("TWITTER_POST_QUIET_HOURS", "7-7"),
        ("TWITTER_TIER", "pro"),
        ("TWITTER_PRICES", "post"),
        ("TWITTER_PRICES", "tea=1"),
        ("TWITTER_DAILY_SPEND_LIMIT", "-1"),
        ("TWITTER_TARGET_USERS", "[1"),
    ] {
        let error = read(&[(name, value)]).unwrap_err();
        assert!(error.message().contains(name), "{name}={value}: {error}");
    }
    let error = read(&[("TWITTER_POST_INTERVAL_MIN", "10"), ("TWITTER_POST_INTERVAL_MAX", "5")])
        .unwrap_err();
    assert!(error.message().contains("TWITTER_POST_INTERVAL_MAX"));
}

#[test]
fn the_poster_of_the_repository_is_read_with_its_settings() {
    let text = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../characters/poster.json"
    ))
    .unwrap();
    let character: serde_json::Value = serde_json::from_str(&text).unwrap();
    let own =
        character["settings"].as_object().unwrap().iter().map(|(k, v)| (k.clone(), v.clone()));
    let keys = KEYS.iter().map(|(k, v)| ((*k).to_owned(), serde_json::Value::from(*v)));
    let config = XConfig::from_settings(&Settings::from_pairs(own.chain(keys))).unwrap().unwrap();
    let posting = config.posting.unwrap();
    assert_eq!(
        (config.dry_run, posting.least.as_secs(), posting.most.as_secs()),
        (true, 240 * 60, 540 * 60)
    );
}
