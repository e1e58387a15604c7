//! The stage with all platforms.

use galatea_testkit::{
    discord::{self, DiscordApi},
    process::{Program, Running},
    telegram::{BotApi, Chat},
    x::{Person, XApi},
};
use serde_json::Value;

use crate::stage::Stage;

/// Telegram and the model of [`Stage`], with Discord and X beside them. Dropping it checks the
/// program's calls against the rules of all four.
pub(super) struct Everywhere {
    pub(super) stage: Stage,
    pub(super) discord: DiscordApi,
    pub(super) x: XApi,
    /// A person on Discord.
    pub(super) dora: discord::User,
    pub(super) guild: discord::Guild,
    /// A person on X.
    pub(super) xenia: Person,
}

impl Everywhere {
    pub(super) async fn set() -> Self {
        let (stage, discord, x) =
            (Stage::set().await, DiscordApi::start().await, XApi::start().await);
        let dora = discord.user("Dora", "dora_d");
        let guild = discord.guild("Garden", &[&dora]);
        let xenia = x.user("Xenia", "xenia_x");
        Self { stage, discord, x, dora, guild, xenia }
    }

    /// The program with the settings of all four services.
    pub(super) fn program(&self) -> Program {
        let keys = self.x.keys();
        self.stage
            .program()
            .env("DISCORD_API_TOKEN", self.discord.token())
            .env("DISCORD_API_ROOT", self.discord.url())
            .env("TWITTER_API_KEY", keys.api_key)
            .env("TWITTER_API_SECRET_KEY", keys.api_secret)
            .env("TWITTER_ACCESS_TOKEN", keys.token)
            .env("TWITTER_ACCESS_TOKEN_SECRET", keys.token_secret)
            .env("TWITTER_API_ROOT", self.x.url())
            .env("TWITTER_DRY_RUN", "false")
            .env("TWITTER_DAILY_SPEND_LIMIT", "20")
            // Three seconds, the shortest interval X allows.
            .env("TWITTER_POLL_INTERVAL", "0.05")
    }

    /// Starts the program and waits until every platform is connected.
    pub(super) async fn start(&self) -> Running {
        self.run(self.program()).await
    }

    /// Starts this program and waits until every platform is connected.
    pub(super) async fn run(&self, program: Program) -> Running {
        let running = program.arg("start").spawn();
        running.wait_for_line("ready in").await;
        // Discord keeps no events for a bot before its first session.
        self.discord.wait_connected(1).await;
        running
    }

    /// Output of `galatea status --json`.
    pub(super) async fn status(&self) -> Value {
        let output = self.program().args(["status", "--json"]).run().await;
        serde_json::from_str(&output.stdout)
            .unwrap_or_else(|e| panic!("{e}: {}{}", output.stdout, output.stderr))
    }

    /// Output of `galatea explain`.
    pub(super) async fn explain(&self, what: &str) -> String {
        let output = self.program().args(["explain", what]).run().await;
        assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
        output.stdout
    }

    /// Asks `Q7` on Telegram and waits for the answer.
    pub(super) async fn telegram_answers(&self, n: u32) {
        let direct = self.stage.ann.direct();
        self.stage.ann.says(&direct, &format!("Q{n}")).send();
        self.stage.wait_text(&direct, &format!("A{n}")).await;
    }

    /// Asks `Q7` on Discord and waits for the answer.
    pub(super) async fn discord_answers(&self, n: u32) {
        let direct = self.dora.direct();
        self.dora.says(&direct, &format!("Q{n}")).send();
        self.wait_discord(&direct, &format!("A{n}")).await;
    }

    /// Asks `Q7` on X and waits for the answer; returns the question's id.
    pub(super) async fn x_answers(&self, n: u32) -> u64 {
        let asked = self.xenia.posts(&format!("@galatea_test Q{n}"));
        self.wait_x(asked, &format!("A{n}")).await;
        asked
    }

    /// Waits until the agent's last message in a channel has this text; returns its id.
    pub(super) async fn wait_discord(&self, channel: &discord::Channel, last: &str) -> u64 {
        let look = |d: &discord::Handle| {
            d.shown(channel.id).last().filter(|m| m.text == last).map(|m| m.id)
        };
        self.discord.wait_for(&format!("{last:?} in channel {}", channel.id), look).await
    }

    /// Waits until a post has a reply with this text; returns the reply's id.
    pub(super) async fn wait_x(&self, asked: u64, text: &str) -> u64 {
        let look = |x: &galatea_testkit::x::Handle| {
            x.shown()
                .into_iter()
                .find(|p| p.text == text && p.reply_to == Some(asked))
                .map(|p| p.id)
        };
        self.x.wait_for(&format!("{text:?} under {asked}"), look).await
    }
}

/// Waits until the agent's last message in a chat has this text.
pub(super) async fn wait_telegram(api: &BotApi, chat: &Chat, last: &str) {
    let look = |t: &galatea_testkit::telegram::Handle| {
        t.shown(chat.id).last().filter(|m| m.text == last).map(drop)
    };
    api.wait_for(&format!("{last:?} in chat {}", chat.id), look).await;
}

/// State, code and fix of a platform in the output of `galatea status --json`.
pub(super) fn state_of<'a>(status: &'a Value, source: &str) -> (&'a str, &'a str, &'a str) {
    let list = |value: &'a Value| value.as_array().into_iter().flatten();
    let connector = list(&status["agents"])
        .flat_map(|a| list(&a["connectors"]))
        .find(|c| c["source"] == source);
    let reason = list(&status["reasons"]).find(|r| r["subject"] == format!("connector {source}"));
    let part = |name: &str| reason.and_then(|r| r[name].as_str()).unwrap_or_default();
    (connector.and_then(|c| c["state"].as_str()).unwrap_or_default(), part("code"), part("fix"))
}
