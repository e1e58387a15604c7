//! Commands that only read, and commands that write a single file.

use super::home::{Home, err, json, out};

#[test]
fn connectors_are_listed_and_checked() {
    let home = Home::new();
    let list = home.run(&["connector", "ls"]);
    assert!(list.status.success(), "{}", err(&list));
    assert!(
        out(&list).contains("Telegram") && out(&list).contains("set TELEGRAM_BOT_TOKEN"),
        "{}",
        out(&list)
    );
    let all = json(&home.run(&["connector", "ls", "--json"]));
    let sources: Vec<&str> = all["connectors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["source"].as_str().unwrap())
        .collect();
    assert!(
        ["telegram", "discord", "x", "terminal"].iter().all(|source| sources.contains(source)),
        "{sources:?}"
    );
    assert!(out(&list).contains("set TWITTER_API_KEY and 3 more"), "{}", out(&list));

    std::fs::create_dir(home.path().join(".galatea")).unwrap();
    let check = home.run(&["connector", "check"]);
    assert!(check.status.success(), "{}{}", out(&check), err(&check));
    assert!(out(&check).contains("Terminal of Eliza"), "{}", out(&check));
    let off = home.run(&["connector", "check", "telegram"]);
    assert_eq!(off.status.code(), Some(7));
    let unknown = home.run(&["connector", "check", "telegam"]);
    assert!(err(&unknown).contains("did you mean telegram?"), "{}", err(&unknown));
}

#[test]
fn status_in_json_tells_whether_one_runs() {
    let home = Home::new();
    let off = home.run(&["status", "--json"]);
    assert_eq!(off.status.code(), Some(5));
    let report = json(&off);
    assert_eq!(
        (&report["schema"], &report["running"], &report["ready"]),
        (&"galatea.status/1".into(), &false.into(), &false.into())
    );
    assert_eq!(report["error"]["code"], "GAL-STATUS-OFF");
    let running = home.start(&[]);
    running.wait_printed("terminal.sock");
    let report = json(&home.run(&["status", "--json"]));
    assert_eq!(
        (&report["running"], &report["ready"], &report["pid"]),
        (&true.into(), &true.into(), &running.child.id().into())
    );
    assert_eq!(report["agents"][0]["connectors"][0]["source"], "terminal");
    assert_eq!(running.stop(), Some(0));
}

#[test]
fn a_fresh_folder_has_nothing_wrong_with_it() {
    let home = Home::new();
    for args in [&["connector", "check"][..], &["connector", "check", "terminal"], &["doctor"]] {
        let checked = home.command(args).env("SERVER_PORT", "0").output().unwrap();
        assert!(checked.status.success(), "{args:?}: {}{}", out(&checked), err(&checked));
    }
    let doctor =
        json(&home.command(&["doctor", "--json"]).env("SERVER_PORT", "0").output().unwrap());
    assert_eq!((&doctor["schema"], &doctor["ok"]), (&"galatea.doctor/1".into(), &true.into()));
    for finding in doctor["findings"].as_array().unwrap() {
        let known = |name: &str, all: &[&str]| all.contains(&finding[name].as_str().unwrap());
        assert!(
            known("severity", &["ok", "info", "warning", "error"])
                && finding["id"].as_str().unwrap().starts_with("GAL-"),
            "{finding}"
        );
        assert!(
            known(
                "subject",
                &[
                    "connector",
                    "model",
                    "storage",
                    "character",
                    "file",
                    "variable",
                    "port",
                    "clock"
                ]
            ),
            "{finding}"
        );
        assert!(
            ["message", "cause", "origin", "fix", "repair"]
                .iter()
                .all(|field| finding.get(field).is_some()),
            "{finding}"
        );
    }
    assert!(!home.path().join(".galatea").exists(), "looking made nothing");
}

#[test]
fn a_new_character_comes_with_a_schema_that_editors_find_and_it_keeps() {
    let home = Home::new();
    assert!(home.run(&["character", "new", "Ada B."]).status.success());
    let folder = home.path().join("characters");
    let read = |name: &str| -> serde_json::Value {
        serde_json::from_slice(&std::fs::read(folder.join(name)).unwrap()).unwrap()
    };
    let character = read("ada-b.json");
    let beside = character["$schema"].as_str().unwrap().strip_prefix("./").unwrap().to_owned();
    let schema = read(&beside);
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    // Without a validator, check that the schema knows every field of the file. Editors then
    // complete them and mark none.
    let known = schema["properties"].as_object().unwrap();
    assert!(
        character.as_object().unwrap().keys().all(|key| known.contains_key(key)),
        "{character}"
    );
    assert!(
        schema["required"]
            .as_array()
            .unwrap()
            .iter()
            .all(|field| character.get(field.as_str().unwrap()).is_some())
    );
    assert!(
        known.values().filter(|property| property.get("description").is_some()).count() * 2
            > known.len(),
        "editors show what a field is for"
    );
    let card = include_bytes!("../../../../fuzz/corpus/character_card/v2.png");
    std::fs::write(home.path().join("card.png"), card).unwrap();
    let picture = home.run(&["character", "validate", "card.png"]);
    assert!(picture.status.success() && out(&picture).contains("card.png"), "{}", out(&picture));
    let valid = home.run(&["character", "validate", "characters/ada-b.json"]);
    assert!(valid.status.success() && !out(&valid).contains("remark"), "{}", out(&valid));
    // An outdated schema is replaced, a character file never.
    std::fs::write(folder.join(&beside), "{}").unwrap();
    assert!(home.run(&["character", "new", "Bob"]).status.success());
    assert_eq!(read(&beside), schema);
    assert_eq!(home.run(&["character", "new", "Bob"]).status.code(), Some(6));
    assert_eq!(home.run(&["character", "new", "Cem", "-o", "cem.toml"]).status.code(), Some(2));
}

#[test]
#[cfg(target_os = "linux")]
fn data_that_could_not_be_written_is_a_failure_and_a_closed_pipe_is_none() {
    let home = Home::new();
    assert!(home.run(&["chat", "-m", "hello"]).status.success());
    for args in [
        &["explain", "GAL-TG-409"][..],
        &["config", "schema"],
        &["--help"],
        &["completions", "bash"],
        &["memory", "ls"],
        &["memory", "export"],
    ] {
        let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let lost = home.command(args).stdout(full()).output().unwrap();
        assert_eq!(lost.status.code(), Some(1), "{args:?}: {}", err(&lost));
        assert!(
            err(&lost).contains("GAL-FILE-WRITE") && err(&lost).contains("No space left"),
            "{args:?}: {}",
            err(&lost)
        );
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let piped = home.command(args).stdout(writer).output().unwrap();
        assert!(
            piped.status.success() && err(&piped).is_empty(),
            "{args:?}: {:?} {}",
            piped.status,
            err(&piped)
        );
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_data_folder_that_cannot_be_written_is_reported_with_its_fix() {
    use std::os::unix::{
        fs::{MetadataExt as _, PermissionsExt},
        process::CommandExt as _,
    };
    let home = Home::new();
    let open = |mode| {
        std::fs::set_permissions(home.path(), PermissionsExt::from_mode(mode)).unwrap();
    };
    open(0o555);
    for args in [&["start", "--port", "0"][..], &["chat", "-m", "hello"], &["doctor"]] {
        let mut command = home.command(args);
        // No folder is closed to the superuser, so the program runs as another user there.
        if home.path().metadata().unwrap().uid() == 0 {
            command.uid(65_534).gid(65_534);
        }
        let refused = command.env("SERVER_PORT", "0").output().unwrap();
        let doctor = args == ["doctor"];
        let expected = if doctor { 7 } else { 1 };
        assert_eq!(refused.status.code(), Some(expected), "{args:?}: {}", err(&refused));
        let report = if doctor { out(&refused) } else { err(&refused) };
        let report = report.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in [
            "GAL-DATA-DIR",
            "Permission denied",
            "fix: make its parent folder writable for this user, or set GALATEA_DATA_DIR to a folder",
        ] {
            assert!(report.contains(part), "{args:?}: {part:?} is missing: {report}");
        }
    }
    open(0o755);
}

#[test]
fn a_schema_beside_characters_is_no_broken_character() {
    let home = Home::new();
    assert!(home.run(&["character", "new", "Ada"]).status.success());
    let valid = home.run(&[
        "character",
        "validate",
        "characters/ada.json",
        "characters/character.schema.json",
    ]);
    assert!(
        valid.status.success() && out(&valid).contains("a schema, no character; left out"),
        "{}",
        out(&valid)
    );
    let files =
        json(&home.run(&["character", "validate", "--json", "characters/character.schema.json"]));
    assert_eq!(
        (&files["files"][0]["ok"], &files["files"][0]["schema"]),
        (&true.into(), &true.into())
    );
}

#[test]
fn a_misspelt_name_in_the_environment_is_reported() {
    let home = Home::new();
    let report = home
        .command(&["connector", "ls"])
        .env("TELEGRAM_BOT_TOKE", "123456:canary")
        .env("TELEGRAM_DESKTOP", "1")
        .output()
        .unwrap();
    assert!(
        err(&report).contains("did you mean TELEGRAM_BOT_TOKEN?")
            && err(&report).contains("environment"),
        "{}",
        err(&report)
    );
    assert!(
        !err(&report).contains("canary") && !err(&report).contains("DESKTOP"),
        "{}",
        err(&report)
    );
}

#[test]
fn forty_columns_are_enough_for_every_table() {
    let home = Home::new();
    let wide = |text: &str| -> Vec<String> {
        text.lines().filter(|line| line.chars().count() > 40).map(str::to_owned).collect()
    };
    let mut start = home.command(&["start", "--port", "0"]);
    start.env("COLUMNS", "40");
    let running = super::home::Running::of(start);
    // Paths and addresses stay whole, so that they can be copied. Log lines are not wrapped.
    let banner: String = running
        .banner
        .lines()
        .filter(|line| !line.contains("/") && !line.contains("INFO"))
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(wide(&banner), Vec::<String>::new(), "{banner}");
    running.wait_printed("terminal.sock");
    let chat = home.run(&["chat", "--json", "-m", "hello"]);
    let memory = json(&chat)["memory"].as_str().unwrap().to_owned();
    std::fs::write(home.path().join("notes.md"), "# Opening hours\n\nWe are open on Mondays.\n")
        .unwrap();
    std::fs::write(home.path().join("broken.pdf"), "not a document").unwrap();
    std::fs::write(
        home.path().join("ada.json"),
        r#"{ "name": "Ada", "bio": "x", "plugins": ["@elizaos/plugin-of-a-platform"] }"#,
    )
    .unwrap();
    std::fs::write(home.path().join("bad.json"), r#"{ "name": "Ada" "bio": 7 }"#).unwrap();
    for args in [
        &["knowledge", "add", "notes.md", "broken.pdf"][..],
        &[
            "block",
            "add",
            "telegram",
            "person",
            "5000000001",
            "--reason",
            "writes the same words all day",
        ],
    ] {
        home.run(args);
    }
    for (args, word) in [
        (&["memory", "ls"][..], "hello"),
        (&["memory", "search", "hello"], "hello"),
        (&["block", "ls"], "5000000001"),
        (&["knowledge", "ls"], "notes.md"),
        (&["cluster", "status"], "SQLite"),
        (&["character", "validate", "ada.json", "bad.json"], "bad.json"),
    ] {
        let shown = home.command(args).env("COLUMNS", "40").output().unwrap();
        assert!(out(&shown).contains(word), "{args:?}: {}{}", out(&shown), err(&shown));
        assert_eq!(wide(&out(&shown)), Vec::<String>::new(), "{args:?}:\n{}", out(&shown));
        let whole = out(&home.run(args));
        assert!(!wide(&whole).is_empty(), "{args:?}: programs read whole lines:\n{whole}");
    }
    for args in [
        &["status"][..],
        &["connector", "ls"],
        &["audit"],
        &["usage"],
        &["usage", "--by", "day,platform,person"],
        &["outbox", "ls"],
        &["models", "ls"],
        &["doctor"],
        &["explain", &memory],
        &["explain", "GAL-TG-409"],
    ] {
        let shown = home.command(args).env("COLUMNS", "40").output().unwrap();
        let text: String = out(&shown)
            .lines()
            .filter(|line| !line.contains("terminal") && !line.contains(&memory))
            .map(|line| format!("{line}\n"))
            .collect();
        assert_eq!(wide(&text), Vec::<String>::new(), "{args:?}:\n{}", out(&shown));
    }
    assert_eq!(running.stop(), Some(0));
}
