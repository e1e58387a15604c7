//! Tests of calls of Discord's API.

use super::*;
use galatea_core::SystemClock;
use serde_json::json;

fn api(root: &str) -> DiscordApi {
    let config = DiscordConfig {
        api_root: Url::parse(root).unwrap(),
        ..DiscordConfig::new(SecretString::from("CANARYcanary".to_owned()))
    };
    DiscordApi::new(
        &config,
        "DiscordBot (https://bot.example, 1)".to_owned(),
        Arc::new(SystemClock),
    )
    .unwrap()
}

#[test]
fn the_root_may_be_given_with_or_without_its_path() {
    for root in [
        "https://discord.com",
        "https://discord.com/",
        "https://discord.com/api",
        "https://discord.com/api/v10/",
    ] {
        assert_eq!(&*api(root).base, "https://discord.com/api/v10");
    }
}

#[test]
fn the_token_is_not_shown() {
    assert!(!format!("{:?}", api("http://127.0.0.1:1")).to_lowercase().contains("canary"));
}

#[test]
fn the_field_at_fault_is_reported() {
    let errors = json!({ "embeds": { "0": { "title": { "_errors": [{ "code": "X", "message": "too long" }] } } } });
    assert_eq!(
        first_invalid_field("Invalid Form Body", &errors),
        "Invalid Form Body: embeds.0.title: too long"
    );
    assert_eq!(first_invalid_field("Missing Access", &Value::Null), "Missing Access");
}

#[tokio::test]
async fn files_come_from_discord_only() {
    for url in [
        "https://example.org/x",
        "http://cdn.discordapp.com/x",
        "file:///etc/passwd",
        "https://cdn.discordapp.com.evil.org/x",
        "x",
    ] {
        assert_eq!(
            api("https://discord.com").download(url, 10).await.unwrap_err().code(),
            Some("GAL-DC-400"),
            "{url}"
        );
    }
}
