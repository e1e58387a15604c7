//! A plugin asks for an object. The models that plugins register for objects answer first, and each
//! call is counted.

use async_trait::async_trait;
use galatea_core::{
    Fragment, ModelInfo, Plugin, Provider, ProviderUse, Result, TextModel, Turn,
    model::{ObjectModel, ObjectModels, ObjectTier, TextAnswer, TextRequest, object},
    store::Day,
};
use galatea_testkit::models::ScriptedModel;
use serde_json::{Value, json};
use std::sync::Arc;

use crate::{
    house::{Plan, dm},
    models::prompt,
};

/// Writes objects, as a service does that constrains what is generated.
struct Constrained(ScriptedModel);

#[async_trait]
impl ObjectModel for Constrained {
    fn info(&self) -> &ModelInfo {
        TextModel::info(&self.0)
    }
    async fn generate_object(&self, request: &TextRequest, _: &Value) -> Result<TextAnswer> {
        self.0.generate(request, &|_| {}).await
    }
}

/// Shows an object in the prompt.
struct Mood;

#[async_trait]
impl Provider for Mood {
    fn name(&self) -> &'static str {
        "MOOD"
    }
    fn description(&self) -> &'static str {
        "The mood of the speaker"
    }
    fn position(&self) -> i32 {
        0
    }
    fn when(&self) -> ProviderUse {
        ProviderUse::Always
    }
    async fn provide(&self, turn: &Turn<'_>) -> Result<Fragment> {
        let schema = json!({ "type": "object", "required": ["mood"], "properties": { "mood": { "type": "string" } } });
        let request = TextRequest::prompt(None, turn.message.content.text.as_str());
        let made =
            object::generate(turn.models, ObjectTier::ObjectSmall, &request, &schema).await?;
        Ok(Fragment::text(format!("The mood is {}.", made.value["mood"])))
    }
}

#[tokio::test]
async fn an_object_model_answers_a_plugin_and_its_calls_are_counted() {
    let info = |model: &str| ModelInfo {
        provider: "test".into(),
        model: model.into(),
        ..ModelInfo::default()
    };
    let reader = Arc::new(ScriptedModel::saying("I see.").with_info(info("reader")));
    let planner = Arc::new(Constrained(ScriptedModel::new().with_info(info("planner"))));
    // The first answer does not fit.
    planner.0.enqueue("{\"mood\": 3}");
    planner.0.enqueue("{\"mood\": \"glad\"}");
    let mut plan = Plan::new(Arc::clone(&reader) as _)
        .plugin(Plugin::new("moods", "1.0.0", "feels").provider(Mood));
    plan.models.objects = ObjectModels { small: vec![planner.clone()], ..ObjectModels::default() };
    let house = plan.build().await;
    let at = dm("1");
    house.say(&at, "what a day!").await;
    house.platform.until_shown("1", 1).await;
    house.quiet().await;
    assert!(prompt(&reader.requests()[0]).contains("The mood is \"glad\"."));
    let used = house.store.usage(Some(house.agent), Day(0)).await.unwrap();
    let calls = |model: &str| -> u64 {
        used.iter().filter(|row| row.model == model).map(|row| row.amount.calls).sum()
    };
    assert_eq!((calls("test planner"), calls("test reader")), (2, 1), "{used:?}");
}
