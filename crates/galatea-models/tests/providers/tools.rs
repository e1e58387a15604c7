//! A server that refuses tools is asked again without them, with the actions in the text.

use galatea_testkit::models::{Dialect, Fault, OpenAi, OpenAiServer};

use crate::{
    ask::{KEY, ask, request},
    pairs::{Pair, anthropic, google, ollama},
};

/// Each refuses the first request with tools and answers the second one without.
async fn answers_without_tools<D: Dialect>(pair: Pair<D>, refusal: Fault) {
    pair.server.enqueue(refusal.clone());
    let answer = ask(&pair.models.large, &request(true)).await.0;
    assert!(answer.is_ok(), "{refusal:?}: {answer:?}");
    let bodies = || pair.server.requests().into_iter().map(|sent| sent.body);
    let offers = |body: &serde_json::Value| body["tools"].as_array().is_some_and(|t| !t.is_empty());
    assert_eq!(bodies().map(|body| offers(&body)).collect::<Vec<_>>(), [true, false]);
    let last = bodies().next_back().unwrap().to_string();
    assert!(last.contains("# Possible actions") && last.contains("SEND_MESSAGE"), "{last}");
    // The next call saves the attempt.
    assert!(ask(&pair.models.large, &request(false)).await.0.is_ok());
    assert_eq!(bodies().map(|body| offers(&body)).collect::<Vec<_>>(), [true, false, false]);
    pair.server.assert_clean();
}

async fn compatible() -> Pair<OpenAi> {
    let server =
        OpenAiServer::with(OpenAi { extended: true, comments: true }, Some(KEY)).await.unwrap();
    let settings = [
        ("OPENAI_API_KEY", KEY),
        ("OPENAI_BASE_URL", "BASE"),
        ("LARGE_MODEL", "gemma-3"),
        ("SMALL_MODEL", "gemma-3"),
    ];
    Pair::new(server, &settings)
}

#[tokio::test]
async fn every_service_that_refuses_tools_is_asked_without_them() {
    let status = |status, body| Fault::Status { status, retry_after: None, body };
    for refusal in [
        status(
            400,
            r#"{"error":{"message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set","type":"BadRequestError","code":400}}"#,
        ),
        status(
            400,
            r#"{"error":{"message":"registry.ollama.ai/library/gemma3 does not support tools"}}"#,
        ),
        status(
            404,
            r#"{"error":{"message":"No endpoints found that support tool use","code":404}}"#,
        ),
        status(
            422,
            r#"{"detail":[{"type":"extra_forbidden","loc":["body","tools"],"msg":"Extra inputs are not permitted"}]}"#,
        ),
        status(
            500,
            r#"{"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}"#,
        ),
    ] {
        answers_without_tools(compatible().await, refusal).await;
    }
    answers_without_tools(anthropic().await, Fault::NoTools).await;
    answers_without_tools(google().await, Fault::NoTools).await;
    // Its list says that the model has tools; the model refuses them.
    let mut ollama = ollama().await;
    ollama.models = ollama.fresh(&[("MODEL_TOOLS", "true")]);
    answers_without_tools(ollama, Fault::NoTools).await;
}
