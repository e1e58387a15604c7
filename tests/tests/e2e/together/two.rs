//! Two characters in one process, each with its own account; an account can serve only one of them.

use galatea_testkit::{
    process::{Home, Program, Running},
    telegram::{BotApi, Options},
};
use serde_json::{Value, json};

use super::everywhere::wait_telegram;
use crate::stage::{KEY, Stage, binary};

async fn bot(token: &str, name: &str) -> BotApi {
    BotApi::with(Options {
        token: token.to_owned(),
        bot_username: format!("{name}_test_bot"),
        ..Options::default()
    })
    .await
}

fn character(home: &Home, name: &str, api: &BotApi, token: &str) -> String {
    let settings =
        json!({ "TELEGRAM_API_ROOT": api.url(), "secrets": { "TELEGRAM_BOT_TOKEN": token } });
    let file = format!("{}.json", name.to_lowercase());
    home.write(
        &file,
        &json!({ "name": name, "bio": [format!("{name} keeps bees.")], "settings": settings })
            .to_string(),
    );
    file
}

fn program(stage: &Stage) -> Program {
    Program::new(binary(), &stage.home)
        .env("OPENAI_BASE_URL", stage.model.base_url())
        .env("OPENAI_API_KEY", KEY)
        .env("SERVER_PORT", "0")
        .env("NO_COLOR", "1")
}

async fn start(stage: &Stage, ada: &str, bob: &str) -> Running {
    let running = program(stage).args(["start", "--character", ada, "--character", bob]).spawn();
    running.wait_for_line("ready in").await;
    running
}

async fn sources(stage: &Stage, name: &str) -> Vec<String> {
    let output = program(stage).args(["status", "--json"]).run().await;
    let status: Value = serde_json::from_str(&output.stdout).unwrap();
    let agent = status["agents"].as_array().unwrap().iter().find(|a| a["name"] == name).unwrap();
    agent["connectors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["source"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn two_characters_answer_on_two_accounts_at_once() {
    let stage = Stage::set().await;
    let tokens = [
        "7000000011:AAada-canary-token-ada-canary-tokenx",
        "7000000012:AAbob-canary-token-bob-canary-tokenx",
    ];
    let (first, second) = (bot(tokens[0], "ada").await, bot(tokens[1], "bob").await);
    let files = [
        character(&stage.home, "Ada", &first, tokens[0]),
        character(&stage.home, "Bob", &second, tokens[1]),
    ];
    let mut galatea = start(&stage, &files[0], &files[1]).await;
    // A person with one id on both servers.
    let (here, there) = (first.user("Ann", "ann_b"), second.user("Ann", "ann_b"));
    here.says(&here.direct(), "Q1 marmalade").send();
    there.says(&there.direct(), "Q2 nougat").send();
    let (at_ada, at_bob) = (here.direct(), there.direct());
    tokio::join!(wait_telegram(&first, &at_ada, "A1"), wait_telegram(&second, &at_bob, "A2"));
    for request in stage.model.requests().into_iter().filter(|r| !r.body.is_null()) {
        let prompt = request.body.to_string();
        let (ada, bob) = (prompt.contains("Ada keeps bees"), prompt.contains("Bob keeps bees"));
        assert!(
            ada != bob && ada == prompt.contains("marmalade") && bob == prompt.contains("nougat"),
            "{prompt}"
        );
    }
    for name in ["Ada", "Bob"] {
        assert!(sources(&stage, name).await.contains(&"telegram".to_owned()), "{name}");
    }
    galatea.terminate();
    let finished = galatea.finish().await;
    let said = format!("{}{}", finished.stdout, finished.stderr);
    assert_eq!(finished.code, Some(0), "{said}");
    assert!(tokens.iter().all(|token| !said.contains(&token[11..])), "a secret is shown");
}

#[tokio::test]
async fn one_account_serves_the_first_and_the_second_is_reported() {
    let token = "7000000011:AAada-canary-token-ada-canary-tokenx";
    // The second character has an older token of the same account.
    for (again, words) in [
        (token, "TELEGRAM_BOT_TOKEN is Ada's"),
        ("7000000011:AAold-canary-token-old-canary-tokenx", "account 7000000011 is Ada's"),
    ] {
        let (stage, api) = (Stage::set().await, bot(token, "ada").await);
        let files = [
            character(&stage.home, "Ada", &api, token),
            character(&stage.home, "Bob", &api, again),
        ];
        let galatea = start(&stage, &files[0], &files[1]).await;
        let output = galatea.wait_for_line(words).await;
        assert!(output.contains("give Bob its own in settings.secrets"), "{output}");
        let ann = api.user("Ann", "ann_b");
        ann.says(&ann.direct(), "Q1").send();
        wait_telegram(&api, &ann.direct(), "A1").await;
        assert!(!sources(&stage, "Bob").await.contains(&"telegram".to_owned()));
        assert!(sources(&stage, "Ada").await.contains(&"telegram".to_owned()));
    }
}
