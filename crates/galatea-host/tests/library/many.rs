//! Many agents in one process: what they take, how fast they start, and what they ask the database
//! while nothing happens.

use std::time::{Duration, Instant};

use crate::model::{Echo, builder, character};

/// Enough to see what grows with agents; an unoptimised build takes half a second to start each.
const MANY: usize = 40;
/// Time in which statements are counted. The looks of a process come every second.
const IDLE: Duration = Duration::from_secs(4);

/// Resident memory of this process in KiB.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).unwrap_or(0)
}

/// Statements of a process with so many agents while nothing happens, the KiB that an agent takes, and
/// the time to start all.
async fn idle(agents: usize) -> (u64, u64, Duration) {
    let folder = tempfile::tempdir().unwrap();
    let galatea = builder(folder.path(), &Echo::free()).build().await.unwrap();
    // What the first agent brings along is the process's.
    let first = galatea.add_agent(character("First")).await.unwrap();
    first.ask("alice", "hello").await.unwrap();
    let (before, began) = (resident(), Instant::now());
    let adding = (1..agents).map(|n| galatea.add_agent(character(&format!("Agent {n}"))).start());
    let added = futures::future::join_all(adding).await;
    let took = began.elapsed();
    let each = resident().saturating_sub(before) / u64::try_from(agents).unwrap();
    let last = added.into_iter().map(Result::unwrap).next_back();
    if let Some(last) = &last {
        last.ask("alice", "hello").await.unwrap();
    }
    // The first looks after a start are over.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let statements = galatea.database().statements();
    tokio::time::sleep(IDLE).await;
    let statements = galatea.database().statements() - statements;
    assert_eq!(galatea.agents().len(), agents);
    galatea.shutdown(Duration::from_secs(20)).await;
    (statements, each, took)
}

/// One test, so that no other one of this process is measured along.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_agents_are_cheap_and_idle_statements_do_not_grow() {
    let (alone, ..) = idle(1).await;
    let (crowd, each, took) = idle(MANY).await;
    eprintln!(
        "idle statements in {IDLE:?}: {alone} with 1 agent, {crowd} with {MANY}; {each} KiB an agent; started in {took:?}"
    );
    // One look may fall into one of the spans and not into the other.
    assert!(crowd <= alone + 4, "{crowd} statements with {MANY} agents, {alone} with one");
    // 200 KiB are meant; an unoptimised build takes 733 with the allocator of the system.
    assert!(each <= 1_000, "{each} KiB an agent");
    // A busy machine takes several times longer than a quiet one.
    assert!(took < Duration::from_secs(120), "{took:?}");
}
