//! Commands that this program handles.

use galatea_core::COMMANDS;

/// Commands of the agent's owners, which no list shows.
const OWNERS_ONLY: [&str; 2] = ["block", "unblock"];

/// True for a command handled here (`start` is Telegram's greeting).
pub(crate) fn is_known(name: &str) -> bool {
    OWNERS_ONLY.contains(&name)
        || name == "start"
        || COMMANDS.iter().any(|(known, _)| *known == name)
}
