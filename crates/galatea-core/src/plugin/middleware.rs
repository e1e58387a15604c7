//! Code around every turn.

use async_trait::async_trait;

use crate::{content::Content, error::Result, turn::Turn, verdict::Verdict};

/// Code around every turn, in order of registration.
#[async_trait]
pub trait Middleware: Send + Sync {
    /// For logs and `explain`. Called when the plugin is loaded, and for each failure.
    fn name(&self) -> &str;
    /// Called once per turn, after the gate and before its verdict takes effect. May turn an answer
    /// into a skip by changing the verdict; an error skips with its message as the reason.
    async fn before(&self, turn: &Turn<'_>, verdict: &mut Verdict) -> Result<()>;
    /// True if [`Self::answered`] takes no words back, so that people may see an answer while it is written.
    /// Asked before each question to a model.
    fn allows_drafts(&self) -> bool {
        false
    }
    /// Called for each message that the turn says in its Room, before it is stored and sent. May
    /// change its words, such as references that stand for nothing. After an error the message goes
    /// out as it was.
    async fn answered(&self, _turn: &Turn<'_>, _answer: &mut Content) -> Result<()> {
        Ok(())
    }
}
