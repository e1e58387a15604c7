//! Services that refuse a field or a role are asked again without it, and remembered.

use galatea_core::{
    Settings,
    model::{ChatMessage, TextRequest},
};
use galatea_http::{HttpClient, HttpOptions};
use galatea_models::{Choices, Configured, Dependencies, build};
use galatea_testkit::{
    clock::ManualClock,
    models::{Fault, OpenAi, OpenAiServer, Recorded, Reply},
};
use serde_json::Value;

use crate::{
    ask::{KEY, ask, request},
    pairs::{anthropic, google, ollama},
};

fn refusal(status: u16, body: &str) -> Reply {
    let body: &'static str = Box::leak(body.to_owned().into_boxed_str());
    Reply::Fault(Fault::Status { status, retry_after: None, body })
}

/// Models at a server of one's own, with choices that outlive them.
fn at(server: &OpenAiServer, choices: &Choices, clock: &ManualClock) -> Configured {
    let settings = Settings::from_pairs([
        ("OPENAI_API_KEY", Value::from(KEY)),
        ("OPENAI_BASE_URL", Value::from(server.base_url())),
        ("LARGE_MODEL", Value::from("mistral-small")),
        ("SMALL_MODEL", Value::from("mistral-small")),
        ("MODEL_FALLBACK", Value::from("none")),
    ]);
    let dependencies =
        Dependencies::remembering(galatea_core::EventBus::default(), choices.clone());
    let http = HttpClient::new(HttpOptions::default()).unwrap();
    build(&settings, &http, clock.shared(), &dependencies).unwrap()
}

async fn server() -> OpenAiServer {
    OpenAiServer::with(OpenAi { extended: true, comments: false }, Some(KEY)).await.unwrap()
}

/// A room after its first answer: its messages have names.
fn room() -> TextRequest {
    let messages = vec![
        ChatMessage::user("Ann: hi").named("Ann"),
        ChatMessage::assistant("Hello."),
        ChatMessage::user("Bob: and I?").named("Bob"),
    ];
    TextRequest { messages: messages.into(), ..request(true) }
}

fn has_name(sent: &Recorded) -> bool {
    sent.body["messages"].as_array().into_iter().flatten().any(|m| m.get("name").is_some())
}

/// A server that refuses one thing after the other, each in other words, as Mistral and many
/// servers of one's own do.
#[tokio::test]
async fn a_strict_server_answers_after_a_refusal_of_each_field_and_none_is_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("models.json");
    let server = server().await;
    server.answer_with(|sent| {
        if has_name(sent) {
            return refusal(422, r#"{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","messages",1,"user","name"],"msg":"Extra inputs are not permitted","input":"Ann"}]},"type":"invalid_request_error"}"#);
        }
        for (field, body) in [
            ("stream_options", r#"{"error":{"message":"Unrecognized request argument supplied: stream_options"}}"#),
            ("seed", r#"{"error":"json: unknown field \"seed\""}"#),
            ("top_k", r#"{"error":{"message":"property 'top_k' is unsupported"}}"#),
            ("repetition_penalty", r#"{"error":{"message":"Argument not supported on this model: repetitionPenalty"}}"#),
        ] {
            if sent.body.get(field).is_some() {
                return refusal(400, body);
            }
        }
        Reply::text("done")
    });
    let clock = ManualClock::new();
    let models = at(&server, &Choices::open(file.clone()), &clock);
    let first = ask(&models.models.large, &room()).await.0.unwrap();
    assert_eq!((first.text.as_str(), server.count()), ("done", 6));
    let last = server.last().unwrap().body.to_string();
    assert!(last.contains("Ann: hi") && last.contains("Bob: and I?"), "who speaks stays: {last}");
    assert!(last.contains("temperature"), "only what is refused is left out: {last}");

    // The next call, and a start from the file, need no refusal.
    assert!(ask(&models.models.large, &room()).await.0.is_ok());
    let restarted = at(&server, &Choices::open(file), &clock);
    assert!(ask(&restarted.models.large, &room()).await.0.is_ok());
    assert_eq!(server.count(), 8);
    let told: Vec<String> = restarted
        .findings
        .iter()
        .filter(|finding| finding.id == "GAL-MODEL-ADJUSTED")
        .map(|finding| format!("{} ({})", finding.message, finding.cause.clone().unwrap()))
        .collect();
    assert_eq!(told.len(), 5, "{told:?}");
    assert!(
        told.iter()
            .any(|one| one.contains("messages.name is left out (") && one.contains("Extra inputs")),
        "{told:?}"
    );

    // After a week it is asked for again, and learnt again.
    clock.advance(std::time::Duration::from_secs(7 * 24 * 3600 + 1));
    assert!(ask(&restarted.models.large, &room()).await.0.is_ok());
    assert_eq!(server.count(), 14);
}

#[tokio::test]
async fn a_template_without_system_role_and_with_strict_turns_is_answered() {
    let server = server().await;
    server.answer_with(|sent| {
        let roles: Vec<&str> = sent.body["messages"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|message| message["role"].as_str())
            .collect();
        if roles.contains(&"system") {
            return refusal(500, r#"{"error":{"code":500,"message":"System role not supported at row 1, column 80","type":"server_error"}}"#);
        }
        let alternates = roles.iter().enumerate().all(|(at, role)| (at % 2 == 0) == (*role == "user"));
        if !alternates {
            return refusal(400, r#"{"error":{"message":"Conversation roles must alternate user/assistant/user/assistant/..."}}"#);
        }
        Reply::text("done")
    });
    let models = at(&server, &Choices::default(), &ManualClock::new());
    let answer = ask(&models.models.large, &request(true)).await.0.unwrap();
    assert_eq!(answer.text, "done");
    let sent = server.last().unwrap().body;
    assert!(sent["messages"][0]["content"].to_string().contains("You are kind."), "{sent}");
}

/// A server that streams says success first: the refusal is the stream's only event. One that does not
/// stream has it in its answer.
#[tokio::test]
async fn a_refusal_inside_of_a_successful_answer_is_learnt_from() {
    const REFUSAL: &str = r#"{"error":{"code":500,"message":"System message must be at the beginning.","type":"server_error"}}"#;
    let whole = Reply::Json(serde_json::from_str(REFUSAL).unwrap());
    for (streams, refusal) in [(true, Reply::Fault(Fault::Event(REFUSAL))), (false, whole)] {
        let server = server().await;
        server.answer_with(move |sent| {
            let messages = sent.body["messages"].as_array().unwrap();
            let late = messages.iter().skip(1).any(|message| message["role"] == "system");
            if late { refusal.clone() } else { Reply::text("done") }
        });
        let messages = vec![
            ChatMessage::user("hi"),
            ChatMessage::assistant("Hello."),
            ChatMessage::system("It is 19:05."),
            ChatMessage::user("What time is it?"),
        ];
        let request = TextRequest { messages: messages.into(), ..request(streams) };
        let (choices, clock) = (Choices::default(), ManualClock::new());
        let models = at(&server, &choices, &clock);
        for calls in [2, 3] {
            let (answer, heard) = ask(&models.models.large, &request).await;
            assert_eq!((answer.unwrap().text.as_str(), server.count()), ("done", calls));
            assert_eq!(heard.concat(), if streams { "done" } else { "" });
        }
        let sent = server.last().unwrap().body.to_string();
        assert!(sent.contains("(It is 19:05.)"), "{sent}");
        let known = at(&server, &choices, &clock).findings;
        assert!(known.iter().any(|one| one.id == "GAL-MODEL-ADJUSTED"), "{known:?}");
    }
}

#[tokio::test]
async fn both_names_of_the_limit_may_be_refused() {
    let server = server().await;
    server.answer_with(|sent| {
        for name in ["max_tokens", "max_completion_tokens"] {
            if sent.body.get(name).is_some() {
                return refusal(400, &format!(r#"{{"error":{{"message":"Unsupported parameter: '{name}'","param":"{name}","code":"unsupported_parameter"}}}}"#));
            }
        }
        Reply::text("done")
    });
    let choices = Choices::default();
    let models = at(&server, &choices, &ManualClock::new());
    for _ in 0..2 {
        assert!(ask(&models.models.large, &request(false)).await.0.is_ok());
    }
    assert_eq!(server.count(), 4, "two refusals, once");
}

/// A refusal that no change of the request cures ends the call after a bounded number of attempts,
/// and nothing is remembered of it.
#[tokio::test]
async fn a_server_that_refuses_everything_is_given_up() {
    let server = server().await;
    server.answer_with(|sent| {
        let fields = sent.body.as_object().unwrap();
        let field =
            fields.keys().find(|key| !["model", "messages", "tools"].contains(&key.as_str()));
        let field = field.cloned().unwrap_or_else(|| "model".to_owned());
        refusal(
            400,
            &format!(
                r#"{{"error":{{"message":"Unknown parameter: '{field}'.","param":"{field}"}}}}"#
            ),
        )
    });
    let choices = Choices::default();
    let models = at(&server, &choices, &ManualClock::new());
    let error = ask(&models.models.large, &request(false)).await.0.unwrap_err();
    assert_eq!(error.code(), Some("GAL-MODEL-400"));
    assert_eq!(server.count(), 7);
    let again = at(&server, &choices, &ManualClock::new());
    assert!(again.findings.iter().all(|finding| finding.id != "GAL-MODEL-ADJUSTED"));
}

#[tokio::test]
async fn other_formats_learn_as_well() {
    let pair = anthropic().await;
    pair.server.answer_with(|sent| match sent.body.get("top_k") {
        Some(_) => refusal(400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"top_k: Extra inputs are not permitted"}}"#),
        None => Reply::text("done"),
    });
    let pair_models = pair.fresh(&[("ANTHROPIC_LARGE_MODEL", "claude-3-opus")]);
    assert!(ask(&pair_models.large, &request(true)).await.0.is_ok());
    let pair = google().await;
    pair.server.answer_with(|sent| match sent.body.get("systemInstruction") {
        Some(_) => refusal(400, r#"{"error":{"code":400,"message":"Developer instruction is not enabled for models/gemma-3-27b-it","status":"INVALID_ARGUMENT"}}"#),
        None => Reply::text("done"),
    });
    assert!(ask(&pair.models.large, &request(false)).await.0.is_ok());
    let pair = ollama().await;
    pair.server.answer_with(|sent| match sent.body["options"].get("min_p") {
        Some(_) => refusal(400, r#"{"error":"invalid option: unknown parameter 'min_p'"}"#),
        None => Reply::text("done"),
    });
    assert!(ask(&pair.models.large, &request(true)).await.0.is_ok());
}
