//! Connections to servers: opened, kept, restarted and closed.

pub(crate) mod call;
pub(crate) mod connect;
mod handler;
pub(crate) mod listing;
pub(crate) mod question;
pub(crate) mod server;
pub(crate) mod view;

use galatea_core::Clock;
use galatea_http::HttpClient;
use std::{path::PathBuf, sync::Arc};

use crate::places::Places;

/// Surroundings of every connection.
#[derive(Clone)]
pub struct Surroundings {
    /// The program that calls [`crate::child::requested`] first; empty if there is none.
    pub keeper: PathBuf,
    /// Files of servers.
    pub places: Places,
    /// The client whose rules for addresses apply.
    pub http: HttpClient,
    /// The process's clock.
    pub clock: Arc<dyn Clock>,
}
