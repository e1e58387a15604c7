//! After a change of the embedding model the old vectors of pieces answer until the new ones are there.

use galatea_core::{Error, ErrorKind};
use std::sync::atomic::AtomicBool;

use super::*;

/// No word of it is a word of the documents.
const ASKED: &str = "how do I boil something?";

/// A model that knows of kettles and of nothing else. To the earlier one everything is rather alike.
struct Hot {
    info: ModelInfo,
    alike: f32,
    before: Option<Arc<Hot>>,
    /// It takes questions only.
    refuses_pieces: AtomicBool,
}

impl Hot {
    fn of(model: &str, alike: f32, before: Option<Arc<Self>>) -> Arc<Self> {
        let info =
            ModelInfo { provider: "test".into(), model: model.into(), ..ModelInfo::default() };
        Arc::new(Self { info, alike, before, refuses_pieces: AtomicBool::new(false) })
    }
}

#[async_trait]
impl EmbeddingModel for Hot {
    fn info(&self) -> &ModelInfo {
        &self.info
    }
    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>> {
        let is_piece = |text: &String| text.contains("cellar") || text.contains("gate");
        if self.refuses_pieces.load(Ordering::Relaxed) && texts.iter().any(is_piece) {
            return Err(Error::new(ErrorKind::Unavailable, "busy"));
        }
        let vector = |text: &String| {
            let hot = text.contains("kettle") || text.contains("boil");
            vec![f32::from(u8::from(hot)), f32::from(u8::from(!hot)), self.alike]
        };
        Ok(texts.iter().map(vector).collect())
    }
    fn sibling(&self, full_name: &str) -> Option<Arc<dyn EmbeddingModel>> {
        let before = self.before.clone()?;
        (before.info.full_name() == full_name).then_some(before as _)
    }
}

/// Two documents, embedded by a model before the one that is returned.
async fn embedded_before(store: &Arc<dyn Store>, folder: &Path) -> Arc<Hot> {
    write(&folder.join("kettle.txt"), "The kettle stands in the cellar.", 1);
    write(&folder.join("garden.txt"), "The garden gate is painted green.", 1);
    let before = Hot::of("before", 1.5, None);
    let library = library("Eliza", store, vec![(folder, false)], Some(before.clone()));
    assert_eq!(library.sync(&|_| {}).await.unwrap().embedded, 2);
    Hot::of("after", 0.3, Some(before))
}

#[tokio::test]
async fn old_vectors_find_pieces_and_what_they_say_is_read_in_the_range_of_the_new_model() {
    let (store, folder) = (store().await, tempfile::tempdir().unwrap());
    let after = embedded_before(&store, folder.path()).await;
    let library = library("Eliza", &store, vec![(folder.path(), false)], Some(after));
    let plugin_store = Arc::clone(&store) as Arc<dyn galatea_core::store::PluginStore>;
    let finds = async || {
        let asked = library.meanings(&Questions::default(), ASKED).await.unwrap();
        assert_eq!(asked.note, None);
        let agents = [library.agent(), shared_agent()];
        let found = search(&*plugin_store, &agents, ASKED, &asked.meanings, 9).await.unwrap();
        let all: Vec<f32> = found.iter().filter_map(|found| found.similarity).collect();
        let relevant = relevant(found, asked.meanings.first());
        let texts: Vec<String> = relevant.into_iter().map(|found| found.piece.text).collect();
        let models: Vec<String> = asked.meanings.into_iter().map(|of| of.model).collect();
        (models, all, texts)
    };
    let (models, all, texts) = finds().await;
    assert_eq!(models, ["test after", "test before"]);
    assert_eq!(texts, ["The kettle stands in the cellar."]);
    // The earlier model takes the gate for 0.69 alike, as it does all else.
    assert!(all.len() == 2 && all[0] > 0.99 && all[1] < 0.15, "{all:?}");
    let rows = store.usage(Some(library.agent()), Day(0)).await.unwrap();
    let calls = |model: &str| {
        let of_model = rows.iter().filter(|row| row.model == model);
        of_model.map(|row| row.amount.calls).sum::<u64>()
    };
    assert_eq!((calls("test after"), calls("test before")), (1, 2), "the documents, too: {rows:?}");

    assert_eq!(library.sync(&|_| {}).await.unwrap().embedded, 2);
    let (models, all, texts) = finds().await;
    assert_eq!(models, ["test after"], "nothing waits");
    assert_eq!(texts, ["The kettle stands in the cellar."]);
    assert!(all.len() == 2 && all[0] > 0.99 && all[1] < 0.15, "{all:?}");
}

#[tokio::test]
async fn a_prompt_shows_pieces_that_the_new_model_has_not_embedded_yet() {
    let (store, folder) = (store().await, tempfile::tempdir().unwrap());
    let after = embedded_before(&store, folder.path()).await;
    // The service finds no answer at the start, so that the pieces keep their old vectors.
    after.refuses_pieces.store(true, Ordering::Relaxed);
    let library = library("Eliza", &store, vec![(folder.path(), false)], Some(after.clone()));
    let model = Arc::new(ScriptedModel::saying("In the cellar [1]."));
    let mut plan =
        Plan::new(model.clone()).plugin(galatea_knowledge::plugin(library, Duration::ZERO));
    plan.store = Some(Arc::clone(&store));
    plan.models.embedding = Some(after);
    let house = plan.build().await;
    house.say(&dm("7"), ASKED).await;
    house.quiet().await;
    let prompt = models::prompt(&model.requests()[0]);
    assert!(prompt.contains("[1] kettle\n  The kettle stands in the cellar."), "{prompt}");
    assert!(!prompt.contains("garden"), "{prompt}");
    let person = house.entity(&dm("7"));
    let rows = store.usage(Some(house.agent), Day(0)).await.unwrap();
    for model in ["test after", "test before"] {
        let counted = rows.iter().any(|row| row.person == person && row.model == model);
        assert!(counted, "{model} is counted: {rows:?}");
    }
}

#[tokio::test]
async fn documents_of_an_earlier_reading_are_read_again_once_and_keep_equal_pieces() {
    let (store, folder) = (store().await, tempfile::tempdir().unwrap());
    write(&folder.path().join("kettle.txt"), "The kettle stands in the cellar.", 1);
    let library = || library("Eliza", &store, vec![(folder.path(), false)], None);
    assert_eq!(library().sync(&|_| {}).await.unwrap().pieces, 1);
    let query = MemoryQuery::new(library().agent(), 9).kind(MemoryKind::Documents);
    let row = store.memories(&query).await.unwrap().remove(0);
    let mut content = row.content;
    let record = content.extra.get_mut("knowledge").and_then(|record| record.as_object_mut());
    assert!(record.unwrap().remove("reading").is_some());
    store.update_content(library().agent(), row.id, &content).await.unwrap();
    let again = library().sync(&|_| {}).await.unwrap();
    assert_eq!((again.read, again.pieces, again.removed), (1, 0, 0), "{again:?}");
    assert!(library().sync(&|_| {}).await.unwrap().is_empty());
}
