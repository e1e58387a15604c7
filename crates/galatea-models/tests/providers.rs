//! The real clients against strict loopback servers: every wire format, every failure, and no secret anywhere.
#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::{
    pin::Pin,
    sync::{Arc, Mutex},
    time::Duration,
};

use galatea_core::{
    Clock, Error, ErrorKind, Models, Retry, Settings, Severity, TextModel, Timestamp,
    model::{ChatMessage, ChatPart, ChatRole, Finish, Sampling, TextRequest, ToolSpec, Usage},
};
use galatea_http::{HttpClient, HttpOptions};
use galatea_models::{Choices, Configured, Dependencies, When, build};
use galatea_testkit::models::{
    Answer, AnthropicServer, Dialect, Fault, GoogleServer, ModelServer, OllamaServer, OpenAi,
    OpenAiServer, Reply,
};
use serde_json::{Value, json};

const KEY: &str = "CANARY-key-1234567890";

/// Waits between attempts pass at once; the deadline of the whole call never passes, for the client's own time limits are tested.
struct Patient;

impl Clock for Patient {
    fn now(&self) -> Timestamp {
        Timestamp(0)
    }
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        if duration >= Duration::from_secs(3) {
            Box::pin(std::future::pending())
        } else {
            Box::pin(std::future::ready(()))
        }
    }
}

fn configure(pairs: &[(&str, &str)]) -> Configured {
    // Long enough for a busy machine, short enough for the faults that wait for them.
    let quick = [
        ("MODEL_FIRST_TOKEN_TIMEOUT", "2"),
        ("MODEL_IDLE_TIMEOUT", "2"),
        ("MODEL_TOTAL_TIMEOUT", "3"),
    ];
    // Each model by itself, and asked as the caller wants.
    let plain = [("MODEL_FALLBACK", "none"), ("MODEL_STREAM", "false")];
    let settings = Settings::from_pairs(
        quick.iter().chain(&plain).chain(pairs).map(|(k, v)| ((*k).to_owned(), Value::from(*v))),
    );
    build(
        &settings,
        &HttpClient::new(HttpOptions::default()).unwrap(),
        Arc::new(Patient),
        &Dependencies::default(),
    )
    .unwrap()
}

fn clean(error: &Error) {
    let all = format!("{error} {error:?} {} {:?}", error.report(), error.fix());
    assert!(!all.contains("CANARY"), "a secret is told: {all}");
}

fn request(stream: bool) -> TextRequest {
    let picture = ChatPart::Image { mime: "image/png".into(), data: "iVBORw0KGgo=".into() };
    TextRequest {
        system: Some("You are kind.".into()),
        messages: vec![
            ChatMessage::assistant("Welcome."),
            ChatMessage::user("Hi."),
            ChatMessage { role: ChatRole::User, parts: vec![ChatPart::Text { text: "Look:".into() }, picture], name: None },
            ChatMessage::assistant("A picture. "),
            ChatMessage::assistant(" "),
            ChatMessage::user("Go on."),
        ]
        .into(),
        tools: vec![
            ToolSpec {
                name: "SEND_MESSAGE".into(),
                description: "Sends.".into(),
                parameters: json!({ "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "properties": { "to": { "type": "string" } }, "additionalProperties": false }).into(),
            },
            ToolSpec { name: "NONE".into(), description: "Nothing.".into(), parameters: json!({ "type": "null" }).into() },
        ]
        .into(),
        params: Sampling {
            max_tokens: Some(500),
            temperature: Some(0.5),
            top_p: Some(0.9),
            top_k: Some(40),
            min_p: Some(0.1),
            seed: Some(7),
            repetition_penalty: Some(1.1),
            frequency_penalty: Some(0.1),
            presence_penalty: Some(0.2),
            stop: ["a", "b", "c", "d", "e", "f"].map(str::to_owned).to_vec(),
            effort: None,
        },
        stream,
        deadline: None,
        first_within: None,
    }
}

async fn ask(
    model: &Arc<dyn TextModel>,
    request: &TextRequest,
) -> (galatea_core::Result<galatea_core::model::TextAnswer>, Vec<String>) {
    let pieces = Mutex::new(Vec::new());
    let answer =
        model.generate(request, &|text| pieces.lock().unwrap().push(text.to_owned())).await;
    (answer, pieces.into_inner().unwrap())
}

/// One server with the models that speak to it.
struct Pair<D: Dialect> {
    server: ModelServer<D>,
    models: Models,
    configured: Configured,
    settings: Vec<(String, String)>,
}

impl<D: Dialect> Pair<D> {
    fn new(server: ModelServer<D>, settings: &[(&str, &str)]) -> Self {
        let base = server.base_url();
        let pairs: Vec<(&str, &str)> = settings
            .iter()
            .map(|(k, v)| (*k, if *v == "BASE" { base.as_str() } else { *v }))
            .collect();
        let configured = configure(&pairs);
        let settings = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Self { models: configured.models.clone(), server, configured, settings }
    }

    /// The same models once more, whose breakers know of no failure.
    fn fresh(&self) -> Models {
        configure(&self.settings.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect::<Vec<_>>())
            .models
    }

    /// Text, tools, usage and finish, whole and streamed, torn into single bytes too.
    async fn answers(&self) {
        for (stream, tear) in [(false, 0), (true, 0), (true, 1), (true, 7), (false, 3)] {
            self.server.tear(tear);
            let answer =
                Answer {
                    text: "Grüße, 世界 🙂!".into(), usage: (123, 45), ..Answer::default()
                };
            self.server.enqueue(Reply::Answer(answer));
            let (got, pieces) = ask(&self.models.large, &request(stream)).await;
            let got = got.unwrap();
            assert_eq!(
                (got.text.as_str(), got.finish, got.usage),
                (
                    "Grüße, 世界 🙂!",
                    Finish::Stop,
                    Usage { input: 123, cached: self.server.cached(123), output: 45 }
                )
            );
            assert_eq!(pieces.concat(), if stream { got.text.as_str() } else { "" });
            assert!(!stream || pieces.len() > 1, "it came in pieces");

            let tools = vec![
                ("SEND_MESSAGE".to_owned(), r#"{"to":"Zoë \"Z\""}"#.to_owned()),
                ("NONE".to_owned(), "{}".to_owned()),
            ];
            self.server.enqueue(Reply::Answer(Answer {
                text: "On it.".into(),
                tools: tools.clone(),
                finish: Finish::Tools,
                ..Answer::default()
            }));
            let got = ask(&self.models.small, &request(stream)).await.0.unwrap();
            let calls: Vec<(String, Value)> = got
                .tool_calls
                .iter()
                .map(|c| (c.name.clone(), serde_json::from_str(&c.arguments).unwrap()))
                .collect();
            assert_eq!(
                calls,
                tools
                    .iter()
                    .map(|(n, a)| (n.clone(), serde_json::from_str(a).unwrap()))
                    .collect::<Vec<(String, Value)>>()
            );
            assert_eq!((got.text.as_str(), got.finish), ("On it.", Finish::Tools));

            self.server.enqueue(Reply::Answer(Answer {
                text: "cut".into(),
                finish: Finish::Length,
                ..Answer::default()
            }));
            assert_eq!(
                ask(&self.models.large, &request(stream)).await.0.unwrap().finish,
                Finish::Length
            );
        }
        self.server.tear(0);
        let plain = TextRequest::prompt(None, "Only this.");
        assert!(!ask(&self.models.large, &plain).await.0.unwrap().text.is_empty());
        self.server.assert_clean();
    }

    /// Fails this many times with one fault and tells the last error.
    async fn fails(&self, fault: &Fault, stream: bool) -> Error {
        for _ in 0..3 {
            self.server.enqueue(fault.clone());
        }
        let before = self.server.count();
        let error = match ask(&self.fresh().large, &request(stream)).await.0 {
            Err(error) => error,
            Ok(answer) => panic!("{fault:?}: {answer:?}"),
        };
        clean(&error);
        let used = self.server.count() - before;
        assert!((1..=3).contains(&used), "{fault:?}: {used}");
        // What was not used must not hit the next case.
        for _ in used..3 {
            let _ = ask(&self.fresh().small, &TextRequest::prompt(None, "drain")).await;
        }
        error
    }

    async fn faults(&self) {
        let wait = Fault::RateLimited(Some("5"));
        let table: [(Fault, &str, ErrorKind, bool); 14] = [
            (Fault::BadKey, "GAL-MODEL-401", ErrorKind::Unauthorized, false),
            (Fault::NoMoney, "GAL-MODEL-QUOTA", ErrorKind::Forbidden, false),
            (Fault::UnknownModel, "GAL-MODEL-404", ErrorKind::NotFound, false),
            (Fault::TooLong, "GAL-MODEL-413", ErrorKind::TooLong, false),
            (Fault::TooBig, "GAL-MODEL-413", ErrorKind::TooLong, false),
            (Fault::NoTools, "GAL-MODEL-TOOLS", ErrorKind::Unsupported, false),
            (wait, "GAL-MODEL-429", ErrorKind::RateLimited, true),
            (Fault::Overloaded, "GAL-MODEL-5XX", ErrorKind::Unavailable, true),
            (Fault::Internal, "GAL-MODEL-5XX", ErrorKind::Unavailable, true),
            (Fault::ServerTimeout, "GAL-MODEL-TIMEOUT", ErrorKind::Timeout, true),
            (
                Fault::Status { status: 409, retry_after: None, body: "{}" },
                "GAL-MODEL-409",
                ErrorKind::Conflict,
                true,
            ),
            (
                Fault::Status {
                    status: 400,
                    retry_after: None,
                    body: "{\"error\":{\"message\":\"bad\"}}",
                },
                "GAL-MODEL-400",
                ErrorKind::Invalid,
                false,
            ),
            (Fault::Html, "GAL-MODEL-GARBAGE", ErrorKind::Unexpected, false),
            (Fault::Empty, "GAL-MODEL-EMPTY", ErrorKind::Unexpected, false),
        ];
        for (fault, code, kind, again) in table {
            for stream in [false, true] {
                if stream && fault == Fault::Html {
                    continue;
                }
                let error = self.fails(&fault, stream).await;
                assert_eq!(
                    (error.code(), error.kind(), error.retry() != Retry::Never),
                    (Some(code), kind, again),
                    "{fault:?} {stream}: {}",
                    error.report()
                );
            }
        }
        let error = self.fails(&Fault::RateLimited(Some("5")), false).await;
        assert_eq!(
            error.retry(),
            Retry::After(Duration::from_secs(5)),
            "the wait is longer than the deadline, so it is handed up"
        );
        for (fault, stream) in [
            (Fault::Garbage, false),
            (Fault::OtherShape, false),
            (Fault::Garbage, true),
            (Fault::OtherShape, true),
        ] {
            assert_eq!(
                self.fails(&fault, stream).await.code(),
                Some("GAL-MODEL-GARBAGE"),
                "{fault:?} {stream}"
            );
        }
        for (fault, stream, code) in [
            (Fault::CutAfter(40), false, "GAL-MODEL-CUT"),
            (Fault::CutAfter(0), true, "GAL-MODEL-CUT"),
            (Fault::Hang, true, "GAL-MODEL-TIMEOUT"),
            (Fault::StallAfter(10), true, "GAL-MODEL-TIMEOUT"),
            (Fault::Endless, false, "GAL-MODEL-GARBAGE"),
        ] {
            assert_eq!(self.fails(&fault, stream).await.code(), Some(code), "{fault:?} {stream}");
        }
        for fault in [Fault::CutAfter(300), Fault::ErrorInStream] {
            let error = self.fails(&fault, true).await;
            assert_eq!(error.kind(), ErrorKind::Unavailable, "{fault:?}: {}", error.report());
        }
        self.server.assert_clean();
    }

    /// A failure that passes is not seen by the caller.
    async fn recovers(&self) {
        self.server.enqueue(Fault::Overloaded);
        self.server.enqueue(Fault::CutAfter(0));
        self.server.enqueue(Reply::text("at last"));
        assert_eq!(ask(&self.models.large, &request(true)).await.0.unwrap().text, "at last");
        self.server.assert_clean();
    }

    async fn check_works(&self) {
        let findings = self.configured.check().await;
        assert!(findings.iter().all(|f| f.severity <= Severity::Info), "{findings:?}");
        assert!(findings.iter().any(|f| f.id == "GAL-MODEL-OK"));
        self.server.enqueue(Fault::BadKey);
        let findings = self.configured.check().await;
        assert_eq!(
            (findings[0].id.as_str(), findings[0].severity),
            ("GAL-MODEL-401", Severity::Error)
        );
        assert!(!format!("{findings:?}").contains("CANARY"));
        self.server.assert_clean();
    }

    async fn embeds(&self) {
        let model = self.models.embedding.clone().unwrap();
        let texts: Vec<String> =
            (0..150).map(|n| if n == 3 { String::new() } else { format!("text {n}") }).collect();
        let vectors = model.embed(&texts).await.unwrap();
        assert_eq!(vectors.len(), texts.len());
        let one = model.embed(&texts[120..121]).await.unwrap();
        assert_eq!(one[0], vectors[120], "order is kept");
        assert!(model.embed(&[]).await.unwrap().is_empty());
        for fault in [Fault::BadKey, Fault::Empty, Fault::Garbage] {
            self.server.enqueue(fault.clone());
            clean(&self.fresh().embedding.unwrap().embed(&texts[..2]).await.unwrap_err());
        }
        self.server.assert_clean();
    }
}

async fn openai() -> Pair<OpenAi> {
    let server =
        OpenAiServer::with(OpenAi { extended: true, comments: true }, Some(KEY)).await.unwrap();
    let models = [
        ("OPENAI_SMALL_MODEL", "gpt-4o-mini"),
        ("OPENAI_LARGE_MODEL", "gpt-4o"),
        ("OPENAI_EMBEDDING_MODEL", "text-embedding-3-small"),
    ];
    Pair::new(
        server,
        &[&[("OPENAI_API_KEY", KEY), ("OPENAI_BASE_URL", "BASE")], models.as_slice()].concat(),
    )
}

/// The same service in its newer format, with models that demand it.
async fn responses() -> Pair<OpenAi> {
    let server = OpenAiServer::start(KEY).await.unwrap();
    let models = [("OPENAI_SMALL_MODEL", "gpt-6-luna"), ("OPENAI_LARGE_MODEL", "gpt-6.1-terra")];
    Pair::new(
        server,
        &[&[("OPENAI_API_KEY", KEY), ("OPENAI_BASE_URL", "BASE")], models.as_slice()].concat(),
    )
}

async fn anthropic() -> Pair<galatea_testkit::models::Anthropic> {
    Pair::new(
        AnthropicServer::start(KEY).await.unwrap(),
        &[("ANTHROPIC_API_KEY", KEY), ("ANTHROPIC_BASE_URL", "BASE")],
    )
}

async fn ollama() -> Pair<galatea_testkit::models::Ollama> {
    let server = OllamaServer::start(KEY).await.unwrap();
    Pair::new(
        server,
        &[
            ("OLLAMA_API_KEY", KEY),
            ("OLLAMA_API_ENDPOINT", "BASE"),
            ("OLLAMA_EMBEDDING_MODEL", "nomic-embed-text"),
        ],
    )
}

async fn google() -> Pair<galatea_testkit::models::Google> {
    Pair::new(
        GoogleServer::start(KEY).await.unwrap(),
        &[("GOOGLE_GENERATIVE_AI_API_KEY", KEY), ("GOOGLE_GENERATIVE_AI_BASE_URL", "BASE")],
    )
}

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
    openai: answers faults recovers check_works embeds;
    responses: answers faults recovers;
    anthropic: answers faults recovers check_works;
    ollama: answers faults recovers check_works embeds;
    google: answers faults recovers check_works embeds;
}

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

/// Each model's parameters, as the strict server checks them; what is sent is read here.
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
    // Behind a server that has only the older format.
    let (path, body) = ask_openai("gpt-6-luna", &[chat, effort]).await;
    assert_eq!(
        (path.as_str(), &body["reasoning_effort"]),
        ("/v1/chat/completions", &json!("none")),
        "tools are taken with no other effort"
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

/// What every provider's list leads to: facts of models in use, a choice, and names in place of one that is not there.
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
    let (built, looked) = choose(&openai).await;
    assert_eq!((names(&built), looked.changes.len()), (pair("gpt-6-luna", "gpt-6.2-terra"), 2));
    assert!(built.reason().starts_with("chosen from"), "{}", built.reason());
    let (built, looked) = choose(&[
        openai[0],
        openai[1],
        ("OPENAI_LARGE_MODEL", "gpt-4o"),
        ("SMALL_MODEL", "gpt-6-luna"),
    ])
    .await;
    assert_eq!(
        (names(&built), looked.changes.len()),
        (pair("gpt-6-luna", "gpt-4o"), 0),
        "what somebody set is never replaced"
    );
    let fix = looked.findings[0].fix.clone().unwrap();
    assert!(
        looked.findings[0].id == "GAL-MODEL-404"
            && fix.contains("OPENAI_LARGE_MODEL")
            && fix.contains(", such as gpt-6"),
        "{looked:?}"
    );

    let server = AnthropicServer::start(KEY).await.unwrap();
    server.answer_with(move |_| Reply::Json(list("anthropic")));
    let (built, _) =
        choose(&[("ANTHROPIC_API_KEY", KEY), ("ANTHROPIC_BASE_URL", &server.base_url())]).await;
    assert_eq!(names(&built), pair("claude-haiku-5-6", "claude-sonnet-6"));
    assert_eq!(
        built.models.small.info().limits.window,
        Some(500_000),
        "the list knows better than the table"
    );
    assert_eq!(
        built.models.large.info().limits.window,
        Some(1_000_000),
        "where the list says nothing, the table does"
    );

    let server = GoogleServer::start(KEY).await.unwrap();
    server.answer_with(move |_| Reply::Json(list("google")));
    let (built, _) =
        choose(&[("GEMINI_API_KEY", KEY), ("GOOGLE_GENERATIVE_AI_BASE_URL", &server.base_url())])
            .await;
    assert_eq!(names(&built), pair("gemini-3.5-flash-lite", "gemini-3.9-flash"));
    assert_eq!(built.models.large.info().limits.output, Some(3));

    let server = OllamaServer::with(galatea_testkit::models::Ollama, None).await.unwrap();
    server.answer_with(move |_| Reply::Json(list("ollama")));
    let (built, _) = choose(&[("OLLAMA_API_ENDPOINT", &server.base_url())]).await;
    assert_eq!(names(&built), pair("phi4:latest", "phi4:latest"), "what is installed");
}

/// Models with what was chosen and told.
fn with_choices(choices: &Choices, pairs: &[(&str, &str)]) -> Configured {
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

const TODAY: time::Date = time::macros::date!(2026 - 11 - 23);

/// Models after the lists were read.
async fn choose(pairs: &[(&str, &str)]) -> (Configured, galatea_models::config::Looked) {
    let choices = Choices::default();
    let looked = with_choices(&choices, pairs).look(&choices, TODAY, When::Needed).await;
    assert_eq!(looked.unread, []);
    (with_choices(&choices, pairs), looked)
}

/// Which window a call has that is made of the models as they are now.
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
        "before anything was told"
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
        "what is set counts first"
    );
}

#[tokio::test]
async fn a_model_is_asked_for_its_window_once_per_look_and_a_failure_keeps_what_was_told() {
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
    built.look(&choices, TODAY, When::Needed).await;
    let shown: Vec<_> =
        server.requests().into_iter().filter(|r| r.path == "/api/show").map(|r| r.body).collect();
    assert_eq!(shown, [json!({ "model": "gemma3" })]);
    fails.store(true, std::sync::atomic::Ordering::Relaxed);
    built.look(&choices, TODAY, When::Needed).await;
    let named = [
        ("OLLAMA_API_ENDPOINT", base.as_str()),
        ("SMALL_MODEL", "gemma3"),
        ("LARGE_MODEL", "gemma3"),
    ];
    let again = with_choices(&choices, &named);
    assert_eq!(again.models.large.info().limits.window, Some(20_000));
    // A running program reads it though every model is named, and sees that there is something to go on with.
    let start = with_choices(&Choices::default(), &named);
    assert!(start.asks() && !again.is_as(&start) && again.is_as(&with_choices(&choices, &named)));
}

#[tokio::test]
async fn a_list_that_hangs_or_fails_changes_nothing() {
    let server = OpenAiServer::start(KEY).await.unwrap();
    let base = server.base_url();
    let built = configure(&[("OPENAI_API_KEY", KEY), ("OPENAI_BASE_URL", &base)]);
    for fault in [Fault::Internal, Fault::BadKey, Fault::Garbage, Fault::Empty] {
        server.enqueue(fault.clone());
        let choices = Choices::default();
        let looked = built.look(&choices, time::macros::date!(2026 - 11 - 23), When::Now).await;
        assert_eq!(looked.changes, [], "{fault:?}");
        clean_findings(&looked.unread);
    }
}

fn clean_findings(findings: &[galatea_core::Finding]) {
    assert!(!format!("{findings:?}").contains("CANARY"), "a secret is told: {findings:?}");
}

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
        OllamaServer::with(galatea_testkit::models::Ollama, None).await.unwrap(),
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
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let chosen = configure(&[
        ("OPENAI_API_KEY", KEY),
        ("OPENAI_BASE_URL", &format!("http://{address}/v1/CANARY")),
    ]);
    let error =
        ask(&chosen.models.large, &TextRequest::prompt(None, "CANARY")).await.0.unwrap_err();
    assert_eq!((error.code(), error.kind()), (Some("GAL-MODEL-CONNECT"), ErrorKind::Unavailable));
    assert_eq!(error.message(), format!("nothing listens at {address}"));
    assert!(error.fix().unwrap().contains("OPENAI_BASE_URL"));
    clean(&error);
    assert_eq!(chosen.check().await[0].id, "GAL-MODEL-CONNECT");
}

#[tokio::test]
async fn a_wrong_path_is_told_apart_from_a_missing_model() {
    let pair = openai().await;
    let error = pair
        .fails(&Fault::Status { status: 404, retry_after: None, body: "404 page not found" }, false)
        .await;
    assert_eq!(error.code(), Some("GAL-MODEL-URL"));
    assert!(error.fix().unwrap().contains("OPENAI_BASE_URL"));
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
