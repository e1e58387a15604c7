//! Loopback servers that replace Telegram, Discord and OpenAI, and the settings that point the
//! program to them.

use anyhow::{Context, Result};
use galatea_testkit::{
    discord::{self, DiscordApi},
    load::{LoadPlan, Trip, sentence},
    models::{OpenAiServer, Recorded, Reply},
    telegram::{self, BotApi},
};
use std::time::Duration;

/// API key the model server accepts.
const KEY: &str = "sk-bench-loopback-only";

/// The platform on which people ask.
#[derive(Clone)]
pub(super) enum Platform {
    Telegram(telegram::Handle),
    Discord(discord::Handle),
}

impl Platform {
    pub(super) fn load(&self, plan: LoadPlan) {
        match self {
            Self::Telegram(handle) => handle.load(plan),
            Self::Discord(handle) => handle.load(plan),
        }
    }

    /// Waits until every question of the load is answered.
    pub(super) async fn wait_load(&self) -> Vec<Trip> {
        match self {
            Self::Telegram(handle) => handle.wait_load().await,
            Self::Discord(handle) => handle.wait_load().await,
        }
    }

    /// Ends the load: nothing further is asked, and what was asked may still be answered.
    pub(super) fn stop_asking(&self) {
        match self {
            Self::Telegram(handle) => handle.stop_asking(),
            Self::Discord(handle) => handle.stop_asking(),
        }
    }

    /// The answers of the load so far.
    pub(super) fn trips(&self) -> Vec<Trip> {
        match self {
            Self::Telegram(handle) => handle.trips(),
            Self::Discord(handle) => handle.trips(),
        }
    }

    /// Number of answers that were out of order, repeated, or to no question.
    pub(super) fn misplaced(&self) -> usize {
        match self {
            Self::Telegram(handle) => handle.misplaced(),
            Self::Discord(handle) => handle.misplaced(),
        }
    }

    /// Calls of the program so far that violate the platform's documentation.
    pub(super) fn violations(&self) -> Vec<String> {
        match self {
            Self::Telegram(handle) => handle.violations(),
            Self::Discord(handle) => handle.violations(),
        }
    }

    /// Forgets the sessions of ended programs, which the server would otherwise keep up to date
    /// under load.
    pub(super) fn forget(&self) {
        if let Self::Discord(handle) = self {
            handle.forget_sessions();
        }
    }
}

/// The servers. They stop when dropped.
pub(super) struct Stage {
    telegram: BotApi,
    discord: DiscordApi,
    model: OpenAiServer,
}

impl Stage {
    /// Starts the servers on free loopback ports. The model answers at once with the number of the
    /// question.
    pub(super) async fn set() -> Result<Self> {
        let model =
            OpenAiServer::start(KEY).await.context("no loopback port for the model server")?;
        model.answer_with(answer);
        let telegram = BotApi::with(telegram::Options::fast()).await;
        let discord = DiscordApi::with(discord::Options::fast()).await;
        // In tests, the servers panic when dropped after a violation. Here `close` returns the
        // violations.
        telegram.allow_violation("");
        discord.allow_violation("");
        Ok(Self { telegram, discord, model })
    }

    pub(super) fn telegram(&self) -> Platform {
        Platform::Telegram(self.telegram.handle())
    }

    pub(super) fn discord(&self) -> Platform {
        Platform::Discord(self.discord.handle())
    }

    /// Settings for the program on one platform: the defaults, except for the addresses, one answer
    /// per message even under a flood, and no rate limit per person, because a few simulated people
    /// ask everything.
    pub(super) fn settings(&self, platform: &Platform) -> Vec<(&'static str, String)> {
        let mut settings = vec![
            ("OPENAI_BASE_URL", self.model.base_url()),
            ("OPENAI_API_KEY", KEY.to_owned()),
            ("BUSY_POLICY", "each".to_owned()),
            ("LIMITS", "off".to_owned()),
        ];
        settings.extend(match platform {
            Platform::Telegram(handle) => [
                ("TELEGRAM_API_ROOT", handle.url().to_owned()),
                ("TELEGRAM_BOT_TOKEN", handle.token()),
            ],
            Platform::Discord(handle) => [
                ("DISCORD_API_ROOT", handle.url().to_owned()),
                ("DISCORD_API_TOKEN", handle.token()),
            ],
        });
        settings
    }

    /// Lets the model take this long for each answer.
    pub(super) fn think(&self, time: Duration) {
        self.model.think(time);
    }

    /// Median time that the model took for an answer since [`Stage::think`]: its timer ends up to
    /// some milliseconds late, which is not the program's time.
    pub(super) fn thought(&self) -> Duration {
        let mut times = self.model.thought();
        times.sort_unstable();
        times.get(times.len() / 2).copied().unwrap_or_default()
    }

    /// Settings without connectors, with the model only.
    pub(super) fn settings_offstage(&self) -> Vec<(&'static str, String)> {
        vec![
            ("OPENAI_BASE_URL", self.model.base_url()),
            ("OPENAI_API_KEY", KEY.to_owned()),
            ("TERMINAL_ENABLED", "false".to_owned()),
        ]
    }

    /// Stops the servers and returns all violations of the platforms' and the model's
    /// documentation.
    pub(super) fn close(self) -> Vec<String> {
        let mut all = self.telegram.violations();
        all.extend(self.discord.violations());
        all.extend(self.model.take_violations());
        all
    }
}

/// The last number in the question, so that an answer identifies its question.
fn answer(request: &Recorded) -> Reply {
    let asked = request.body["messages"].as_array().and_then(|messages| messages.last());
    let text = asked.map(|message| message["content"].to_string()).unwrap_or_default();
    let numbers = text
        .rsplit('#')
        .map(|rest| rest.chars().take_while(char::is_ascii_digit).collect::<String>());
    let number = numbers.into_iter().find(|number| !number.is_empty()).unwrap_or_default();
    // Its own words, not those of the question.
    let said = sentence(!number.parse::<u64>().unwrap_or_default());
    Reply::text(format!("Heard #{number}: {said}."))
}

impl Drop for Stage {
    /// After a failure, print the violations instead of panicking.
    fn drop(&mut self) {
        for violation in self.model.take_violations() {
            eprintln!("against the API document: {violation}");
        }
    }
}
