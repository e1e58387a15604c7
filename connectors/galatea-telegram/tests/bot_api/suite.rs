//! Runs the shared connector suite against a loopback Bot API server.

use async_trait::async_trait;
use galatea_core::{ChannelType, Connector, ConnectorConfig, RemoteId, SecretString};
use galatea_telegram::TelegramConfig;
use galatea_testkit::{
    connector_suite::{
        ConnectorHarness, PlatformFault, Said, Shown, Spot, SpotKind, running::Hosts,
    },
    telegram::{BotApi, Chat, Effect, ErrorBody, Fault, User},
};
use std::sync::Arc;

galatea_testkit::connector_suite!(TelegramHarness);

struct TelegramHarness {
    api: BotApi,
    ann: User,
    group: Chat,
    forum: Chat,
    topic: i64,
    hosts: Hosts,
}

impl TelegramHarness {
    fn place(&self, spot: &Spot) -> (Chat, Option<i64>) {
        match spot.kind {
            SpotKind::Direct => (self.ann.direct(), None),
            SpotKind::Group => (self.group.clone(), None),
            SpotKind::Thread => (self.forum.clone(), Some(self.topic)),
        }
    }
}

fn number(id: &RemoteId) -> i64 {
    id.as_str().split_once(':').unwrap().1.parse().unwrap()
}

#[async_trait]
impl ConnectorHarness for TelegramHarness {
    async fn start() -> Self {
        let api = BotApi::start().await;
        api.set_privacy(false);
        let ann = api.user("Ann", "ann_b");
        let group = api.supergroup("Garden", &[&ann]);
        // Telegram sends reactions to administrators only.
        ann.promotes_bot(&group);
        let forum = api.forum("Forum", &[&ann]);
        let topic = ann.opens_topic(&forum, "Roses");
        Self { api, ann, group, forum, topic, hosts: Hosts::default() }
    }

    fn connector(&self) -> Arc<dyn Connector> {
        let mut config = TelegramConfig::new(SecretString::from(self.api.token()));
        config.api_root = self.api.url().parse().unwrap();
        config.build(&self.hosts.fresh()).unwrap()
    }

    fn canaries(&self) -> Vec<String> {
        let token = self.api.token();
        vec![token.split_once(':').unwrap().1.to_owned(), token]
    }

    async fn spot(&self, kind: SpotKind) -> Option<Spot> {
        let (chat, room, parent, channel) = match kind {
            SpotKind::Direct => (self.ann.id, self.ann.id.to_string(), None, ChannelType::Dm),
            SpotKind::Group => (self.group.id, self.group.id.to_string(), None, ChannelType::Group),
            SpotKind::Thread => (
                self.forum.id,
                format!("{}-{}", self.forum.id, self.topic),
                Some(RemoteId::new(self.forum.id)),
                ChannelType::Thread,
            ),
        };
        Some(Spot {
            kind,
            world: RemoteId::new(chat),
            room: RemoteId(room),
            parent,
            channel,
            speaker: RemoteId::new(self.ann.id),
            speaker_name: "Ann".into(),
        })
    }

    async fn say(&self, spot: &Spot, said: Said) -> RemoteId {
        let (chat, topic) = self.place(spot);
        let text = if said.mention {
            format!("@{} {}", self.api.bot_username(), said.text)
        } else {
            said.text
        };
        let mut saying = self.ann.says(&chat, &text);
        if let Some(topic) = topic {
            saying = saying.in_topic(topic);
        }
        if let Some(id) = &said.reply_to {
            saying = saying.reply_to(number(id));
        }
        let id = saying.send();
        RemoteId(format!("{}:{id}", chat.id))
    }

    async fn edit(&self, spot: &Spot, id: &RemoteId, text: &str) -> bool {
        self.ann.edits(&self.place(spot).0, number(id), text);
        true
    }

    async fn delete(&self, _: &Spot, _: &RemoteId) -> bool {
        false
    }

    async fn react(&self, spot: &Spot, id: &RemoteId, emoji: &str) -> bool {
        if spot.kind == SpotKind::Direct {
            return false;
        }
        self.ann.reacts(&self.place(spot).0, number(id), &[emoji]);
        true
    }

    async fn press(&self, spot: &Spot, id: &RemoteId, data: &str) {
        self.ann.presses(&self.place(spot).0, number(id), data);
    }

    async fn shown(&self, spot: &Spot, count: usize) -> Vec<Shown> {
        let chat = self.place(spot).0.id;
        let all =
            if count == 0 { self.api.shown(chat) } else { self.api.wait_shown(chat, count).await };
        let code = |text: &str, entities: &[serde_json::Value]| {
            let units: Vec<u16> = text.encode_utf16().collect();
            let at = |e: &serde_json::Value, field: &str| {
                usize::try_from(e[field].as_u64().unwrap()).unwrap()
            };
            let mono =
                entities.iter().filter(|e| matches!(e["type"].as_str(), Some("code" | "pre")));
            mono.map(|e| {
                String::from_utf16(&units[at(e, "offset")..at(e, "offset") + at(e, "length")])
                    .unwrap()
            })
            .collect()
        };
        all.into_iter()
            .map(|m| Shown {
                id: RemoteId(format!("{chat}:{}", m.id)),
                code: Some(code(&m.text, &m.entities)),
                text: m.text,
                reply_to: m.reply_to.map(|id| RemoteId(format!("{chat}:{id}"))),
                buttons: m.buttons,
                files: m.file.into_iter().map(|(_, name, bytes)| (name, bytes)).collect(),
            })
            .collect()
    }

    async fn reactions(&self, spot: &Spot, id: &RemoteId) -> Vec<String> {
        self.api.bot_reactions(self.place(spot).0.id, number(id))
    }

    async fn typing(&self, spot: &Spot) -> bool {
        let (chat, topic) = self.place(spot);
        self.api
            .actions()
            .iter()
            .any(|(at, thread, action)| *at == chat.id && *thread == topic && action == "typing")
    }

    async fn inject(&self, spot: &Spot, fault: PlatformFault) {
        let effect = match fault {
            PlatformFault::SlowDown(wait) => Effect::RateLimited(wait.as_secs()),
            PlatformFault::ServerError => Effect::ServerError(500, ErrorBody::Json),
            PlatformFault::LostResponse => Effect::LoseResponse,
            PlatformFault::Forbidden => return self.ann.blocks_bot(),
        };
        self.api.fault(Fault::new(effect).on("sendMessage").at(self.place(spot).0.id));
    }

    fn set_reachable(&self, reachable: bool) {
        self.api.set_reachable(reachable);
    }

    async fn redeliver(&self) {
        self.api.redeliver(1);
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
