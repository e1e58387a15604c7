//! The send handler of one account: its parts.

use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
};

use super::{api::Api, journal::Journal, repeats::Repeats, similar::Recent};
use crate::{config::XConfig, decode::Me};

/// The send handler of one account.
pub(crate) struct XSender {
    pub(crate) api: Arc<Api>,
    pub(crate) config: Arc<XConfig>,
    pub(crate) journal: Arc<Journal>,
    pub(crate) me: Arc<OnceLock<Me>>,
    pub(super) recent: Recent,
    pub(super) repeats: Repeats,
    pub(super) folder: PathBuf,
}
