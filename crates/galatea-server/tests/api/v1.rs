//! The interfaces of OpenAI and Anthropic: a persona is a model.

use axum::http::StatusCode;
use galatea_core::store::OperatorRole;
use galatea_http::listen::{Limits, serve};
use serde_json::{Value, json};
use std::{path::Path, process::Command};

use crate::{
    agents::House,
    support::{Answer, ask},
};

const SAID: &str = "You said hello. That is all.";

async fn complete(house: &House, token: &str, body: Value) -> Answer {
    house.server.answer(ask("POST", "/v1/chat/completions").token(token).body(body)).await
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

/// Number of Rooms of the web.
async fn rooms(house: &House) -> usize {
    let source = galatea_host::ops::chat::SOURCE;
    house.server.store.list_rooms(None, Some(&source), None, 100).await.unwrap().len()
}

#[tokio::test]
async fn a_conversation_goes_on_in_its_room_and_another_one_has_its_own() {
    let house = House::of(&["Ada"]).await;
    let token = house.server.token(OperatorRole::Operator).await;
    let first = json!({"model": "ada", "messages": [user("hello")]});
    let answer = complete(&house, &token, first.clone()).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    let body = answer.json();
    assert_eq!(body["choices"][0]["message"]["content"], SAID);
    assert_eq!(body["choices"][0]["finish_reason"], "stop");
    assert_eq!(body["usage"]["total_tokens"], 18, "{body}");
    assert_eq!(rooms(&house).await, 1);

    let reply = json!({"role": "assistant", "content": SAID});
    let next = json!({"model": "Ada", "messages": [user("hello"), reply, user("more")]});
    let answer = complete(&house, &token, next.clone()).await.json();
    assert_eq!(answer["choices"][0]["message"]["content"], "You said more. That is all.");
    assert_eq!(rooms(&house).await, 1, "the same conversation");
    // Somebody else began with the same words, and got the same answer.
    complete(&house, &token, first).await;
    assert_eq!(rooms(&house).await, 2);
    // The first of the two went on already: the second is told what was said so far.
    complete(&house, &token, next.clone()).await;
    assert_eq!(rooms(&house).await, 2);
    complete(&house, &token, next).await;
    assert_eq!(rooms(&house).await, 3);
    house.end().await;
}

#[tokio::test]
async fn chunks_add_up_to_the_answer() {
    let house = House::of(&["Ada"]).await;
    let token = house.server.token(OperatorRole::Operator).await;
    let body = json!({"model": "Ada", "stream": true, "stream_options": {"include_usage": true}, "messages": [user("hello")]});
    let mut stream =
        house.stream(ask("POST", "/v1/chat/completions").token(&token).body(body)).await;
    let chunks: Vec<Value> = stream.rest().await.into_iter().map(|(_, data)| data).collect();
    let pieces: String = chunks
        .iter()
        .filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str())
        .collect();
    assert_eq!(pieces, SAID);
    assert_eq!(chunks.last().unwrap(), "[DONE]");
    assert_eq!(chunks[chunks.len() - 2]["usage"]["prompt_tokens"], 11);

    let body =
        json!({"model": "Ada", "max_tokens": 100, "stream": true, "messages": [user("hello")]});
    let mut stream =
        house.stream(ask("POST", "/v1/messages").header("x-api-key", &token).body(body)).await;
    let events = stream.rest().await;
    let names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names.first(), Some(&"message_start"));
    assert_eq!(&names[names.len() - 3..], ["content_block_stop", "message_delta", "message_stop"]);
    let pieces: String =
        events.iter().filter_map(|(_, data)| data["delta"]["text"].as_str()).collect();
    assert_eq!(pieces, SAID);
    house.end().await;
}

#[tokio::test]
async fn errors_have_the_form_of_each_interface() {
    let house = House::of(&["Ada"]).await;
    let token = house.server.token(OperatorRole::Operator).await;
    let viewer = house.server.token(OperatorRole::Viewer).await;
    let body = |model: &str, text: &str| json!({"model": model, "messages": [user(text)]});
    for (token, body, status, code) in [
        ("wrong", body("Ada", "hello"), 401, "invalid_api_key"),
        (viewer.as_str(), body("Ada", "hello"), 403, "insufficient_permissions"),
        (token.as_str(), body("Nobody", "hello"), 404, "model_not_found"),
        (token.as_str(), json!({"model": "Ada", "messages": []}), 400, "invalid_value"),
        (token.as_str(), json!({"model": "Ada"}), 400, "invalid_value"),
        (token.as_str(), body("Ada", "fail"), 503, "unavailable"),
    ] {
        let answer = complete(&house, token, body.clone()).await;
        assert_eq!(answer.status, status, "{code}: {}", answer.text);
        assert_eq!(answer.json()["error"]["code"], code, "{}", answer.text);
    }
    for (token, body, status, kind) in [
        ("wrong", body("Ada", "hello"), 401, "authentication_error"),
        (token.as_str(), body("Nobody", "hello"), 404, "not_found_error"),
        (token.as_str(), json!({"model": "Ada"}), 400, "invalid_request_error"),
        (token.as_str(), body("Ada", "fail"), 503, "api_error"),
    ] {
        let asked = ask("POST", "/v1/messages").header("x-api-key", token).body(body.clone());
        let answer = house.server.answer(asked).await;
        assert_eq!(answer.status, status, "{kind}: {}", answer.text);
        assert_eq!(answer.json()["error"]["type"], kind, "{}", answer.text);
    }
    house.end().await;
}

/// The official clients, at a fixed version.
const CLIENTS: [&str; 2] = ["openai==1.99.9", "anthropic==0.64.0"];

const SCRIPT: &str = r#"
import sys, openai, anthropic
address, token = sys.argv[1], sys.argv[2]
said = "You said hello. That is all."
hello = [{"role": "user", "content": "hello"}]

client = openai.OpenAI(base_url=address + "/v1", api_key=token, max_retries=0)
assert "Ada" in [model.id for model in client.models.list()]
assert client.models.retrieve("Ada").id == "Ada"
answer = client.chat.completions.create(model="Ada", messages=hello)
assert answer.choices[0].message.content == said, answer
assert answer.usage.total_tokens == 18, answer
stream = client.chat.completions.create(model="Ada", messages=hello, stream=True)
assert "".join(chunk.choices[0].delta.content or "" for chunk in stream) == said
for model, key, error in [
    ("Nobody", token, openai.NotFoundError),
    ("Ada", "wrong", openai.AuthenticationError),
]:
    try:
        openai.OpenAI(base_url=address + "/v1", api_key=key, max_retries=0).chat.completions.create(model=model, messages=hello)
    except error:
        pass
    else:
        raise AssertionError(error)
try:
    client.chat.completions.create(model="Ada", messages=[])
except openai.BadRequestError:
    pass
else:
    raise AssertionError("an empty conversation was answered")

client = anthropic.Anthropic(base_url=address, api_key=token, max_retries=0)
assert "Ada" in [model.id for model in client.models.list()]
answer = client.messages.create(model="Ada", max_tokens=100, messages=hello)
assert answer.content[0].text == said and answer.stop_reason == "end_turn", answer
with client.messages.stream(model="Ada", max_tokens=100, messages=hello) as stream:
    assert "".join(stream.text_stream) == said
    assert stream.get_final_message().usage.output_tokens == 7
for model, key, error in [
    ("Nobody", token, anthropic.NotFoundError),
    ("Ada", "wrong", anthropic.AuthenticationError),
]:
    try:
        anthropic.Anthropic(base_url=address, api_key=key, max_retries=0).messages.create(model=model, max_tokens=100, messages=hello)
    except error:
        pass
    else:
        raise AssertionError(error)
print("all is well")
"#;

/// The same for Node.
const PACKAGES: [&str; 2] = ["openai@5.12.2", "@anthropic-ai/sdk@0.59.0"];

const MODULE: &str = r#"
import OpenAI, { NotFoundError, AuthenticationError, BadRequestError } from 'openai';
import Anthropic from '@anthropic-ai/sdk';
const [address, token] = process.argv.slice(2);
const said = 'You said hello. That is all.';
const messages = [{ role: 'user', content: 'hello' }];
const same = (left, right) => {
  if (left !== right) throw new Error(`${JSON.stringify(left)} is not ${JSON.stringify(right)}`);
};
const fails = async (kind, work) => {
  const error = await work().then(() => null, (error) => error);
  if (!(error instanceof kind)) throw new Error(`${error} is no ${kind.name}`);
};
const openai = (apiKey) => new OpenAI({ baseURL: `${address}/v1`, apiKey, maxRetries: 0 });
const complete = (client, model, more = {}) => client.chat.completions.create({ model, messages, ...more });
same((await openai(token).models.list()).data.some((model) => model.id === 'Ada'), true);
same((await complete(openai(token), 'Ada')).choices[0].message.content, said);
let text = '';
for await (const chunk of await complete(openai(token), 'Ada', { stream: true })) text += chunk.choices[0]?.delta.content ?? '';
same(text, said);
await fails(NotFoundError, () => complete(openai(token), 'Nobody'));
await fails(AuthenticationError, () => complete(openai('wrong'), 'Ada'));
await fails(BadRequestError, () => complete(openai(token), 'Ada', { messages: [] }));
const anthropic = (apiKey) => new Anthropic({ baseURL: address, apiKey, maxRetries: 0 });
const create = (client, model) => client.messages.create({ model, max_tokens: 100, messages });
const answer = await create(anthropic(token), 'Ada');
same(answer.content[0].text, said);
same(await anthropic(token).messages.stream({ model: 'Ada', max_tokens: 100, messages }).finalText(), said);
await fails(Anthropic.NotFoundError, () => create(anthropic(token), 'Nobody'));
await fails(Anthropic.AuthenticationError, () => create(anthropic('wrong'), 'Ada'));
console.log('all is well');
"#;

/// Installs the Python clients into a folder, and writes the script; none where that cannot be done.
fn python(folder: &Path) -> Option<Command> {
    let made = Command::new("python3").args(["-m", "venv"]).arg(folder).output();
    if !made.is_ok_and(|made| made.status.success()) {
        return None;
    }
    let python = folder.join("bin/python");
    let installed = Command::new(&python)
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
        .args(CLIENTS)
        .output();
    let mut run = Command::new(python);
    run.args(["-c", SCRIPT]);
    installed.is_ok_and(|installed| installed.status.success()).then_some(run)
}

/// The same for Node.
fn node(folder: &Path) -> Option<Command> {
    let script = folder.join("clients.mjs");
    std::fs::write(&script, MODULE).ok()?;
    let installed = Command::new("npm")
        .args(["install", "--silent", "--no-audit", "--no-fund"])
        .args(PACKAGES)
        .current_dir(folder)
        .output();
    let mut run = Command::new("node");
    run.arg(script);
    installed.is_ok_and(|installed| installed.status.success()).then_some(run)
}

/// Runs a script of clients against a server.
async fn ran(mut script: Command) {
    let house = House::of(&["Ada"]).await;
    let token = house.server.token(OperatorRole::Operator).await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let router = house.server.router.clone();
    let serving = tokio::spawn(serve(listener, router, Limits::SERVER, std::future::pending()));
    script.args([&address, &token]);
    let ran = tokio::task::spawn_blocking(move || script.output().unwrap()).await.unwrap();
    serving.abort();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    house.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "installs the official Python clients of both interfaces"]
async fn the_official_python_clients_chat_stream_and_meet_errors_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    match python(folder.path()) {
        Some(script) => ran(script).await,
        None => {
            eprintln!("skipped: python3 with venv and a package index is needed for {CLIENTS:?}")
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "installs the official Node clients of both interfaces"]
async fn the_official_node_clients_chat_stream_and_meet_errors_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    match node(folder.path()) {
        Some(script) => ran(script).await,
        None => eprintln!("skipped: node with npm and a package index is needed for {PACKAGES:?}"),
    }
}
