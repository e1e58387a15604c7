//! Processes that wake each other through the database instead of waiting for the next poll.

use galatea_testkit::process::Home;
use sqlx::postgres::PgListener;
use std::time::Duration;

use super::crowd::Crowd;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn new_work_wakes_the_others() {
    let mut crowd = Crowd::of(2).await;
    let mut heard = PgListener::connect(&crowd.database.url()).await.unwrap();
    heard.listen("galatea").await.unwrap();
    let (ingress, worker) = (Home::new(), Home::new());
    let begin =
        |home: &Home, role: &str| crowd.program(home).args(["start", "--role", role]).spawn();
    let (ingress, worker) = (begin(&ingress, "ingress"), begin(&worker, "worker"));
    ingress.wait_for_line("ready in").await;
    worker.wait_for_line("ready in").await;
    crowd.discord.wait_connected(1).await;
    crowd.ask();
    crowd.is_all_answered().await;
    for hint in ["inbox", "outbox"] {
        let notified = async {
            loop {
                let notice = heard.recv().await.unwrap();
                if notice.payload().ends_with(hint) {
                    return;
                }
            }
        };
        let notified = tokio::time::timeout(Duration::from_secs(30), notified).await;
        assert!(notified.is_ok(), "no notification of {hint} arrived");
    }
    for running in [ingress, worker] {
        running.terminate();
    }
}
