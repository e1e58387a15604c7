//! The shared connector suite against the strict loopback Bot API server.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use async_trait::async_trait;
use galatea_core::{AgentIdentity, ChannelType, Connector, ConnectorConfig, Host, RemoteId, SecretString, SystemClock};
use galatea_telegram::TelegramConfig;
use galatea_testkit::{
    connector_suite::{ConnectorHarness, PlatformFault, Said, Shown, Spot, SpotKind},
    process::Home,
    telegram::{BotApi, Chat, Effect, ErrorBody, Fault, User},
};
use serde_json::Value;

/// One person, who is in every chat.
struct Telegram {
    api: BotApi,
    home: Home,
    ann: User,
    group: Chat,
    forum: Chat,
    topic: i64,
}

galatea_testkit::connector_suite!(Telegram);

impl Telegram {
    fn chat(&self, spot: &Spot) -> Chat {
        match spot.kind {
            SpotKind::Direct => self.ann.direct(),
            SpotKind::Group => self.group.clone(),
            SpotKind::Thread => self.forum.clone(),
        }
    }
}

fn message_of(id: &RemoteId) -> i64 {
    id.as_str().rsplit(':').next().and_then(|n| n.parse().ok()).expect("an id of a Telegram message")
}

#[async_trait]
impl ConnectorHarness for Telegram {
    async fn start() -> Self {
        let api = BotApi::start().await;
        let ann = api.user("Ann", "ann_b");
        let (group, forum) = (api.supergroup("Band", &[&ann]), api.forum("Forum", &[&ann]));
        // An administrator sees everything, privacy mode or not.
        ann.promotes_bot(&group);
        ann.promotes_bot(&forum);
        let topic = ann.opens_topic(&forum, "Cats");
        Self { api, home: Home::new(), ann, group, forum, topic }
    }

    fn connector(&self) -> Arc<dyn Connector> {
        let mut config = TelegramConfig::new(SecretString::from(self.api.token()));
        config.api_root = self.api.url().parse().unwrap();
        let host = Host {
            agent: AgentIdentity::new(None, "Galatea"),
            agent_name: "Galatea".to_owned(),
            data_dir: self.home.path().to_owned(),
            clock: Arc::new(SystemClock),
        };
        config.build(&host).unwrap()
    }

    fn canaries(&self) -> Vec<String> {
        let token = self.api.token();
        let secret = token.split_once(':').unwrap().1.to_owned();
        vec![token, secret]
    }

    async fn spot(&self, kind: SpotKind) -> Option<Spot> {
        let (world, thread, channel) = match kind {
            SpotKind::Direct => (self.ann.id, None, ChannelType::Dm),
            SpotKind::Group => (self.group.id, None, ChannelType::Group),
            SpotKind::Thread => (self.forum.id, Some(self.topic), ChannelType::Thread),
        };
        let room = thread.map_or(RemoteId::new(world), |t| RemoteId(format!("{world}-{t}")));
        let parent = thread.map(|_| RemoteId::new(world));
        Some(Spot { kind, world: RemoteId::new(world), room, parent, channel, speaker: RemoteId::new(self.ann.id), speaker_name: "Ann".to_owned() })
    }

    async fn say(&self, spot: &Spot, said: Said) -> RemoteId {
        let chat = self.chat(spot);
        let text = if said.mention { format!("@{} {}", self.api.bot_username(), said.text) } else { said.text };
        let mut saying = self.ann.says(&chat, &text);
        if let Some(id) = &said.reply_to {
            saying = saying.reply_to(message_of(id));
        }
        if spot.kind == SpotKind::Thread {
            saying = saying.in_topic(self.topic);
        }
        RemoteId(format!("{}:{}", chat.id, saying.send()))
    }

    async fn edit(&self, spot: &Spot, id: &RemoteId, text: &str) -> bool {
        self.ann.edits(&self.chat(spot), message_of(id), text);
        true
    }

    async fn delete(&self, _: &Spot, _: &RemoteId) -> bool {
        false
    }

    async fn react(&self, spot: &Spot, id: &RemoteId, emoji: &str) -> bool {
        self.ann.reacts(&self.chat(spot), message_of(id), &[emoji]);
        true
    }

    async fn press(&self, spot: &Spot, id: &RemoteId, data: &str) {
        let query = self.ann.presses(&self.chat(spot), message_of(id), data);
        self.api.wait_for("the press to be acknowledged", |api| api.is_answered(&query).then_some(())).await;
    }

    async fn shown(&self, spot: &Spot, count: usize) -> Vec<Shown> {
        let chat = self.chat(spot).id;
        let thread = (spot.kind == SpotKind::Thread).then_some(self.topic);
        let look = |api: &galatea_testkit::telegram::Handle| {
            let here: Vec<_> = api.shown(chat).into_iter().filter(|m| thread.is_none() || m.thread == thread).collect();
            (here.len() >= count).then_some(here)
        };
        let found = self.api.wait_for(&format!("{count} messages in {}", spot.room), look).await;
        found.into_iter().map(|m| seen(chat, m)).collect()
    }

    async fn reactions(&self, spot: &Spot, id: &RemoteId) -> Vec<String> {
        self.api.bot_reactions(self.chat(spot).id, message_of(id))
    }

    async fn typing(&self, spot: &Spot) -> bool {
        let chat = self.chat(spot).id;
        let thread = (spot.kind == SpotKind::Thread).then_some(self.topic);
        self.api.actions().contains(&(chat, thread, "typing".to_owned()))
    }

    async fn inject(&self, spot: &Spot, fault: PlatformFault) {
        let on = |effect| Fault::new(effect).on("sendMessage").chat(self.chat(spot).id);
        match fault {
            PlatformFault::SlowDown(wait) => self.api.fault(on(Effect::RateLimited(wait.as_secs()))),
            PlatformFault::ServerError => self.api.fault(on(Effect::ServerError(502, ErrorBody::Html))),
            PlatformFault::LostResponse => self.api.fault(on(Effect::LoseResponse)),
            PlatformFault::Forbidden => self.ann.blocks_bot(),
        }
    }

    fn set_reachable(&self, reachable: bool) {
        self.api.set_reachable(reachable);
    }

    async fn redeliver(&self) {
        self.api.redeliver(100);
    }

    fn unacknowledged(&self) -> Option<usize> {
        Some(self.api.pending_updates())
    }

    async fn wait_acknowledged(&self) {
        self.api.wait_confirmed().await;
    }

    fn queues_while_away(&self) -> bool {
        true
    }
}

fn seen(chat: i64, message: galatea_testkit::telegram::Shown) -> Shown {
    let units: Vec<u16> = message.text.encode_utf16().collect();
    let slice = |e: &Value| {
        let from = e["offset"].as_u64().unwrap() as usize;
        String::from_utf16(&units[from..from + e["length"].as_u64().unwrap() as usize]).unwrap()
    };
    let code = message.entities.iter().filter(|e| e["type"] == "pre" || e["type"] == "code").map(slice).collect();
    Shown {
        id: RemoteId(format!("{chat}:{}", message.id)),
        text: message.text.clone(),
        code: Some(code),
        reply_to: message.reply_to.map(|id| RemoteId(format!("{chat}:{id}"))),
        buttons: message.buttons,
        files: message.file.into_iter().map(|(_, name, bytes)| (name, bytes)).collect(),
    }
}
