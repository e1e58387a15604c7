//! Commands that this program handles.

use galatea_core::COMMANDS;

/// Commands mostly of owners, which no list shows.
const OWNERS_ONLY: [&str; 4] = ["block", "unblock", "grant", "revoke"];

/// True for a command handled here (`start` is Telegram's greeting).
pub(crate) fn is_known(name: &str) -> bool {
    OWNERS_ONLY.contains(&name)
        || name == "start"
        || COMMANDS.iter().any(|(known, _)| *known == name)
}
