//! Tests of model lists: facts read from them, choices, and suggestions.

use std::sync::Arc;

use galatea_core::Settings;
use galatea_http::{HttpClient, HttpOptions};
use galatea_models::{Choices, Configured, Dependencies, When, build};
use galatea_testkit::models::{
    AnthropicServer, Fault, GoogleServer, Ollama, OllamaServer, OpenAiServer, Reply,
};
use serde_json::{Value, json};

use crate::ask::{KEY, Patient, configure};

/// For every provider's list: facts of models in use, a choice, and similar names for a missing
/// one.
#[tokio::test]
async fn lists_are_read_chosen_from_and_suggested_from() {
    let list = |server: &str| match server {
        "openai" => json!({ "data": [
            { "id": "gpt-6-luna", "created": 1 }, { "id": "gpt-6.2-terra", "created": 3 }, { "id": "gpt-6.3-terra", "created": 4, "shutdown_date": "2027-01-01" },
            { "id": "gpt-7-terra-preview", "created": 5 }, { "id": "text-embedding-3-small", "created": 1 },
        ] }),
        "anthropic" => json!({ "data": [
            { "type": "model", "id": "claude-haiku-5-6", "display_name": "x", "max_input_tokens": 500_000, "max_tokens": 64_000 },
            { "type": "model", "id": "claude-sonnet-6", "display_name": "x" }, { "type": "model", "id": "claude-sonnet-5-5", "display_name": "x" },
        ], "has_more": false }),
        "google" => json!({ "models": [
            { "name": "models/gemini-3.9-flash", "inputTokenLimit": 9, "outputTokenLimit": 3, "supportedGenerationMethods": ["generateContent"] },
            { "name": "models/gemini-3.5-flash-lite", "supportedGenerationMethods": ["generateContent"] },
            { "name": "models/gemini-flash-latest", "supportedGenerationMethods": ["generateContent"] },
            { "name": "models/gemini-embedding-001", "supportedGenerationMethods": ["embedContent"] },
        ] }),
        _ => {
            json!({ "models": [{ "name": "nomic-embed-text:latest" }, { "name": "phi4:latest" }] })
        }
    };
    let names = |built: &Configured| {
        (built.models.small.info().model.clone(), built.models.large.info().model.clone())
    };
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());

    let server = OpenAiServer::start(KEY).await.unwrap();
    server.answer_with(move |_| Reply::Json(list("openai")));
    let base = server.base_url();
    let openai = [("OPENAI_API_KEY", KEY), ("OPENAI_BASE_URL", base.as_str())];
    let (built, report) = choose(&openai).await;
    assert_eq!((names(&built), report.changes.len()), (pair("gpt-6-luna", "gpt-6.2-terra"), 2));
    assert!(built.reason().starts_with("chosen from"), "{}", built.reason());
    let (built, report) = choose(&[
        openai[0],
        openai[1],
        ("OPENAI_LARGE_MODEL", "gpt-4o"),
        ("SMALL_MODEL", "gpt-6-luna"),
    ])
    .await;
    assert_eq!(
        (names(&built), report.changes.len()),
        (pair("gpt-6-luna", "gpt-4o"), 0),
        "a model from settings is never replaced"
    );
    let fix = report.findings[0].fix.clone().unwrap();
    assert!(
        report.findings[0].id == "GAL-MODEL-404"
            && fix.contains("OPENAI_LARGE_MODEL")
            && fix.contains(", such as gpt-6"),
        "{report:?}"
    );

    let server = AnthropicServer::start(KEY).await.unwrap();
    server.answer_with(move |_| Reply::Json(list("anthropic")));
    let (built, _) =
        choose(&[("ANTHROPIC_API_KEY", KEY), ("ANTHROPIC_BASE_URL", &server.base_url())]).await;
    assert_eq!(names(&built), pair("claude-haiku-5-6", "claude-sonnet-6"));
    assert_eq!(
        built.models.small.info().limits.window,
        Some(500_000),
        "the list has precedence over the table"
    );
    assert_eq!(
        built.models.large.info().limits.window,
        Some(1_000_000),
        "the table applies where the list has no value"
    );

    let server = GoogleServer::start(KEY).await.unwrap();
    server.answer_with(move |_| Reply::Json(list("google")));
    let (built, _) =
        choose(&[("GEMINI_API_KEY", KEY), ("GOOGLE_GENERATIVE_AI_BASE_URL", &server.base_url())])
            .await;
    assert_eq!(names(&built), pair("gemini-3.5-flash-lite", "gemini-3.9-flash"));
    assert_eq!(built.models.large.info().limits.output, Some(3));

    let server = OllamaServer::with(Ollama, None).await.unwrap();
    server.answer_with(move |_| Reply::Json(list("ollama")));
    let (built, _) = choose(&[("OLLAMA_API_ENDPOINT", &server.base_url())]).await;
    assert_eq!(names(&built), pair("phi4:latest", "phi4:latest"), "the installed model");
}

/// Builds models with stored choices and facts.
pub(crate) fn with_choices(choices: &Choices, pairs: &[(&str, &str)]) -> Configured {
    let settings =
        Settings::from_pairs(pairs.iter().map(|(k, v)| ((*k).to_owned(), Value::from(*v))));
    let dependencies =
        Dependencies::remembering(galatea_core::EventBus::default(), choices.clone());
    build(
        &settings,
        &HttpClient::new(HttpOptions::default()).unwrap(),
        Arc::new(Patient),
        &dependencies,
    )
    .unwrap()
}

pub(crate) const TODAY: time::Date = time::macros::date!(2026 - 11 - 23);

/// Builds models after the lists were read.
pub(crate) async fn choose(
    pairs: &[(&str, &str)],
) -> (Configured, galatea_models::config::ModelListReport) {
    let choices = Choices::default();
    let report = with_choices(&choices, pairs).read_lists(&choices, TODAY, When::Needed).await;
    assert_eq!(report.unread, []);
    (with_choices(&choices, pairs), report)
}

#[tokio::test]
async fn a_list_that_hangs_or_fails_changes_nothing() {
    let server = OpenAiServer::start(KEY).await.unwrap();
    let base = server.base_url();
    let built = configure(&[("OPENAI_API_KEY", KEY), ("OPENAI_BASE_URL", &base)]);
    for fault in [Fault::Internal, Fault::BadKey, Fault::Garbage, Fault::Empty] {
        server.enqueue(fault.clone());
        let choices = Choices::default();
        let report = built.read_lists(&choices, TODAY, When::Now).await;
        assert_eq!(report.changes, [], "{fault:?}");
        clean_findings(&report.unread);
    }
}

fn clean_findings(findings: &[galatea_core::Finding]) {
    assert!(!format!("{findings:?}").contains("CANARY"), "a secret is exposed: {findings:?}");
}
