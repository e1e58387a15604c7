//! Logins of a wrong shape. Each stands in an account of its own, so one run of a command shows all.

use super::{Scene, findings, reports, says};
use galatea_testkit::process::Finished;

/// Texts that people paste in place of a token: the setting, the text, and how the message describes
/// it.
const PASTED: &[(&str, &str, &str, &str)] = &[
    (
        "TELEGRAM_BOT_TOKEN",
        "bot123456789:AAcanaryCANARYcanaryCANARYcanaryCAN",
        "it begins with the word bot",
        "leave out the word",
    ),
    (
        "TELEGRAM_BOT_TOKEN_2",
        "“123456789:AAcanaryCANARYcanaryCANARYcanaryCAN”",
        "it holds quotes",
        "@BotFather",
    ),
    (
        "TELEGRAM_BOT_TOKEN_3",
        "sk-proj-canaryCANARYcanaryCANARYcanaryCANARYcanary",
        "it looks like an OpenAI key",
        "OPENAI_API_KEY",
    ),
    (
        "TELEGRAM_BOT_TOKEN_4",
        "MTE4MjAwMDAwMDAwMDAwMDAw.GcanAr.canaryCANARYcanaryCANARYcanaryCANARYca",
        "it looks like a Discord token",
        "DISCORD_API_TOKEN",
    ),
    ("TELEGRAM_BOT_TOKEN_5", "123456789", "it is a number only", "@BotFather"),
    (
        "DISCORD_API_TOKEN",
        "'Bot MTEyMjMzNDQ1NTY2Nzc4ODk5.GcanAr.canaryCANARYcanaryCANARYcanaryCAN_-12345'",
        "it begins with the word Bot",
        "Reset Token: DISCORD_API_TOKEN",
    ),
    (
        "DISCORD_API_TOKEN_2",
        "“MTEyMjMzNDQ1NTY2Nzc4ODk5.GcanAr.canaryCANARYcanaryCANARYcanaryCAN_-12345”",
        "it holds quotes",
        "Reset Token: DISCORD_API_TOKEN",
    ),
    (
        "DISCORD_API_TOKEN_3",
        "canaryCANARYcanaryCANARYcanary12",
        "this is the client secret from the OAuth2 page",
        "Reset Token: DISCORD_API_TOKEN",
    ),
    (
        "DISCORD_API_TOKEN_4",
        "ca9a7eca9a7eca9a7eca9a7eca9a7eca9a7eca9a7eca9a7eca9a7eca9a7eca9a",
        "this is the application's public key",
        "Reset Token: DISCORD_API_TOKEN",
    ),
    (
        "DISCORD_API_TOKEN_5",
        "112233445566778899",
        "this is the application's id",
        "Reset Token: DISCORD_API_TOKEN",
    ),
    (
        "TWITTER_ACCESS_TOKEN",
        "canaryCANARYcanaryCANARYcanary",
        "expected digits, a dash",
        "console.x.com → your app → Keys and tokens",
    ),
];

fn platform(setting: &str) -> (&'static str, &'static str) {
    match setting.split('_').next() {
        Some("TELEGRAM") => ("telegram", "GAL-TG-TOKEN"),
        Some("DISCORD") => ("discord", "GAL-DC-TOKEN"),
        _ => ("x", "GAL-X-TOKEN"),
    }
}

#[tokio::test]
async fn an_invalid_login_is_recognised_by_its_shape() {
    let mut scene = Scene::set().await;
    let mut expected = Vec::new();
    for (setting, pasted, cause, fix) in PASTED {
        let place = format!("where: {}", scene.env(setting, pasted));
        if pasted.len() > 18 {
            scene.canary(pasted.trim_start_matches("'Bot ").trim_matches(['“', '”', '\'']));
        }
        expected.push((platform(setting), [*cause, fix], place));
    }
    scene.canary("anaryCANARYcanary");
    for name in ["TWITTER_API_KEY", "TWITTER_API_SECRET_KEY", "TWITTER_ACCESS_TOKEN_SECRET"] {
        scene.env(name, "keyCanaryCanaryCanaryCanaryCanaryCanaryCanary");
    }
    let told = |finished: &Finished, of: Option<&str>| {
        for ((platform, code), [cause, fix], place) in &expected {
            if of.is_none_or(|of| of == *platform) {
                assert!(finished.stdout.contains(code), "{}", finished.stdout);
                reports(&finished.stdout, &[cause, place, "fix:", fix]);
            }
        }
    };
    let doctor = scene.run(&["doctor"]).await;
    assert_eq!(doctor.code, Some(7), "{}", doctor.stderr);
    told(&doctor, None);
    for platform in ["telegram", "discord", "x"] {
        let check = scene.run(&["connector", "check", platform]).await;
        assert_eq!(check.code, Some(7), "{}", check.stderr);
        told(&check, Some(platform));
    }
    let json = findings(&scene.run(&["doctor", "--json"]).await);
    for ((_, code), _, place) in &expected {
        let place = place.trim_start_matches("where: ");
        assert!(json.iter().any(|f| f["id"] == *code && f["origin"] == place), "{code} at {place}");
    }
    let list = scene.run(&["connector", "ls"]).await;
    assert_eq!(list.code, Some(0));
    says(&list.stdout, &["Telegram", "wrong", "Not a valid bot token", "Terminal"]);
    says(&list.stdout, &["Discord", "wrong", "Not a bot token"]);
    let started = scene.run(&["start"]).await;
    assert_eq!(started.code, Some(3), "{}", started.stderr);
    let first = expected.iter().any(|((_, code), [cause, fix], place)| {
        [&format!("error[{code}]") as &str, cause, place, "fix:", fix].iter().all(|part| {
            let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            words(&started.stderr).contains(&words(part))
        })
    });
    assert!(first, "the start names none of them:\n{}", started.stderr);
    assert!(scene.stage.telegram.calls().is_empty(), "nothing was asked");
}

#[tokio::test]
async fn a_token_in_quotes_is_understood_and_a_missing_key_is_named() {
    let mut scene = Scene::set().await;
    let token = scene.stage.telegram.token();
    scene.env("TELEGRAM_BOT_TOKEN", &format!("'\"{token}\"'"));
    let check = scene.run(&["connector", "check", "telegram"]).await;
    assert_eq!(check.code, Some(0), "{}", check.stdout);
    for name in ["TWITTER_API_KEY", "TWITTER_API_SECRET_KEY"] {
        scene.env(name, "keyCanaryCanaryCanaryCanaryCanaryCanaryCanary");
    }
    scene.env("TWITTER_ACCESS_TOKEN", "112233-keyCanaryCanaryCanaryCanaryCanaryCanary");
    let started = scene.run(&["start"]).await;
    assert_eq!(started.code, Some(3), "{}", started.stderr);
    says(
        &started.stderr,
        &[
            "error[GAL-CFG-VALUE]",
            "X needs four keys, and some are missing",
            "fix: set TWITTER_ACCESS_TOKEN_SECRET",
        ],
    );
}
