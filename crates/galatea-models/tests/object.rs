//! Objects from text models (`galatea_core::model::object`): asking again, and mending.
#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use galatea_core::{
    Result,
    model::{
        Finish, TextAnswer, TextRequest, Usage,
        object::{Object, generate},
    },
};
use galatea_testkit::models::ScriptedModel;
use serde_json::json;

async fn of(answers: &[(&'static str, Finish)]) -> (Result<Object>, Vec<TextRequest>) {
    let model = ScriptedModel::new();
    for (text, finish) in answers {
        let usage = Usage { input: 10, cached: 4, output: 2, ..Usage::default() };
        let answer = TextAnswer { usage, finish: *finish, ..ScriptedModel::text(*text) };
        model.enqueue_result(Ok(answer));
    }
    let schema = json!({ "type": "object", "required": ["city"], "properties": { "city": { "type": "string" } } });
    let request = TextRequest::prompt(Some("Where is it?".into()), "in Ghent");
    let made = generate(&model, &request, &schema).await;
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
