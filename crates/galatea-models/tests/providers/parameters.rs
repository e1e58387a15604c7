//! Tests of the requests: headers, and the parameters that each family of models accepts.

use std::sync::Arc;

use galatea_core::model::ChatMessage;
use galatea_testkit::models::{AnthropicServer, GoogleServer, OpenAi, OpenAiServer};
use serde_json::json;

use crate::{
    ask::{KEY, ask, configure, request},
    pairs::Pair,
};

#[tokio::test]
async fn a_keyless_local_server_gets_no_key_and_openrouter_its_headers() {
    let local = Pair::new(
        OpenAiServer::with(OpenAi { extended: true, comments: false }, None).await.unwrap(),
        &[("OPENAI_BASE_URL", "BASE")],
    );
    assert!(ask(&local.models.large, &request(true)).await.0.is_ok());

    let server =
        OpenAiServer::with(OpenAi { extended: true, comments: true }, Some(KEY)).await.unwrap();
    let router = Pair::new(
        server,
        &[
            ("OPENROUTER_API_KEY", KEY),
            ("OPENROUTER_BASE_URL", "BASE"),
            ("OPENROUTER_SMALL_MODEL", "gpt-4o-mini"),
            ("OPENROUTER_LARGE_MODEL", "gpt-4o"),
            ("OPENROUTER_HTTP_REFERER", "https://galatea.example"),
            ("OPENROUTER_X_TITLE", "Galatea"),
        ],
    );
    assert!(ask(&router.models.large, &request(true)).await.0.is_ok());
    let last = router.server.last().unwrap();
    assert_eq!(
        (last.header("http-referer"), last.header("x-title")),
        (Some("https://galatea.example"), Some("Galatea"))
    );
    router.check_works().await;
}

#[tokio::test]
async fn groq_gets_only_what_it_takes() {
    let server = OpenAiServer::start(KEY).await.unwrap();
    let base = server.base_url();
    let groq = configure(&[
        ("GROQ_API_KEY", KEY),
        ("GROQ_BASE_URL", &base),
        ("GROQ_LARGE_MODEL", "openai/gpt-oss-120b"),
        ("DEFAULT_EFFORT", "low"),
    ]);
    assert!(ask(&groq.models.small, &request(false)).await.0.is_ok());
    assert!(ask(&groq.models.large, &request(false)).await.0.is_ok());
    let body = server.last().unwrap().body;
    assert_eq!(
        (body["max_completion_tokens"].as_u64(), body.get("max_tokens"), body.get("top_k")),
        (Some(500), None, None)
    );
    assert_eq!(
        (body["temperature"].as_f64(), &body["reasoning_effort"]),
        (Some(0.5), &json!("low"))
    );
    server.assert_clean();
}

/// The strict server checks each model's parameters; this test reads what was sent.
#[tokio::test]
async fn every_family_gets_the_parameters_it_takes() {
    let server =
        OpenAiServer::with(OpenAi { extended: true, comments: false }, Some(KEY)).await.unwrap();
    let (base, effort) = (server.base_url(), ("DEFAULT_EFFORT", "low"));
    let ask_openai = async |model: &str, more: &[(&str, &str)]| {
        let own =
            [("OPENAI_API_KEY", KEY), ("OPENAI_BASE_URL", &base), ("OPENAI_LARGE_MODEL", model)];
        let chosen = configure(&[own.as_slice(), more].concat());
        assert!(ask(&chosen.models.large, &request(false)).await.0.is_ok(), "{model} {more:?}");
        let last = server.last().unwrap();
        (last.path.clone(), last.body)
    };
    let chat = ("OPENAI_API", "chat");
    let (path, body) = ask_openai("gpt-6.1-terra", &[effort]).await;
    assert_eq!(
        (path.as_str(), &body["reasoning"]["effort"], body.get("temperature")),
        ("/v1/responses", &json!("low"), None)
    );
    let (_, body) = ask_openai("gpt-6.1-terra", &[("DEFAULT_EFFORT", "none")]).await;
    assert_eq!(
        (&body["reasoning"]["effort"], body["temperature"].as_f64()),
        (&json!("none"), Some(0.5))
    );
    let (_, body) = ask_openai("gpt-6.1-sol", &[("DEFAULT_EFFORT", "none")]).await;
    assert_eq!(
        (body.get("reasoning"), body.get("temperature"), body["max_output_tokens"].as_u64()),
        (None, None, Some(500))
    );
    // With a server that supports only Chat Completions.
    let (path, body) = ask_openai("gpt-6-luna", &[chat, effort]).await;
    assert_eq!(
        (path.as_str(), &body["reasoning_effort"]),
        ("/v1/chat/completions", &json!("none")),
        "tools are accepted with no other effort"
    );
    let (_, body) = ask_openai("gpt-5-nano", &[effort]).await;
    assert_eq!(
        (&body["reasoning_effort"], body.get("temperature"), body.get("max_tokens")),
        (&json!("low"), None, None)
    );
    let (_, body) = ask_openai("qwen3", &[effort]).await;
    assert_eq!(
        (body.get("reasoning_effort"), body["max_tokens"].as_u64(), body["temperature"].as_f64()),
        (None, Some(500), Some(0.5))
    );
    server.assert_clean();

    let claude = AnthropicServer::start(KEY).await.unwrap();
    let base = claude.base_url();
    let ask_claude = async |model: &str| {
        let chosen = configure(&[
            ("ANTHROPIC_API_KEY", KEY),
            ("ANTHROPIC_BASE_URL", &base),
            ("ANTHROPIC_LARGE_MODEL", model),
            effort,
        ]);
        let mut request = request(false);
        Arc::make_mut(&mut request.messages).push(ChatMessage::assistant("I was about to"));
        assert!(ask(&chosen.models.large, &request).await.0.is_ok(), "{model}");
        claude.last().unwrap().body
    };
    let body = ask_claude("claude-sonnet-5-5").await;
    assert_eq!(
        (&body["output_config"]["effort"], body.get("temperature"), body.get("top_k")),
        (&json!("low"), None, None)
    );
    assert_eq!(body["messages"].as_array().unwrap().last().unwrap()["role"], "user", "no prefill");
    let body = ask_claude("claude-haiku-4-5-20251001").await;
    assert_eq!(
        (body.get("output_config"), body["temperature"].as_f64(), body["top_k"].as_u64()),
        (None, Some(0.5), Some(40))
    );
    claude.assert_clean();

    let gemini = GoogleServer::start(KEY).await.unwrap();
    let base = gemini.base_url();
    let ask_gemini = async |model: &str| {
        let chosen = configure(&[
            ("GEMINI_API_KEY", KEY),
            ("GOOGLE_GENERATIVE_AI_BASE_URL", &base),
            ("GOOGLE_LARGE_MODEL", model),
            effort,
        ]);
        assert!(ask(&chosen.models.large, &request(false)).await.0.is_ok(), "{model}");
        gemini.last().unwrap().body["generationConfig"].clone()
    };
    let body = ask_gemini("gemini-3.8-flash").await;
    assert_eq!(
        (&body["thinkingConfig"]["thinkingLevel"], body.get("temperature"), body.get("topP")),
        (&json!("low"), None, None)
    );
    let body = ask_gemini("gemini-2.5-flash").await;
    assert_eq!((body.get("thinkingConfig"), body["temperature"].as_f64()), (None, Some(0.5)));
    gemini.assert_clean();
}

/// Another server than OpenAI's, whose large model describes pictures.
#[tokio::test]
async fn a_descriptions_length_holds_without_a_model_of_its_own() {
    let server =
        OpenAiServer::with(OpenAi { extended: true, comments: false }, Some(KEY)).await.unwrap();
    let base = server.base_url();
    for (set, sent) in [(Some("99"), Some(99)), (None, Some(1_024))] {
        let mut settings = vec![
            ("OPENAI_API_KEY", KEY),
            ("OPENAI_BASE_URL", base.as_str()),
            ("OPENAI_SMALL_MODEL", "gpt-4o-mini"),
            ("OPENAI_LARGE_MODEL", "gpt-4o"),
        ];
        settings.extend(set.map(|value| ("OPENAI_IMAGE_DESCRIPTION_MAX_TOKENS", value)));
        let vision = configure(&settings).models.vision.unwrap();
        let mut request = request(false);
        request.params.max_tokens = None;
        assert!(ask(&vision, &request).await.0.is_ok());
        let body = server.last().unwrap().body;
        let limit = body.get("max_tokens").or(body.get("max_completion_tokens"));
        assert_eq!(limit.and_then(|limit| limit.as_u64()), sent, "{set:?}");
    }
}

/// A model that runs on would be read until the deadline.
#[tokio::test]
async fn every_request_has_a_limit_and_a_setting_rules() {
    let server =
        OpenAiServer::with(OpenAi { extended: true, comments: false }, Some(KEY)).await.unwrap();
    let base = server.base_url();
    for (set, length, sent) in [
        (None, None, 1_024),
        (None, Some(2_048), 2_048),
        (Some(("TEXT_LARGE_MAX_TOKENS", "300")), None, 300),
        (Some(("DEFAULT_MAX_TOKENS", "200")), Some(2_048), 200),
    ] {
        let mut settings = vec![
            ("OPENAI_API_KEY", KEY),
            ("OPENAI_BASE_URL", base.as_str()),
            ("OPENAI_LARGE_MODEL", "llama-3.1"),
        ];
        settings.extend(set);
        let mut request = request(false);
        request.params.max_tokens = None;
        request.length = length;
        assert!(ask(&configure(&settings).models.large, &request).await.0.is_ok());
        let body = server.last().unwrap().body;
        assert_eq!(body["max_tokens"].as_u64(), Some(sent), "{set:?} {length:?}");
    }
    server.assert_clean();
}
