//! The settings and parts that all shards of one application have in common.

use galatea_core::SecretString;
use galatea_http::Tunnels;
use std::sync::Arc;
use url::Url;

use super::{ShardIntake, quota::Quota, shard_health::ShardHealth};
use crate::config::Patience;

/// Settings and parts that all shards share.
#[derive(Clone)]
pub(crate) struct Fleet {
    pub(crate) intake: ShardIntake,
    pub(crate) token: Arc<SecretString>,
    pub(crate) address: Url,
    pub(crate) tunnels: Tunnels,
    pub(crate) shards: u16,
    pub(crate) intents: u64,
    pub(crate) quota: Arc<Quota>,
    pub(crate) shard_health: Arc<ShardHealth>,
    pub(crate) patience: Patience,
}
