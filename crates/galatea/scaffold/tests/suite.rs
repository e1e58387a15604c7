//! The suite every connector passes, over a loopback server of the platform.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod platform;

use async_trait::async_trait;
use galatea_core::{
    AgentIdentity, ChannelType, Connector, ConnectorConfig, Host, RemoteId, SystemClock,
};
use galatea_testkit::connector_suite::{
    ConnectorHarness, PlatformFault, Said, Shown, Spot, SpotKind,
};
use platform::{ACCOUNT, ANN, BAND, DIRECT, Message, Platform, TOKEN};
use std::sync::Arc;

use galatea_parrot::ParrotConfig;

galatea_testkit::connector_suite!(Harness);

struct Harness(Platform);

fn remote(id: u64) -> RemoteId {
    RemoteId::new(format_args!("parrot-{id}"))
}

fn number(id: &RemoteId) -> u64 {
    id.as_str().strip_prefix("parrot-").unwrap().parse().unwrap()
}

fn shown(message: &Message) -> Shown {
    Shown {
        id: remote(message.id),
        text: message.text.clone(),
        // The platform shows Markdown as it is written.
        code: None,
        reply_to: message.reply_to.map(remote),
        buttons: Vec::new(),
        files: Vec::new(),
    }
}

#[async_trait]
impl ConnectorHarness for Harness {
    async fn start() -> Self {
        Self(Platform::start().await)
    }

    fn connector(&self) -> Arc<dyn Connector> {
        let config = ParrotConfig { token: TOKEN.into(), api_root: self.0.url.clone() };
        let agent = AgentIdentity::new(None, "Galatea");
        let host = Host {
            agent,
            agent_name: "Galatea".into(),
            data_dir: std::env::temp_dir(),
            clock: Arc::new(SystemClock),
        };
        config.build(&host).unwrap()
    }

    fn canaries(&self) -> Vec<String> {
        vec![TOKEN.split_once(':').unwrap().1.to_owned()]
    }

    async fn spot(&self, kind: SpotKind) -> Option<Spot> {
        let (room, channel) = match kind {
            SpotKind::Direct => (DIRECT, ChannelType::Dm),
            SpotKind::Group => (BAND, ChannelType::Group),
            SpotKind::Thread => return None,
        };
        Some(Spot {
            kind,
            world: remote(room),
            room: remote(room),
            parent: None,
            channel,
            speaker: remote(ANN),
            speaker_name: "Ann".into(),
        })
    }

    async fn say(&self, spot: &Spot, said: Said) -> RemoteId {
        let mentions = if said.mention { vec![ACCOUNT] } else { Vec::new() };
        remote(self.0.say(
            number(&spot.room),
            &said.text,
            mentions,
            said.reply_to.as_ref().map(number),
        ))
    }

    async fn edit(&self, _: &Spot, _: &RemoteId, _: &str) -> bool {
        false
    }

    async fn delete(&self, _: &Spot, _: &RemoteId) -> bool {
        false
    }

    async fn react(&self, _: &Spot, _: &RemoteId, _: &str) -> bool {
        false
    }

    async fn press(&self, _: &Spot, _: &RemoteId, _: &str) {
        panic!("the platform has no buttons");
    }

    async fn shown(&self, spot: &Spot, count: usize) -> Vec<Shown> {
        let room = number(&spot.room);
        let ours = |s: &platform::State| {
            s.messages
                .iter()
                .filter(|m| m.room == room && m.from == ACCOUNT)
                .map(shown)
                .collect::<Vec<_>>()
        };
        self.0.wait_for(|s| Some(ours(s)).filter(|all| all.len() >= count)).await
    }

    async fn reactions(&self, _: &Spot, _: &RemoteId) -> Vec<String> {
        Vec::new()
    }

    async fn typing(&self, spot: &Spot) -> bool {
        let room = number(&spot.room);
        self.0.look(|s| s.typing.contains(&room))
    }

    async fn inject(&self, _: &Spot, fault: PlatformFault) {
        self.0.change(|s| s.fault = Some(fault));
    }

    fn set_reachable(&self, reachable: bool) {
        self.0.change(|s| s.away = !reachable);
    }

    async fn redeliver(&self) {
        self.0.change(|s| s.again = true);
    }

    fn unacknowledged(&self) -> Option<usize> {
        Some(self.0.look(platform::State::pending))
    }

    async fn wait_acknowledged(&self) {
        self.0.wait_for(|s| (s.pending() == 0).then_some(())).await;
    }

    fn queues_while_away(&self) -> bool {
        true
    }
}
