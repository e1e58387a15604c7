//! Objects from text models (`galatea_core::model::object`): asking again, and mending.

use async_trait::async_trait;
use galatea_core::{
    Error, ErrorKind, ModelInfo, Models, Result, TextModel,
    model::{
        Finish, LIMIT_CODE, ObjectModel, ObjectModels, ObjectTier, TextAnswer, TextRequest, Usage,
        object::{Object, generate, generate_by},
    },
};
use galatea_testkit::models::ScriptedModel;
use serde_json::{Value, json};
use std::sync::Arc;

async fn of(answers: &[(&'static str, Finish)]) -> (Result<Object>, Vec<TextRequest>) {
    let model = ScriptedModel::new();
    for (text, finish) in answers {
        let usage = Usage { input: 10, cached: 4, output: 2, ..Usage::default() };
        let answer = TextAnswer { usage, finish: *finish, ..ScriptedModel::text(*text) };
        model.enqueue_result(Ok(answer));
    }
    let schema = json!({ "type": "object", "required": ["city"], "properties": { "city": { "type": "string" } } });
    let request = TextRequest::prompt(Some("Where is it?".into()), "in Ghent");
    let made = generate_by(&model, &request, &schema).await;
    (made, model.requests())
}

#[tokio::test]
async fn a_broken_object_is_mended_and_costs_no_second_call() {
    let (made, asked) = of(&[("Sure!\n```json\n{\"city\": \"Ghent\",}\n```", Finish::Stop)]).await;
    let made = made.unwrap();
    assert_eq!((made.value, made.asks, asked.len()), (json!({ "city": "Ghent" }), 1, 1));
    let system = asked[0].system.as_deref().unwrap();
    assert!(system.starts_with("Where is it?") && system.contains("\"required\":[\"city\"]"));
}

#[tokio::test]
async fn what_does_not_fit_is_asked_for_again_with_what_is_wrong() {
    let stop = Finish::Stop;
    let (made, asked) =
        of(&[("{\"city\": 7}", stop), ("It is Ghent.", stop), ("{\"city\": \"Ghent\"}", stop)])
            .await;
    let made = made.unwrap();
    assert_eq!((made.asks, made.usage.input, made.usage.cached), (3, 30, 12));
    let told = |n: usize| asked[n].messages.last().unwrap().text();
    assert!(told(1).contains("- city: is not of type string"), "{}", told(1));
    assert!(told(2).contains("- the answer: holds no JSON"), "{}", told(2));
    assert_eq!(asked[2].messages.len(), 5, "each answer stands before what is wrong with it");
}

#[tokio::test]
async fn a_third_unfit_answer_is_an_error_that_says_what_is_wrong() {
    let cut = ("{\"city\": \"Gh", Finish::Length);
    let (made, asked) = of(&[("{}", Finish::Stop), ("[]", Finish::Stop), cut]).await;
    let error = made.unwrap_err();
    assert_eq!((error.code(), asked.len()), (Some("GAL-MODEL-UNUSABLE"), 3));
    assert!(error.report().to_string().contains("cut off"), "{}", error.report());
}

/// A model that gets the schema beside the prompt, with the answers of a script.
struct Constrained(ScriptedModel);

#[async_trait]
impl ObjectModel for Constrained {
    fn info(&self) -> &ModelInfo {
        TextModel::info(&self.0)
    }
    async fn generate_object(&self, request: &TextRequest, schema: &Value) -> Result<TextAnswer> {
        assert_eq!(schema["required"][0], "city");
        self.0.generate(request, &|_| {}).await
    }
}

async fn by_plugin(
    answers: Vec<Result<TextAnswer>>,
) -> (Result<Object>, Vec<TextRequest>, Vec<TextRequest>) {
    let (constrained, text) =
        (Arc::new(Constrained(ScriptedModel::new())), Arc::new(ScriptedModel::new()));
    answers.into_iter().for_each(|answer| constrained.0.enqueue_result(answer));
    text.enqueue("{\"city\": \"Lyon\"}");
    let models = Models {
        objects: ObjectModels { small: vec![constrained.clone()], ..ObjectModels::default() },
        ..Models::of_text(text.clone())
    };
    let schema = json!({ "type": "object", "required": ["city"], "properties": { "city": { "type": "string" } } });
    let request = TextRequest::prompt(Some("Where is it?".into()), "in Ghent");
    let made = generate(&models, ObjectTier::ObjectSmall, &request, &schema).await;
    (made, constrained.0.requests(), text.requests())
}

#[tokio::test]
async fn the_answer_of_an_object_model_is_mended_checked_and_asked_for_again() {
    let said = |text: &'static str| Ok(ScriptedModel::text(text));
    let (made, asked, text) =
        by_plugin(vec![said("{\"city\": 7}"), said("{'city': 'Ghent',}")]).await;
    assert_eq!(made.unwrap().value, json!({ "city": "Ghent" }));
    assert_eq!((asked.len(), text.len()), (2, 0));
    assert_eq!(asked[0].system.as_deref(), Some("Where is it?"), "no schema in its words");
    assert!(asked[1].messages.last().unwrap().text().contains("- city: is not of type string"));
}

#[tokio::test]
async fn the_text_model_answers_after_unfit_objects_and_not_after_a_limit() {
    let unfit = || Ok(ScriptedModel::text("[]"));
    let (made, asked, text) = by_plugin(vec![unfit(), unfit(), unfit()]).await;
    assert_eq!(made.unwrap().value, json!({ "city": "Lyon" }));
    assert_eq!((asked.len(), text.len()), (3, 1));
    assert_eq!(text[0].messages.len(), 1, "it does not read the answers of the other");
    let limit = Error::new(ErrorKind::Invalid, "used up").with_code(LIMIT_CODE);
    let (made, _, text) = by_plugin(vec![Err(limit)]).await;
    assert_eq!((made.unwrap_err().code(), text.len()), (Some(LIMIT_CODE), 0));
}
