//! Tests of the real clients against strict loopback servers: every wire format, every failure, and
//! no secret in any output.
#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod ask;
mod cases;
mod charges;
mod errors;
mod faults;
mod lists;
mod media;
mod object;
mod pairs;
mod parameters;
mod refusals;
mod steps;
mod tools;

use galatea_models::{Choices, Configured, When};
use galatea_testkit::models::{Fault, OllamaServer, Reply};
use serde_json::json;

use crate::{
    ask::{ask, configure, request},
    lists::{TODAY, choose, with_choices},
    pairs::{anthropic, google, ollama, openai, responses},
};

macro_rules! suite {
    ($($name:ident: $($case:ident)+;)+) => {$(
        mod $name {
            $(#[tokio::test]
            async fn $case() {
                super::$name().await.$case().await;
            })+
        }
    )+};
}

suite! {
    openai: answers faults recovers check_works embeds siblings;
    responses: answers faults recovers;
    anthropic: answers faults recovers check_works;
    ollama: answers faults recovers check_works embeds siblings;
    google: answers faults recovers check_works embeds siblings;
}

/// The window that a call sends to Ollama.
async fn window_sent(server: &OllamaServer, built: &Configured) -> Option<u64> {
    assert!(ask(&built.models.large, &request(true)).await.0.is_ok());
    server.last().unwrap().body["options"]["num_ctx"].as_u64()
}

#[tokio::test]
async fn ollama_gets_the_window_of_the_setting_of_the_modelfile_or_the_default() {
    let server = OllamaServer::with(galatea_testkit::models::Ollama, None).await.unwrap();
    let base = server.base_url();
    let show = |parameters: &str, most: u32| {
        let told = json!({ "parameters": parameters, "model_info": { "general.architecture": "llama", "llama.context_length": most } });
        server.answer_with(move |r| {
            if r.path == "/api/show" { Reply::Json(told.clone()) } else { Reply::Auto }
        });
    };
    let named: &[(&str, &str)] = &[
        ("OLLAMA_API_ENDPOINT", &base),
        ("OLLAMA_SMALL_MODEL", "gemma3"),
        ("OLLAMA_LARGE_MODEL", "llama3.2"),
    ];
    assert_eq!(
        window_sent(&server, &configure(named)).await,
        Some(8_192),
        "before the server reported a window"
    );
    for (parameters, most, expected) in [
        ("num_ctx 32768", 131_072, 32_768),
        ("temperature 1", 131_072, 8_192),
        ("temperature 1", 4_096, 4_096),
    ] {
        show(parameters, most);
        assert_eq!(
            window_sent(&server, &choose(named).await.0).await,
            Some(expected),
            "{parameters} {most}"
        );
    }
    show("num_ctx 32768", 131_072);
    let mut set: Vec<(&str, &str)> =
        named.iter().copied().chain([("OLLAMA_CONTEXT_LENGTH", "24000")]).collect();
    assert_eq!(window_sent(&server, &choose(&set).await.0).await, Some(24_000));
    set.push(("MODEL_CONTEXT_WINDOW", "16000"));
    assert_eq!(
        window_sent(&server, &choose(&set).await.0).await,
        Some(16_000),
        "the setting has precedence"
    );
}

#[tokio::test]
async fn a_model_is_asked_for_its_window_once_per_look_and_a_failure_keeps_the_known_one() {
    let server = OllamaServer::with(galatea_testkit::models::Ollama, None).await.unwrap();
    let base = server.base_url();
    let fails = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let failing = fails.clone();
    let told = json!({ "parameters": "num_ctx 20000" });
    server.answer_with(move |r| match r.path.as_str() {
        "/api/show" if failing.load(std::sync::atomic::Ordering::Relaxed) => {
            Reply::Fault(Fault::Internal)
        }
        "/api/show" => Reply::Json(told.clone()),
        _ => Reply::Auto,
    });
    let built = configure(&[
        ("OLLAMA_API_ENDPOINT", &base),
        ("SMALL_MODEL", "gemma3"),
        ("LARGE_MODEL", "gemma3"),
        ("OLLAMA_EMBEDDING_MODEL", "nomic-embed-text"),
    ]);
    let choices = Choices::default();
    built.read_lists(&choices, TODAY, When::Needed).await;
    let shown: Vec<_> =
        server.requests().into_iter().filter(|r| r.path == "/api/show").map(|r| r.body).collect();
    assert_eq!(shown, [json!({ "model": "gemma3" })]);
    fails.store(true, std::sync::atomic::Ordering::Relaxed);
    built.read_lists(&choices, TODAY, When::Needed).await;
    let named = [
        ("OLLAMA_API_ENDPOINT", base.as_str()),
        ("SMALL_MODEL", "gemma3"),
        ("LARGE_MODEL", "gemma3"),
    ];
    let again = with_choices(&choices, &named);
    assert_eq!(again.models.large.info().limits.window, Some(20_000));
    // A running process asks for the windows even though every model is named, and notices a
    // changed one.
    let start = with_choices(&Choices::default(), &named);
    assert!(start.asks() && !again.is_as(&start) && again.is_as(&with_choices(&choices, &named)));
}
