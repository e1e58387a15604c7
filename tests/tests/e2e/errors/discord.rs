//! Errors of Discord. Here logins that end at work, intents and invitations; in `discord/` failures
//! of a send.

mod sending;

use galatea_testkit::{
    discord::{DiscordApi, Guild, Order, User},
    process::Running,
};

use super::{Scene, says};

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
