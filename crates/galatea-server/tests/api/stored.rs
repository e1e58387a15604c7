//! Settings, characters, documents and agents of the database, over agents that run.

use axum::http::StatusCode;
use galatea_core::store::OperatorRole;
use serde_json::{Value, json};
use std::path::Path;

use crate::support::{Answer, Running, ask};

const CANARY: &str = "sk-canary-7f3a9c1e5b";

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "curious");
    folder
}

fn write(folder: &Path, bio: &str) {
    let ada = json!({ "name": "Ada", "bio": [bio], "settings": { "DM_POLICY": "open" } });
    std::fs::write(folder.join("ada.json"), ada.to_string()).unwrap();
}

/// The server with an owner's token, and Ada's id.
struct Plane {
    running: Running,
    owner: String,
    ada: String,
}

impl Plane {
    async fn start(folder: &Path) -> Self {
        let running = Running::start(folder).await;
        let owner = running.server.token(OperatorRole::Owner).await;
        let agents = running.server.answer(ask("GET", "/api/v1/agents").token(&owner)).await.json();
        let named = |agent: &&Value| agent["name"] == "Ada";
        let ada = agents["items"].as_array().unwrap().iter().find(named).unwrap()["id"].clone();
        Self { running, owner, ada: ada.as_str().unwrap().to_owned() }
    }

    async fn call(&self, method: &str, path: &str, body: Option<Value>) -> Answer {
        let mut request = ask(method, path).token(&self.owner);
        if let Some(body) = body {
            request = request.body(body);
        }
        self.running.server.answer(request).await
    }

    async fn character(&self) -> Value {
        self.call("GET", &format!("/api/v1/characters/{}", self.ada), None).await.json()
    }

    async fn setting(&self, name: &str) -> Value {
        let all = self.call("GET", &format!("/api/v1/settings?agent={}", self.ada), None).await;
        let named = |setting: &&Value| setting["name"] == name;
        all.json()["items"].as_array().unwrap().iter().find(named).unwrap().clone()
    }
}

#[tokio::test]
async fn an_edited_character_counts_until_its_file_changes() {
    let folder = folder();
    let plane = Plane::start(folder.path()).await;
    let before = plane.character().await;
    assert_eq!((&before["version"], &before["edited"]), (&json!(1), &json!(false)), "{before}");
    let path = format!("/api/v1/characters/{}", plane.ada);
    let mut body = before["body"].clone();
    body["bio"] = json!(["an edited bio"]);
    let save = |tag: &str, body: &Value| {
        let request = ask("PUT", &path).token(&plane.owner).body(body.clone());
        plane.running.server.answer(request.header("if-match", tag))
    };
    let saved = save("\"v1\"", &body).await;
    assert_eq!(saved.status, StatusCode::OK, "{}", saved.text);
    assert_eq!(saved.json()["version"], 2);
    assert_eq!(save("\"v1\"", &body).await.code(), "GAL-CHAR-CHANGED");
    let refused = plane.call("PUT", &path, Some(json!({ "name": "Ada" }))).await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{}", refused.text);
    let diff = plane.call("GET", &format!("{path}/diff?from=1"), None).await.json();
    assert_eq!(diff["items"].as_array().unwrap().len(), 1, "{diff}");
    let agent = plane.call("GET", &format!("/api/v1/agents/{}", plane.ada), None).await.json();
    assert_eq!(agent["character"]["bio"], json!(["an edited bio"]), "it runs as edited");
    plane.running.stop().await;

    let plane = Plane::start(folder.path()).await;
    assert_eq!(plane.character().await["body"]["bio"], json!(["an edited bio"]));
    let notes = &plane.running.booted.agents[0].notes;
    assert!(notes.iter().any(|note| note.contains("galatea character diff")), "{notes:?}");
    let reverted =
        plane.call("POST", &format!("{path}/revert"), Some(json!({ "version": 1 }))).await;
    assert_eq!(reverted.json()["body"]["bio"], json!(["curious"]), "{}", reverted.text);
    plane.running.stop().await;

    write(folder.path(), "another file");
    let plane = Plane::start(folder.path()).await;
    let now = plane.character().await;
    assert_eq!(now["body"]["bio"], json!(["another file"]), "{now}");
    let versions = plane.call("GET", &format!("{path}/versions?limit=2"), None).await.json();
    assert_eq!(versions["items"].as_array().unwrap().len(), 2);
    let next = versions["next"].as_str().unwrap();
    let rest =
        plane.call("GET", &format!("{path}/versions?limit=2&before={next}"), None).await.json();
    assert_eq!(rest["items"].as_array().unwrap().len(), 2, "{rest}");
    plane.running.stop().await;
}

#[tokio::test]
async fn a_setting_counts_at_once_and_secrets_are_sealed() {
    let folder = folder();
    let env = "GROUP_POLICY=always\n";
    std::fs::write(folder.path().join(".env"), env).unwrap();
    let plane = Plane::start(folder.path()).await;
    let set = async |name: &str, value: Value| {
        plane.call("PATCH", &format!("/api/v1/settings/{name}"), Some(value)).await
    };
    assert_eq!(plane.setting("GROUP_POLICY").await["origin"], "file");
    let changed = set("GROUP_POLICY", json!({ "value": "mention" })).await;
    assert_eq!(changed.status, StatusCode::OK, "{}", changed.text);
    let setting = plane.setting("GROUP_POLICY").await;
    assert_eq!((&setting["value"], &setting["origin"]), (&json!("mention"), &json!("console")));
    assert_eq!(plane.setting("DM_POLICY").await["origin"], "character");
    let bad = set("GROUP_POLICY", json!({ "value": "never ever" })).await;
    assert_eq!(bad.code(), "GAL-CFG-VALUE", "{}", bad.text);
    assert_eq!(plane.setting("GROUP_POLICY").await["value"], "mention", "nothing has changed");
    assert_eq!(set("SERVER_PORT", json!({ "value": "1" })).await.code(), "GAL-CFG-FIXED");
    assert_eq!(set("GROUP_POLICYY", json!({ "value": "1" })).await.code(), "GAL-CFG-UNKNOWN");
    let secret = set("ELEVENLABS_API_KEY", json!({ "value": CANARY })).await;
    let secret = if secret.code() == "GAL-CFG-UNKNOWN" {
        set("OPENAI_API_KEY", json!({ "value": CANARY })).await
    } else {
        secret
    };
    assert_eq!(secret.status, StatusCode::OK, "{}", secret.text);
    assert_eq!(secret.json()["setting"]["isSet"], true);
    for path in ["/api/v1/settings", "/api/v1/changes", "/api/v1/system", "/api/v1/agents"] {
        let text = plane.call("GET", path, None).await.text;
        assert!(!text.contains(CANARY), "{path}");
    }
    plane.running.stop().await;
    assert_eq!(std::fs::read_to_string(folder.path().join(".env")).unwrap(), env);
    for file in std::fs::read_dir(folder.path().join(".galatea")).unwrap().flatten() {
        let bytes = std::fs::read(file.path()).unwrap_or_default();
        let found = bytes.windows(CANARY.len()).any(|window| window == CANARY.as_bytes());
        assert!(!found, "{:?}", file.path());
    }

    let plane = Plane::start(folder.path()).await;
    assert_eq!(plane.setting("GROUP_POLICY").await["value"], "mention", "after a restart");
    let gone = plane.call("PATCH", "/api/v1/settings/GROUP_POLICY", Some(json!({}))).await;
    assert_eq!(gone.status, StatusCode::OK, "{}", gone.text);
    assert_eq!(plane.setting("GROUP_POLICY").await["value"], "always", "the file's counts again");
    plane.running.stop().await;
}

#[tokio::test]
async fn a_created_agent_is_there_after_a_restart_until_it_is_removed() {
    let folder = folder();
    let plane = Plane::start(folder.path()).await;
    let bob = json!({ "name": "Bob", "bio": ["a gardener"] });
    let made = plane.call("POST", "/api/v1/agents", Some(bob.clone())).await;
    assert_eq!(made.status, StatusCode::CREATED, "{}", made.text);
    let id = made.json()["agent"]["id"].as_str().unwrap().to_owned();
    let again = plane.call("POST", "/api/v1/agents", Some(bob)).await;
    assert_eq!(again.code(), "GAL-CHAR-SAME");
    let ada = format!("/api/v1/agents/{}", plane.ada);
    assert_eq!(plane.call("DELETE", &ada, None).await.code(), "GAL-AGENT-FILE");
    plane.running.stop().await;

    let plane = Plane::start(folder.path()).await;
    let path = format!("/api/v1/agents/{id}");
    let bob = plane.call("GET", &path, None).await.json();
    assert_eq!(bob["character"]["bio"], json!(["a gardener"]), "{bob}");
    assert_eq!(plane.call("DELETE", &path, None).await.status, StatusCode::NO_CONTENT);
    assert_eq!(plane.call("GET", &path, None).await.status, StatusCode::NOT_FOUND);
    plane.running.stop().await;

    let plane = Plane::start(folder.path()).await;
    assert_eq!(plane.call("GET", &path, None).await.status, StatusCode::NOT_FOUND);
    plane.running.stop().await;
}

#[tokio::test]
async fn a_character_is_validated_and_tried_without_being_saved() {
    let folder = folder();
    let plane = Plane::start(folder.path()).await;
    let wrong = json!({ "name": "Ada", "bio": 3, "stile": {} });
    let found = plane.call("POST", "/api/v1/characters/validate", Some(wrong)).await.json();
    let levels: Vec<&str> =
        found["items"].as_array().unwrap().iter().filter_map(|one| one["level"].as_str()).collect();
    assert!(levels.contains(&"error"), "{found}");
    let body = json!({ "character": { "name": "Draft", "bio": ["x"] }, "text": "hello" });
    let tried = plane.call("POST", "/api/v1/characters/preview", Some(body)).await;
    assert_eq!(tried.status, StatusCode::OK, "{}", tried.text);
    assert!(!tried.json()["text"].as_str().unwrap().is_empty());
    let agents = plane.call("GET", "/api/v1/agents", None).await.text;
    assert!(!agents.contains("Draft"), "{agents}");
    plane.running.stop().await;
}

#[tokio::test]
async fn a_document_is_uploaded_in_pieces_and_removed() {
    let folder = folder();
    let plane = Plane::start(folder.path()).await;
    let text = "The warranty lasts seven years. ".repeat(64);
    let begin = json!({ "agent": plane.ada, "name": "warranty.txt", "size": text.len() });
    let begun = plane.call("POST", "/api/v1/uploads", Some(begin)).await;
    assert_eq!(begun.status, StatusCode::CREATED, "{}", begun.text);
    let id = begun.json()["id"].as_str().unwrap().to_owned();
    let put = async |offset: usize, bytes: &str| {
        let path = format!("/api/v1/uploads/{id}?offset={offset}");
        let request = ask("PUT", &path).token(&plane.owner).raw(bytes);
        plane.running.server.answer(request).await
    };
    let first = put(0, &text[..1000]).await;
    assert_eq!((&first.json()["received"], &first.json()["done"]), (&json!(1000), &json!(false)));
    assert_eq!(put(0, &text[..1000]).await.code(), "GAL-UPLOAD-OFFSET", "sent again");
    let at = plane.call("GET", &format!("/api/v1/uploads/{id}"), None).await.json();
    assert_eq!(at["received"], 1000, "it goes on from there");
    let last = put(1000, &text[1000..]).await;
    assert_eq!(last.json()["done"], true, "{}", last.text);
    let listed = plane.call("GET", "/api/v1/knowledge", None).await.json();
    let document = &listed["items"][0];
    assert_eq!(document["size"], text.len(), "{listed}");
    assert!(
        ["queued", "reading", "ready", "failed"].contains(&document["state"].as_str().unwrap())
    );
    for name in ["../x.txt", ".env", "a/b.txt", ""] {
        let begin = json!({ "agent": plane.ada, "name": name, "size": 5 });
        let refused = plane.call("POST", "/api/v1/uploads", Some(begin)).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{name}");
    }
    let path = format!("/api/v1/knowledge/{}", document["id"].as_str().unwrap());
    assert_eq!(plane.call("DELETE", &path, None).await.status, StatusCode::NO_CONTENT);
    let listed = plane.call("GET", "/api/v1/knowledge", None).await.json();
    assert_eq!(listed["items"], json!([]));
    plane.running.stop().await;
}
