//! Listens for signals that stop the process, from the keyboard or a service manager.

use galatea_core::{Error, Result};

/// Listens from creation on, so that no early signal is lost.
pub(crate) struct Signals {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    /// The terminal was closed. `None` if the process was started with SIGHUP ignored (`nohup`).
    #[cfg(unix)]
    hangup: Option<tokio::signal::unix::Signal>,
}

impl Signals {
    ///
    /// # Errors
    /// `Unexpected` if a signal handler cannot be installed.
    pub(crate) fn listen() -> Result<Self> {
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            let listen = |kind| {
                signal(kind).map_err(|e| {
                    Error::unexpected("signals cannot be listened to").with("cause", e)
                })
            };
            let hangup = (!ignores_hangup()).then(|| listen(SignalKind::hangup())).transpose()?;
            Ok(Self {
                terminate: listen(SignalKind::terminate())?,
                interrupt: listen(SignalKind::interrupt())?,
                hangup,
            })
        }
        #[cfg(not(unix))]
        Ok(Self {})
    }

    /// Waits for the next signal to stop.
    pub(crate) async fn next(&mut self) {
        #[cfg(unix)]
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            () = hung_up(&mut self.hangup) => {}
        }
        #[cfg(not(unix))]
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(unix)]
async fn hung_up(hangup: &mut Option<tokio::signal::unix::Signal>) {
    match hangup {
        Some(hangup) => {
            hangup.recv().await;
        }
        None => std::future::pending().await,
    }
}

/// Whether this process was started with SIGHUP ignored. Read from Linux's /proc; false on other
/// systems.
#[cfg(unix)]
fn ignores_hangup() -> bool {
    std::fs::read_to_string("/proc/self/status").is_ok_and(|status| is_ignored(&status, 1))
}

/// Whether a signal's bit is set in the mask of ignored signals, in a text in the format of
/// proc_pid_status(5).
#[cfg(unix)]
fn is_ignored(status: &str, signal: u32) -> bool {
    let mask = status
        .lines()
        .find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

#[cfg(all(test, unix))]
mod tests {
    use super::is_ignored;

    #[test]
    fn what_nohup_asks_for_is_seen() {
        assert!(is_ignored("Name:\tx\nSigIgn:\t0000000000001001\nSigCgt:\t0\n", 1));
        assert!(!is_ignored("Name:\tx\nSigIgn:\t0000000000001000\n", 1) && !is_ignored("", 1));
    }
}
