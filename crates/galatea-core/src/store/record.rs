//! The record of the control plane: who changed what, and answers to requests that may come twice.

use async_trait::async_trait;
use serde_json::Value;

use super::SecretDigest;
use crate::{clock::Timestamp, error::Result};

/// A change that an operator made.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedChange {
    /// Its number.
    pub seq: i64,
    /// Its time.
    pub at: Timestamp,
    /// Name of the user, or `command line`.
    pub actor: String,
    /// Operation, such as `outbox.retry`.
    pub operation: String,
    /// Its object, such as the id of a part.
    pub target: String,
    /// The state before; without secrets.
    pub before: Option<Value>,
    /// The state after; without secrets.
    pub after: Option<Value>,
    /// Whence it came: an address, or a name of a token.
    pub origin: String,
}

/// An answer that is kept for a repeated request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptAnswer {
    /// Digest of the request. Another request under the same key is a fault of the client.
    pub request: SecretDigest,
    /// Status of the answer; none while the first request is carried out.
    pub status: Option<u16>,
    /// Body of the answer.
    pub body: Option<String>,
}

/// The record. Called by the control plane only.
#[async_trait]
pub trait RecordStore: Send + Sync {
    /// Adds a change; its `seq` is ignored.
    async fn record_change(&self, change: &RecordedChange) -> Result<()>;
    /// Changes before a number, newest first.
    async fn recorded_changes(
        &self,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<RecordedChange>>;
    /// Takes a key for a request. `None` for one caller, who carries it out; everybody else gets
    /// what is kept. Keys that ended before `now` are removed.
    async fn take_key(
        &self,
        key: &SecretDigest,
        request: &SecretDigest,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<Option<KeptAnswer>>;
    /// Keeps the answer under its key.
    async fn keep_answer(&self, key: &SecretDigest, status: u16, body: &str) -> Result<()>;
    /// Gives a key back: the request was not carried out.
    async fn free_key(&self, key: &SecretDigest) -> Result<()>;
}
