//! Processes that tell each other of new work through NATS, and go on when it is gone.

use galatea_testkit::{nats::NatsServer, process::Home};

use super::crowd::Crowd;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn new_work_is_told_and_nothing_depends_on_it() {
    let (mut crowd, bus) = (Crowd::of(2).await, NatsServer::guarded("ann", "canary").await);
    let (ingress, worker) = (Home::new(), Home::new());
    let begin = |home: &Home, role: &str| crowd.program(home).env("NATS_URL", bus.url_as("ann", "canary")).args(["start", "--role", role]).spawn();
    let (ingress, worker) = (begin(&ingress, "ingress"), begin(&worker, "worker"));
    ingress.wait_for_line("ready in").await;
    worker.wait_for_line("ready in").await;
    crowd.discord.wait_connected(1).await;
    bus.wait_subscribed(2).await;
    crowd.ask();
    crowd.is_all_answered().await;
    bus.wait_published("galatea.hint.inbox").await;
    bus.wait_published("galatea.hint.outbox").await;
    bus.set_reachable(false);
    ingress.wait_for_line("GAL-NATS").await;
    crowd.ask();
    crowd.is_all_answered().await;
    for running in [ingress, worker] {
        assert!(!running.output().contains("canary"), "{}", running.output());
        running.terminate();
    }
}
