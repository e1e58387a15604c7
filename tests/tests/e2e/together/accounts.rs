//! Two accounts of one character on each of two platforms in one process. Nothing that happens to
//! one account affects another.
//!
//! Both servers of a platform number their rooms and messages alike, so every id exists twice.

use galatea_testkit::{
    discord::{self, DiscordApi},
    process::{Program, Running},
    telegram::{self, BotApi},
};
use serde_json::Value;

use super::everywhere::wait_telegram;
use crate::{
    places::Database,
    stage::{KEY, Stage, binary},
};

struct Accounts {
    stage: Stage,
    telegram: [BotApi; 2],
    discord: [DiscordApi; 2],
    /// A person with one id on both servers.
    anns: [telegram::User; 2],
}

impl Accounts {
    async fn set() -> Self {
        let bot = |n: u8| {
            let token = format!("700000002{n}:AAaccount-canary-{n}-account-canary-{n}xxx");
            BotApi::with(telegram::Options {
                token,
                bot_username: format!("account{n}_test_bot"),
                ..telegram::Options::default()
            })
        };
        let application = |n: u64| {
            let usual = discord::Options::default();
            DiscordApi::with(discord::Options {
                bot: usual.bot + n,
                application: usual.application + n,
                ..usual
            })
        };
        let telegram = [bot(1).await, bot(2).await];
        let anns = [telegram[0].user("Ann", "ann_b"), telegram[1].user("Ann", "ann_b")];
        Self {
            stage: Stage::set().await,
            telegram,
            discord: [application(0).await, application(7).await],
            anns,
        }
    }

    fn program(&self) -> Program {
        let ([t1, t2], [d1, d2]) = (&self.telegram, &self.discord);
        Program::new(binary(), &self.stage.home)
            .env("OPENAI_BASE_URL", self.stage.model.base_url())
            .env("OPENAI_API_KEY", KEY)
            .env("SERVER_PORT", "0")
            .env("NO_COLOR", "1")
            .env("BUSY_POLICY", "each")
            .env("TELEGRAM_BOT_TOKEN", t1.token())
            .env("TELEGRAM_API_ROOT", t1.url())
            .env("TELEGRAM_BOT_TOKEN_2", t2.token())
            .env("TELEGRAM_API_ROOT_2", t2.url())
            .env("DISCORD_API_TOKEN", d1.token())
            .env("DISCORD_API_ROOT", d1.url())
            .env("DISCORD_API_TOKEN_2", d2.token())
            .env("DISCORD_API_ROOT_2", d2.url())
    }

    async fn run(&self, program: Program) -> Running {
        let running = program.arg("start").spawn();
        running.wait_for_line("ready in").await;
        running
    }

    /// Asks `Q<n>` in private, and waits for the answer of the account that was asked.
    async fn telegram_answers(&self, account: usize, n: u32) {
        let (api, ann) = (&self.telegram[account], &self.anns[account]);
        ann.says(&ann.direct(), &format!("Q{n}")).send();
        wait_telegram(api, &ann.direct(), &format!("A{n}")).await;
    }

    async fn discord_answers(&self, who: &discord::User, account: usize, n: u32) {
        let direct = who.direct();
        who.says(&direct, &format!("Q{n}")).send();
        let last = format!("A{n}");
        let look =
            |d: &discord::Handle| d.shown(direct.id).last().filter(|m| m.text == last).map(drop);
        self.discord[account].wait_for(&last, look).await;
    }

    async fn connectors(&self) -> Vec<(String, String, String)> {
        let output = self.program().args(["status", "--json"]).run().await;
        let status: Value = serde_json::from_str(&output.stdout)
            .unwrap_or_else(|e| panic!("{e}: {}{}", output.stdout, output.stderr));
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        status["agents"][0]["connectors"]
            .as_array()
            .unwrap()
            .iter()
            .map(|c| (text(&c["source"]), text(&c["account"]), text(&c["state"])))
            .collect()
    }
}

fn state<'a>(connectors: &'a [(String, String, String)], account: &str) -> &'a str {
    &connectors
        .iter()
        .find(|(_, id, _)| id == account)
        .unwrap_or_else(|| panic!("{account} is not among {connectors:?}"))
        .2
}

#[tokio::test]
async fn every_account_answers_what_it_is_asked_and_keeps_its_own_cursor() {
    let all = Accounts::set().await;
    let doras = [0, 1].map(|n| all.discord[n].user("Dora", "dora_d"));
    let mut galatea = all.run(all.program()).await;
    all.discord[0].wait_connected(1).await;
    all.discord[1].wait_connected(1).await;
    tokio::join!(
        all.telegram_answers(0, 1),
        all.telegram_answers(1, 2),
        all.discord_answers(&doras[0], 0, 3),
        all.discord_answers(&doras[1], 1, 4),
    );
    // The account that was asked has answered, once.
    let on_telegram = [0, 1].map(|n| all.telegram[n].shown(all.anns[n].direct().id).len());
    let on_discord = [0, 1].map(|n| all.discord[n].shown(doras[n].direct().id).len());
    assert_eq!((on_telegram, on_discord), ([1, 1], [1, 1]));
    for request in all.stage.model.requests().into_iter().filter(|r| !r.body.is_null()) {
        let prompt = request.body["messages"].to_string();
        let heard = (1..=4).filter(|n| prompt.contains(&format!("Q{n}"))).count();
        assert_eq!(heard, 1, "two accounts' conversations are mixed: {prompt}");
    }
    // A repeated delivery is a duplicate for its own account and for no other.
    all.telegram[0].redeliver(1);
    all.telegram_answers(0, 5).await;
    all.telegram_answers(1, 6).await;
    assert_eq!(all.telegram[0].calls_of("sendMessage").len(), 2, "{}", all.telegram[0].story());
    galatea.terminate();
    assert_eq!(galatea.finish().await.code, Some(0));

    let database = Database::open(all.stage.home.path()).await;
    let rows = database.rows("SELECT source, account, count(*) || '' FROM inbox WHERE state = 'done' GROUP BY source, account ORDER BY source, account").await;
    let counts: Vec<_> = rows.iter().map(|row| (row[0].as_str(), row[2].as_str())).collect();
    assert_eq!(
        counts,
        [("discord", "1"), ("discord", "1"), ("telegram", "2"), ("telegram", "2")],
        "{rows:?}"
    );
    let cursors =
        database.rows("SELECT DISTINCT account FROM cursors WHERE source = 'telegram'").await;
    assert_eq!(cursors.len(), 2, "{cursors:?}");

    // With the accounts swapped, ids stay the same, so that no message counts as known and none is
    // lost.
    let ([t1, t2], telegram_root) = (&all.telegram, "TELEGRAM_API_ROOT");
    let turned = all.program().env("TELEGRAM_BOT_TOKEN", t2.token()).env(telegram_root, t2.url());
    let turned =
        turned.env("TELEGRAM_BOT_TOKEN_2", t1.token()).env("TELEGRAM_API_ROOT_2", t1.url());
    let _galatea = all.run(turned).await;
    tokio::join!(all.telegram_answers(0, 7), all.telegram_answers(1, 8));
    let prompts: String = all
        .stage
        .model
        .requests()
        .iter()
        .map(|r| r.body["messages"].to_string())
        .filter(|p| p.contains("Q8"))
        .collect();
    assert!(
        prompts.contains("Q2") && !prompts.contains("Q1"),
        "the second account remembers its own conversation: {prompts}"
    );
}

#[tokio::test]
async fn an_account_that_is_refused_touches_no_other() {
    let all = Accounts::set().await;
    let doras = [0, 1].map(|n| all.discord[n].user("Dora", "dora_d"));
    let wrong = all
        .program()
        .env("TELEGRAM_BOT_TOKEN_2", "7000000022:AAwrong-canary-wrong-canary-wrong-xx");
    let galatea = all.run(wrong).await;
    galatea.wait_for_line("telegram  stopped").await;
    all.discord[0].wait_connected(1).await;
    all.discord[1].wait_connected(1).await;
    all.discord[0].order(discord::Order::Close(4004));
    galatea.wait_for_line("discord  stopped").await;
    tokio::join!(all.telegram_answers(0, 1), all.discord_answers(&doras[1], 1, 2));
    let connectors = all.connectors().await;
    let discord = [0, 1].map(|n| all.discord[n].bot_id().to_string());
    let states = [
        state(&connectors, "7000000021"),
        state(&connectors, "7000000022"),
        state(&connectors, &discord[0]),
        state(&connectors, &discord[1]),
    ];
    assert_eq!(states, ["up", "down", "down", "up"], "{connectors:?}");
}

#[tokio::test]
async fn an_account_may_have_a_policy_of_its_own() {
    let all = Accounts::set().await;
    let mut galatea = all.run(all.program().env("TELEGRAM_DM_POLICY_2", "disabled")).await;
    let shut = &all.anns[1];
    let asked = shut.says(&shut.direct(), "Q1").send();
    all.telegram[1].wait_confirmed().await;
    all.telegram_answers(0, 2).await;
    galatea.terminate();
    assert_eq!(galatea.finish().await.code, Some(0));
    assert!(all.telegram[1].shown(shut.direct().id).is_empty());
    let database = Database::open(all.stage.home.path()).await;
    let states = database
        .rows("SELECT account, state, verdict ->> '$.change.setting' FROM inbox ORDER BY account")
        .await;
    assert_eq!(
        states,
        [["7000000021", "done", ""], ["7000000022", "skipped", "TELEGRAM_DM_POLICY_2"]],
        "message {asked}"
    );
}
