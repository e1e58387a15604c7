//! Errors of Discord while messages are sent: missing permissions, and rate limits.

use std::time::Duration;

use galatea_testkit::discord::{Call, DiscordApi, Effect, Fault};

use super::{Scene, says, set, start};

const SEND: &str = "POST /channels/{}/messages";

/// Ann asks in a channel, and before the answer is sent the bot keeps only these permissions.
/// Returns the output of `explain`.
async fn may_only(permissions: u64) -> (Scene, DiscordApi, u64, String) {
    let (scene, discord, ann, guild) = set().await;
    let general = guild.general();
    let running = start(&scene, &discord).await;
    // Rate limits delay the answer until the permissions are taken.
    let limited = Fault::new(Effect::RateLimited(Duration::from_secs(1))).on(SEND);
    discord.fault(limited.times(usize::MAX));
    let asked = ann.says(&general, &format!("{} Q1", discord.mention())).send();
    discord
        .wait_for("the first send", |d| {
            d.calls_of(SEND).first().is_some_and(|c| c.answer.is_some()).then_some(())
        })
        .await;
    general.allows(permissions);
    discord.end_faults();
    running.wait_for_line("a part ended").await;
    ann.says(&ann.direct(), "Q2").send();
    assert_eq!(discord.wait_shown(ann.direct().id, 1).await[0].text, "A2", "elsewhere it goes on");
    let told = scene
        .run(&[
            "explain",
            &format!("https://discord.com/channels/{}/{}/{asked}", guild.id, general.id),
        ])
        .await;
    assert_eq!(told.code, Some(0), "{}", told.stderr);
    let said = scene.end(running).await.stderr;
    let link = format!("where: https://discord.com/channels/{}/{}", guild.id, general.id);
    says(&told.stdout, &[&link, "fix: in the channel's settings → Permissions"]);
    says(
        &said,
        &[
            "a part ended without delivery",
            "GAL-DC-500",
            "fix=in the channel's settings → Permissions",
        ],
    );
    (scene, discord, general.id, told.stdout)
}

/// Sends to a channel that Discord forbade.
fn refusals(discord: &DiscordApi, channel: u64) -> usize {
    let calls = discord.calls_of(SEND);
    let is_refused = |call: &&Call| {
        call.channel == Some(channel) && call.answer.as_ref().is_some_and(|answer| answer.0 == 403)
    };
    calls.iter().filter(is_refused).count()
}

#[tokio::test]
async fn where_it_may_not_write_the_channel_is_named() {
    let (scene, discord, general, told) = may_only(1 << 10 | 1 << 16).await;
    says(
        &told,
        &[
            "1 of 1 parts are not delivered",
            "dead",
            "Cannot write in #general: missing Send Messages",
            "GAL-DC-50013",
        ],
    );
    says(&told, &["cause: create message answered 403 Missing Permissions (50013)"]);
    assert_eq!(refusals(&discord, general), 1, "a final refusal is not retried");
    says(&scene.run(&["explain", "GAL-DC-50013"]).await.stdout, &["Fix"]);
}

#[tokio::test]
async fn where_it_may_not_look_the_channel_is_named() {
    let (scene, discord, general, told) = may_only(0).await;
    says(
        &told,
        &[
            "1 of 1 parts are not delivered",
            "dead",
            "Cannot see #general: missing View Channel",
            "GAL-DC-50001",
        ],
    );
    says(&told, &["cause: create message answered 403 Missing Access (50001)"]);
    assert_eq!(refusals(&discord, general), 1, "a final refusal is not retried");
    says(&scene.run(&["explain", "GAL-DC-50001"]).await.stdout, &["Fix"]);
}

#[tokio::test]
async fn a_rate_limit_is_waited_for_and_is_no_error() {
    let (scene, discord, ann, _guild) = set().await;
    let running = start(&scene, &discord).await;
    let limited = Fault::new(Effect::RateLimited(Duration::from_secs(3))).on(SEND);
    discord.fault(limited.times(usize::MAX));
    let direct = ann.direct();
    let asked = ann.says(&direct, "Q1").send();
    running.wait_for_line("GAL-DC-429").await;
    let waiting = scene.run(&["explain", &format!("{}:{asked}", direct.id)]).await;
    says(&waiting.stdout, &["Discord asked to wait", "cause: create message answered 429"]);
    discord.end_faults();
    // A send to the channel before its deadline would be a violation.
    assert_eq!(discord.wait_shown(direct.id, 1).await[0].text, "A1");
    assert_eq!(scene.run(&["status"]).await.code, Some(0), "nothing is wrong");
    let said = scene.end(running).await.stderr;
    assert!(
        !said.contains("error[") && !said.contains("ERROR") && !said.contains("WARN"),
        "{said}"
    );
    assert_eq!(discord.shown(direct.id).len(), 1, "delivered once");
}

#[tokio::test]
async fn a_rate_limit_at_the_start_is_a_countdown() {
    let (scene, discord, ann, _guild) = set().await;
    discord.fault(Fault::new(Effect::RateLimited(Duration::from_secs(2))).on("GET /gateway/bot"));
    let running = scene.start().await;
    running.wait_for_line("note[GAL-DC-429]").await;
    running.wait_for_line("more:").await;
    discord.wait_connected(1).await;
    ann.says(&ann.direct(), "Q1").send();
    assert_eq!(discord.wait_shown(ann.direct().id, 1).await[0].text, "A1");
    let said = scene.end(running).await.stderr;
    says(
        &said,
        &[
            "note[GAL-DC-429]: discord: Discord asked to wait",
            "cause: GET /gateway/bot answered 429",
            "fix:",
            "Next try in 2 s.",
        ],
    );
    assert!(!said.contains("error["), "{said}");
}
