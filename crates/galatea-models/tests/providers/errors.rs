//! Tests of failures, specific to a service or common to all, and of the messages for people.

use galatea_core::{
    ErrorKind, Severity,
    model::{TextAnswer, TextRequest},
};
use galatea_http::{HttpClient, HttpOptions};
use galatea_testkit::models::{
    AnthropicServer, Fault, GoogleServer, Ollama, OllamaServer, OpenAi, OpenAiServer, Reply,
};
use galatea_testkit::port::RefusedPort;
use serde_json::json;

use crate::{
    ask::{KEY, ask, clean, configure, request},
    pairs::{Pair, anthropic, ollama, openai},
};

#[tokio::test]
async fn google_answers_by_another_model_and_its_price_counts() {
    let server = GoogleServer::start(KEY).await.unwrap();
    let body = json!({ "candidates": [{ "content": { "role": "model", "parts": [{ "text": "hi" }] }, "finishReason": "STOP" }],
        "usageMetadata": { "promptTokenCount": 1, "candidatesTokenCount": 1 }, "modelVersion": "gemini-3.8-flash" });
    server.answer_with(move |_| Reply::Json(body.clone()));
    let base = server.base_url();
    let built = configure(&[
        ("GEMINI_API_KEY", KEY),
        ("GOOGLE_GENERATIVE_AI_BASE_URL", &base),
        ("GOOGLE_LARGE_MODEL", "gemini-2.5-pro"),
    ]);
    let answer = ask(&built.models.large, &TextRequest::prompt(None, "x")).await.0.unwrap();
    assert_eq!(
        (answer.served.as_deref(), answer.price.map(|p| p.input)),
        (Some("gemini-3.8-flash"), Some(750_000))
    );
}

#[tokio::test]
async fn the_wrong_key_names_its_variable_and_place() {
    let server = OpenAiServer::start("another key").await.unwrap();
    let chosen = configure(&[("OPENAI_API_KEY", KEY), ("OPENAI_BASE_URL", &server.base_url())]);
    let error = ask(&chosen.models.large, &TextRequest::prompt(None, "x")).await.0.unwrap_err();
    assert!(error.message().ends_with("rejected OPENAI_API_KEY"), "{error}");
    assert!(error.to_string().contains("OPENAI_API_KEY from environment"), "{error}");
    clean(&error);
}

#[tokio::test]
async fn an_unpulled_model_comes_with_the_command() {
    let pair = ollama().await;
    let error = pair.fails(&Fault::UnknownModel, false).await;
    assert_eq!(error.fix(), Some("ollama pull gemma3:latest"));
    let missing = Pair::new(
        OllamaServer::with(Ollama, None).await.unwrap(),
        &[("OLLAMA_API_ENDPOINT", "BASE"), ("OLLAMA_LARGE_MODEL", "phi4")],
    );
    let findings = missing.configured.check().await;
    let finding = findings.iter().find(|f| f.severity == Severity::Error).unwrap();
    assert_eq!(
        (finding.id.as_str(), finding.fix.as_deref()),
        (
            "GAL-MODEL-404",
            Some("ollama pull phi4, or name one that is there: llama3.2:latest, gemma3:latest")
        )
    );
}

#[tokio::test]
async fn nothing_listens() {
    let nowhere = RefusedPort::take();
    let chosen = configure(&[
        ("OPENAI_API_KEY", KEY),
        ("OPENAI_BASE_URL", &format!("{}/v1/CANARY", nowhere.url())),
    ]);
    let error =
        ask(&chosen.models.large, &TextRequest::prompt(None, "CANARY")).await.0.unwrap_err();
    assert_eq!((error.code(), error.kind()), (Some("GAL-MODEL-CONNECT"), ErrorKind::Unavailable));
    assert_eq!(error.message(), format!("nothing listens at 127.0.0.1:{}", nowhere.number()));
    assert!(error.fix().unwrap().contains("OPENAI_BASE_URL"));
    clean(&error);
    assert_eq!(chosen.check().await[0].id, "GAL-MODEL-CONNECT");
}

#[tokio::test]
async fn a_wrong_path_is_distinguished_from_a_missing_model() {
    let pair = openai().await;
    let error = pair
        .fails(&Fault::Status { status: 404, retry_after: None, body: "404 page not found" }, false)
        .await;
    assert_eq!(error.code(), Some("GAL-MODEL-URL"));
    assert!(error.fix().unwrap().contains("OPENAI_BASE_URL"));
}

#[tokio::test]
async fn a_404_that_names_no_model_is_about_the_address() {
    let pair = anthropic().await;
    let body = r#"{"type":"error","error":{"type":"not_found_error","message":"Not Found"}}"#;
    let error = pair.fails(&Fault::Status { status: 404, retry_after: None, body }, true).await;
    assert_eq!(error.code(), Some("GAL-MODEL-URL"));
    assert!(error.fix().unwrap().contains("ANTHROPIC_BASE_URL"), "{error:?}");
    assert!(error.to_string().contains("where=ANTHROPIC_BASE_URL"), "{error}");
    // The list of models names none either.
    pair.server.answer_with(move |_| Fault::Status { status: 404, retry_after: None, body }.into());
    assert_eq!(pair.configured.check().await[0].id, "GAL-MODEL-URL");
}

/// OpenRouter with two models, the large one of which answers with a 404 of this body. Returns what
/// the call of the large one came to, and the number of calls.
async fn openrouter_404(body: &'static str) -> (galatea_core::Result<TextAnswer>, usize) {
    let server =
        OpenAiServer::with(OpenAi { extended: true, comments: true }, Some(KEY)).await.unwrap();
    server.answer_with(move |sent| match sent.body["model"] == "a/one:nitro" {
        true => Fault::Status { status: 404, retry_after: None, body }.into(),
        false => Reply::Auto,
    });
    let chosen = configure(&[
        ("OPENROUTER_API_KEY", KEY),
        ("OPENROUTER_BASE_URL", &server.base_url()),
        ("OPENROUTER_LARGE_MODEL", "a/one:nitro"),
        ("OPENROUTER_SMALL_MODEL", "a/two"),
        ("MODEL_FALLBACK", "sibling"),
        // The first model may take half of it, which is as long as the test's clock waits.
        ("MODEL_TOTAL_TIMEOUT", "120"),
    ]);
    (ask(&chosen.models.large, &TextRequest::prompt(None, "x")).await.0, server.count())
}

#[tokio::test]
async fn a_404_that_does_not_repeat_the_models_name_leaves_the_services_other_models() {
    for body in [
        r#"{"error":{"message":"No allowed providers are available for the selected model.","code":404}}"#,
        r#"{"error":{"message":"No endpoints found matching your data policy","code":404}}"#,
        r#"{"error":{"message":"No endpoints found that support image input","code":404}}"#,
        r#"{"error":{"message":"No endpoints found for a/one.","code":404}}"#,
    ] {
        let by = openrouter_404(body).await.0.unwrap().by.unwrap();
        assert_eq!(by.model, "a/two", "{body}");
        assert!(by.passed[0].1.contains("no model a/one:nitro"), "{body}: {:?}", by.passed);
    }
    for body in ["<html>404</html>", "404 page not found", r#"{"error":{"message":"Not Found"}}"#] {
        let (answer, calls) = openrouter_404(body).await;
        assert_eq!((answer.unwrap_err().code(), calls), (Some("GAL-MODEL-URL"), 1), "{body}");
    }
}

#[tokio::test]
async fn a_model_that_no_list_contains_is_asked_for_by_name() {
    let pair = Pair::new(
        AnthropicServer::start(KEY).await.unwrap(),
        &[
            ("ANTHROPIC_API_KEY", KEY),
            ("ANTHROPIC_BASE_URL", "BASE"),
            ("ANTHROPIC_LARGE_MODEL", "claude-sonet-5-5"),
        ],
    );
    let worst = async || pair.configured.check().await.into_iter().map(|f| f.severity).max();
    assert_eq!(worst().await, Some(Severity::Info), "an alias");
    pair.server.answer_with(|sent| match sent.path.contains("sonet") {
        true => Fault::UnknownModel.into(),
        false => Reply::Auto,
    });
    let findings = pair.configured.check().await;
    let missing = findings.iter().find(|f| f.id == "GAL-MODEL-404").unwrap();
    assert_eq!(missing.severity, Severity::Error);
    assert!(missing.fix.as_ref().unwrap().contains("claude-sonnet-5-5"), "{missing:?}");
}

#[tokio::test]
async fn a_web_page_names_the_address_and_is_asked_for_once() {
    let pair = anthropic().await;
    pair.server.answer_with(|_| Fault::Html.into());
    let error = ask(&pair.models.large, &request(true)).await.0.unwrap_err();
    assert_eq!((error.code(), pair.server.count()), (Some("GAL-MODEL-GARBAGE"), 1));
    let text = error.to_string();
    assert!(text.contains("web page") && text.contains("where=ANTHROPIC_BASE_URL"), "{text}");
    assert!(error.fix().unwrap().contains("ANTHROPIC_BASE_URL"));
    clean(&error);
}

#[tokio::test]
async fn a_shown_answer_is_not_begun_again() {
    let pair = openai().await;
    let before = pair.server.count();
    for _ in 0..3 {
        pair.server.enqueue(Fault::ErrorInStream);
    }
    let (answer, pieces) = ask(&pair.models.large, &request(true)).await;
    assert!(answer.is_err() && !pieces.is_empty());
    assert_eq!(pair.server.count() - before, 1);
}

#[tokio::test]
async fn a_server_that_cannot_stream_is_understood() {
    let pair = openai().await;
    pair.server.enqueue(Fault::Status {
        status: 200,
        retry_after: None,
        body: r#"{"choices":[{"message":{"content":"whole"},"finish_reason":"stop"}]}"#,
    });
    let (answer, pieces) = ask(&pair.models.large, &request(true)).await;
    assert_eq!((answer.unwrap().text.as_str(), pieces), ("whole", vec!["whole".to_owned()]));
    pair.server.enqueue(Fault::WrongContentType);
    assert!(ask(&pair.models.large, &request(true)).await.0.is_ok());
}

#[tokio::test]
async fn offline_check_says_what_to_do() {
    let findings = configure(&[]).check().await;
    assert_eq!(
        (findings.len(), findings[0].severity, findings[0].id.as_str()),
        (1, Severity::Info, "GAL-MODEL-OFFLINE")
    );
}

#[tokio::test]
async fn nothing_prints_a_key() {
    let pair = anthropic().await;
    pair.server.enqueue(Fault::Internal);
    let endpoint = galatea_models::Endpoint::new(
        HttpClient::new(HttpOptions::default()).unwrap(),
        galatea_models::Names { provider: "p", label: "P", key: "K", url: "U" },
        "https://host/CANARY",
        galatea_models::Auth::Bearer(KEY.into()),
        galatea_models::Times::default(),
    )
    .unwrap();
    assert!(
        !format!("{endpoint:?} {:?}", galatea_models::Auth::Header("x", KEY.into()))
            .contains("CANARY")
    );
}
