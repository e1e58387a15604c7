//! Processes that have the logins of different accounts: each answers in every Room, and an account
//! without a login is named.

use galatea_testkit::{
    process::{Home, Program, Running},
    x::XApi,
};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

use super::crowd::Crowd;

const TOKENS: [&str; 2] = ["TELEGRAM_BOT_TOKEN", "DISCORD_API_TOKEN"];

fn without(program: Program, tokens: &[&str]) -> Program {
    tokens.iter().fold(program, |program, token| program.without_env(*token))
}

async fn start(program: Program, role: &str) -> Running {
    let running = program.args(["start", "--role", role]).spawn();
    running.wait_for_line("ready in").await;
    running
}

/// Waits until `galatea status` of a process gives a reason with these words.
async fn until_it_says(program: &Program, words: &str) {
    let begun = Instant::now();
    loop {
        let output = program.clone().args(["status", "--json"]).run().await;
        let status: Value = serde_json::from_str(&output.stdout).unwrap_or_default();
        if status["ready"] == false && status["reasons"].to_string().contains(words) {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "it never said {words:?}: {status:#}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// One of two workers has no token. It answers in its part of the thirty Rooms, since it reads from the
/// database what the accounts are, and once no process connects the accounts, it names them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_without_tokens_answers_in_its_rooms() {
    let mut crowd = Crowd::of(15).await;
    let mut ingress = crowd.node("ingress").await;
    crowd.discord.wait_connected(1).await;
    let home = Home::new();
    let bare = without(crowd.program(&home), &TOKENS);
    let _bare = start(bare.clone(), "worker").await;
    let mut with_token = crowd.node("worker").await;
    crowd.wait_status("two workers", |status| super::crowd::spread(status) == [0, 32, 32]).await;
    crowd.talk(2, Duration::ZERO).await;
    crowd.is_all_answered().await;
    crowd.is_accounted_for().await;

    with_token.running.terminate();
    with_token.running.finish().await;
    ingress.running.terminate();
    ingress.running.finish().await;
    until_it_says(&bare, "connects telegram").await;
    until_it_says(&bare, "connects discord").await;
}

/// Two processes share the accounts. The one that has none of the tokens counts for none of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn accounts_stay_with_a_process_that_can_connect_them() {
    let mut crowd = Crowd::of(4).await;
    let _all = crowd.node("all").await;
    crowd.discord.wait_connected(1).await;
    let (one, none) = (Home::new(), Home::new());
    let _none = start(without(crowd.program(&none), &TOKENS), "all").await;
    let _one = start(without(crowd.program(&one), &TOKENS[..1]), "all").await;
    crowd
        .wait_status("three processes with the rooms", |status| {
            super::crowd::spread(status).iter().sum::<usize>() == 64
                && status["members"].as_array().is_some_and(|all| all.len() == 3)
                && super::crowd::spread(status).iter().all(|rooms| *rooms <= 22)
        })
        .await;
    for _ in 0..3 {
        crowd.ask();
        crowd.is_all_answered().await;
    }
    let status =
        crowd.wait_status("every account connected", |status| status["idle"] == json!([])).await;
    let accounts = status["leases"].as_array().unwrap().iter().filter(|lease| {
        !lease["lease"]["part"].as_str().unwrap().starts_with("rooms:")
            && lease["member"].is_string()
    });
    assert_eq!(accounts.count(), 2, "{status:#}");
    crowd.is_accounted_for().await;
}

/// The login was made on the machine of one process. All others answer for the account under its
/// own name, and say so when that process is gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_browser_login_on_one_machine_serves_all_processes() {
    const MENTIONS: usize = 8;
    let (crowd, port) = (Crowd::of(0).await, galatea_testkit::port::free_port());
    let redirect = format!("http://127.0.0.1:{port}/callback");
    let options = galatea_testkit::x::Options { redirect: redirect.clone(), ..Default::default() };
    let api = XApi::with(options).await;
    let program = |home: &Home| {
        without(crowd.program(home), &TOKENS)
            .env("TWITTER_CLIENT_ID", "testkitClient")
            .env("TWITTER_REDIRECT_URI", &redirect)
            .env("TWITTER_API_ROOT", api.url())
            .env("TWITTER_POLL_INTERVAL", "0.05")
            .env("TWITTER_DRY_RUN", "false")
    };
    let homes = [Home::new(), Home::new(), Home::new(), Home::new()];
    let mut login = program(&homes[0]).args(["connector", "login", "x"]).spawn();
    let page = login.wait_for_line("https://x.com/i/oauth2/authorize").await;
    login.wait_for_line("Waiting for the browser").await;
    reqwest::get(api.allow(page.trim())).await.unwrap();
    assert_eq!(login.finish().await.code, Some(0));

    let _second = start(program(&homes[1]), "ingress").await;
    // No process is logged in yet.
    until_it_says(&program(&homes[1]), "GAL-X-LOGIN").await;
    let mut first = start(program(&homes[0]), "ingress").await;
    let _workers =
        [start(program(&homes[2]), "worker").await, start(program(&homes[3]), "worker").await];
    let ann = api.user("Ann", "ann_x");
    for n in 0..MENTIONS {
        ann.posts(&format!("@galatea_test Q{n}"));
    }
    let shown = api.wait_shown(MENTIONS).await;
    let mut texts: Vec<&str> = shown.iter().map(|shown| shown.text.as_str()).collect();
    texts.sort_unstable();
    assert_eq!(texts, ["A0", "A1", "A2", "A3", "A4", "A5", "A6", "A7"]);
    let status = crowd.wait_status("no idle work", |status| status["idle"] == json!([])).await;
    assert!(!status.to_string().contains("not-logged-in"), "{status:#}");

    first.terminate();
    first.finish().await;
    let account = api.account();
    for home in &homes[1..] {
        until_it_says(&program(home), &format!("has the login of x {account} of Eliza")).await;
    }
    let status = crowd.status().await;
    assert!(status["idle"].to_string().contains(&format!("x {account}")), "{status:#}");
}
