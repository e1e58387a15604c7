//! Faults of X: posts applied without an answer, revoked keys, a suspended account, tokens that
//! rotate around a kill.

use galatea_testkit::{
    port::free_port,
    process::{Program, Running},
    x::{Effect, Fault, Options, XApi},
};

use crate::{
    stage::Stage,
    x::{start, with_x},
};

const LOOK: &str = "GET /2/users/:id/mentions";
const SEND: &str = "POST /2/tweets";
const TOKEN: &str = "POST /2/oauth2/token";

async fn set() -> (Stage, XApi, Program) {
    let (stage, api) = (Stage::set().await, XApi::start().await);
    let program = with_x(stage.program(), &api)
        .env("TWITTER_DRY_RUN", "false")
        .env("TWITTER_DAILY_SPEND_LIMIT", "20");
    (stage, api, program)
}

/// Checks that `Q7` gets its answer as a reply, and that there are no other answers.
async fn answers(api: &XApi, n: u32) {
    let asked =
        api.user(&format!("Ann {n}"), &format!("ann_{n}")).posts(&format!("@galatea_test Q{n}"));
    let look = |x: &galatea_testkit::x::Handle| {
        x.shown()
            .iter()
            .any(|p| p.text == format!("A{n}") && p.reply_to == Some(asked))
            .then_some(())
    };
    api.wait_for(&format!("A{n}"), look).await;
}

fn refusals(api: &XApi, status: u16) -> usize {
    api.calls()
        .iter()
        .filter(|c| c.answer.as_ref().is_some_and(|(reported, _)| *reported == status))
        .count()
}

/// With this fault on the first post, Q1 and Q2 are each answered once.
async fn survives(effect: Effect) {
    let (_stage, api, program) = set().await;
    let _galatea = start(program).await;
    api.fault(Fault::new(effect.clone()).on(SEND));
    answers(&api, 1).await;
    answers(&api, 2).await;
    let said: Vec<String> = api.shown().into_iter().map(|p| p.text).collect();
    assert_eq!(said, ["A1", "A2"], "{effect:?}");
}

#[tokio::test]
async fn done_but_500_is_not_posted_twice() {
    survives(Effect::ApplyThenFail).await;
}

#[tokio::test]
async fn a_lost_response_is_not_posted_twice() {
    survives(Effect::LoseResponse).await;
}

#[tokio::test]
async fn an_unreadable_answer_is_not_posted_twice() {
    survives(Effect::Garbage).await;
}

#[tokio::test]
async fn a_limit_is_waited_for_and_each_answer_comes_once() {
    survives(Effect::RateLimited(3)).await;
}

#[tokio::test]
async fn killed_the_instant_x_did_the_post() {
    let (_stage, api, program) = set().await;
    let mut galatea = start(program.clone()).await;
    // The headers alone are longer: the answer is cut within them, and then the program is killed.
    api.fault(Fault::new(Effect::CutAfter(10)).on(SEND));
    let asked = api.user("Ann", "ann_x").posts("@galatea_test Q1");
    api.wait_shown(1).await;
    galatea.kill_9().await;
    let _again = start(program).await;
    answers(&api, 2).await;
    let shown = api.shown();
    assert_eq!(shown.iter().map(|p| p.text.as_str()).collect::<Vec<_>>(), ["A1", "A2"]);
    assert_eq!(shown[0].reply_to, Some(asked));
}

#[tokio::test]
async fn keys_taken_back_at_work_make_no_storm() {
    let (stage, api, program) = set().await;
    let galatea = start(program).await;
    answers(&api, 1).await;
    api.revoke_keys();
    galatea.wait_for_line("x  stopped").await;
    for n in 2..=6 {
        api.user(&format!("Ann {n}"), &format!("ann_{n}")).posts(&format!("@galatea_test Q{n}"));
    }
    let direct = stage.ann.direct();
    for n in 7..=9 {
        stage.ann.says(&direct, &format!("Q{n}")).send();
        stage.wait_text(&direct, &format!("A{n}")).await;
    }
    assert_eq!(refusals(&api, 401), 1, "{}", api.story());
}

#[tokio::test]
async fn a_suspended_account_makes_no_storm() {
    let (_stage, api, program) = set().await;
    let galatea = start(program).await;
    api.set_suspended(true);
    for n in 1..=5 {
        api.user(&format!("Ann {n}"), &format!("ann_{n}")).posts(&format!("@galatea_test Q{n}"));
        let reported =
            |_: &str| (galatea.stderr().matches("a part ended").count() >= n).then_some(());
        galatea.wait_for("it to be given up", reported).await;
    }
    assert!(api.shown().is_empty());
    let tried = api.calls_of(SEND).len();
    assert!(tried <= 5, "{tried} posts: at most one per answer");
}

/// The program with the settings and tokens of a login in the browser.
async fn logged_in() -> (Stage, XApi, Program) {
    let (stage, redirect) =
        (Stage::set().await, format!("http://127.0.0.1:{}/callback", free_port()));
    let api = XApi::with(Options { redirect: redirect.clone(), ..Options::default() }).await;
    let program = stage
        .program()
        .env("TWITTER_CLIENT_ID", "testkitClient")
        .env("TWITTER_REDIRECT_URI", &redirect)
        .env("TWITTER_API_ROOT", api.url())
        .env("TWITTER_POLL_INTERVAL", "0.05")
        .env("TWITTER_DRY_RUN", "false");
    log_in(&program, &api).await;
    (stage, api, program)
}

async fn log_in(program: &Program, api: &XApi) {
    let mut login = program.clone().args(["connector", "login", "x"]).spawn();
    let page = login.wait_for_line("https://x.com/i/oauth2/authorize").await;
    login.wait_for_line("Waiting for the browser").await;
    reqwest::get(api.allow(page.trim())).await.unwrap();
    let finished = login.finish().await;
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
}

async fn kill(mut galatea: Running) {
    galatea.kill_9().await;
}

#[tokio::test]
async fn tokens_that_rotate_survive_a_kill() {
    let (_stage, api, program) = logged_in().await;
    let galatea = start(program.clone()).await;
    answers(&api, 1).await;
    for n in 2..=4_u32 {
        api.expire_tokens();
        answers(&api, n).await;
        assert_eq!(api.refreshed(), n as usize - 1, "each token is good once");
    }
    kill(galatea).await;
    api.expire_tokens();
    let _again = start(program).await;
    answers(&api, 5).await;
    assert_eq!(
        (api.refreshed(), api.shown().len()),
        (4, 5),
        "the newest refresh token was on the disk"
    );
}

#[tokio::test]
async fn a_kill_right_after_a_renewal_costs_no_login() {
    let (_stage, api, program) = logged_in().await;
    let galatea = start(program.clone()).await;
    answers(&api, 1).await;
    // The first request with the fresh token hangs, so that the program is killed between
    // refreshing and using the token.
    let seen = api.calls_of(LOOK).len();
    api.expire_tokens();
    api.fault(Fault::new(Effect::Hang).on(LOOK).nth(2));
    api.wait_for("the renewal", |x| {
        (x.refreshed() == 1 && x.calls_of(LOOK).len() >= seen + 2).then_some(())
    })
    .await;
    kill(galatea).await;
    let _again = start(program).await;
    answers(&api, 2).await;
    assert_eq!(api.refreshed(), 1, "the stored token is good");
}

#[tokio::test]
async fn a_renewal_that_never_arrived_is_tried_again() {
    let (_stage, api, program) = logged_in().await;
    let galatea = start(program.clone()).await;
    answers(&api, 1).await;
    api.fault(Fault::new(Effect::Hang).on(TOKEN));
    api.expire_tokens();
    api.wait_for("the renewal", |x| (x.calls_of(TOKEN).len() == 2).then_some(())).await;
    kill(galatea).await;
    let _again = start(program).await;
    answers(&api, 2).await;
    assert_eq!(api.refreshed(), 1);
}

#[tokio::test]
async fn a_renewal_whose_answer_was_lost_asks_for_a_login_once_and_loses_nothing() {
    let (stage, api, program) = logged_in().await;
    // The new refresh token was lost with the answer. The old one is spent, and using it again is
    // all the program can do.
    api.allow_violation("a refresh token was used twice");
    let mut galatea = start(program.clone()).await;
    answers(&api, 1).await;
    api.fault(Fault::new(Effect::LoseResponse).on(TOKEN));
    api.expire_tokens();
    galatea.wait_for_line("x  stopped").await;
    let asked = api.user("Bob", "bob_x").posts("@galatea_test Q2");
    let direct = stage.ann.direct();
    stage.ann.says(&direct, "Q3").send();
    stage.wait_text(&direct, "A3").await;
    let status = program.clone().arg("status").run().await;
    assert!(
        status.stdout.contains("GAL-X-LOGIN")
            && status.stdout.contains("galatea connector login x"),
        "{}",
        status.stdout
    );
    let renewals = api.calls_of(TOKEN).len() - 1;
    assert!(renewals <= 3, "no storm: {renewals} renewals");
    galatea.terminate();
    let finished = galatea.finish().await;
    let said = format!("{}{}", finished.stdout, finished.stderr);
    assert!(api.secrets().iter().all(|secret| !said.contains(secret)), "a secret is shown");
    // The fix works, and the question asked meanwhile is answered.
    log_in(&program, &api).await;
    let _again = start(program).await;
    let look = |x: &galatea_testkit::x::Handle| {
        x.shown().iter().any(|p| p.text == "A2" && p.reply_to == Some(asked)).then_some(())
    };
    api.wait_for("A2", look).await;
    assert_eq!(api.shown().len(), 2);
}
