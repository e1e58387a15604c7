//! Tests of the shapes. Every example is put together here, so that no scanner takes this file for
//! a leak.

use proptest::prelude::*;

use super::*;

/// Letters and digits without an order, `length` of them.
fn random(length: usize) -> String {
    const DIGITS: &[u8] = b"aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0x";
    (0..length).map(|n| char::from(DIGITS[n * 7 % DIGITS.len()])).collect()
}

/// A secret of each kind.
fn secrets() -> Vec<(&'static str, String)> {
    let telegram = format!("{}:AA{}", 123_456_789, random(33));
    vec![
        ("Telegram", telegram.clone()),
        ("Telegram, encoded", telegram.replace(':', "%3A")),
        ("Discord", format!("MTA{}.G{}.{}", random(23), random(5), random(38))),
        ("Discord, two factors", format!("mfa.{}", random(84))),
        ("OpenAI", format!("sk-{}", random(48))),
        ("OpenAI project", format!("sk-proj-{}-{}_{}", random(20), random(20), random(40))),
        ("OpenAI, shown in part", format!("sk-proj-{}****{}", random(8), random(4))),
        ("Anthropic", format!("sk-ant-api03-{}-{}AA", random(40), random(40))),
        ("OpenRouter", format!("sk-or-v1-{}", random(64))),
        ("Groq", format!("gsk_{}", random(52))),
        ("xAI", format!("xai-{}", random(80))),
        ("Google", format!("AIza{}", random(35))),
        ("Google, access token", format!("ya29.{}", random(60))),
        ("GitHub", format!("ghp_{}", random(36))),
        ("GitHub, fine-grained", format!("github_pat_{}_{}", random(22), random(59))),
        ("Slack", format!("xoxb-{}-{}-{}", 12_345_678_901_u64, 12_345_678_901_u64, random(24))),
        ("Slack, app", format!("xapp-1-A{}-{}-{}", random(10), 123_456_789, random(64))),
        ("AWS", format!("AKIA{}", "IOSFODNN7EXAMPLQ")),
        ("AWS, session", format!("ASIA{}", "Y34FZKBOKMUTVV7A")),
        ("Hugging Face", format!("hf_{}", random(34))),
        ("JSON Web Token", format!("eyJ{}.eyJ{}.{}", random(20), random(40), random(43))),
    ]
}

/// Places in which other systems echo them.
const PLACES: [&str; 9] = [
    "{}",
    "404 Not Found: https://api.example/bot{}/sendMessage",
    "no such method /file/bot{}/x",
    "Incorrect API key provided: {}.",
    "{\"error\":{\"message\":\"bad key '{}'\"}}",
    "invalid header value Authorization: Bearer {}",
    "getMe answered 401 Unauthorized for ({}), (code=GAL-TG-401)",
    "Schlüssel „{}“ ungültig",
    "https://h/v1?key={}&alt=json",
];

#[test]
fn every_shape_is_masked_wherever_it_stands() {
    for (kind, secret) in secrets() {
        for place in PLACES {
            // Only Telegram's tokens stand behind a letter.
            if place.contains("bot{}") && !kind.starts_with("Telegram") {
                continue;
            }
            let text = place.replace("{}", &secret);
            let clean = mask_shapes(&text);
            assert!(!clean.contains(&secret[4..]), "{kind}: {clean}");
            assert!(clean.contains(MASK), "{kind}: {clean}");
            // What stands around it is still there.
            let (before, after) = place.split_once("{}").unwrap();
            let kept = before.trim_end_matches(['(', '\'']);
            assert!(
                clean.starts_with(kept) && clean.ends_with(after.trim_start_matches('.')),
                "{kind}: {clean}"
            );
        }
    }
}

#[test]
fn credentials_are_known_by_what_announces_them() {
    let value = random(16);
    for (text, kept) in [
        (format!("Authorization: Bearer {value}"), "Authorization: Bearer [secret]"),
        (format!("bearer {value}, twice"), "bearer [secret], twice"),
        ("Basic dXNlcjpwYXNzd29yZA==".to_owned(), "Basic [secret]"),
        (format!("Authorization: Bot {value}"), "Authorization: Bot [secret]"),
        ("postgres://ann:pass@db:5432/x".to_owned(), "postgres://[secret]@db:5432/x"),
        ("redis://:pa@ss@db/0 failed".to_owned(), "redis://[secret]@db/0 failed"),
        ("https://token@github.example/a/b".to_owned(), "https://[secret]@github.example/a/b"),
        ("proxy http://u:p@h:1 is away".to_owned(), "proxy http://[secret]@h:1 is away"),
        ("?api_key=lowercase&x=1".to_owned(), "?api_key=[secret]&x=1"),
        ("/v1?key=short1&x=1".to_owned(), "/v1?key=[secret]&x=1"),
        (format!("X-Api-Key: {value}"), "X-Api-Key: [secret]"),
        ("{\"password\": \"correct\"}".to_owned(), "{\"password\": \"[secret]\"}"),
        (
            "{\"client_secret\":\"correct\",\"a\":1}".to_owned(),
            "{\"client_secret\":\"[secret]\",\"a\":1}",
        ),
        (
            "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG".to_owned(),
            "aws_secret_access_key = [secret]",
        ),
        ("X-Amz-Signature=abcdef&y".to_owned(), "X-Amz-Signature=[secret]&y"),
        (format!("access_token%3D{value}"), "access_token%3D[secret]"),
        (
            "DISCORD_API_TOKEN=MTEyMj… was refused".to_owned(),
            "DISCORD_API_TOKEN=[secret] was refused",
        ),
        ("api_key=sk-ab****".to_owned(), "api_key=[secret]"),
        ("OPENAI_API_KEY=whatever it is".to_owned(), "OPENAI_API_KEY=[secret] it is"),
        (format!("/api/webhooks/12345/{}/slack", random(68)), "/api/webhooks/12345/[secret]/slack"),
        (
            format!("/interactions/123/{}/callback", random(90)),
            "/interactions/123/[secret]/callback",
        ),
        (
            format!("https://hooks.slack.com/services/T0{}/B0/{}", random(8), random(24)),
            "https://hooks.slack.com/[secret]",
        ),
        (
            "x -----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- y".to_owned(),
            "x [secret]-----END RSA PRIVATE KEY----- y",
        ),
    ] {
        assert_eq!(mask_shapes(&text), kept);
    }
}

#[test]
fn words_ids_and_settings_stay() {
    for text in [
        "the bearer token is missing",
        "the token: it was revoked or replaced",
        "TELEGRAM_BOT_TOKEN from .env line 4",
        "copy the token again: @BotFather → /mybots → your bot → API Token, then set TELEGRAM_BOT_TOKEN",
        "wrong password, or none: set DATABASE_URL",
        "your application → Bot → Reset Token: DISCORD_API_TOKEN=MTE…",
        "OPENAI_API_KEY=… galatea, or ANTHROPIC_API_KEY=sk-..., GROQ_API_KEY=gsk…",
        "?token=*** was refused",
        "Write it as postgres://user:password@host:5432/database; write @ as %40.",
        "pairing:approved:0198a7de-1f2a-7000-8000-000000000000",
        "task-list-of-the-day-2026-11-29 is a file",
        "basic understanding of Authorization: required",
        "gpt-5.1-mini at https://api.openai.com/v1/chat/completions",
        "sendMessage answered 429 Too Many Requests: retry after 12 (code=GAL-TG-429)",
        "ask @ann at https://example.com/@ann or mail ann@example.com",
        "2026-11-29T19:30:01.123456:000",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "max_tokens=8192, tokens: 12000",
        "the key: value lines of a file",
        "the bot 1234567890123456789 may not write there",
        "Pseudopseudohypoparathyroidism.Pneumonoultramicroscopic.x",
    ] {
        assert!(
            matches!(mask_shapes(text), Cow::Borrowed(same) if same == text),
            "{}",
            mask_shapes(text)
        );
    }
}

proptest! {
    /// No input panics, and a second look finds nothing more.
    #[test]
    fn any_text_is_taken(text in "[\\PC]{0,30}(sk-|:|%3A|://|@|Bearer |key=|\"|=|/webhooks/1/|eyJ|\\.|ü){0,6}[A-Za-z0-9_.@/=é-]{0,60}") {
        let once = mask_shapes(&text).into_owned();
        prop_assert_eq!(mask_shapes(&once).matches(MASK).count(), once.matches(MASK).count(), "{}", once);
    }
}
