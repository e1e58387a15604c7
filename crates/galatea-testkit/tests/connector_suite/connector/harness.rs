//! The toy connector under the suite: what people do on its platform, and its faults.

use super::*;

#[async_trait]
impl<const BUG: u8> ConnectorHarness for Toy<BUG> {
    async fn start() -> Self {
        Self(Platform::default())
    }

    fn connector(&self) -> Arc<dyn Connector> {
        let capabilities = Capabilities {
            max_text: MAX,
            text_unit: TextUnit::CodePoints,
            edit: true,
            delete: true,
            react: true,
            typing: true,
            buttons: true,
            files: true,
            threads: false,
            read_back: ReadBack::Find,
            public: false,
        };
        let info = ConnectorInfo {
            source: Source::new("toy"),
            account: Account("toy".into()),
            capabilities,
        };
        Arc::new(ToyConnector::<BUG> { platform: self.0.clone(), info })
    }

    fn canaries(&self) -> Vec<String> {
        vec![SECRET.to_owned()]
    }

    async fn spot(&self, kind: SpotKind) -> Option<Spot> {
        let (room, channel) = match kind {
            SpotKind::Direct => (RemoteId::new("ann"), ChannelType::Dm),
            SpotKind::Group => (RemoteId::new("band"), ChannelType::Group),
            SpotKind::Thread => return None,
        };
        Some(Spot {
            kind,
            world: room.clone(),
            room,
            parent: None,
            channel,
            speaker: RemoteId::new("ann"),
            speaker_name: "Ann".into(),
        })
    }

    async fn say(&self, spot: &Spot, said: Said) -> RemoteId {
        let id = self.0.fresh();
        let to_us = said
            .reply_to
            .as_ref()
            .is_some_and(|r| self.0.lock().shown.iter().any(|(_, m)| m.id == *r));
        self.0.record_event(
            &spot.room,
            Did::Said {
                id: id.clone(),
                text: said.text,
                mention: said.mention,
                reply_to: said.reply_to,
                to_us,
            },
        );
        id
    }

    async fn edit(&self, spot: &Spot, id: &RemoteId, text: &str) -> bool {
        self.0.record_event(&spot.room, Did::Edited { id: id.clone(), text: text.to_owned() });
        true
    }

    async fn delete(&self, spot: &Spot, id: &RemoteId) -> bool {
        self.0.record_event(&spot.room, Did::Deleted { id: id.clone() });
        true
    }

    async fn react(&self, spot: &Spot, id: &RemoteId, emoji: &str) -> bool {
        self.0.record_event(&spot.room, Did::Reacted { id: id.clone(), emoji: emoji.to_owned() });
        true
    }

    async fn press(&self, spot: &Spot, id: &RemoteId, data: &str) {
        self.0.record_event(
            &spot.room,
            Did::Pressed { number: 1, message: id.clone(), data: data.to_owned() },
        );
    }

    async fn shown(&self, spot: &Spot, count: usize) -> Vec<Shown> {
        let mut changes = self.0.changed.subscribe();
        loop {
            let here: Vec<_> = self
                .0
                .lock()
                .shown
                .iter()
                .filter(|(room, _)| *room == spot.room)
                .map(|(_, m)| m.clone())
                .collect();
            if here.len() >= count {
                return here;
            }
            changes.changed().await.unwrap();
        }
    }

    async fn reactions(&self, _: &Spot, id: &RemoteId) -> Vec<String> {
        self.0.lock().reactions.iter().filter(|(m, _)| m == id).map(|(_, e)| e.clone()).collect()
    }

    async fn typing(&self, _: &Spot) -> bool {
        self.0.lock().typing
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
        let state = self.0.lock();
        Some(state.events.len() - state.acknowledged)
    }

    async fn wait_acknowledged(&self) {
        let mut changes = self.0.changed.subscribe();
        while self.unacknowledged() != Some(0) {
            changes.changed().await.unwrap();
        }
    }

    fn queues_while_away(&self) -> bool {
        true
    }
}
