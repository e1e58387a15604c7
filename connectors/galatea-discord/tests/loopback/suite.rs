//! Runs the shared connector suite against a loopback Discord.

use async_trait::async_trait;
use galatea_core::{ChannelType, Connector, ConnectorConfig, RemoteId, SecretString};
use galatea_discord::DiscordConfig;
use galatea_testkit::{
    connector_suite::{
        ConnectorHarness, PlatformFault, Said, Shown, Spot, SpotKind, running::Hosts,
    },
    discord::{Channel, DiscordApi, Effect, ErrorBody, Fault, Guild, User},
};
use std::sync::Arc;

galatea_testkit::connector_suite!(DiscordHarness);

struct DiscordHarness {
    api: DiscordApi,
    ann: User,
    guild: Guild,
    thread: Channel,
    hosts: Hosts,
}

impl DiscordHarness {
    fn place(&self, spot: &Spot) -> Channel {
        match spot.kind {
            SpotKind::Direct => self.ann.direct(),
            SpotKind::Group => self.guild.general(),
            SpotKind::Thread => self.thread.clone(),
        }
    }
}

fn number(id: &RemoteId) -> u64 {
    id.as_str().parse().unwrap()
}

#[async_trait]
impl ConnectorHarness for DiscordHarness {
    async fn start() -> Self {
        let api = DiscordApi::start().await;
        let ann = api.user("Ann", "ann_b");
        let guild = api.guild("Garden", &[&ann]);
        let thread = ann.opens_thread(&guild.general(), "Roses");
        Self { api, ann, guild, thread, hosts: Hosts::default() }
    }

    fn connector(&self) -> Arc<dyn Connector> {
        let mut config = DiscordConfig::new(SecretString::from(self.api.token()));
        config.api_root = self.api.url().parse().unwrap();
        config.build(&self.hosts.fresh()).unwrap()
    }

    fn canaries(&self) -> Vec<String> {
        let token = self.api.token();
        vec![token.rsplit_once('.').unwrap().1.to_owned(), token, "dc-canary".to_owned()]
    }

    async fn spot(&self, kind: SpotKind) -> Option<Spot> {
        let guild = self.guild.id;
        let (world, room, parent, channel) = match kind {
            SpotKind::Direct => (self.ann.direct().id, self.ann.direct().id, None, ChannelType::Dm),
            SpotKind::Group => (guild, self.guild.general().id, None, ChannelType::Group),
            SpotKind::Thread => (
                guild,
                self.thread.id,
                Some(RemoteId::new(self.guild.general().id)),
                ChannelType::Thread,
            ),
        };
        let speaker = RemoteId::new(self.ann.id);
        Some(Spot {
            kind,
            world: RemoteId::new(world),
            room: RemoteId::new(room),
            parent,
            channel,
            speaker,
            speaker_name: "Ann".into(),
        })
    }

    async fn say(&self, spot: &Spot, said: Said) -> RemoteId {
        // Before the bot's first session Discord keeps no events for it.
        if self.api.identified() == 0 {
            self.api.wait_connected(1).await;
        }
        let text =
            if said.mention { format!("{} {}", self.api.mention(), said.text) } else { said.text };
        let mut saying = self.ann.says(&self.place(spot), &text);
        if let Some(id) = &said.reply_to {
            saying = saying.reply_to(number(id));
        }
        RemoteId::new(saying.send())
    }

    async fn edit(&self, spot: &Spot, id: &RemoteId, text: &str) -> bool {
        self.ann.edits(&self.place(spot), number(id), text);
        true
    }

    async fn delete(&self, spot: &Spot, id: &RemoteId) -> bool {
        self.ann.deletes(&self.place(spot), &[number(id)]);
        true
    }

    async fn react(&self, spot: &Spot, id: &RemoteId, emoji: &str) -> bool {
        self.ann.reacts(&self.place(spot), number(id), emoji);
        true
    }

    async fn press(&self, spot: &Spot, id: &RemoteId, data: &str) {
        self.ann.presses(&self.place(spot), number(id), data);
    }

    async fn shown(&self, spot: &Spot, count: usize) -> Vec<Shown> {
        let channel = self.place(spot).id;
        let all = if count == 0 {
            self.api.shown(channel)
        } else {
            self.api.wait_shown(channel, count).await
        };
        all.into_iter()
            .map(|m| Shown {
                id: RemoteId::new(m.id),
                text: m.text,
                code: Some(m.code),
                reply_to: m.reply_to.map(RemoteId::new),
                buttons: m.buttons,
                files: m.files,
            })
            .collect()
    }

    async fn reactions(&self, spot: &Spot, id: &RemoteId) -> Vec<String> {
        self.api.bot_reactions(self.place(spot).id, number(id))
    }

    async fn typing(&self, spot: &Spot) -> bool {
        self.api.typing().contains(&self.place(spot).id)
    }

    async fn inject(&self, spot: &Spot, fault: PlatformFault) {
        let effect = match fault {
            PlatformFault::SlowDown(wait) => Effect::RateLimited(wait),
            PlatformFault::ServerError => Effect::ServerError(500, ErrorBody::Json),
            PlatformFault::LostResponse => Effect::LoseResponse,
            PlatformFault::Forbidden => return self.ann.takes_direct(false),
        };
        self.api.fault(Fault::new(effect).on("POST /channels/{}/messages").at(self.place(spot).id));
    }

    fn set_reachable(&self, reachable: bool) {
        self.api.set_reachable(reachable);
    }

    async fn redeliver(&self) {
        self.api.redeliver();
    }

    fn unacknowledged(&self) -> Option<usize> {
        Some(self.api.unacknowledged())
    }

    async fn wait_acknowledged(&self) {
        self.api.wait_acknowledged().await;
    }

    fn queues_while_away(&self) -> bool {
        true
    }
}
