//! What the keeper and the step below it are started with.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The program's hidden command that runs the keeper.
pub const COMMAND: &str = "mcp-child";
/// Begins the line on standard error with which the child says what the kernel enforces.
pub(crate) const ENFORCED: &str = "galatea-mcp-child: ";

/// What the child takes away from itself before it becomes the server. On the command line, so
/// without secrets.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// Whether files are confined to those below.
    pub(crate) confined: bool,
    /// Files and folders to read and execute, beside those of the system.
    pub(crate) readable: Vec<PathBuf>,
    /// Files and folders to change.
    pub(crate) writable: Vec<PathBuf>,
}
