//! Processor time of this process and of the server beside it. Unlike the clock it says the same on
//! a busy machine.

use std::{fs, path::Path};

/// What is measured: this process, and the children of a server's main process.
pub(crate) struct Processor {
    server: Option<u32>,
}

impl Processor {
    pub(crate) fn of(server: Option<u32>) -> Self {
        Self { server }
    }

    /// Processor time used so far, in nanoseconds.
    pub(crate) fn used(&self) -> u64 {
        let children = self.server.map(children).unwrap_or_default();
        of_process("self") + children.iter().map(|pid| of_process(pid)).sum::<u64>()
    }
}

/// The processes that a process has started.
fn children(pid: u32) -> Vec<String> {
    let list = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    list.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

/// The first number of `schedstat` of each thread
/// (<https://docs.kernel.org/scheduler/sched-stats.html>).
fn of_process(pid: &str) -> u64 {
    let threads = fs::read_dir(Path::new("/proc").join(pid).join("task"));
    let spent = threads.into_iter().flatten().flatten().filter_map(|thread| {
        let line = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    });
    spent.sum()
}
