//! Environment of the chaos test: fifty rooms on two platforms, with people who ask questions
//! there.

use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use galatea_testkit::{
    discord::{self, DiscordApi},
    models::OpenAiServer,
    process::{Home, Program},
    telegram::{self, BotApi},
};
use parking_lot::Mutex;
use serde_json::Value;

use crate::{
    stage::{KEY, binary},
    truth::{self, Question, Room},
};

/// Time that the last answers may make no progress: longer than the longest backoff between two
/// attempts of one of them (64 s after seven failures) plus an open circuit breaker.
const PATIENCE: Duration = Duration::from_secs(150);

/// Number of newest questions per room that are examined during the run; all unanswered ones are
/// among them. Each answer has at most this many parts.
const RECENT: usize = 40;
const PARTS: usize = 6;
/// Telegram calls in an affected chat are shown as evidence when they lie within this time of an
/// affected call.
const NEAR: Duration = Duration::from_secs(20);

pub(crate) struct House {
    pub(crate) telegram: BotApi,
    pub(crate) discord: DiscordApi,
    model: OpenAiServer,
    home: Home,
    places: Vec<Place>,
    asked: Mutex<Vec<Vec<Question>>>,
    /// Warnings and errors that each run of the program logged.
    complaints: Mutex<Vec<String>>,
    next: AtomicUsize,
}

enum Place {
    Telegram(telegram::User, telegram::Chat),
    Discord(discord::User, discord::Channel),
}

impl House {
    /// 20 private chats and 10 groups on Telegram, 12 direct messages and 8 channels on Discord.
    pub(crate) async fn set() -> Self {
        let (telegram, discord) = (BotApi::start().await, DiscordApi::start().await);
        let model = OpenAiServer::start(KEY).await.unwrap();
        model.answer_with(truth::answer);
        telegram.set_privacy(false);
        // A process killed between receiving a rate limit and storing it makes one call too early.
        for server in ["retry_after", "rate limit"] {
            telegram.allow_violation(server);
            discord.allow_violation(server);
        }
        let (ann, dora) = (telegram.user("Ann", "ann_t"), discord.user("Dora", "dora_d"));
        let guild = discord.guild("Garden", &[&dora]);
        let mut places = Vec::new();
        for n in 0..20 {
            let person = telegram.user(&format!("T{n}"), "");
            let direct = person.direct();
            places.push(Place::Telegram(person, direct));
        }
        places.extend((0..10).map(|n| {
            Place::Telegram(ann.clone(), telegram.supergroup(&format!("Band {n}"), &[&ann]))
        }));
        for n in 0..12 {
            let person = discord.user(&format!("D{n}"), &format!("d_{n}"));
            let direct = person.direct();
            places.push(Place::Discord(person, direct));
        }
        places.extend(
            (0..8).map(|n| Place::Discord(dora.clone(), guild.channel(&format!("bed-{n}"), 0))),
        );
        let asked = Mutex::new(vec![Vec::new(); places.len()]);
        Self {
            telegram,
            discord,
            model,
            home: Home::new(),
            places,
            asked,
            complaints: Mutex::default(),
            next: AtomicUsize::new(1),
        }
    }

    pub(crate) fn program(&self) -> Program {
        Program::new(binary(), &self.home)
            .env("TELEGRAM_BOT_TOKEN", self.telegram.token())
            .env("TELEGRAM_API_ROOT", self.telegram.url())
            .env("DISCORD_API_TOKEN", self.discord.token())
            .env("DISCORD_API_ROOT", self.discord.url())
            .env("OPENAI_BASE_URL", self.model.base_url())
            .env("OPENAI_API_KEY", KEY)
            .env("BUSY_POLICY", "each")
            .env("SERVER_PORT", "0")
            .env("NO_COLOR", "1")
    }

    pub(crate) fn rooms(&self) -> usize {
        self.places.len()
    }

    /// Asks a question in a room, with this many words in the answer.
    pub(crate) fn ask(&self, room: usize, words: u32) {
        let number = u32::try_from(self.next.fetch_add(1, Ordering::Relaxed)).unwrap();
        let question = Question { number, words };
        self.asked.lock()[room].push(question);
        let text = question.text();
        match &self.places[room] {
            Place::Telegram(who, chat) => {
                who.says(chat, &format!("@{} {text}", self.telegram.bot_username())).send();
            }
            Place::Discord(who, channel) => {
                who.says(channel, &format!("{} {text}", self.discord.mention())).send();
            }
        }
    }

    /// Number of questions so far.
    pub(crate) fn asked(&self) -> usize {
        self.next.load(Ordering::Relaxed) - 1
    }

    /// Number of unanswered questions among the newest of each room.
    pub(crate) fn open(&self) -> usize {
        self.look(RECENT).iter().map(truth::open).sum()
    }

    /// Keeps the warnings and errors of a run that ended, except those that the faults always
    /// cause.
    pub(crate) fn hear(&self, output: &str) {
        let reported = output.lines().filter(|line| {
            ["\"WARN\"", "\"ERROR\"", "looking for"].iter().any(|sign| line.contains(sign))
        });
        self.complaints.lock().extend(reported.map(str::to_owned));
    }

    /// All kept warnings and errors, and the Telegram calls around those that contain one of these
    /// words.
    pub(crate) fn evidence(&self, words: &[String]) -> String {
        let mut lines = std::mem::take(&mut *self.complaints.lock());
        let says = |text: &str| {
            text.split_whitespace().any(|word| words.iter().any(|known| known == word))
        };
        let calls = self.telegram.calls();
        let chats: BTreeSet<i64> = calls
            .iter()
            .filter(|call| call.text("text").is_some_and(says))
            .filter_map(|call| call.chat())
            .collect();
        for (at, call) in calls.iter().enumerate() {
            let near = |other: &telegram::Call| {
                other.text("text").is_some_and(says)
                    && other.instant.max(call.instant) - other.instant.min(call.instant) < NEAR
            };
            if call.chat().is_some_and(|chat| chats.contains(&chat)) && calls.iter().any(near) {
                let since = call.instant.duration_since(calls[0].instant);
                lines.push(format!(
                    "{at} {:.3} s {} {:?} {:?}",
                    since.as_secs_f64(),
                    call.method,
                    call.params,
                    call.answer
                ));
            }
        }
        lines.join("\n")
    }

    /// Number of the agent's messages so far, on both platforms.
    pub(crate) fn bot_message_count(&self) -> usize {
        self.telegram.bot_message_count() + self.discord.bot_message_count()
    }

    /// Waits until the agent has sent more than `before` messages.
    pub(crate) async fn speaks(&self, before: usize) {
        let more = || (self.bot_message_count() > before).then_some(());
        tokio::select! {
            () = self.telegram.wait_for("an answer after a restart", |_| more()) => {}
            () = self.discord.wait_for("an answer after a restart", |_| more()) => {}
        }
    }

    pub(crate) fn truth(&self) -> Vec<Room> {
        self.look(usize::MAX)
    }

    /// The newest questions of each room with at least their answers.
    fn look(&self, newest: usize) -> Vec<Room> {
        let asked = self.asked.lock();
        let parts = newest.saturating_mul(PARTS);
        let shown = |place: &Place| -> Vec<String> {
            match place {
                Place::Telegram(_, chat) => {
                    self.telegram.last_shown(chat.id, parts).into_iter().map(|m| m.text).collect()
                }
                Place::Discord(_, channel) => {
                    self.discord.last_shown(channel.id, parts).into_iter().map(|m| m.text).collect()
                }
            }
        };
        let room = |(place, asked): (&Place, &Vec<Question>)| Room {
            asked: asked[asked.len().saturating_sub(newest)..].to_vec(),
            shown: shown(place),
        };
        self.places.iter().zip(asked.iter()).map(room).collect()
    }

    /// Waits until every question is answered, as long as answers keep coming. The check of the
    /// results then reports those that are not.
    pub(crate) async fn answered(&self) {
        let (mut said, mut since) = (self.bot_message_count(), Instant::now());
        let mut pause = tokio::time::interval(Duration::from_millis(250));
        while since.elapsed() < PATIENCE && !self.truth().iter().all(truth::is_answered) {
            pause.tick().await;
            if self.bot_message_count() != said {
                (said, since) = (self.bot_message_count(), Instant::now());
            }
        }
    }

    /// Gaps that the program reported. The platforms keep every event during a run, so each gap is
    /// a false alarm.
    pub(crate) fn gaps(&self) -> Vec<String> {
        let complaints = self.complaints.lock();
        let gaps = complaints.iter().filter(|line| line.contains("GAL-GAP"));
        gaps.map(|line| format!("a gap was reported although no event is missing: {line}"))
            .collect()
    }

    pub(crate) async fn audit(&self) -> Value {
        let done = self.program().args(["audit", "--json"]).run().await;
        serde_json::from_str(&done.stdout)
            .unwrap_or_else(|_| panic!("audit: {}{}", done.stdout, done.stderr))
    }
}
