//! Runs the suite of all connectors against a loopback server of the X API.

use async_trait::async_trait;
use bytes::Bytes;
use galatea_core::{ChannelType, Connector, ConnectorConfig, Media, MediaKind, RemoteId};
use galatea_testkit::{
    connector_suite::{
        ConnectorHarness, PlatformFault, Said, Shown, Spot, SpotKind, running::Hosts,
    },
    x::{Effect, ErrorBody, Fault, Person, XApi},
};
use galatea_x::{Credentials, PollPace, Usd, XConfig};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

galatea_testkit::connector_suite!(XHarness);

struct XHarness {
    api: XApi,
    ann: Person,
    bob: Person,
    /// The conversations, and whether each has begun.
    spots: Mutex<HashMap<String, bool>>,
    hosts: Hosts,
}

fn number(id: &RemoteId) -> u64 {
    id.as_str().parse().unwrap()
}

#[async_trait]
impl ConnectorHarness for XHarness {
    async fn start() -> Self {
        let api = XApi::start().await;
        let (ann, bob) = (api.user("Ann", "ann_b"), api.user("Bob", "bob_c"));
        Self { api, ann, bob, spots: Mutex::default(), hosts: Hosts::default() }
    }

    fn connector(&self) -> Arc<dyn Connector> {
        let keys = self.api.keys();
        let mut config = XConfig::new(Credentials::OAuth1 {
            api_key: keys.api_key.into(),
            api_secret: keys.api_secret.into(),
            token: keys.token.into(),
            token_secret: keys.token_secret.into(),
        });
        config.api_root = self.api.url().parse().unwrap();
        config.dry_run = false;
        config.daily_limit = Usd::from_cents(100_000);
        config.poll =
            PollPace { fastest: Duration::from_millis(250), slowest: Duration::from_millis(250) };
        config.build(&self.hosts.fresh()).unwrap()
    }

    fn canaries(&self) -> Vec<String> {
        self.api.secrets()
    }

    async fn spot(&self, kind: SpotKind) -> Option<Spot> {
        let speaker = match kind {
            SpotKind::Direct => &self.ann,
            SpotKind::Group => &self.bob,
            SpotKind::Thread => return None,
        };
        let room = self.api.reserve().to_string();
        self.spots.lock().unwrap().insert(room.clone(), false);
        Some(Spot {
            kind,
            world: RemoteId::new(speaker.id),
            room: RemoteId(room),
            parent: None,
            channel: ChannelType::Feed,
            speaker: RemoteId::new(speaker.id),
            speaker_name: if kind == SpotKind::Direct { "Ann" } else { "Bob" }.into(),
        })
    }

    async fn say(&self, spot: &Spot, said: Said) -> RemoteId {
        let speaker = if spot.kind == SpotKind::Direct { &self.ann } else { &self.bob };
        let begun = self.spots.lock().unwrap().insert(spot.room.0.clone(), true).unwrap();
        let text = format!("@{} {}", self.api.account_handle(), said.text);
        let to_us = said
            .reply_to
            .as_ref()
            .is_some_and(|id| self.api.shown().iter().any(|s| s.id == number(id)));
        match (&said.reply_to, begun) {
            (Some(to), _) => {
                RemoteId::new(speaker.replies(number(to), if to_us { &said.text } else { &text }))
            }
            (None, true) => RemoteId::new(speaker.replies(number(&spot.room), &text)),
            (None, false) => {
                speaker.posts_as(number(&spot.room), &text);
                spot.room.clone()
            }
        }
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
        panic!("X has no buttons");
    }

    async fn shown(&self, spot: &Spot, count: usize) -> Vec<Shown> {
        let room = number(&spot.room);
        let here = move |h: &galatea_testkit::x::Handle| {
            h.shown().into_iter().filter(|s| s.conversation == room).collect::<Vec<_>>()
        };
        let all = self
            .api
            .wait_for(&format!("{count} posts in {room}"), |h| {
                Some(here(h)).filter(|s| s.len() >= count)
            })
            .await;
        all.into_iter()
            .map(|s| Shown {
                id: RemoteId::new(s.id),
                text: s.text,
                code: None,
                reply_to: s.reply_to.map(RemoteId::new),
                buttons: Vec::new(),
                // X stores no file names; people see the description.
                files: s
                    .media
                    .into_iter()
                    .map(|(_, bytes, alt)| (alt.unwrap_or_default(), bytes))
                    .collect(),
            })
            .collect()
    }

    async fn reactions(&self, _: &Spot, _: &RemoteId) -> Vec<String> {
        Vec::new()
    }

    async fn typing(&self, _: &Spot) -> bool {
        false
    }

    async fn inject(&self, _: &Spot, fault: PlatformFault) {
        let effect = match fault {
            PlatformFault::SlowDown(wait) => Effect::RateLimited(wait.as_secs() + 1),
            PlatformFault::ServerError => Effect::ServerError(503, ErrorBody::Json),
            PlatformFault::LostResponse => Effect::LoseResponse,
            PlatformFault::Forbidden => return self.api.set_suspended(true),
        };
        self.api.fault(Fault::new(effect).on("POST /2/tweets"));
    }

    fn set_reachable(&self, reachable: bool) {
        self.api.set_reachable(reachable);
    }

    async fn redeliver(&self) {
        self.api.ignore_since(1);
    }

    fn unacknowledged(&self) -> Option<usize> {
        None
    }

    async fn wait_acknowledged(&self) {}

    fn queues_while_away(&self) -> bool {
        true
    }

    fn hears_only_mentions(&self) -> bool {
        true
    }

    fn file(&self) -> (Media, Bytes) {
        let media = Media {
            id: "p".into(),
            url: "data:image/png;base64,aGVsbG8gd29ybGQ=".into(),
            title: "a shell".into(),
            description: "a shell".into(),
            content_type: MediaKind::Image,
            mime: Some("image/png".into()),
            ..Media::default()
        };
        (media, Bytes::from_static(b"hello world"))
    }
}
