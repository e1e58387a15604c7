//! A person has everything deleted: no file of SQLite's data folder and no table of PostgreSQL has
//! their words, names, files and what was made of them, and other people's words stay.

use galatea_testkit::{
    models::{Recorded, Reply},
    postgres::Database,
    process::{Program, Running},
    telegram::{Chat, User},
};
use serde_json::json;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use std::{fs, path::Path, time::Duration};

use crate::stage::{Stage, answer};

/// PNG signature (RFC 2083 §3.1); the loopback model checks nothing else.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n rest";
/// Words that only this person, and what was made of their words, has: their names, a message, an
/// answer to them, a fact, a tag of a relationship, a file, what a picture shows, and a command.
const CANARIES: [&str; 10] = [
    "velmira",
    "grindelbach",
    "velmi_canary",
    "zanzibarwort",
    "plunderfish",
    "quaxolotl",
    "xylotag",
    "grumbleshade",
    "flimmerwing",
    "wobbletask",
];
const PATIENCE: Duration = Duration::from_secs(60);

/// Learns, summarises, looks and answers, each with the canaries of what it was shown.
fn model(request: &Recorded) -> Reply {
    let text = request.body.to_string();
    if request.path.ends_with("/embeddings") {
        return Reply::Auto;
    }
    if text.contains("data:image") {
        return Reply::text("a flimmerwing on a wall");
    }
    if text.contains("You read a conversation") {
        let mut facts = Vec::new();
        let asked = request.body["messages"].to_string();
        for line in asked.split("\\n").filter(|line| line.contains("quaxolotl")) {
            let number =
                line.trim_start_matches('m').split(' ').next().and_then(|n| n.parse().ok());
            let Some(number) = number else { continue };
            let number: u32 = number;
            facts.push(json!({ "about": "Velmira Grindelbach", "fact": "keeps a quaxolotl", "evidence": number }));
        }
        let ties = json!([{ "from": "Velmira Grindelbach", "to": "Bob", "tags": ["xylotag"] }]);
        let both = asked.contains("Velmira") && asked.contains(" Bob: ");
        let ties = if both { ties } else { json!([]) };
        return Reply::text(json!({ "facts": facts, "relationships": ties }).to_string());
    }
    if text.contains("# Summary so far") {
        let hers = if text.contains("zanzibarwort") { "Velmira grows zanzibarwort. " } else { "" };
        return Reply::text(format!("{hers}Bob wants to order timber."));
    }
    let Reply::Answer(mut said) = answer(request) else { return Reply::Auto };
    let number: u32 = said.text.trim_start_matches('A').parse().unwrap_or_default();
    if number < 50 {
        said.text = format!("plunderfish, and A{number}");
    }
    Reply::Answer(said)
}

struct Scene {
    stage: Stage,
    group: Chat,
    velmira: User,
    bob: User,
}

impl Scene {
    async fn set() -> Self {
        let stage = Stage::set().await;
        stage.model.answer_with(model);
        stage.telegram.set_privacy(false);
        let velmira = stage.telegram.user("Velmira Grindelbach", "velmi_canary");
        let bob = stage.telegram.user("Bob", "bob_the_other");
        let group = stage.telegram.supergroup("Band", &[&bob, &velmira]);
        Self { stage, group, velmira, bob }
    }

    async fn start(&self, database: Option<&Database>) -> Running {
        let running = self.program(database).arg("start").spawn();
        running.wait_for_line("ready in").await;
        running
    }

    fn program(&self, database: Option<&Database>) -> Program {
        let program = self
            .stage
            .program()
            .env("OPENAI_EMBEDDING_MODEL", "test-embedding")
            .env("CONVERSATION_LENGTH", "6")
            .env("REFLECTION_INTERVAL", "1")
            .env("EVALUATION_PAUSE_SECONDS", "0")
            .env("LOG_LEVEL", "debug");
        match database {
            Some(database) => program.env("DATABASE_URL", database.url()),
            None => program,
        }
    }

    /// Says something in the group that names the agent, and waits for the answer.
    async fn asks(&self, who: &User, text: &str, last: &str) {
        let named = format!("@{} {text}", self.stage.telegram.bot_username());
        who.says(&self.group, &named).send();
        self.stage.wait_text(&self.group, last).await;
    }

    /// Velmira's canaries in messages, files, commands, and in what is made of them.
    async fn talk(&self) {
        let direct = self.velmira.direct();
        let stage = &self.stage;
        self.velmira.sends_photo(&direct, PNG, "Q1 look at this").send();
        stage.wait_text(&direct, "plunderfish, and A1").await;
        let note = &b"the grumbleshade is under the mat"[..];
        self.velmira
            .sends_document(&direct, "grumbleshade.txt", "text/plain", note, "Q2 read it")
            .send();
        stage.wait_text(&direct, "plunderfish, and A2").await;
        self.velmira.says(&direct, "/memory wobbletask zanzibarwort").send();
        stage.telegram.wait_shown(direct.id, 3).await;
        for n in 3..8 {
            let text = format!("I keep a quaxolotl and grow zanzibarwort, Q{n}");
            self.asks(&self.velmira, &text, &format!("plunderfish, and A{n}")).await;
            self.velmira.says(&self.group, "zanzibarwort to no one").send();
            let n = n + 50;
            self.asks(&self.bob, &format!("we need timber, Q{n}"), &format!("A{n}")).await;
        }
    }

    /// Waits until a summary, listed by the program, has a word. Bob talks on meanwhile.
    async fn until_summarised(&self, database: Option<&Database>, word: &str, from: u32) -> String {
        let summary = async {
            for n in from.. {
                let listed = self.listed(database, "summaries").await;
                if listed.contains(word) {
                    return listed;
                }
                self.asks(&self.bob, &format!("about the timber, Q{n}"), &format!("A{n}")).await;
            }
            unreachable!()
        };
        tokio::time::timeout(PATIENCE, summary)
            .await
            .unwrap_or_else(|_| panic!("no summary of {word}"))
    }

    async fn listed(&self, database: Option<&Database>, kind: &str) -> String {
        let arguments = ["memory", "ls", "--kind", kind, "--limit", "100", "--json"];
        let done = self.program(database).args(arguments).run().await;
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        done.stdout
    }

    async fn forget(&self) {
        let direct = self.velmira.direct();
        let before = self.stage.telegram.shown(direct.id).len();
        self.velmira.says(&direct, "/privacy forget me").send();
        let shown = self.stage.telegram.wait_shown(direct.id, before + 1).await;
        assert!(shown.last().unwrap().text.starts_with("Done. I deleted"), "{shown:?}");
    }

    /// Waits until a message of Bob after hers is embedded: with her words before she is forgotten,
    /// and without them afterwards.
    async fn until_embedded(&self, since: usize, with_hers: bool) {
        let is_his = |text: &str| text.contains("we need timber, q53");
        let embedded = async {
            loop {
                let texts = self.embedded(since);
                if texts.iter().any(|text| is_his(text) && has_canary(text) == with_hers) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        let embedded = tokio::time::timeout(PATIENCE, embedded).await;
        assert!(embedded.is_ok(), "with hers: {with_hers}; {:?}", self.embedded(since));
    }

    /// The texts that were embedded since a request.
    fn embedded(&self, since: usize) -> Vec<String> {
        let requests = self.stage.model.requests().into_iter().skip(since);
        let requests = requests.filter(|request| request.path.ends_with("/embeddings"));
        let inputs = requests.flat_map(|r| r.body["input"].as_array().cloned().unwrap_or_default());
        inputs.filter_map(|text| text.as_str().map(str::to_lowercase)).collect()
    }

    /// Canaries in prompts since a request.
    fn prompted(&self, since: usize) -> Vec<&'static str> {
        let prompts: String =
            self.stage.model.requests().iter().skip(since).map(|r| r.body.to_string()).collect();
        let prompts = prompts.to_lowercase();
        CANARIES.into_iter().filter(|canary| prompts.contains(canary)).collect()
    }
}

fn has_canary(text: &str) -> bool {
    CANARIES.iter().any(|canary| text.contains(canary))
}

/// Number of times that each canary is in the files of a folder and below, in any case.
fn occurrences(folder: &Path) -> Vec<(String, &'static str, usize)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(occurrences(&path));
            continue;
        }
        let Ok(bytes) = fs::read(&path) else { continue };
        let bytes = bytes.to_ascii_lowercase();
        for canary in CANARIES {
            let count = bytes.windows(canary.len()).filter(|w| *w == canary.as_bytes()).count();
            if count > 0 {
                found.push((
                    path.file_name().unwrap().to_string_lossy().into_owned(),
                    canary,
                    count,
                ));
            }
        }
    }
    found
}

fn canaries<'a>(found: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut all: Vec<&str> = found.into_iter().collect();
    all.sort_unstable();
    all.dedup();
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_file_of_the_data_folder_has_a_word_of_theirs() {
    let scene = Scene::set().await;
    let data = scene.stage.home.path().join(".galatea");
    let mut running = scene.start(None).await;
    scene.talk().await;
    scene.until_summarised(None, "zanzibarwort", 60).await;
    scene.until_embedded(0, true).await;
    // The search finds every canary before, so that it can find one afterwards.
    let mut all = CANARIES.to_vec();
    all.sort_unstable();
    let there = async {
        while canaries(occurrences(&data).iter().map(|f| f.1)) != all {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let there = tokio::time::timeout(PATIENCE, there).await;
    assert!(
        there.is_ok(),
        "only {:?} are stored",
        canaries(occurrences(&data).iter().map(|f| f.1))
    );

    let forgotten = scene.stage.model.count();
    scene.forget().await;
    // The log of changes is emptied once no reader holds it.
    let gone = async {
        while !occurrences(&data).is_empty() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let gone = tokio::time::timeout(Duration::from_secs(20), gone).await;
    assert!(gone.is_ok(), "left: {:?}", occurrences(&data));
    let since = scene.stage.model.count();
    let again = scene.until_summarised(None, "timber", 80).await;
    assert!(!again.contains("zanzibarwort"), "{again}");
    scene.until_embedded(forgotten, false).await;
    scene.asks(&scene.bob, "what do you know, Q98", "A98").await;
    // The list of the people of a room is up to five minutes old.
    let prompted = scene.prompted(since);
    assert!(prompted.iter().all(|name| CANARIES[..2].contains(name)), "{prompted:?}");
    running.terminate();
    running.finish().await;
    let mut running = scene.start(None).await;
    let since = scene.stage.model.count();
    scene.asks(&scene.bob, "and now, Q99", "A99").await;
    running.terminate();
    running.finish().await;
    assert_eq!(occurrences(&data), []);
    assert_eq!(scene.prompted(since), [""; 0], "no prompt has them");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_table_of_postgresql_has_a_word_of_theirs() {
    let (scene, database) = (Scene::set().await, Database::fresh().await);
    let mut running = scene.start(Some(&database)).await;
    scene.talk().await;
    scene.until_summarised(Some(&database), "zanzibarwort", 60).await;
    scene.until_embedded(0, true).await;
    let mut all = CANARIES.to_vec();
    all.sort_unstable();
    let there = async {
        while canaries(tables(&database).await.iter().map(|f| f.1)) != all {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let there = tokio::time::timeout(PATIENCE, there).await;
    assert!(there.is_ok(), "only {:?} are stored", tables(&database).await);

    let forgotten = scene.stage.model.count();
    scene.forget().await;
    assert_eq!(tables(&database).await, [], "left");
    let since = scene.stage.model.count();
    let again = scene.until_summarised(Some(&database), "timber", 80).await;
    assert!(!again.contains("zanzibarwort"), "{again}");
    scene.until_embedded(forgotten, false).await;
    scene.asks(&scene.bob, "what do you know, Q98", "A98").await;
    // The list of the people of a room is up to five minutes old.
    let prompted = scene.prompted(since);
    assert!(prompted.iter().all(|name| CANARIES[..2].contains(name)), "{prompted:?}");
    running.terminate();
    running.finish().await;
    let mut running = scene.start(Some(&database)).await;
    let since = scene.stage.model.count();
    scene.asks(&scene.bob, "and now, Q99", "A99").await;
    running.terminate();
    running.finish().await;
    assert_eq!(tables(&database).await, []);
    assert_eq!(scene.prompted(since), [""; 0], "no prompt has them");
}

/// Rows of each table that have each canary, in a dump of all their rows.
async fn tables(database: &Database) -> Vec<(String, &'static str, i64)> {
    let mut connection = PgConnection::connect(&database.url()).await.unwrap();
    let names = "SELECT table_name::text FROM information_schema.tables WHERE table_schema = 'galatea' AND table_type = 'BASE TABLE'";
    let names: Vec<String> = sqlx::query_scalar(names).fetch_all(&mut connection).await.unwrap();
    let mut found = Vec::new();
    for name in names {
        for canary in CANARIES {
            let dump =
                format!("SELECT count(*) FROM galatea.{name} t WHERE t::text ILIKE '%{canary}%'");
            let dump = sqlx::query_scalar(AssertSqlSafe(dump));
            let count: i64 = dump.fetch_one(&mut connection).await.unwrap();
            if count > 0 {
                found.push((name.clone(), canary, count));
            }
        }
    }
    connection.close().await.unwrap();
    found
}
