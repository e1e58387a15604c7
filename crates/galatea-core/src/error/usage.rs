//! Tokens that the call of a model used.

use serde::{Deserialize, Serialize};

/// Tokens of one call, as the provider counted them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Read by the model, the cached part included.
    pub input: u64,
    /// Of those read, what the provider's cache held already, which is cheaper.
    #[serde(default)]
    pub cached: u64,
    /// Of those read, what the provider wrote into its cache for minutes, which is dearer where
    /// it charges for that.
    #[serde(default)]
    pub stored: u64,
    /// Written into the cache for an hour or longer.
    #[serde(default)]
    pub stored_long: u64,
    /// Written by the model, thoughts included.
    pub output: u64,
}

/// Tokens that an attempt used although it failed, as far as the provider counted them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spent {
    /// The tokens.
    pub usage: Usage,
    /// The provider counted to the end of its answer. Otherwise these are the least it may charge.
    pub whole: bool,
}
