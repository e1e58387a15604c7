//! The stage of most tests: Telegram, a model, a home folder, and the program between them.

use std::path::PathBuf;

use galatea_testkit::{
    models::{Fault, OpenAiServer, Recorded, Reply},
    process::{Home, Program, Running},
    telegram::{BotApi, Chat, User},
};

pub(crate) const KEY: &str = "sk-e2e-canary-key-0123456789";

/// Environment of one test. Dropping it checks the program's calls against the rules of both
/// services.
pub(crate) struct Stage {
    pub(crate) telegram: BotApi,
    pub(crate) model: OpenAiServer,
    pub(crate) home: Home,
    pub(crate) ann: User,
}

/// Path of the program as this run built it; `GALATEA_BIN` overrides it.
pub(crate) fn binary() -> PathBuf {
    std::env::var_os("GALATEA_BIN")
        .map_or_else(|| env!("CARGO_BIN_EXE_galatea").into(), PathBuf::from)
}

/// Numbers of the questions in a text: 7 of `Q7`. The code of a confirmation (`ok-EQ6EF`) is none.
pub(crate) fn asked(text: &str) -> impl Iterator<Item = u32> {
    text.match_indices('Q').filter_map(|(at, _)| {
        let is_code = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '-';
        let digits = text[at + 1..].split(|c: char| !c.is_ascii_digit()).next()?;
        let after = text[at + 1 + digits.len()..].chars().next();
        let alone = !text[..at].ends_with(is_code) && !after.is_some_and(char::is_alphanumeric);
        alone.then(|| digits.parse().ok())?
    })
}

/// The model answers question `Q7` with `A7`; of several questions in the conversation it answers
/// the last.
pub(crate) fn answer(request: &Recorded) -> Reply {
    let text = request.body["messages"].to_string();
    Reply::text(asked(&text).last().map_or("I did not catch that.".to_owned(), |n| format!("A{n}")))
}

impl Stage {
    pub(crate) async fn set() -> Self {
        let telegram = BotApi::start().await;
        let model = OpenAiServer::start(KEY).await.unwrap();
        model.answer_with(answer);
        let ann = telegram.user("Ann", "ann_b");
        Self { telegram, model, home: Home::new(), ann }
    }

    /// The program with the settings of this stage; the home is its working folder.
    pub(crate) fn program(&self) -> Program {
        Program::new(binary(), &self.home)
            .env("TELEGRAM_BOT_TOKEN", self.telegram.token())
            .env("TELEGRAM_API_ROOT", self.telegram.url())
            .env("OPENAI_BASE_URL", self.model.base_url())
            .env("OPENAI_API_KEY", KEY)
            .env("OPENAI_SMALL_MODEL", "gpt-4o-mini")
            .env("OPENAI_LARGE_MODEL", "gpt-4o")
            .env("BUSY_POLICY", "each")
            .env("SERVER_PORT", "0")
            .env("NO_COLOR", "1")
    }

    /// Starts the program and waits until it is ready.
    pub(crate) async fn start(&self) -> Running {
        let running = self.program().arg("start").spawn();
        running.wait_for_line("ready in").await;
        running
    }

    /// Makes the model hang on every call until [`Stage::model_wakes`].
    pub(crate) fn model_hangs(&self) {
        self.model.answer_with(|_| Reply::Fault(Fault::Hang));
    }

    /// Makes the model answer again.
    pub(crate) fn model_wakes(&self) {
        self.model.answer_with(answer);
    }

    /// Secrets that must not appear in any output.
    pub(crate) fn canaries(&self) -> Vec<String> {
        let token = self.telegram.token();
        vec![token.split_once(':').unwrap().1.to_owned(), KEY.to_owned()]
    }

    /// The agent's texts in a chat.
    pub(crate) fn texts(&self, chat: &Chat) -> Vec<String> {
        self.telegram.shown(chat.id).into_iter().map(|m| m.text).collect()
    }

    /// Waits until the agent's last text in a chat is `last`, and returns all its texts there.
    pub(crate) async fn wait_text(&self, chat: &Chat, last: &str) -> Vec<String> {
        let look = |_: &galatea_testkit::telegram::Handle| {
            Some(self.texts(chat)).filter(|t| t.last().is_some_and(|t| t == last))
        };
        self.telegram.wait_for(&format!("{last:?} in chat {}", chat.id), look).await
    }
}

#[test]
fn the_code_of_a_confirmation_is_no_question() {
    let text =
        r"Q1 here\nQ2 after, Send `ok-EQ6EF` or `no-EQ6EF`; `ok-Q6ABC` `ok-AAAQ6` `ok-Q6123`. Q3";
    assert_eq!(asked(text).collect::<Vec<_>>(), [1, 2, 3]);
}
