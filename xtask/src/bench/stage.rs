//! The stage: loopback servers in place of Telegram and OpenAI, and the settings that lead the program to them.

use anyhow::{Context, Result};
use galatea_testkit::{
    models::OpenAiServer,
    telegram::{BotApi, Handle, Options},
};

/// Key the model server accepts.
const KEY: &str = "sk-bench-loopback-only";

/// Both servers; they end when dropped.
pub(super) struct Stage {
    telegram: BotApi,
    model: OpenAiServer,
}

impl Stage {
    /// Starts both on free loopback ports. The model answers at once and always the same.
    pub(super) async fn set() -> Result<Self> {
        let model = OpenAiServer::start(KEY).await.context("no loopback port for the model server")?;
        let telegram = BotApi::with(Options::fast()).await;
        // The servers fail tests when dropped after a violation; here `close` hands them over instead.
        telegram.allow_violation("");
        Ok(Self { telegram, model })
    }

    /// Hands out updates.
    pub(super) fn telegram(&self) -> Handle {
        self.telegram.handle()
    }

    /// Settings of the program on this stage: its defaults but for the addresses, and one answer per message also under a flood.
    pub(super) fn settings(&self) -> Vec<(&'static str, String)> {
        vec![
            ("TELEGRAM_API_ROOT", self.telegram.url().to_owned()),
            ("TELEGRAM_BOT_TOKEN", self.telegram.token()),
            ("OPENAI_BASE_URL", self.model.base_url()),
            ("OPENAI_API_KEY", KEY.to_owned()),
            ("BUSY_POLICY", "each".to_owned()),
        ]
    }

    /// Settings without any connector: the model only.
    pub(super) fn settings_offstage(&self) -> Vec<(&'static str, String)> {
        vec![("OPENAI_BASE_URL", self.model.base_url()), ("OPENAI_API_KEY", KEY.to_owned()), ("TERMINAL_ENABLED", "false".to_owned())]
    }

    /// Ends both servers; what the program did against the documents of either service.
    pub(super) fn close(self) -> Vec<String> {
        let mut all = self.telegram.violations();
        all.extend(self.model.take_violations());
        all
    }
}

impl Drop for Stage {
    /// After a failure the violations are part of the story, not a reason to panic.
    fn drop(&mut self) {
        for violation in self.model.take_violations() {
            eprintln!("against the API document: {violation}");
        }
    }
}
