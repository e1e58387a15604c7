//! The send handler of one application: its parts, and what its calls have in common.

use galatea_core::{RemoteId, Result};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
};

use super::{api::DiscordApi, send_state::SendState};
use crate::{
    decode::{directory::Directory, raw::id},
    error::Failure,
};

/// The send handler of one application.
pub(crate) struct DiscordSender {
    pub(super) api: DiscordApi,
    pub(super) send_state: Arc<SendState>,
    pub(super) directory: Arc<Directory>,
    pub(super) folder: PathBuf,
    /// The bot's id, once it is known.
    pub(super) me: Arc<OnceLock<u64>>,
}

pub(super) fn message_id(message: &Value) -> Result<RemoteId, Failure> {
    id(&message["id"])
        .map(RemoteId::new)
        .ok_or_else(|| Failure::Garbage { status: 200, place: "Discord".to_owned() })
}

/// Characters of a path segment that are percent-encoded (RFC 3986 §3.3).
pub(super) const ESCAPED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b':');

/// Percent-encodes a path segment.
pub(crate) fn escape(segment: &str) -> String {
    utf8_percent_encode(segment, ESCAPED).to_string()
}
