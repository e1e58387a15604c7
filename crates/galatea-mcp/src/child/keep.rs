//! The keeper: passes input on, and leaves no process behind.

use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::{
        signal::{SigSet, Signal, killpg},
        wait::{WaitStatus, waitpid},
    },
    unistd::Pid,
};
use std::{
    ffi::OsString,
    io,
    os::{fd::AsFd, unix::process::CommandExt},
    process::{Command, ExitCode, Stdio},
    sync::mpsc::{Receiver, Sender, channel},
    thread,
    time::Duration,
};

use super::COMMAND;

/// How long the server may take to end after its input was closed. The specification of the protocol
/// names the steps and no times.
const AFTER_CLOSE: Duration = Duration::from_secs(2);
/// How long it may take after SIGTERM.
const AFTER_TERM: Duration = Duration::from_secs(2);
/// Pause between two looks for processes that are left.
const LOOK: Duration = Duration::from_millis(10);
/// Most looks: a process in uninterruptible sleep cannot be waited for.
const LOOKS: usize = 200;

enum Ended {
    /// The program that started the keeper closed its input, or is gone.
    Input,
    /// The server's process.
    Server(ExitCode),
}

pub(super) fn keep(plan: &str, words: &[OsString]) -> ExitCode {
    // A signal that a terminal or a service manager sends to every process must not end the keeper
    // before the server: the end of its input tells it. The child unblocks them.
    let _ = blocked().thread_block();
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_child_subreaper(true);
    let Ok(program) = std::env::current_exe() else { return ExitCode::FAILURE };
    let spawned = Command::new(program)
        .arg(COMMAND)
        .arg("run")
        .arg(plan)
        .args(words)
        .stdin(Stdio::piped())
        .process_group(0)
        .spawn();
    let Ok(mut child) = spawned else { return ExitCode::FAILURE };
    let Some(server) = i32::try_from(child.id()).ok().map(Pid::from_raw) else {
        return ExitCode::FAILURE;
    };
    let input = child.stdin.take();
    let (tell, told) = channel();
    thread::spawn(move || {
        if let Some(mut input) = input {
            let _ = io::copy(&mut io::stdin().lock(), &mut input);
        }
    });
    let of_input = tell.clone();
    thread::spawn(move || {
        wait_for_end_of_input();
        let _ = of_input.send(Ended::Input);
    });
    thread::spawn(move || reap(server, &tell));
    let code = wait(server, &told);
    end_all(server);
    code
}

/// Signals that the keeper does not end by.
pub(super) fn blocked() -> SigSet {
    let mut set = SigSet::empty();
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT] {
        set.add(signal);
    }
    set
}

/// Waits until the other end of the input is closed. Unlike a reader it notices this even while the
/// server does not take what was read.
fn wait_for_end_of_input() {
    let stdin = io::stdin();
    loop {
        let mut watched = [PollFd::new(stdin.as_fd(), PollFlags::empty())];
        match poll(&mut watched, PollTimeout::NONE) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(_) => return,
        }
        if watched.iter().any(|fd| fd.revents().is_some_and(|found| !found.is_empty())) {
            return;
        }
    }
}

/// Takes the exit codes of the server and of every process that it left behind.
fn reap(server: Pid, tell: &Sender<Ended>) {
    loop {
        let (pid, code) = match waitpid(None, None) {
            Ok(WaitStatus::Exited(pid, code)) => {
                (pid, u8::try_from(code).map_or(ExitCode::FAILURE, ExitCode::from))
            }
            Ok(WaitStatus::Signaled(pid, ..)) => (pid, ExitCode::FAILURE),
            Ok(_) | Err(Errno::EINTR) => continue,
            Err(_) => return,
        };
        if pid == server {
            let _ = tell.send(Ended::Server(code));
        }
    }
}

fn wait(server: Pid, told: &Receiver<Ended>) -> ExitCode {
    if let Ok(Ended::Server(code)) = told.recv() {
        return code;
    }
    if let Ok(Ended::Server(code)) = told.recv_timeout(AFTER_CLOSE) {
        return code;
    }
    let _ = killpg(server, Signal::SIGTERM);
    match told.recv_timeout(AFTER_TERM) {
        Ok(Ended::Server(code)) => code,
        _ => ExitCode::FAILURE,
    }
}

/// Ends the server's process group, and every process that came of it, wherever it went.
fn end_all(server: Pid) {
    let _ = killpg(server, Signal::SIGKILL);
    #[cfg(target_os = "linux")]
    for _ in 0..LOOKS {
        let left = descendants(std::process::id());
        if left.is_empty() {
            return;
        }
        for pid in left {
            let _ = nix::sys::signal::kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
        thread::sleep(LOOK);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (LOOK, LOOKS);
}

/// Processes below this one, by `/proc`. The keeper adopts those whose parents ended, so none escapes
/// by leaving its group.
#[cfg(target_os = "linux")]
fn descendants(of: u32) -> Vec<i32> {
    let Ok(folder) = std::fs::read_dir("/proc") else { return Vec::new() };
    let mut parents = Vec::new();
    for entry in folder.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        // proc_pid_stat(5): the name in parentheses may contain anything; the parent is the second
        // field after it.
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let after = stat.rsplit_once(')').map_or("", |(_, after)| after);
        if let Some(parent) = after.split_whitespace().nth(1).and_then(|p| p.parse::<i32>().ok()) {
            parents.push((pid, parent));
        }
    }
    let mut found: Vec<i32> = i32::try_from(of).into_iter().collect();
    let mut at = 0;
    while let Some(parent) = found.get(at).copied() {
        found.extend(parents.iter().filter(|(_, p)| *p == parent).map(|(pid, _)| *pid));
        at += 1;
    }
    found.into_iter().skip(1).collect()
}
