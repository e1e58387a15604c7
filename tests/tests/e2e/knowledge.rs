//! Documents through the whole program: read at the start, cited in `galatea chat`, read again when
//! a file changes, and whole after kills in the middle.

use galatea_testkit::{
    documents,
    models::{Recorded, Reply},
    pages::{Page, Pages},
};
use serde_json::Value;
use std::{fs, net::Ipv4Addr, time::Duration};

use crate::stage::Stage;

const CHARACTER: &str = r#"{"name": "Juniper", "bio": "Knows the workshop.", "knowledge": [{"path": "handbook.pdf"}, {"directory": "docs"}]}"#;

/// Cites what it is shown about the question, and one thing that it is not shown.
fn model(request: &Recorded) -> Reply {
    let text = request.body["messages"].to_string();
    let notes = text.rsplit("of your documents").next().unwrap_or_default();
    Reply::text(match (notes.contains("  The laser cutter"), notes.contains("fifteen euros")) {
        (_, true) => "It costs fifteen euros an hour [1][8].",
        (true, _) => "Book it a day ahead [1], and wear goggles [7].",
        _ => "I don't know.",
    })
}

fn folder(stage: &Stage) -> std::path::PathBuf {
    stage.model.answer_with(model);
    let home = stage.home.path();
    stage.home.write("juniper.json", CHARACTER);
    let handbook = documents::pdf([
        "# Machines\nThe loom stands in the hall.",
        "# Booking\nThe laser cutter has to be booked a day ahead.",
    ]);
    fs::write(home.join("handbook.pdf"), handbook).unwrap();
    fs::create_dir(home.join("docs")).unwrap();
    stage.home.write("docs/prices.md", "# Prices\n\nThe kiln costs ten euros an hour.\n");
    fs::write(home.join("docs/broken.docx"), "no archive").unwrap();
    home.to_owned()
}

impl Stage {
    async fn galatea(&self, args: &[&str]) -> String {
        let done = self
            .program()
            .env("CHARACTER_FILES", "juniper.json")
            .args(args.iter().copied())
            .run()
            .await;
        done.stdout
    }

    async fn documents(&self) -> Vec<Value> {
        let listed = self.galatea(&["knowledge", "ls", "--json"]).await;
        let listed: Value = serde_json::from_str(&listed).unwrap();
        listed["documents"].as_array().unwrap().clone()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn read_cited_changed_and_removed() {
    let stage = Stage::set().await;
    let home = folder(&stage);
    let program = stage
        .program()
        .env("CHARACTER_FILES", "juniper.json")
        .env("KNOWLEDGE_SYNC_SECONDS", "1")
        .env("REFLECTION_INTERVAL", "0");
    let running = program.clone().arg("start").spawn();
    running.wait_for_line("ready in").await;
    running.wait_for_line("documents are up to date").await;

    let asked = stage.galatea(&["chat", "-m", "Do I have to book the laser cutter?"]).await;
    assert!(asked.contains("Book it a day ahead [1], and wear goggles."), "{asked}");
    assert!(
        asked.contains("[1] Machines › Booking, page 2")
            || asked.contains("[1] handbook › Booking, page 2"),
        "{asked}"
    );
    let other = stage.galatea(&["chat", "-m", "Who won the match in Lisbon?"]).await;
    assert!(other.contains("I don't know.") && !other.contains("Sources:"), "{other}");

    let documents = stage.documents().await;
    assert_eq!(documents.len(), 3, "{documents:?}");
    let broken =
        documents.iter().find(|d| d["source"].as_str().unwrap().ends_with("broken.docx")).unwrap();
    assert!(broken["problem"]["message"].as_str().unwrap().contains("wrong ending"), "{broken}");
    let found = stage.galatea(&["knowledge", "search", "what does the kiln cost?"]).await;
    assert!(found.contains("Prices") && found.contains("ten euros"), "{found}");

    stage.home.write("docs/prices.md", "# Prices\n\nThe kiln costs fifteen euros an hour.\n");
    let asks = async {
        loop {
            let said = stage.galatea(&["chat", "-m", "What does the kiln cost?"]).await;
            if said.contains("It costs fifteen euros an hour [1].") {
                break;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(60), asks).await.expect("the change was read");

    fs::write(home.join("extra.txt"), "The vault is under the stairs.").unwrap();
    let added = program.clone().args(["knowledge", "add", "extra.txt"]).run().await;
    assert_eq!(added.code, Some(0), "{}{}", added.stdout, added.stderr);
    assert!(added.stdout.contains("1 read"), "{}", added.stdout);
    // The damaged document that was there before is none of its problems.
    assert!(!added.stdout.contains("not read"), "{}", added.stdout);
    assert!(!added.stderr.contains("broken.docx"), "{}", added.stderr);
    assert!(added.stderr.contains("1 other document has a problem"), "{}", added.stderr);
    assert!(stage.galatea(&["knowledge", "show", "extra.txt"]).await.contains("under the stairs"));
    stage.galatea(&["knowledge", "rm", "extra.txt"]).await;
    assert_eq!(stage.documents().await.len(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_in_the_middle_nothing_is_stored_twice() {
    let stage = Stage::set().await;
    let home = folder(&stage);
    for n in 0..30 {
        let text: String = (0..60)
            .map(|s| format!("Sheet {n} says in line {s} what part {s} of {n} is for.\n\n"))
            .collect();
        fs::write(home.join(format!("docs/sheet-{n}.txt")), text).unwrap();
    }
    let killed = async |point: &str| {
        let program =
            stage.program().env("CHARACTER_FILES", "juniper.json").env("FAILPOINTS", point);
        let ended = program.args(["knowledge", "sync"]).run().await;
        assert!(ended.code.is_none_or(|code| code > 100), "{point}: {}", ended.stderr);
    };
    for point in [
        "knowledge.intent=return",
        "knowledge.pieces=return",
        "knowledge.intent=7*off->return",
        "knowledge.pieces=9*off->return",
    ] {
        killed(point).await;
    }
    stage.galatea(&["knowledge", "sync"]).await;
    // Of a changed file, pieces are deleted too.
    fs::write(home.join("docs/sheet-1.txt"), "Sheet 1 is short now.").unwrap();
    killed("knowledge.delete=return").await;
    stage.galatea(&["knowledge", "sync"]).await;
    let database = crate::places::Database::open(&home).await;
    let listed = stage.documents().await;
    let pieces: u64 = listed.iter().map(|d| d["pieces"].as_u64().unwrap()).sum();
    let rows = database.rows("SELECT CAST(count(*) AS text), CAST(count(DISTINCT content) AS text) FROM memories WHERE type = 'fragments'").await;
    assert_eq!(rows[0][0], pieces.to_string(), "no orphans");
    assert_eq!(rows[0][0], rows[0][1], "nothing twice");
    let documents =
        database.rows("SELECT CAST(count(*) AS text) FROM memories WHERE type = 'documents'").await;
    assert_eq!(documents[0][0], "33");
}

/// The program itself refuses each address of this machine, so what it reads is tested in `line`.
#[tokio::test]
async fn an_address_is_refused_with_its_fix_and_never_read_from_inside() {
    let stage = Stage::set().await;
    stage.home.write("juniper.json", r#"{"name": "Juniper", "bio": "Knows the workshop."}"#);
    let inside = Pages::on(Ipv4Addr::LOCALHOST).await;
    inside.set("/faq.txt", Page::Text("text/plain", "canary-4711".to_owned()));
    let url = inside.url("/faq.txt");
    let knowledge = async |hosts: &str, args: &[&str]| {
        let program =
            stage.program().env("CHARACTER_FILES", "juniper.json").env("KNOWLEDGE_HOSTS", hosts);
        program.arg("knowledge").args(args.iter().copied()).run().await
    };
    let added = knowledge("", &["add", url.as_str()]).await;
    assert_eq!(added.code, Some(7), "{}{}", added.stdout, added.stderr);
    let listed = knowledge("", &["ls"]).await.stdout;
    let fix = "save the page and add the file";
    assert!(listed.contains(fix) && !listed.contains("KNOWLEDGE_HOSTS="), "{listed}");
    // A list that names it takes effect at once, and does not help.
    knowledge("127.0.0.1", &["sync"]).await;
    let listed = knowledge("127.0.0.1", &["ls"]).await.stdout;
    assert!(listed.contains("strangers must not reach"), "{listed}");
    assert_eq!(inside.requests(), [""; 0]);
    knowledge("127.0.0.1", &["rm", url.as_str()]).await;
    assert!(!knowledge("127.0.0.1", &["ls"]).await.stdout.contains("faq"));
}
