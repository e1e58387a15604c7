//! Environment of one cell of the matrix: a platform with two rooms, a model and a database.

use galatea_testkit::{
    discord::{self, DiscordApi},
    models::OpenAiServer,
    postgres,
    process::{Home, Program},
    telegram::{self, BotApi},
    x::{self, XApi},
};
use serde_json::Value;

use super::point::At;
use crate::{
    stage::{KEY, binary},
    truth::{self, Question, Room},
    x::with_x,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Platform {
    Telegram,
    Discord,
    X,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Store {
    Sqlite,
    Postgres,
}

pub(crate) struct World {
    scene: Scene,
    model: OpenAiServer,
    home: Home,
    database: Option<postgres::Database>,
    asked: [Vec<Question>; 2],
    next: u32,
}

/// The platform with two conversations: one in private and one in a group; on X two threads.
enum Scene {
    Telegram { api: BotApi, ann: telegram::User, rooms: [telegram::Chat; 2] },
    Discord { api: DiscordApi, ann: discord::User, rooms: [discord::Channel; 2] },
    X { api: XApi, people: [x::Person; 2], roots: [Option<u64>; 2] },
}

/// Evaluates the same expression for the handle of each platform.
macro_rules! on {
    ($scene:expr, $api:ident => $what:expr) => {
        match $scene {
            Scene::Telegram { api: $api, .. } => $what,
            Scene::Discord { api: $api, .. } => $what,
            Scene::X { api: $api, .. } => $what,
        }
    };
}

impl Scene {
    async fn set(platform: Platform) -> Self {
        match platform {
            Platform::Telegram => {
                let api = BotApi::start().await;
                let ann = api.user("Ann", "ann_b");
                api.set_privacy(false);
                let rooms = [ann.direct(), api.supergroup("Garden", &[&ann])];
                Self::Telegram { api, ann, rooms }
            }
            Platform::Discord => {
                let api = DiscordApi::start().await;
                let ann = api.user("Ann", "ann_b");
                let guild = api.guild("Garden", &[&ann]);
                let rooms = [ann.direct(), guild.general()];
                Self::Discord { api, ann, rooms }
            }
            Platform::X => {
                let api = XApi::start().await;
                let people = [api.user("Ann", "ann_x"), api.user("Bob", "bob_x")];
                Self::X { api, people, roots: [None, None] }
            }
        }
    }

    fn say(&mut self, room: usize, text: &str) {
        match self {
            Self::Telegram { api, ann, rooms } => {
                ann.says(&rooms[room], &format!("@{} {text}", api.bot_username())).send();
            }
            Self::Discord { api, ann, rooms } => {
                ann.says(&rooms[room], &format!("{} {text}", api.mention())).send();
            }
            Self::X { people, roots, .. } => {
                let text = format!("@galatea_test {text}");
                let said = roots[room].map_or_else(
                    || people[room].posts(&text),
                    |root| people[room].replies(root, &text),
                );
                roots[room].get_or_insert(said);
            }
        }
    }

    fn shown(&self, room: usize) -> Vec<String> {
        match self {
            Self::Telegram { api, rooms, .. } => {
                api.shown(rooms[room].id).into_iter().map(|m| m.text).collect()
            }
            Self::Discord { api, rooms, .. } => {
                api.shown(rooms[room].id).into_iter().map(|m| m.text).collect()
            }
            Self::X { api, roots, .. } => api
                .shown()
                .into_iter()
                .filter(|p| Some(p.conversation) == roots[room])
                .map(|p| p.text)
                .collect(),
        }
    }

    /// Number of words whose answer takes at least two parts.
    fn long(&self) -> u32 {
        match self {
            Self::Telegram { .. } => 800,
            Self::Discord { .. } => 400,
            Self::X { .. } => 60,
        }
    }
}

impl World {
    pub(crate) async fn set(platform: Platform, store: Store) -> Self {
        let database =
            if store == Store::Postgres { Some(postgres::Database::fresh().await) } else { None };
        let (scene, model) = (Scene::set(platform).await, OpenAiServer::start(KEY).await.unwrap());
        model.answer_with(truth::answer);
        Self { scene, model, home: Home::new(), database, asked: [Vec::new(), Vec::new()], next: 1 }
    }

    pub(crate) fn program(&self) -> Program {
        let program = Program::new(binary(), &self.home)
            .env("OPENAI_BASE_URL", self.model.base_url())
            .env("OPENAI_API_KEY", KEY)
            .env("BUSY_POLICY", "each")
            .env("SERVER_PORT", "0")
            .env("NO_COLOR", "1");
        let program = match &self.database {
            Some(database) => program.env("DATABASE_URL", database.url()),
            None => program,
        };
        match &self.scene {
            Scene::Telegram { api, .. } => {
                program.env("TELEGRAM_BOT_TOKEN", api.token()).env("TELEGRAM_API_ROOT", api.url())
            }
            Scene::Discord { api, .. } => {
                program.env("DISCORD_API_TOKEN", api.token()).env("DISCORD_API_ROOT", api.url())
            }
            Scene::X { api, .. } => with_x(program, api)
                .env("TWITTER_DRY_RUN", "false")
                .env("TWITTER_DAILY_SPEND_LIMIT", "20"),
        }
    }

    /// Discord keeps no events for a bot before its first session, and the session itself is
    /// stored. Without a message that waits in it, a kill during intake would affect only the
    /// session.
    pub(crate) async fn prepare(&mut self) {
        if let Scene::Discord { api, .. } = &self.scene {
            let mut running = self.program().arg("start").spawn();
            api.wait_connected(1).await;
            self.ask(false);
            self.answered().await;
            running.terminate();
            running.finish().await;
            self.ask(false);
        }
    }

    /// Asks a question in each room; with `long` its answer has two parts.
    pub(crate) fn ask(&mut self, long: bool) {
        for room in 0..2 {
            let question =
                Question { number: self.next, words: if long { self.scene.long() } else { 1 } };
            self.next += 1;
            self.asked[room].push(question);
            self.scene.say(room, &question.text());
        }
    }

    pub(crate) fn rooms(&self) -> [Room; 2] {
        [0, 1].map(|n| Room { asked: self.asked[n].clone(), shown: self.scene.shown(n) })
    }

    /// Waits until every question has its answer.
    pub(crate) async fn answered(&self) {
        let done = || self.rooms().iter().all(truth::is_answered).then_some(());
        on!(&self.scene, api => api.wait_for("every answer", |_| done()).await);
    }

    pub(crate) async fn audit(&self) -> Value {
        let done = self.program().args(["audit", "--json"]).run().await;
        serde_json::from_str(&done.stdout)
            .unwrap_or_else(|_| panic!("audit: {}{}", done.stdout, done.stderr))
    }

    /// Makes the platform hang at this step of the next send.
    pub(crate) fn hold(&self, at: At) {
        match &self.scene {
            Scene::Telegram { api, .. } => {
                use telegram::{Effect, Fault};
                let effect = match at {
                    At::Arrived => Effect::Hang,
                    At::Applied => Effect::ApplyAndHang,
                    At::Answered => return,
                };
                api.fault(Fault::new(effect).on("sendMessage"));
            }
            Scene::Discord { api, .. } => {
                use discord::{Effect, Fault};
                let effect = match at {
                    At::Arrived => Effect::Hang,
                    At::Applied => Effect::ApplyAndHang,
                    At::Answered => return,
                };
                api.fault(Fault::new(effect).on("POST /channels/{}/messages"));
            }
            Scene::X { api, .. } => {
                use x::{Effect, Fault};
                let effect = match at {
                    At::Arrived => Effect::Hang,
                    At::Applied => Effect::ApplyAndHang,
                    At::Answered => return,
                };
                api.fault(Fault::new(effect).on("POST /2/tweets"));
            }
        }
    }

    /// Number of sends so far, number of answered ones, and number of messages shown.
    pub(crate) fn sends(&self) -> Sends {
        let shown = (0..2).map(|room| self.scene.shown(room).len()).sum();
        let count = |answers: Vec<bool>| Sends {
            came: answers.len(),
            answered: answers.iter().filter(|a| **a).count(),
            shown,
        };
        match &self.scene {
            Scene::Telegram { api, .. } => {
                count(api.calls_of("sendMessage").iter().map(|c| c.answer.is_some()).collect())
            }
            Scene::Discord { api, .. } => count(
                api.calls_of("POST /channels/{}/messages")
                    .iter()
                    .map(|c| c.answer.is_some())
                    .collect(),
            ),
            Scene::X { api, .. } => {
                count(api.calls_of("POST /2/tweets").iter().map(|c| c.answer.is_some()).collect())
            }
        }
    }

    /// Waits until one more send than `before` has reached this step.
    pub(crate) async fn reaches(&self, at: At, before: Sends) {
        let look = || {
            let now = self.sends();
            let reached = match at {
                At::Arrived => now.came > before.came,
                At::Applied => now.shown > before.shown,
                At::Answered => now.answered > before.answered,
            };
            reached.then_some(())
        };
        on!(&self.scene, api => api.wait_for(&format!("a send to be {at:?}"), |_| look()).await);
    }

    pub(crate) fn story(&self) -> String {
        on!(&self.scene, api => api.story())
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Sends {
    came: usize,
    answered: usize,
    shown: usize,
}
