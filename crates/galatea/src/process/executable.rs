//! The file of this program, which reads documents in child processes.

use std::path::PathBuf;

/// This program, for the children that read documents. On Linux the running file itself, also after
/// an upgrade has replaced it under its name.
pub(crate) fn path() -> PathBuf {
    let running = PathBuf::from("/proc/self/exe");
    if running.exists() { running } else { std::env::current_exe().unwrap_or(running) }
}
