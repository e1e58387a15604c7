//! Many rooms with people who ask at once, and processes that share the work of answering them.

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

/// Environment of one test: two platforms, a model, a database, and rooms on both platforms.
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

/// A process with its own data folder.
pub(super) struct Node {
    pub(super) running: Running,
    home: Home,
}

impl Crowd {
    /// An environment with this many rooms on each platform.
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

    /// The program on this database, with its own data folder.
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

    /// Starts a process and waits until it is ready.
    pub(super) async fn node(&self, role: &str) -> Node {
        let node = self.begin(role);
        node.running.wait_for_line("ready in").await;
        node
    }

    /// Starts a process without waiting.
    pub(super) fn begin(&self, role: &str) -> Node {
        let home = Home::new();
        let running = self.program(&home).args(["start", "--role", role]).spawn();
        Node { running, home }
    }

    /// Asks one more question in every room.
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

    /// The agent's messages by room.
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

    /// Number of questions asked in each room.
    pub(super) fn asked(&self) -> usize {
        self.asked as usize
    }

    /// Number of answers in each room, always in the same order of rooms.
    pub(super) fn answered(&self) -> Vec<usize> {
        self.shown().values().map(Vec::len).collect()
    }

    fn is_answered(&self) -> bool {
        let last = format!("A{}", self.asked);
        self.shown().values().all(|texts| texts.last() == Some(&last))
    }

    /// Waits until every question is answered, once and in order. Returns the time it took.
    pub(super) async fn is_all_answered(&self) -> Duration {
        let begun = Instant::now();
        while !self.is_answered() {
            assert!(
                begun.elapsed() < Duration::from_secs(120),
                "unanswered or wrongly answered rooms: {:#?}",
                self.unlike()
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let took = begun.elapsed();
        assert_eq!(self.unlike(), BTreeMap::new(), "{}", self.sends());
        took
    }

    /// Asks a question in every room and returns how long each waited for its answer.
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
                "unanswered or wrongly answered rooms: {:#?}",
                self.unlike()
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        waited.into_values().collect()
    }

    /// Every send on Telegram with its time and answer.
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

    /// Rooms whose answers are not exactly one per question, in order.
    fn unlike(&self) -> BTreeMap<String, Vec<String>> {
        let expected: Vec<String> = (1..=self.asked).map(|n| format!("A{n}")).collect();
        self.shown().into_iter().filter(|(_, texts)| *texts != expected).collect()
    }

    /// Asks `times` rounds of questions with this pause between them.
    pub(super) async fn talk(&mut self, times: u32, pause: Duration) {
        for _ in 0..times {
            self.ask();
            tokio::time::sleep(pause).await;
        }
    }

    /// Output of `galatea audit --json`.
    pub(super) async fn audit(&self) -> Value {
        let output = self.program(&Home::new()).args(["audit", "--json"]).run().await;
        assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
        serde_json::from_str(&output.stdout).unwrap()
    }

    /// Checks that every received message is answered and no outcome is unknown.
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

    /// Output of `galatea cluster status --json`.
    pub(super) async fn status(&self) -> Value {
        let output = self.program(&Home::new()).args(["cluster", "status", "--json"]).run().await;
        serde_json::from_str(&output.stdout)
            .unwrap_or_else(|e| panic!("{e}: {}{}", output.stdout, output.stderr))
    }

    /// Waits until the output of `cluster status` satisfies `look`.
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

/// Number of room partitions that each live member owns.
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

/// Shows the process's output when a test fails.
impl Drop for Node {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- a process of this test ---\n{}", self.running.output());
        }
    }
}

impl Node {
    /// Id of this process among those that share the database.
    pub(super) fn member(&self) -> String {
        std::fs::read_to_string(self.home.path().join("member")).unwrap().trim().to_owned()
    }

    /// Output of `galatea status` for this process.
    pub(super) async fn status(&self, crowd: &Crowd) -> Value {
        let output = crowd.program(&self.home).args(["status", "--json"]).run().await;
        serde_json::from_str(&output.stdout)
            .unwrap_or_else(|e| panic!("{e}: {}{}", output.stdout, output.stderr))
    }
}
