//! A machine that fails under the program: the disk is full or cannot flush, the clock is set, the
//! database server goes away. The program stops acknowledging, reports why, recovers by itself,
//! loses nothing and sends nothing twice.

#[cfg(target_os = "linux")]
mod clock;
#[cfg(target_os = "linux")]
mod disk;
mod server;

use galatea_testkit::process::{Finished, Program};
use serde_json::Value;
use std::time::Duration;

/// Standard output and standard error together.
fn all(finished: &Finished) -> String {
    format!("{}{}", finished.stdout, finished.stderr)
}

/// Output of `status`, and whether it reports ready (as `/readyz` answers 200 or 503).
async fn status(program: &Program) -> (bool, String) {
    let output = program.clone().arg("status").run().await;
    (output.code == Some(0), all(&output))
}

/// Waits until `status` reports this readiness and contains `word`.
async fn until_status(program: &Program, ready: bool, word: &str) {
    let mut output = String::new();
    for _ in 0..200 {
        let (is_ready, text) = status(program).await;
        if is_ready == ready && text.contains(word) {
            return;
        }
        output = text;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("status never became {ready} with {word:?}: {output}");
}

/// Checks that every received message is answered and that the audit balances.
async fn sound(program: &Program, answered: u64) {
    let mut audit = Value::Null;
    let sum = |audit: &Value, name: &str| -> u64 {
        audit["sources"].as_array().unwrap().iter().map(|line| line[name].as_u64().unwrap()).sum()
    };
    for _ in 0..100 {
        let output = program.clone().args(["audit", "--json"]).run().await;
        audit = serde_json::from_str(&output.stdout)
            .unwrap_or_else(|e| panic!("{e}: {}", all(&output)));
        // The settlement of the last sends may not be stored yet.
        if sum(&audit, "answering") == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let sum = |name: &str| sum(&audit, name);
    assert!(
        audit["sound"] == true && sum("received") == answered && sum("answered") == answered,
        "{audit}"
    );
}
