//! After a change of the embedding model the old vectors answer until the new ones are there.

use async_trait::async_trait;
use galatea_core::{
    Clock, EmbeddingModel, MemoryKind, ModelInfo, Plugin, Result,
    store::{Day, MemoryQuery},
};
use galatea_store::Database;
use galatea_testkit::{clock::ManualClock, models::ScriptedModel};
use std::{sync::Arc, time::Duration};

use super::stage::CLUB;
use crate::{
    house::{House, Plan, group},
    models::prompt,
    platform::PATIENCE,
};

const TOLD: &str = "the kettle stands in the cellar";
/// No word of it is a word of what was told.
const ASKED: &str = "how do I boil some water?";

/// A model that knows of hot water and of nothing else. The later one has wider vectors and may ask
/// the one before it.
struct Hot {
    info: ModelInfo,
    width: usize,
    before: Option<Arc<Hot>>,
}

impl Hot {
    fn of(model: &str, width: usize, before: Option<Arc<Self>>) -> Arc<Self> {
        let info =
            ModelInfo { provider: "test".into(), model: model.into(), ..ModelInfo::default() };
        Arc::new(Self { info, width, before })
    }
}

#[async_trait]
impl EmbeddingModel for Hot {
    fn info(&self) -> &ModelInfo {
        &self.info
    }
    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>> {
        let vector = |text: &String| {
            let hot = text.contains("kettle") || text.contains("water");
            // Models of another width are other models from the first number on.
            let mut vector = vec![0.05 * self.width as f32; self.width];
            vector[usize::from(hot)] = 1.0;
            vector
        };
        Ok(texts.iter().map(vector).collect())
    }
    fn sibling(&self, full_name: &str) -> Option<Arc<dyn EmbeddingModel>> {
        let before = self.before.clone()?;
        (before.info.full_name() == full_name).then_some(before as _)
    }
}

async fn house(
    store: &Database,
    clock: &ManualClock,
    reader: &Arc<ScriptedModel>,
    model: Arc<Hot>,
    standard: Plugin,
) -> House {
    let mut plan = Plan::new(Arc::clone(reader) as _)
        .plugin(standard)
        .set("EVALUATION_PAUSE_SECONDS", "0")
        .set("CONVERSATION_LENGTH", "4")
        .clock(clock.shared())
        .store(store);
    plan.models.embedding = Some(model);
    plan.build().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn old_vectors_find_what_words_cannot_while_the_new_model_has_embedded_nothing() {
    let store = Database::in_memory().await.unwrap();
    let clock = ManualClock::new();
    let reader = Arc::new(ScriptedModel::saying("I see.").with_info(ModelInfo {
        provider: "scripted".into(),
        model: "reader".into(),
        ..ModelInfo::default()
    }));
    let at = group(CLUB, "5001");
    let before = Hot::of("before", 3, None);
    let mut standard = galatea_bootstrap::plugin();
    standard.evaluators.clear();
    let first = house(&store, &clock, &reader, Arc::clone(&before), standard).await;
    for n in 0..12 {
        clock.advance(Duration::from_secs(5));
        let text = if n == 0 { TOLD.to_owned() } else { format!("remark number {n}") };
        first.say(&at, &text).await;
    }
    let waiting = MemoryQuery::new(first.agent, 100).kind(MemoryKind::Messages);
    let embedded = async {
        while !first
            .store
            .without_embedding(&waiting, "test before", None)
            .await
            .unwrap()
            .is_empty()
        {
            clock.advance(Duration::from_secs(1));
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, embedded).await.unwrap();
    assert!(first.orchestrator.stop(PATIENCE).await);

    // Without the service the new model never embeds what is stored.
    let mut standard = galatea_bootstrap::plugin();
    standard.evaluators.clear();
    standard.services.clear();
    let after = Hot::of("after", 5, Some(before));
    let second = house(&store, &clock, &reader, after, standard).await;
    clock.advance(Duration::from_secs(60));
    // Ids of the first house are known in the store.
    let asking = group(CLUB, "5001").mentioning();
    let message = asking.message(clock.now(), "asked", ASKED);
    let asked = second.id_of(&message);
    second.receive(vec![message]).await;
    second.platform.until_shown(CLUB, 1).await;
    second.quiet().await;
    let shown = prompt(reader.requests().last().unwrap());
    assert!(shown.contains(TOLD), "{shown}");
    let steps = second.explain(asked).await.steps;
    let noted = |step: &&galatea_core::verdict::Step| step.reason.contains("found by words");
    assert_eq!(steps.iter().find(noted), None, "both models answered");
    let person = second.entity(&at);
    let used = second.store.usage(Some(second.agent), Day(0)).await.unwrap();
    for model in ["test before", "test after"] {
        let calls: u64 = used
            .iter()
            .filter(|row| row.person == person && row.model == model)
            .map(|row| row.amount.input)
            .sum();
        assert!(calls > 0, "{model} is counted: {used:?}");
    }
}
