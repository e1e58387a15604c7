//! The newest lines of the log, for operators.

use galatea_core::{Result, store::OperatorRole};
use std::sync::Arc;
use tokio::sync::broadcast;

use super::{Operator, Ops};
pub use crate::log_ring::{LogLevel, LogLine, LogRing};

impl Ops {
    /// The newest lines of the log after a number, of at least this level, oldest first.
    ///
    /// # Errors
    /// `Forbidden` for a viewer: lines name hosts and settings.
    pub fn logs(
        &self,
        by: &Operator,
        after: Option<u64>,
        least: LogLevel,
        limit: usize,
    ) -> Result<Vec<Arc<LogLine>>> {
        by.need(OperatorRole::Operator)?;
        Ok(self.logs.read(after, least, limit))
    }

    /// Lines of the log from now on.
    ///
    /// # Errors
    /// `Forbidden` for a viewer.
    pub fn follow_logs(&self, by: &Operator) -> Result<broadcast::Receiver<Arc<LogLine>>> {
        by.need(OperatorRole::Operator)?;
        Ok(self.logs.follow())
    }

    /// The lines themselves, for figures.
    pub fn log_ring(&self) -> &Arc<LogRing> {
        &self.logs
    }
}
