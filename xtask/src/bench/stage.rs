//! The stage: loopback servers in place of Telegram, Discord and OpenAI, and the settings that lead
//! the program to them.

use anyhow::{Context, Result};
use galatea_testkit::{
    discord::{self, DiscordApi},
    load::{LoadPlan, Trip},
    models::{OpenAiServer, Recorded, Reply},
    telegram::{self, BotApi},
};

/// Key the model server accepts.
const KEY: &str = "sk-bench-loopback-only";

/// Where people ask.
#[derive(Clone)]
pub(super) enum Platform {
    /// A Bot API server.
    Telegram(telegram::Handle),
    /// Discord's REST API and gateway.
    Discord(discord::Handle),
}

impl Platform {
    /// Starts a load.
    pub(super) fn load(&self, plan: LoadPlan) {
        match self {
            Self::Telegram(handle) => handle.load(plan),
            Self::Discord(handle) => handle.load(plan),
        }
    }

    /// Waits until the load is answered.
    pub(super) async fn wait_load(&self) -> Vec<Trip> {
        match self {
            Self::Telegram(handle) => handle.wait_load().await,
            Self::Discord(handle) => handle.wait_load().await,
        }
    }

    /// The load so far.
    pub(super) fn trips(&self) -> Vec<Trip> {
        match self {
            Self::Telegram(handle) => handle.trips(),
            Self::Discord(handle) => handle.trips(),
        }
    }

    /// Answers of the load that came out of turn, twice, or to nothing.
    pub(super) fn misplaced(&self) -> usize {
        match self {
            Self::Telegram(handle) => handle.misplaced(),
            Self::Discord(handle) => handle.misplaced(),
        }
    }

    /// What the program did against the platform's documents so far.
    pub(super) fn violations(&self) -> Vec<String> {
        match self {
            Self::Telegram(handle) => handle.violations(),
            Self::Discord(handle) => handle.violations(),
        }
    }

    /// Forgets what ended programs left: their sessions would be kept in step under load.
    pub(super) fn forget(&self) {
        if let Self::Discord(handle) = self {
            handle.forget_sessions();
        }
    }
}

/// The servers; they end when dropped.
pub(super) struct Stage {
    telegram: BotApi,
    discord: DiscordApi,
    model: OpenAiServer,
}

impl Stage {
    /// Starts both on free loopback ports. The model answers at once, with the number of the
    /// question.
    pub(super) async fn set() -> Result<Self> {
        let model =
            OpenAiServer::start(KEY).await.context("no loopback port for the model server")?;
        model.answer_with(answer);
        let telegram = BotApi::with(telegram::Options::fast()).await;
        let discord = DiscordApi::with(discord::Options::fast()).await;
        // The servers fail tests when dropped after a violation; here `close` hands them over
        // instead.
        telegram.allow_violation("");
        discord.allow_violation("");
        Ok(Self { telegram, discord, model })
    }

    /// The Bot API server.
    pub(super) fn telegram(&self) -> Platform {
        Platform::Telegram(self.telegram.handle())
    }

    /// Discord.
    pub(super) fn discord(&self) -> Platform {
        Platform::Discord(self.discord.handle())
    }

    /// Settings of the program on one platform: its defaults but for the addresses, one answer per
    /// message also under a flood, and no limit to what a few people who stand for many may ask.
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

    /// Settings without any connector: the model only.
    pub(super) fn settings_offstage(&self) -> Vec<(&'static str, String)> {
        vec![
            ("OPENAI_BASE_URL", self.model.base_url()),
            ("OPENAI_API_KEY", KEY.to_owned()),
            ("TERMINAL_ENABLED", "false".to_owned()),
        ]
    }

    /// Ends the servers; what the program did against the documents of any of them.
    pub(super) fn close(self) -> Vec<String> {
        let mut all = self.telegram.violations();
        all.extend(self.discord.violations());
        all.extend(self.model.take_violations());
        all
    }
}

/// The last number in what was asked, so that an answer tells its question.
fn answer(request: &Recorded) -> Reply {
    let asked = request.body["messages"].as_array().and_then(|messages| messages.last());
    let text = asked.map(|message| message["content"].to_string()).unwrap_or_default();
    let numbers = text
        .rsplit('#')
        .map(|rest| rest.chars().take_while(char::is_ascii_digit).collect::<String>());
    Reply::text(format!(
        "Heard #{}.",
        numbers.into_iter().find(|number| !number.is_empty()).unwrap_or_default()
    ))
}

impl Drop for Stage {
    /// After a failure the violations are part of the story, not a reason to panic.
    fn drop(&mut self) {
        for violation in self.model.take_violations() {
            eprintln!("against the API document: {violation}");
        }
    }
}
