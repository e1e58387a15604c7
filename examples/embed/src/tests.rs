//! The example as a test, with a model that says which role its instructions give it.

use async_trait::async_trait;
use galatea_core::{
    ModelInfo, Plugin, TextModel,
    model::{OnText, PluginModel, TextAnswer, TextRequest, Tier},
};
use std::sync::Arc;

use super::*;

struct InRole(ModelInfo);

#[async_trait]
impl TextModel for InRole {
    fn info(&self) -> &ModelInfo {
        &self.0
    }

    async fn generate(&self, request: &TextRequest, _: &OnText<'_>) -> Result<TextAnswer> {
        let system = request.system.as_deref().unwrap_or_default();
        let role = ["a poet", "a pirate", "a cook"]
            .into_iter()
            .find(|role| system.contains(&format!("You are {role}.")));
        let text = format!("I am {}.", role.unwrap_or("nobody"));
        Ok(TextAnswer { text, ..TextAnswer::default() })
    }
}

fn with_model(folder: &Path) -> Builder {
    let info =
        ModelInfo { provider: "test".into(), model: "in-role".into(), ..ModelInfo::default() };
    let model: Arc<dyn TextModel> = Arc::new(InRole(info));
    let plugin = [Tier::TextSmall, Tier::TextLarge]
        .into_iter()
        .fold(Plugin::new("in-role", "1.0.0", "Says which role the agent has"), |plugin, tier| {
            plugin.model(1, PluginModel::Text(tier, Arc::clone(&model)))
        });
    Galatea::builder().folder(folder).plugin(plugin)
}

/// Twice in one process and one folder: nothing of the first run is left but the database.
#[tokio::test]
async fn agents_are_asked_changed_restarted_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        for file in ["ada.json", "bob.json"] {
            let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("characters").join(file);
            fs::copy(from, folder.path().join(file)).unwrap();
        }
        let answers = converse(with_model(folder.path()), folder.path()).await.unwrap();
        assert_eq!(answers, ["I am a poet.", "I am a cook.", "I am a pirate.", "I am a cook."]);
    }
}
