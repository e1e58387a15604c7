//! A task that this process has for a while.

use galatea_core::Task;
use std::time::Duration;
use uuid::Uuid;

/// Time for which a process has a task, unless it renews the claim. A process that is paused for longer
/// cannot commit any more once another one has claimed the task.
pub(super) const LEASE: Duration = Duration::from_secs(20);

/// A claimed task.
pub(super) struct Claimed {
    pub(super) task: Task,
    pub(super) claim: Uuid,
}
