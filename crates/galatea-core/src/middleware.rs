//! Middleware: code around every turn.

use async_trait::async_trait;

use crate::{error::Result, turn::Turn, verdict::Verdict};

/// Code around every turn, in order of registration.
#[async_trait]
pub trait Middleware: Send + Sync {
    /// For logs and `explain`.
    fn name(&self) -> &'static str;
    /// Called once per turn, after the gate and before its verdict takes effect. May turn an answer
    /// into a skip by changing the verdict; an error skips with its message as the reason.
    async fn before(&self, turn: &Turn<'_>, verdict: &mut Verdict) -> Result<()>;
}
