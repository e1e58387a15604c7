//! The scenarios that come with the program pass, and one that does not fit says why.

use super::*;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../characters/scenarios")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_scenarios_of_the_program_pass() {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 5, "{files:?}");
    for file in files {
        let scenario = read(&file, &std::fs::read_to_string(&file).unwrap()).unwrap();
        let outcome = run(&scenario, &folder()).await.unwrap();
        assert_eq!(outcome.failed, [], "{}", file.display());
        assert_eq!(outcome.steps, scenario.steps.len());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scenario_that_does_not_fit_says_where_and_how() {
    let text = r#"{
        "name": "expects the wrong things",
        "character": { "name": "Nova", "bio": "A gardener." },
        "model": [{ "when": "hello", "say": "Hello you!" }],
        "steps": [
            { "say": "hello", "expect": { "answer": "Hello Ada!", "prompt": "a plumber" } },
            { "say": "and now?", "expect": { "contains": "anything" } }
        ]
    }"#;
    let scenario = read(Path::new("a.json"), text).unwrap();
    let outcome = run(&scenario, &folder()).await.unwrap();
    let [first, second] = outcome.failed.as_slice() else { panic!("{outcome:?}") };
    assert_eq!((first.step, first.said.as_str(), first.person.as_str()), (1, "hello", "ada"));
    let said: Vec<String> = first.differences.iter().map(ToString::to_string).collect();
    assert!(said[0].contains("expected \"Hello Ada!\"") && said[0].contains("you!"), "{said:?}");
    assert!(said[1].contains("a prompt that contains \"a plumber\""), "{said:?}");
    // The script has no rule for it: the step shows what the model was asked.
    assert_eq!(second.step, 2);
    assert!(format!("{second:?}").contains("anything"), "{second:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_character_that_is_missing_is_a_fault_of_the_scenario() {
    let text = r#"{"name": "x", "character": "gone.json", "steps": [{"say": "hi"}]}"#;
    let scenario = read(Path::new("a.json"), text).unwrap();
    assert!(run(&scenario, &folder()).await.is_err());
}
