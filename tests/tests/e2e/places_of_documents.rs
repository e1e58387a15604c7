//! Sources of `galatea knowledge`: folders, files, pipes, and names that are not there.

use galatea_testkit::{port::RefusedPort, process::Finished};
use serde_json::Value;
use std::{fs, path::PathBuf};

use crate::stage::Stage;

impl Stage {
    async fn knowledge(&self, args: &[&str]) -> Finished {
        self.program().arg("knowledge").args(args.iter().copied()).run().await
    }

    /// Sources of all documents, and of all problems.
    async fn listed(&self) -> (Vec<String>, Vec<String>) {
        let listed = self.knowledge(&["ls", "--json"]).await;
        let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
        let sources = |list: &str| {
            let rows = listed[list].as_array().unwrap();
            rows.iter().map(|row| row["source"].as_str().unwrap().to_owned()).collect()
        };
        (sources("documents"), sources("problems"))
    }

    fn folder(&self, name: &str) -> PathBuf {
        let folder = self.home.path().join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("a.md"), "# A\n\nThe quagga lives here.\n").unwrap();
        fs::write(folder.join("b.md"), "# B\n\nThe numbat eats termites.\n").unwrap();
        folder
    }
}

#[tokio::test]
async fn a_folder_that_was_added_is_removed_under_each_of_its_names() {
    let stage = Stage::set().await;
    let folder = stage.folder("my docs");
    let whole = folder.display().to_string();
    for name in ["my docs", "my docs/", "./my docs", &whole] {
        let added = stage.knowledge(&["add", "my docs"]).await;
        assert!(added.stdout.contains("2 read"), "{}{}", added.stdout, added.stderr);
        let removed = stage.knowledge(&["rm", name]).await;
        assert_eq!(removed.code, Some(0), "{name}: {}", removed.stderr);
        assert!(removed.stderr.contains("with 2 documents"), "{}", removed.stderr);
        assert_eq!(stage.listed().await, (vec![], vec![]), "{name}");
    }
    // A document in it cannot leave alone, and the command that the fix names works.
    stage.knowledge(&["add", "my docs"]).await;
    let refused = stage.knowledge(&["rm", "my docs/a.md"]).await;
    assert_eq!(refused.code, Some(6), "{}", refused.stderr);
    let words = refused.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("my docs'`") && words.contains("galatea knowledge rm '"), "{words}");
    // The folder is deleted: its documents stay until its source is removed.
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(stage.knowledge(&["sync"]).await.code, Some(7));
    let (documents, problems) = stage.listed().await;
    assert_eq!((documents.len(), problems), (2, vec![whole]));
    assert_eq!(stage.knowledge(&["rm", "my docs"]).await.code, Some(0));
    assert_eq!(stage.listed().await, (vec![], vec![]));
    let synced = stage.knowledge(&["sync"]).await;
    assert_eq!(synced.code, Some(0), "{}", synced.stderr);
}

#[tokio::test]
async fn the_working_folder_is_added_by_its_name_only_and_nothing_but_files_and_folders_is() {
    let stage = Stage::set().await;
    stage.folder("docs");
    let pipe = stage.home.path().join("pipe.md");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    for (place, what) in [
        ("", "is not set"),
        (" ", "is not set"),
        ("pipe.md", "a pipe"),
        ("/dev/zero", "a device"),
        ("/dev/null", "a device"),
        ("gone.md", "there is no such file or folder"),
    ] {
        let added = stage.knowledge(&["add", "docs", place]).await;
        assert_ne!(added.code, Some(0), "{place}");
        let words = added.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(what) && words.contains("fix:"), "{place}: {words}");
        assert_eq!(stage.listed().await, (vec![], vec![]), "nothing is stored after {place}");
    }
    let empty = stage.knowledge(&["ls"]).await;
    assert!(empty.stdout.is_empty() && empty.stderr.contains("knowledge add"), "{}", empty.stderr);
    stage.knowledge(&["add", "."]).await;
    assert_eq!(stage.listed().await.0.len(), 2);
    assert_eq!(stage.knowledge(&["rm", ""]).await.code, Some(2));
    assert_eq!(stage.knowledge(&["rm", "."]).await.code, Some(0));
    assert_eq!(stage.listed().await.0.len(), 0);
}

#[tokio::test]
async fn the_document_of_a_removed_file_leaves_and_its_source_is_reported_until_it_is_removed() {
    let stage = Stage::set().await;
    let folder = stage.folder("docs");
    stage.knowledge(&["add", "docs/a.md", "docs/b.md"]).await;
    fs::remove_file(folder.join("a.md")).unwrap();
    let synced = stage.knowledge(&["sync"]).await;
    assert_eq!(synced.code, Some(7));
    assert!(synced.stdout.contains("1 removed"), "{}", synced.stdout);
    assert_eq!(synced.stderr.matches("docs/a.md").count(), 2, "where and fix: {}", synced.stderr);
    let found = stage.knowledge(&["search", "quagga"]).await;
    assert!(!found.stdout.contains("quagga"), "{}", found.stdout);
    let listed = stage.knowledge(&["ls"]).await.stdout;
    assert!(listed.contains("docs/a.md\n") && listed.contains("not read: the path"), "{listed}");
    let removed = stage.knowledge(&["rm", "docs/a.md"]).await;
    assert_eq!(removed.code, Some(0), "{}", removed.stderr);
    assert_eq!(stage.knowledge(&["sync"]).await.code, Some(0));

    // Nothing is removed if one name is unknown.
    let mixed = stage.knowledge(&["rm", "docs/b.md", "nope.md"]).await;
    assert!(mixed.code != Some(0) && mixed.stderr.contains("nope.md"), "{}", mixed.stderr);
    assert_eq!(stage.listed().await.0.len(), 1);
}

#[tokio::test]
async fn what_the_character_names_and_is_missing_is_listed() {
    let stage = Stage::set().await;
    stage.home.write(
        "j.json",
        r#"{"name": "Juniper", "bio": "x", "knowledge": [{"path": "missing.pdf"}]}"#,
    );
    let listed = stage.knowledge(&["ls", "-c", "j.json"]).await;
    assert!(listed.stdout.contains("missing.pdf\n"), "{}", listed.stdout);
    let json = stage.knowledge(&["ls", "-c", "j.json", "--json"]).await;
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    let problem = &json["problems"][0];
    assert!(problem["source"].as_str().unwrap().ends_with("/missing.pdf"), "{json}");
    assert_eq!(problem["agent"], "Juniper");
    assert!(problem["fix"].as_str().unwrap().contains("character file"), "{json}");
}

#[tokio::test]
async fn no_name_of_a_file_reaches_the_terminal_with_control_characters() {
    let stage = Stage::set().await;
    let folder = stage.folder("docs");
    let name = "esc\u{1b}[31mred\u{1b}]0;PWN\u{7}\nline\u{202e}.md";
    fs::write(folder.join(name), "# Stripes\u{1b}[2J\n\nThe okapi\u{1b}[5m hides.\n").unwrap();
    fs::write(folder.join("x\u{1b}[1m.pdf"), "no PDF").unwrap();
    let mut text = String::new();
    for args in [
        &["add", "docs"][..],
        &["ls"],
        &["show", name],
        &["search", "okapi"],
        &["rm", "docs/a.md"],
        &["rm", name],
        &["rm", "docs"],
    ] {
        let done = stage.knowledge(args).await;
        text.push_str(&done.stdout);
        text.push_str(&done.stderr);
    }
    assert!(text.contains("okapi") && text.contains("PWN"), "{text}");
    let odd: Vec<char> =
        text.chars().filter(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}').collect();
    assert!(odd.is_empty(), "{odd:?} in {text:?}");
    assert!(text.contains("line.md"), "in one line: {text}");
}

#[tokio::test]
async fn documents_of_all_agents_are_read_when_the_embedding_server_does_not_answer() {
    let stage = Stage::set().await;
    stage.folder("docs");
    stage
        .home
        .write("a.json", r#"{"name": "Ann", "bio": "x", "knowledge": [{"path": "docs/a.md"}]}"#);
    stage
        .home
        .write("b.json", r#"{"name": "Bob", "bio": "x", "knowledge": [{"path": "docs/b.md"}]}"#);
    let port = RefusedPort::take();
    let with = |args: &[&str]| {
        let program = stage.program().env("OPENAI_BASE_URL", format!("{}/v1", port.url()));
        let program = program.env("OPENAI_EMBEDDING_MODEL", "m").arg("knowledge");
        program
            .args(args.iter().map(|arg| (*arg).to_owned()))
            .args(["-c", "a.json", "-c", "b.json"])
    };
    let synced = with(&["sync"]).run().await;
    assert_eq!(synced.code, Some(5), "{}{}", synced.stdout, synced.stderr);
    for agent in ["Ann", "Bob"] {
        assert!(synced.stdout.contains(&format!("{agent}: 1 read")), "{}", synced.stdout);
    }
    assert_eq!(synced.stderr.matches("found by words").count(), 2, "{}", synced.stderr);
    let found = with(&["search", "numbat"]).run().await;
    assert!(found.stdout.contains("eats termites"), "{}", found.stdout);
    let json = with(&["sync", "--json"]).run().await;
    assert_eq!(json.code, Some(5));
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    for agent in json["agents"].as_array().unwrap() {
        assert!(agent["embeddingProblem"]["message"].is_string(), "{json}");
        assert_eq!(agent["unchanged"], 1, "{json}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_sources_that_are_added_at_once_each_is_kept() {
    let stage = Stage::set().await;
    stage.knowledge(&["ls"]).await;
    let adds = (0..6).map(|n| {
        let name = format!("f{n}.md");
        stage.home.write(&name, "# F\n\nA file.\n");
        stage.program().args(["knowledge".to_owned(), "add".to_owned(), name])
    });
    let adds: Vec<_> = adds.collect();
    let done = futures::future::join_all(adds.iter().map(|add| add.run())).await;
    for done in done {
        assert_eq!(done.code, Some(0), "{}", done.stderr);
    }
    let synced = stage.knowledge(&["sync"]).await;
    let expected = "0 read, 6 unchanged, 0 removed; 0 new pieces";
    assert!(synced.stdout.contains(expected), "{}", synced.stdout);
    assert_eq!(stage.listed().await.0.len(), 6);
}

#[tokio::test]
async fn a_search_prints_at_least_one_piece() {
    let stage = Stage::set().await;
    for limit in ["0", "-1", "1001", "x"] {
        let done = stage.knowledge(&["search", "quagga", "--limit", limit]).await;
        assert_eq!(done.code, Some(2), "{limit}: {}", done.stderr);
        assert!(done.stderr.contains("from 1 to 1000"), "{limit}: {}", done.stderr);
    }
}

#[tokio::test]
async fn what_is_named_twice_is_added_and_removed_once_and_a_lone_slash_names_nothing() {
    let stage = Stage::set().await;
    stage.folder("docs");
    let added = stage.knowledge(&["add", "docs", "./docs/"]).await;
    assert!(added.stdout.contains("2 read"), "{}{}", added.stdout, added.stderr);
    let url = "https://example.org/faq/";
    stage.knowledge(&["add", url]).await;
    // As with a variable that is not set: "$UNSET/".
    let refused = stage.knowledge(&["rm", "/"]).await;
    assert!(refused.code != Some(0) && refused.stderr.contains("no such"), "{}", refused.stderr);
    let removed = stage.knowledge(&["rm", "docs", "docs/"]).await;
    assert_eq!(removed.code, Some(0), "{}", removed.stderr);
    assert_eq!(removed.stderr.matches("removed ").count(), 1, "{}", removed.stderr);
    assert_eq!(stage.listed().await.0, [url]);
}

#[tokio::test]
async fn a_document_that_is_not_read_has_the_code_of_its_problem() {
    let stage = Stage::set().await;
    let folder = stage.folder("docs");
    fs::File::create(folder.join("large.md")).unwrap().set_len(21 << 20).unwrap();
    fs::write(folder.join("damaged.pdf"), "no PDF").unwrap();
    let added = stage.knowledge(&["add", "docs"]).await;
    for code in ["GAL-KNOW-SIZE", "GAL-KNOW-READ"] {
        assert!(added.stderr.contains(&format!("warning[{code}]")), "{}", added.stderr);
    }
    let listed = stage.knowledge(&["ls", "--json"]).await;
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    let codes = listed["documents"].as_array().unwrap().iter().map(|d| &d["problem"]["code"]);
    let codes: Vec<&str> = codes.filter_map(Value::as_str).collect();
    assert_eq!(codes, ["GAL-KNOW-READ", "GAL-KNOW-SIZE"]);

    // A good file is added with success, whatever else is there; of that it says where it is listed.
    assert_eq!(added.code, Some(7), "{}", added.stderr);
    stage.home.write("good.md", "# Kiln\n\nIt is hot.\n");
    let good = stage.knowledge(&["add", "good.md"]).await;
    assert_eq!(good.code, Some(0), "{}", good.stderr);
    assert!(good.stdout.contains("1 read"), "{}", good.stdout);
    let others = "2 other documents have problems: galatea knowledge ls";
    assert!(good.stderr.contains(others) && !good.stderr.contains("GAL-KNOW"), "{}", good.stderr);
    assert_eq!(stage.knowledge(&["add", "docs/damaged.pdf"]).await.code, Some(7));
    assert_eq!(stage.knowledge(&["sync"]).await.code, Some(7));
}
