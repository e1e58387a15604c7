//! With `--json` a command prints JSON, also when it fails.

use super::home::{Home, err};
use serde_json::Value;
use std::process::Output;

/// Every command that has `--json`, each with arguments that clap accepts. A test of the program
/// compares the list with the commands.
const COMMANDS: &str = include_str!("json_commands.txt");

/// The one document on stdout.
fn document(output: &Output) -> Value {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text:?} {}", err(output)))
}

#[test]
fn every_command_fails_in_json() {
    let home = Home::new();
    std::fs::write(home.path().join("galatea.toml"), "this is = no = toml").unwrap();
    for line in COMMANDS.lines() {
        let args: Vec<&str> = line.split(' ').chain(["--json"]).collect();
        let failed = home.run(&args);
        let printed = document(&failed);
        assert!(!failed.status.success(), "{line}: {printed}");
        assert!(printed["schema"].as_str().unwrap().starts_with("galatea."), "{line}: {printed}");
        assert!(!err(&failed).contains("error["), "{line}: {}", err(&failed));
        // Commands that report what they find have a document of their own.
        if printed["schema"] == "galatea.error/1" {
            let first = &printed["errors"][0];
            assert_eq!(printed["exit"], failed.status.code().unwrap(), "{line}");
            assert_eq!(first["level"], "error", "{line}: {first}");
            assert!(first["message"].as_str().is_some_and(|text| !text.is_empty()), "{line}");
        }
    }
}

#[test]
fn errors_of_every_kind_are_documents_with_code_and_fix() {
    let home = Home::new();
    for (args, code, exit) in [
        (&["outbox", "ls", "--json"][..], "GAL-DATA-NONE", 1),
        (&["pairing", "ls", "--json"], "GAL-DATA-NONE", 1),
        (&["memory", "import", "gone.jsonl", "--json"], "GAL-MEMORY-IMPORT", 3),
        (&["explain", "GAL-NO-SUCH", "--json"], "GAL-EXPLAIN-CODE", 1),
        (&["explain", "ffff0000", "--json"], "GAL-DATA-NONE", 1),
        (&["usage", "--since", "yesterday", "--json"], "GAL-USAGE-SINCE", 2),
        // Errors that clap finds.
        (&["outbox", "show", "--json"], "GAL-CLI-USAGE", 2),
        (&["memory", "ls", "--kind", "dreams", "--json"], "GAL-CLI-USAGE", 2),
        (&["no-such-command", "--json"], "GAL-CLI-USAGE", 2),
    ] {
        let failed = home.run(args);
        let printed = document(&failed);
        let first = &printed["errors"][0];
        assert_eq!(printed["schema"], "galatea.error/1", "{args:?}");
        assert_eq!(first["code"], code, "{args:?}: {printed}");
        assert!(first["fix"].is_string(), "{args:?}: {printed}");
        assert_eq!(failed.status.code(), Some(exit), "{args:?}: {printed}");
        assert_eq!(err(&failed), "", "{args:?}");
    }
    // The document that a command prints stays the only one of stdout.
    let off = home.run(&["status", "--json"]);
    assert_eq!(document(&off)["schema"], "galatea.status/1");
    let errors: Value = serde_json::from_str(&err(&off)).unwrap();
    assert_eq!(errors["errors"][0]["code"], "GAL-STATUS-OFF");
    // Without it the error is text.
    let text = home.run(&["outbox", "ls"]);
    assert!(text.stdout.is_empty() && err(&text).starts_with("error[GAL-DATA-NONE]"));
}
