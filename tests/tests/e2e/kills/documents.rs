//! `knowledge add` of a folder, killed at each of its writes.

use serde_json::Value;
use std::fs;

use super::{count, dies, rows};
use crate::stage::Stage;

const SHEETS: usize = 12;
const PIECES: &str = "SELECT CAST(count(*) AS text), CAST(count(DISTINCT content) AS text) FROM memories WHERE type = 'fragments'";
const DOCUMENTS: &str = "SELECT CAST(count(*) AS text) FROM memories WHERE type = 'documents'";

#[tokio::test]
async fn a_folder_is_whole_after_seven_kills() {
    let stage = Stage::set().await;
    let folder = stage.home.path().join("sheets");
    fs::create_dir(&folder).unwrap();
    for n in 0..SHEETS {
        let text: String = (0..60)
            .map(|s| format!("Sheet {n} says in line {s} what part {s} of {n} is for.\n\n"))
            .collect();
        fs::write(folder.join(format!("sheet-{n}.txt")), text).unwrap();
    }
    let add = || stage.program().args(["knowledge", "add", "sheets"]);
    for point in [
        "knowledge.intent=return",
        "knowledge.pieces=return",
        "knowledge.intent=2*off->return",
        "knowledge.pieces=3*off->return",
        "knowledge.pieces=4*off->return",
    ] {
        dies(add(), point).await;
    }
    let done = add().run().await;
    assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);

    // A changed file: its old pieces leave, also if the command dies while it deletes them.
    fs::write(folder.join("sheet-1.txt"), "Sheet 1 is short now.").unwrap();
    dies(add(), "knowledge.pieces=return").await;
    dies(add(), "knowledge.delete=return").await;
    let done = add().run().await;
    assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);

    let listed = stage.program().args(["knowledge", "ls", "--json"]).run().await;
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    let listed = listed["documents"].as_array().unwrap();
    assert_eq!((listed.len(), count(&stage, DOCUMENTS).await), (SHEETS, SHEETS), "{listed:?}");
    let named: u64 = listed.iter().map(|document| document["pieces"].as_u64().unwrap()).sum();
    let stored = rows(&stage, PIECES).await;
    assert_eq!(stored[0], [named.to_string(), named.to_string()], "no orphans, nothing twice");
    for n in 0..SHEETS {
        let all: usize = if n == 1 { 0 } else { 60 };
        let shown =
            stage.program().args(["knowledge", "show", &format!("sheet-{n}.txt")]).run().await;
        let lines =
            (0..60).filter(|s| shown.stdout.contains(&format!("Sheet {n} says in line {s} what")));
        assert_eq!(lines.count(), all, "sheet {n}: {}", shown.stdout);
    }
    let short = stage.program().args(["knowledge", "show", "sheet-1.txt"]).run().await;
    assert!(short.stdout.contains("Sheet 1 is short now."), "{}", short.stdout);
}
