//! A failure of one connection affects no other: death, hang, ban. `status` names the connection
//! and the fix.

use galatea_testkit::{discord, x};

use super::{Everywhere, everywhere::state_of};

const LOOK: &str = "GET /2/users/:id/mentions";
const SEND: &str = "POST /channels/{}/messages";

#[tokio::test]
async fn discord_dies_and_the_others_go_on() {
    let all = Everywhere::set().await;
    let galatea = all.start().await;
    all.discord_answers(1).await;
    all.discord.order(discord::Order::Close(4004));
    galatea.wait_for_line("discord  stopped").await;
    tokio::join!(all.telegram_answers(2), all.x_answers(3));
    let status = all.status().await;
    let (state, code, fix) = state_of(&status, "discord");
    assert_eq!(
        (state, code, status["ready"].as_bool()),
        ("down", "GAL-DC-4004", Some(false)),
        "{status}"
    );
    assert!(fix.contains("Reset Token"), "{status}");
    assert_eq!(
        (state_of(&status, "telegram").0, state_of(&status, "x").0),
        ("up", "up"),
        "{status}"
    );
    assert_eq!(all.discord.identified(), 1, "nothing knocks again");
}

#[tokio::test]
async fn telegram_refuses_the_token_and_the_others_go_on() {
    let all = Everywhere::set().await;
    let galatea = all
        .run(
            all.program()
                .env("TELEGRAM_BOT_TOKEN", "7000000001:AAwrong-canary-wrong-canary-wrong-xx"),
        )
        .await;
    galatea.wait_for_line("telegram  stopped").await;
    tokio::join!(all.discord_answers(1), all.x_answers(2));
    let status = all.status().await;
    let (state, code, fix) = state_of(&status, "telegram");
    assert_eq!((state, code), ("down", "GAL-TG-401"), "{status}");
    assert!(fix.contains("@BotFather"), "{status}");
    assert_eq!(
        (state_of(&status, "discord").0, state_of(&status, "x").0),
        ("up", "up"),
        "{status}"
    );
    assert_eq!(all.stage.telegram.calls_of("getUpdates").len(), 0, "nothing knocks again");
}

#[tokio::test]
async fn x_hangs_and_the_others_go_on() {
    let all = Everywhere::set().await;
    all.x.fault(x::Fault::new(x::Effect::Hang).on(LOOK).times(1_000));
    let galatea = all.start().await;
    all.x.wait_for("the hanging look", |x| (!x.calls_of(LOOK).is_empty()).then_some(())).await;
    tokio::join!(all.telegram_answers(1), all.discord_answers(2));
    galatea.wait_for_line("x  not connected").await;
    let status = all.status().await;
    let (state, code, fix) = state_of(&status, "x");
    assert_eq!((state, code), ("retrying", "GAL-X-TIMEOUT"), "{status}");
    assert!(fix.contains("network"), "{status}");
    tokio::join!(all.telegram_answers(3), all.discord_answers(4));
}

#[tokio::test]
async fn discord_hangs_on_a_send_and_the_others_go_on() {
    let all = Everywhere::set().await;
    let _galatea = all.start().await;
    all.discord.fault(discord::Fault::new(discord::Effect::Hang).on(SEND));
    let direct = all.dora.direct();
    all.dora.says(&direct, "Q1").send();
    all.discord
        .wait_for("the hanging send", |d| (!d.calls_of(SEND).is_empty()).then_some(()))
        .await;
    tokio::join!(all.telegram_answers(2), all.x_answers(3));
    all.wait_discord(&direct, "A1").await;
    assert_eq!(all.discord.shown(direct.id).len(), 1, "said once");
}

#[tokio::test]
async fn x_bans_the_account_and_the_others_go_on() {
    let all = Everywhere::set().await;
    let mut galatea = all.start().await;
    all.x.set_suspended(true);
    let asked = all.xenia.posts("@galatea_test Q1");
    all.x.wait_calls("POST /2/tweets", 1).await;
    tokio::join!(all.telegram_answers(2), all.discord_answers(3));
    let status = all.status().await;
    assert_eq!(
        (state_of(&status, "telegram").0, state_of(&status, "discord").0),
        ("up", "up"),
        "{status}"
    );
    assert!(all.x.shown().is_empty());
    galatea.terminate();
    galatea.finish().await;
    let explained = all.explain(&format!("https://x.com/xenia_x/status/{asked}")).await;
    assert!(
        explained.contains("part 1  dead") && explained.contains("X does not allow this"),
        "{explained}"
    );
}
