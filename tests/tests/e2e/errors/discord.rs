//! Errors of Discord. Here malformed and refused tokens, intents and invitations; in `discord/` what
//! goes wrong while messages are sent, and addresses of the API.

mod address;
mod sending;

use galatea_testkit::{
    discord::{DiscordApi, Guild, Order, User},
    process::Running,
};

use super::{Scene, finding, says};

const RESET: &str = "Reset Token, then set DISCORD_API_TOKEN";
const TOKEN_LINE: &str = "where: DISCORD_API_TOKEN from .env line 5";

/// A scene whose `.env` has Discord's token in line 5 and its address in line 6.
async fn set() -> (Scene, DiscordApi, User, Guild) {
    let (mut scene, discord) = (Scene::set().await, DiscordApi::start().await);
    let ann = discord.user("Ann", "ann_b");
    let guild = discord.guild("Garden", &[&ann]);
    scene.env("DISCORD_API_TOKEN", &discord.token());
    scene.env("DISCORD_API_ROOT", discord.url());
    scene.canary(discord.token().rsplit('.').next().unwrap());
    (scene, discord, ann, guild)
}

async fn start(scene: &Scene, discord: &DiscordApi) -> Running {
    let running = scene.start().await;
    discord.wait_connected(1).await;
    running
}

/// Checks that a problem is reported by every command, in the log and in the status, and that
/// Telegram still works. Returns the program's standard error.
async fn is_told(scene: &Scene, code: &str, state: &str, parts: &[&str]) -> String {
    let check = scene.run(&["connector", "check", "discord"]).await;
    assert_eq!(check.code, Some(7), "{}{}", check.stdout, check.stderr);
    says(&check.stdout, &[code]);
    says(&check.stdout, parts);
    let doctor = scene.run(&["doctor"]).await;
    assert_eq!(doctor.code, Some(7));
    says(&doctor.stdout, parts);
    let found = finding(&scene.run(&["doctor", "--json"]).await, code);
    assert_eq!((&found["severity"], &found["subject"]), (&"error".into(), &"connector".into()));
    let running = scene.start().await;
    running.wait_for_line(&format!("error[{code}]")).await;
    running.wait_for_line("more:").await;
    let status = scene.run(&["status"]).await;
    assert_eq!(status.code, Some(1));
    says(&status.stdout, &["not ready", &format!("discord {state}"), code]);
    says(&status.stdout, parts);
    let direct = scene.stage.ann.direct();
    scene.stage.ann.says(&direct, "Q1").send();
    assert_eq!(
        scene.stage.wait_text(&direct, "A1").await,
        ["A1"],
        "the agent goes on without Discord"
    );
    let said = scene.end(running).await.stderr;
    says(&said, &[&format!("error[{code}]: discord:")]);
    says(&said, parts);
    said
}

#[tokio::test]
async fn an_invalid_token_is_recognised_by_its_shape() {
    let pasted = [
        (
            "'Bot MTEyMjMzNDQ1NTY2Nzc4ODk5.GcanAr.canaryCANARYcanaryCANARYcanaryCAN_-12345'",
            "it begins with the word Bot",
        ),
        (
            "“MTEyMjMzNDQ1NTY2Nzc4ODk5.GcanAr.canaryCANARYcanaryCANARYcanaryCAN_-12345”",
            "it holds quotes",
        ),
        ("canaryCANARYcanaryCANARYcanary12", "this is the client secret from the OAuth2 page"),
        (
            "ca9a7eca9a7eca9a7eca9a7eca9a7eca9a7eca9a7eca9a7eca9a7eca9a7eca9a",
            "this is the application's public key",
        ),
        ("112233445566778899", "this is the application's id"),
    ];
    for (pasted, cause) in pasted {
        let (mut scene, discord, ..) = set().await;
        scene.env("DISCORD_API_TOKEN", pasted);
        // Another server than Discord's may have tokens of another shape.
        scene.env("DISCORD_API_ROOT", "");
        if pasted.len() > 18 {
            scene.canary(pasted.trim_start_matches("'Bot ").trim_matches(['“', '”', '\'']));
        }
        let expected = [
            "Not a bot token",
            "GAL-DC-TOKEN",
            "cause:",
            cause,
            TOKEN_LINE,
            "fix:",
            "Reset Token: DISCORD_API_TOKEN=MTE…",
        ];
        let in_start = [
            "error[GAL-DC-TOKEN]",
            "Not a bot token",
            "cause:",
            cause,
            TOKEN_LINE,
            "fix:",
            "Reset Token: DISCORD_API_TOKEN=MTE…",
        ];
        let started = scene.run(&["start"]).await;
        assert_eq!(started.code, Some(3), "{}", started.stderr);
        says(&started.stderr, &in_start);
        for args in [&["doctor"][..], &["connector", "check", "discord"]] {
            let output = scene.run(args).await;
            assert_eq!(output.code, Some(7), "{}", output.stderr);
            says(&output.stdout, &expected);
        }
        let list = scene.run(&["connector", "ls"]).await;
        assert_eq!(list.code, Some(0));
        says(&list.stdout, &["Discord", "wrong", "Not a bot token"]);
        assert!(discord.calls().is_empty() && discord.connected() == 0, "nothing was asked");
    }
}

#[tokio::test]
async fn a_refused_token_is_reported_with_its_line_and_the_fix_works() {
    let (mut scene, discord, ann, _guild) = set().await;
    let right = discord.token();
    scene.env(
        "DISCORD_API_TOKEN",
        "MTEyMjMzNDQ1NTY2Nzc4ODk5.GcanAr.dc-wrong-canary-0123456789abcdefghijkl",
    );
    scene.canary("dc-wrong-canary");
    let refused = || discord.calls().len();
    let parts = [
        "Discord rejected this token",
        "cause:",
        "/@me answered 401: Unauthorized",
        TOKEN_LINE,
        RESET,
    ];
    is_told(&scene, "GAL-DC-4004", "down", &parts).await;
    assert!(
        discord.calls().iter().all(|c| c.answer.as_ref().is_none_or(|(status, _)| *status == 401))
            && refused() <= 6,
        "{}",
        discord.story()
    );
    assert_eq!(discord.identified(), 0, "no session was begun with a refused token");
    scene.env("DISCORD_API_TOKEN", &right);
    let running = start(&scene, &discord).await;
    ann.says(&ann.direct(), "Q2").send();
    assert_eq!(discord.wait_shown(ann.direct().id, 1).await[0].text, "A2");
    scene.end(running).await;
}

#[tokio::test]
async fn a_token_that_is_reset_at_work_ends_this_connector_only() {
    let (scene, discord, ..) = set().await;
    let running = start(&scene, &discord).await;
    discord.order(Order::Close(4004));
    running.wait_for_line("error[GAL-DC-4004]").await;
    running.wait_for_line("more:").await;
    let parts = [
        "Discord rejected this token",
        "cause: the gateway closed the connection with 4004",
        TOKEN_LINE,
        "fix:",
        RESET,
    ];
    says(&scene.run(&["status"]).await.stdout, &parts);
    let said = scene.end(running).await.stderr;
    says(&said, &["error[GAL-DC-4004]: discord:"]);
    says(&said, &parts);
    assert_eq!(discord.identified(), 1, "no retry loop");
}

#[tokio::test]
async fn an_intent_that_is_withdrawn_ends_this_connector_only() {
    let (scene, discord, ..) = set().await;
    let running = start(&scene, &discord).await;
    discord.order(Order::Close(4014));
    running.wait_for_line("error[GAL-DC-4014]").await;
    running.wait_for_line("more:").await;
    let fix = "fix: `galatea connector check discord --fix`, or discord.com/developers → your application → Bot → Privileged Gateway Intents";
    let parts = ["cause: the gateway closed the connection with 4014", TOKEN_LINE, fix];
    says(&scene.run(&["status"]).await.stdout, &parts);
    let direct = scene.stage.ann.direct();
    scene.stage.ann.says(&direct, "Q1").send();
    scene.stage.wait_text(&direct, "A1").await;
    says(&scene.end(running).await.stderr, &parts);
    assert_eq!(discord.identified(), 1, "no retry loop");
}

#[tokio::test]
async fn check_tells_intent_and_invitation_and_the_fix_switches_it_on() {
    let (scene, discord, ann, guild) = set().await;
    discord.set_content(false);
    let check = scene.run(&["connector", "check", "discord"]).await;
    assert_eq!(check.code, Some(0), "it starts anyway: {}", check.stderr);
    let parts = [
        "✓ token valid: Galatea (app 112233445566778800)",
        "! Message Content intent is off",
        "starts anyway",
        "direct messages and messages that mention it only",
        "GAL-DC-4014",
        "fix: `galatea connector check discord --fix`",
        "in 1 server",
    ];
    says(&check.stdout, &parts);
    let running = start(&scene, &discord).await;
    running.wait_for_line("works in part").await;
    let general = guild.general();
    ann.says(&general, "Q1 to everyone, while the bot is away").send();
    ann.says(&general, &format!("{} Q2", discord.mention())).send();
    assert_eq!(discord.wait_shown(general.id, 1).await[0].text, "A2");
    scene.end(running).await;

    let unasked = scene.run(&["connector", "check", "discord", "--fix"]).await;
    assert!(
        discord.calls_of("PATCH /applications/@me").is_empty(),
        "the fix was applied without consent: {}",
        unasked.stdout
    );
    let fixed = scene.run(&["connector", "check", "discord", "--fix", "--yes"]).await;
    assert_eq!(fixed.code, Some(0), "{}{}", fixed.stdout, fixed.stderr);
    says(
        &scene.run(&["connector", "check", "discord"]).await.stdout,
        &["✓ token valid", "✓ Message Content intent is on"],
    );
}

#[tokio::test]
async fn a_bot_without_a_server_gets_its_invitation() {
    let (mut scene, discord) = (Scene::set().await, DiscordApi::start().await);
    scene.env("DISCORD_API_TOKEN", &discord.token());
    scene.env("DISCORD_API_ROOT", discord.url());
    let check = scene.run(&["connector", "check", "discord"]).await;
    let link = "https://discord.com/oauth2/authorize?client_id=112233445566778800&scope=bot+applications.commands&permissions=274878024768";
    says(&check.stdout, &["! it is in no server yet", "GAL-DC-INVITE", "fix: invite it:"]);
    assert!(check.stdout.split_whitespace().collect::<String>().contains(link), "{}", check.stdout);
}
