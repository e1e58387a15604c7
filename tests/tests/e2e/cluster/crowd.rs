//! A crowd that talks in many rooms at once, and processes that share the work of answering it.

use galatea_testkit::{
    discord::{Channel, DiscordApi, Guild, User},
    postgres::Database,
    process::{Home, Program, Running},
    telegram,
};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use crate::stage::Stage;

/// Everything of one test: two platforms, a model, a database, and rooms on both.
pub(super) struct Crowd {
    pub(super) stage: Stage,
    pub(super) discord: DiscordApi,
    pub(super) database: Database,
    pub(super) guild: Guild,
    dora: User,
    channels: Vec<Channel>,
    chats: Vec<(telegram::User, telegram::Chat)>,
    asked: u32,
}

/// A process with a data folder of its own.
pub(super) struct Node {
    pub(super) running: Running,
    home: Home,
}

impl Crowd {
    /// Rooms on each of both platforms.
    pub(super) async fn of(rooms: usize) -> Self {
        let (stage, discord, database) =
            (Stage::set().await, DiscordApi::start().await, Database::fresh().await);
        let dora = discord.user("Dora", "dora_d");
        let guild = discord.guild("Garden", &[&dora]);
        let channels = (0..rooms).map(|n| guild.channel(&format!("bed-{n}"), 0)).collect();
        let chats = (0..rooms)
            .map(|n| {
                let person = stage.telegram.user(&format!("P{n}"), &format!("person_{n}"));
                let chat = person.direct();
                (person, chat)
            })
            .collect();
        Self { stage, discord, database, guild, dora, channels, chats, asked: 0 }
    }

    /// The program on this database, with a data folder of its own.
    pub(super) fn program(&self, home: &Home) -> Program {
        self.stage
            .program()
            .env("DATABASE_URL", self.database.url())
            .env("GALATEA_DATA_DIR", home.path())
            .env("DISCORD_API_TOKEN", self.discord.token())
            .env("DISCORD_API_ROOT", self.discord.url())
            .env("DISCORD_GROUP_POLICY", "always")
            .env("LOG_LEVEL", "debug")
    }

    /// Starts a process.
    pub(super) async fn node(&self, role: &str) -> Node {
        let node = self.begin(role);
        node.running.wait_for_line("ready in").await;
        node
    }

    /// Starts a process and does not wait for it.
    pub(super) fn begin(&self, role: &str) -> Node {
        let home = Home::new();
        let running = self.program(&home).args(["start", "--role", role]).spawn();
        Node { running, home }
    }

    /// One more question in every room.
    pub(super) fn ask(&mut self) {
        self.asked += 1;
        let question = format!("Q{}: and now?", self.asked);
        for (person, chat) in &self.chats {
            person.says(chat, &question).send();
        }
        for channel in &self.channels {
            self.dora.says(channel, &question).send();
        }
    }

    /// What was shown, by room.
    fn shown(&self) -> BTreeMap<String, Vec<String>> {
        let telegram = self
            .chats
            .iter()
            .map(|(_, chat)| (format!("telegram {}", chat.id), self.stage.texts(chat)));
        let discord = self.channels.iter().map(|channel| {
            let texts =
                self.discord.shown(channel.id).into_iter().map(|shown| shown.text).collect();
            (format!("discord {}", channel.id), texts)
        });
        telegram.chain(discord).collect()
    }

    /// How many questions each room was asked.
    pub(super) fn asked(&self) -> usize {
        self.asked as usize
    }

    /// How many answers each room shows, in an order that stays.
    pub(super) fn answered(&self) -> Vec<usize> {
        self.shown().values().map(Vec::len).collect()
    }

    fn is_answered(&self) -> bool {
        let last = format!("A{}", self.asked);
        self.shown().values().all(|texts| texts.last() == Some(&last))
    }

    /// Waits until every question has its answer, each once and in order; how long that took.
    pub(super) async fn is_all_answered(&self) -> Duration {
        let begun = Instant::now();
        while !self.is_answered() {
            assert!(
                begun.elapsed() < Duration::from_secs(120),
                "not all is answered: {:#?}",
                self.unlike()
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let took = begun.elapsed();
        assert_eq!(self.unlike(), BTreeMap::new(), "{}", self.sends());
        took
    }

    /// Asks in every room, and how long each waits for that answer.
    pub(super) async fn silence(&mut self) -> Vec<Duration> {
        self.ask();
        let (begun, last) = (Instant::now(), format!("A{}", self.asked));
        let mut waited: BTreeMap<String, Duration> = BTreeMap::new();
        while waited.len() < self.chats.len() + self.channels.len() {
            for (room, texts) in self.shown() {
                if texts.last() == Some(&last) {
                    waited.entry(room).or_insert_with(|| begun.elapsed());
                }
            }
            assert!(
                begun.elapsed() < Duration::from_secs(120),
                "not all is answered: {:#?}",
                self.unlike()
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        waited.into_values().collect()
    }

    /// Every message that was to be sent on Telegram, when, and what came of it.
    fn sends(&self) -> String {
        let calls = self.stage.telegram.calls_of("sendMessage");
        let line = |call: &telegram::Call| {
            format!(
                "{:?} {:?} {:?} {:?}",
                call.instant,
                call.chat(),
                call.text("text"),
                call.answer
            )
        };
        calls.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    /// Rooms that show anything but every answer once and in order.
    fn unlike(&self) -> BTreeMap<String, Vec<String>> {
        let expected: Vec<String> = (1..=self.asked).map(|n| format!("A{n}")).collect();
        self.shown().into_iter().filter(|(_, texts)| *texts != expected).collect()
    }

    /// Asks at this pace until the time is over.
    pub(super) async fn talk(&mut self, times: u32, pause: Duration) {
        for _ in 0..times {
            self.ask();
            tokio::time::sleep(pause).await;
        }
    }

    /// What `galatea audit --json` tells.
    pub(super) async fn audit(&self) -> Value {
        let told = self.program(&Home::new()).args(["audit", "--json"]).run().await;
        assert_eq!(told.code, Some(0), "{}{}", told.stdout, told.stderr);
        serde_json::from_str(&told.stdout).unwrap()
    }

    /// Everything received is answered, and nothing is in doubt.
    pub(super) async fn is_accounted_for(&self) {
        let audit = self.audit().await;
        let received = u64::from(self.asked) * self.chats.len() as u64;
        for source in audit["sources"].as_array().unwrap() {
            assert_eq!(
                (source["received"].as_u64(), source["answered"].as_u64()),
                (Some(received), Some(received)),
                "{audit:#}"
            );
        }
        for list in ["messages", "parts", "unexplained"] {
            assert_eq!(audit["exceptions"][list], serde_json::json!([]), "{audit:#}");
        }
    }

    /// What `galatea cluster status --json` tells.
    pub(super) async fn status(&self) -> Value {
        let told = self.program(&Home::new()).args(["cluster", "status", "--json"]).run().await;
        serde_json::from_str(&told.stdout)
            .unwrap_or_else(|e| panic!("{e}: {}{}", told.stdout, told.stderr))
    }

    /// Waits until `cluster status` looks like this.
    pub(super) async fn wait_status(&self, what: &str, look: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        loop {
            let status = self.status().await;
            if look(&status) {
                return status;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "{what}: {status:#}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

/// How many parts of the rooms each living member has.
pub(super) fn spread(status: &Value) -> Vec<usize> {
    let of = |member: &Value| {
        let leases = status["leases"].as_array().unwrap().iter();
        leases
            .filter(|l| {
                l["member"] == member["id"]
                    && l["lease"]["part"].as_str().unwrap().starts_with("rooms:")
            })
            .count()
    };
    status["members"].as_array().unwrap().iter().map(of).collect()
}

/// What a process said tells why a test failed.
impl Drop for Node {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- a process of this test ---\n{}", self.running.output());
        }
    }
}

impl Node {
    /// `galatea status` beside it.
    pub(super) async fn status(&self, crowd: &Crowd) -> Value {
        let told = crowd.program(&self.home).args(["status", "--json"]).run().await;
        serde_json::from_str(&told.stdout)
            .unwrap_or_else(|e| panic!("{e}: {}{}", told.stdout, told.stderr))
    }
}
