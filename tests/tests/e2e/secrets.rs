//! No secret leaves the environment, at the most verbose log level and after failures.

use std::{fs, path::Path};

use galatea_testkit::telegram::{Effect, ErrorBody, Fault};

use crate::stage::Stage;

pub(crate) fn search(folder: &Path, canaries: &[String], found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            search(&path, canaries, found);
        } else if let Ok(bytes) = fs::read(&path) {
            let hit = canaries.iter().any(|c| bytes.windows(c.len()).any(|w| w == c.as_bytes()));
            found.extend(hit.then(|| path.display().to_string()));
        }
    }
}

#[tokio::test]
async fn no_secret_is_logged_or_stored() {
    let stage = Stage::set().await;
    let running = stage
        .program()
        .args(["-vv", "start"])
        .env("RUST_LOG", "trace")
        .env("LOG_LEVEL", "trace")
        .spawn();
    running.wait_for_line("ready in").await;
    let direct = stage.ann.direct();
    for (n, effect) in
        [Effect::LoseResponse, Effect::ServerError(500, ErrorBody::Json), Effect::Garbage]
            .into_iter()
            .enumerate()
    {
        stage.telegram.fault(Fault::new(effect).on("sendMessage"));
        stage.ann.says(&direct, &format!("Q{}", n + 1)).send();
        stage.wait_text(&direct, &format!("A{}", n + 1)).await;
    }
    stage.telegram.set_reachable(false);
    running
        .wait_for("a failure to reach Telegram", |line| {
            line.to_lowercase().contains("telegram").then_some(())
        })
        .await;
    running.terminate();
    let mut running = running;
    let finished = running.finish().await;
    let canaries = stage.canaries();
    for line in finished.stdout.lines().chain(finished.stderr.lines()) {
        assert!(
            !canaries.iter().any(|c| line.contains(c)),
            "a secret is logged: {}",
            canaries.iter().fold(line.to_owned(), |l, c| l.replace(c, "<SECRET>"))
        );
    }
    let mut found = Vec::new();
    search(stage.home.path(), &canaries, &mut found);
    assert!(found.is_empty(), "a secret is stored in {found:?}");
}
