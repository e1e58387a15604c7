//! Tests of the models that embedded before the present one.

use super::*;

/// A model of a service that has others.
struct Service {
    info: ModelInfo,
    has: Vec<Arc<Named>>,
}

impl Service {
    fn of(name: &str, has: Vec<Arc<Named>>) -> Arc<Self> {
        Arc::new(Self { info: named(name, false).info.clone(), has })
    }
}

#[async_trait]
impl EmbeddingModel for Service {
    fn info(&self) -> &ModelInfo {
        &self.info
    }
    async fn embed(&self, _: &[String]) -> Result<Vec<Vec<f32>>> {
        Ok(Vec::new())
    }
    fn sibling(&self, full_name: &str) -> Option<Arc<dyn EmbeddingModel>> {
        let of_name = |model: &&Arc<Named>| model.info.full_name() == full_name;
        self.has.iter().find(of_name).map(|model| Arc::clone(model) as _)
    }
}

fn embeds(model: &Arc<impl EmbeddingModel + 'static>) -> PluginModel {
    PluginModel::Embedding(Arc::clone(model) as _)
}

#[tokio::test]
async fn what_embedded_before_a_plugins_model_is_found() {
    let (earlier, hidden, remote) =
        (named("earlier", false), named("hidden", false), named("remote", false));
    let own = Service::of("own", vec![remote.clone()]);
    let models = Models { embedding: Some(own), ..Models::of_text(named("text", false)) };
    let present = Service::of("present", vec![hidden.clone()]);
    let brought = vec![(-1, embeds(&earlier)), (5, embeds(&present))];
    let embedding = joined(models, brought, &[]).embedding.unwrap();
    assert_eq!(embedding.info().model, "present");
    for (name, is_asked) in [
        ("earlier", Some(&earlier)),
        ("hidden", Some(&hidden)),
        ("remote", Some(&remote)),
        ("own", None),
    ] {
        let older = embedding.sibling(&format!("test {name}")).unwrap_or_else(|| panic!("{name}"));
        assert_eq!(older.info().model, name);
        older.embed(&[String::new()]).await.unwrap();
        let asked = is_asked.map(|model| model.asked.lock().unwrap().len());
        assert!(asked.is_none_or(|asked| asked == 1), "{name}: {asked:?}");
    }
    assert!(embedding.sibling("test present").is_none());
    assert!(embedding.sibling("test unknown").is_none());
}

#[tokio::test]
async fn an_earlier_model_that_hangs_is_bounded_and_left_alone() {
    let hung = named("hung", false);
    hung.hangs.store(true, Relaxed);
    let clock = Arc::new(Jump::default());
    let brought = vec![(5, embeds(&Service::of("present", vec![hung.clone()])))];
    let models = Models::of_text(named("text", false));
    let dependencies = Dependencies::default();
    let models = joined_at(models, brought, &[], clock.clone(), &dependencies);
    let embedding = models.embedding.unwrap();
    let before = clock.now();
    for _ in 0..9 {
        let older = embedding.sibling("test hung").unwrap();
        older.embed(&[String::new()]).await.unwrap_err();
    }
    assert_eq!(hung.asked.lock().unwrap().len(), 5, "the breaker opens after five failures");
    assert_eq!(clock.now().since(before), 5 * EMBEDDING);
}

#[tokio::test]
async fn the_configured_model_finds_what_a_plugin_embedded_before() {
    let plugins = named("plugins", false);
    let own = Service::of("own", Vec::new());
    let models = Models { embedding: Some(own), ..Models::of_text(named("text", false)) };
    let embedding = joined(models, vec![(-1, embeds(&plugins))], &[]).embedding.unwrap();
    assert_eq!(embedding.info().model, "own");
    let older = embedding.sibling("test plugins").unwrap();
    older.embed(&[String::new()]).await.unwrap();
    assert_eq!(plugins.asked.lock().unwrap().len(), 1);
}
