//! The people and rooms of these tests, and a house whose time and models the test controls.

use galatea_core::{
    Batch, Incoming, MemoryKind, ModelInfo, Timestamp, model::TextRequest, store::MemoryQuery,
};
use galatea_store::Database;
use galatea_testkit::{clock::ManualClock, models::ScriptedModel};
use std::{sync::Arc, time::Duration};

use super::learner;
use crate::{
    house::{House, Plan, Spot, dm, group},
    models::prompt,
    platform::{PATIENCE, Platform},
};

/// A room of several people, open to its World.
pub(super) const CLUB: &str = "-500";
/// Two go by the name Anna.
pub(super) const PEOPLE: [(&str, &str); 3] = [("5001", "Anna"), ("5002", "Anna"), ("5003", "Bob")];

pub(super) struct Stage {
    pub(super) house: House,
    pub(super) clock: ManualClock,
    pub(super) reader: Arc<ScriptedModel>,
    pub(super) learner: Arc<ScriptedModel>,
    /// A second platform, if there is one.
    pub(super) abroad: Option<Arc<Platform>>,
}

impl Stage {
    /// With the standard plugin, which may lack a provider.
    pub(super) async fn build(without: Option<&str>) -> Self {
        Self::of(without, None, None).await
    }

    /// A stage with a second platform, and a store that outlives it.
    pub(super) async fn of(
        without: Option<&str>,
        abroad: Option<Arc<Platform>>,
        store: Option<&Database>,
    ) -> Self {
        let clock = ManualClock::at(Timestamp(1_777_888_800_000));
        let reader = Arc::new(ScriptedModel::saying("I see.").with_info(ModelInfo {
            provider: "scripted".into(),
            model: "reader".into(),
            ..ModelInfo::default()
        }));
        let learner = learner::model();
        let mut standard = galatea_bootstrap::plugin();
        standard.providers.retain(|provider| Some(provider.name()) != without);
        let mut plan = Plan::new(Arc::clone(&reader) as _)
            .plugin(standard)
            .set("LIMITS", "off")
            // Few, so that the talk soon leaves the prompt.
            .set("CONVERSATION_TOKENS", "600")
            .set("REFLECTION_INTERVAL", "1")
            .set("EVALUATION_PAUSE_SECONDS", "0")
            .clock(clock.shared());
        plan.models.small = Arc::clone(&learner) as _;
        plan.abroad.clone_from(&abroad);
        if let Some(store) = store {
            plan = plan.store(store);
        }
        let house = plan.build().await;
        Self { house, clock, reader, learner, abroad }
    }

    /// A message of a person under their name, a minute after the one before.
    pub(super) async fn say(&self, at: &Spot, text: &str) {
        self.clock.advance(Duration::from_secs(60));
        let mut message: Incoming = self.house.message(at, text);
        let name = PEOPLE.iter().find(|(id, _)| *id == at.person).map(|(_, name)| *name);
        if let Some(entity) = &mut message.connection.entity {
            entity.name = name.map(str::to_owned);
        }
        if at.room == CLUB {
            message.connection.room.metadata.insert("openToWorld".into(), true.into());
        }
        match self.abroad.as_ref().filter(|_| is_abroad(at)) {
            Some(abroad) => {
                let batch = Batch { events: vec![message], ..Batch::default() };
                abroad.gateway().await.receive(batch).await.unwrap();
            }
            None => drop(self.house.receive(vec![message]).await),
        }
        if at.mention || at.kind.is_direct() {
            self.house.quiet().await;
        }
    }

    /// The texts in answer to this message, here or on the second platform.
    pub(super) async fn answer(&self, at: &Spot, text: &str) -> String {
        let platform = match &self.abroad {
            Some(abroad) if is_abroad(at) => abroad,
            _ => &self.house.platform,
        };
        let before = platform.texts(at.room).len();
        self.say(at, text).await;
        self.house.quiet().await;
        platform.until_shown(at.room, before + 1).await[before..].join("\n")
    }

    /// Asks, and returns the prompt that the reader got, without the question itself.
    pub(super) async fn ask(&self, at: &Spot, question: &str) -> String {
        let before = self.reader.requests().len();
        self.say(at, question).await;
        let requests: Vec<TextRequest> = self.reader.requests();
        assert_eq!(requests.len(), before + 1, "one answer to {question}");
        prompt(&requests[before]).replace(question, "[the question]")
    }

    /// Waits until a fact with this text is stored.
    pub(super) async fn until_learnt(&self, text: &str) {
        let query = MemoryQuery::new(self.house.agent, 1_000).kind(MemoryKind::Facts);
        let wait = async {
            loop {
                let facts = self.house.store.memories(&query).await.unwrap();
                if facts.iter().any(|fact| fact.content.text.contains(text)) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        assert!(
            tokio::time::timeout(PATIENCE, wait).await.is_ok(),
            "never learnt: {text}; now {:?}",
            self.house.clock.now()
        );
    }
}

/// Rooms and people of the second platform have names, not numbers.
fn is_abroad(at: &Spot) -> bool {
    at.room.starts_with("abroad")
}

/// A person in the club.
pub(super) fn club(person: usize) -> Spot {
    group(CLUB, PEOPLE[person].0)
}

/// A person's direct chat.
pub(super) fn private(person: usize) -> Spot {
    dm(PEOPLE[person].0)
}
