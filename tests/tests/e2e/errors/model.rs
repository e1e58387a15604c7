//! Errors of the model: key refused, unknown name, not installed, no embeddings, server
//! unreachable.

use galatea_testkit::{
    models::{Fault, Ollama, OllamaServer, Recorded, Reply},
    port::RefusedPort,
};
use serde_json::json;
use std::time::Duration;

use super::{Scene, finding, http, says, something_else};

/// Checks that a refused model is reported by `doctor`, while the program runs, and on the platform.
async fn is_told(scene: &Scene, code: &str, expected: &[&str], refuse: impl FnOnce()) {
    let doctor = scene.run(&["doctor"]).await;
    says(&doctor.stdout, &[code]);
    says(&doctor.stdout, expected);
    refuse();
    let (message, rest) = (expected[0], &expected[1..]);
    let running = scene.start().await;
    let ann = &scene.stage.ann;
    ann.says(&ann.direct(), "Q2").send();
    scene.stage.telegram.wait_shown(ann.id, 1).await;
    let shown = scene.stage.texts(&ann.direct()).join(" ");
    assert!(
        shown.contains("my language model does not answer")
            && !shown.contains("GAL-")
            && !shown.contains("KEY"),
        "{shown}"
    );
    running.wait_for_line(&format!("error[{code}]")).await;
    running.wait_for_line("more:").await;
    let status = scene.run(&["status"]).await;
    assert_eq!(status.code, Some(1));
    says(&status.stdout, &["not ready", "no model answers:", message, code]);
    if code == "GAL-MODEL-401" {
        // A second message. Where the model is unknown, each waits until the list was read again.
        let beside = scene.run(&["chat", "-m", "Q3"]).await;
        assert_eq!(beside.code, Some(5), "{}{}", beside.stdout, beside.stderr);
    }
    let said = scene.end(running).await.stderr;
    says(&said, &[&format!("error[{code}]: model:"), message, "cause:"]);
    says(&said, &[rest.last().unwrap()]);
    assert_eq!(
        said.matches(&format!("error[{code}]")).count(),
        1,
        "the problem is reported once:\n{said}"
    );
}

#[tokio::test]
async fn a_refused_key() {
    let mut scene = Scene::set().await;
    scene.env("OPENAI_API_KEY", "sk-e2e-wrong-canary-0123456789");
    scene.canary("wrong-canary");
    let expected = [
        "the model server rejected OPENAI_API_KEY",
        "cause: HTTP 401",
        "where: OPENAI_API_KEY from .env line 4",
        "fix: put a valid key of the model server into OPENAI_API_KEY",
    ];
    is_told(&scene, "GAL-MODEL-401", &expected, || ()).await;
    let doctor = scene.run(&["doctor", "--json"]).await;
    assert_eq!(doctor.code, Some(7));
    assert_eq!(finding(&doctor, "GAL-MODEL-401")["subject"], "model");
    // Without a running process, `chat` reports it by itself.
    let alone = scene.run(&["chat", "-m", "Q1"]).await;
    assert_eq!(alone.code, Some(5), "{}{}", alone.stdout, alone.stderr);
    says(
        &alone.stderr,
        &[
            "error[GAL-CHAT-FAILED]: the agent could not answer:",
            expected[0],
            "fix: `galatea doctor`",
        ],
    );
}

#[tokio::test]
async fn an_unknown_model() {
    let mut scene = Scene::set().await;
    scene.env("OPENAI_LARGE_MODEL", "gpt-9");
    let refuse = |request: &Recorded| match request.path.ends_with("/models") {
        true => Reply::Json(json!({ "object": "list", "data": [
            { "id": "gpt-4o-mini", "object": "model", "created": 1 },
            { "id": "gpt-8-terra", "object": "model", "created": 1 },
        ] })),
        false => Reply::Fault(Fault::UnknownModel),
    };
    scene.stage.model.answer_with(refuse);
    let fix = "fix: set OPENAI_LARGE_MODEL to a model that the model server offers";
    let expected =
        ["has no model gpt-9", "cause:", "where: OPENAI_LARGE_MODEL from .env line 5", fix];
    is_told(&scene, "GAL-MODEL-404", &expected, || ()).await;

    // Names that exist: in `doctor`, in `status` once the list was read, and in the next banner.
    let names = ", such as gpt-8-terra";
    says(&scene.run(&["doctor"]).await.stdout, &[&format!("{fix}{names}")]);
    let running = scene.start().await;
    let ann = &scene.stage.ann;
    ann.says(&ann.direct(), "Q4").send();
    let named = async {
        loop {
            let status = scene.run(&["status"]).await.stdout;
            let words = status.split_whitespace().collect::<Vec<_>>().join(" ");
            if words.contains("no model gpt-9") && words.contains(names) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), named).await.unwrap();
    scene.end(running).await;
    let running = scene.start().await;
    let banner = running.output();
    says(
        &banner,
        &[
            "Model",
            "gpt-9 at http",
            "(set by OPENAI_LARGE_MODEL)",
            "openai had no model gpt-9 when its list was last read: correct OPENAI_LARGE_MODEL",
        ],
    );
    says(&banner, &[&format!("correct OPENAI_LARGE_MODEL{names}")]);
    scene.end(running).await;
}

#[tokio::test]
async fn a_model_that_is_not_pulled() {
    let mut scene = Scene::set().await;
    let ollama = OllamaServer::with(Ollama, None).await.unwrap();
    scene.env("OPENAI_BASE_URL", "");
    scene.env("OPENAI_API_KEY", "");
    scene.env("OLLAMA_API_ENDPOINT", &ollama.base_url());
    scene.env("OLLAMA_LARGE_MODEL", "llama9.9");
    let expected = [
        "Ollama has not pulled the model llama9.9",
        "cause:",
        "where: OLLAMA_LARGE_MODEL from .env line 6",
        "fix: ollama pull llama9.9",
    ];
    is_told(&scene, "GAL-MODEL-404", &expected, || {
        ollama.answer_with(|_| Reply::Fault(Fault::UnknownModel))
    })
    .await;
}

#[tokio::test]
async fn no_server_at_the_models_address() {
    let mut scene = Scene::set().await;
    let nowhere = RefusedPort::take();
    scene.env("OPENAI_BASE_URL", &format!("{}/v1", nowhere.url()));
    let doctor = scene.run(&["doctor"]).await;
    assert_eq!(doctor.code, Some(7));
    let expected = [
        "nothing listens at 127.0.0.1",
        "GAL-MODEL-CONNECT",
        "cause:",
        "where: OPENAI_BASE_URL from .env line 3",
        "fix:",
        "OPENAI_BASE_URL",
    ];
    says(&doctor.stdout, &expected);
}

#[tokio::test]
async fn a_page_at_the_models_address() {
    let mut scene = Scene::set().await;
    scene.canary("canary-page");
    let page =
        something_else(http("200 OK", "text/html", "<html><title>canary-page</title></html>"))
            .await;
    scene.env("OPENAI_BASE_URL", &format!("{page}/v1"));
    let doctor = scene.run(&["doctor"]).await;
    assert_eq!(doctor.code, Some(7));
    says(
        &doctor.stdout,
        &[
            "something that is not a model answer",
            "GAL-MODEL-GARBAGE",
            "where: OPENAI_BASE_URL from .env line 3",
            "fix: check OPENAI_BASE_URL",
        ],
    );
}

#[tokio::test]
async fn without_a_model_the_start_says_where_it_stays_silent() {
    let mut scene = Scene::set().await;
    scene.env("OPENAI_BASE_URL", "");
    scene.env("OPENAI_API_KEY", "");
    let running = scene.start().await;
    running.wait_for_line("polling").await;
    let said = scene.end(running).await.stderr;
    says(
        &said,
        &[
            "offline script — pattern matching, not AI",
            "on, but answers no message: no model is set",
            "galatea init",
        ],
    );
    assert_eq!(said.matches("error[GAL-MODEL-NONE]").count(), 1, "said once: {said}");
    scene.env("OFFLINE_RESPONDER_PUBLIC", "true");
    let running = scene.start().await;
    assert!(!scene.end(running).await.stderr.contains("answers no message"));
}

#[tokio::test]
async fn without_embeddings_it_says_how_memory_is_searched() {
    let mut scene = Scene::set().await;
    // The gain of a model, and the one of the configured provider.
    let expected = [
        "memory search uses keywords until an embedding model is set: what was said in other words than the question is not found",
        "set OPENAI_EMBEDDING_MODEL=text-embedding-3-small",
    ];
    says(&scene.run(&["doctor"]).await.stdout, &expected);
    assert_eq!(
        finding(&scene.run(&["doctor", "--json"]).await, "GAL-MODEL-EMBEDDING")["severity"],
        "info"
    );
    let running = scene.start().await;
    says(&scene.end(running).await.stderr, &expected);
    scene.env("OPENAI_EMBEDDING_MODEL", "text-embedding-3-small");
    let running = scene.start().await;
    assert!(!scene.end(running).await.stderr.contains("memory search"));
}
