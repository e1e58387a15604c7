//! X for Galatea: conversations become Rooms, people Entities and Worlds; mentions arrive by
//! polling, answers leave as posts and threads.
//!
//! twitter-v2 supplies the types and the PKCE of the API; its HTTP client is not used (`README.md`
//! says why).

mod config;
mod connector;
mod decode;
mod encode;
mod error;
#[cfg(feature = "fuzz")]
pub mod fuzz;
mod receive;
mod send;

pub use config::{Credentials, PollPace, Posting, Quiet, Tier, XConfig};
pub use connector::XConnector;
pub use decode::parse_link;
pub use encode::weight;
pub use send::{Prices, Usd};

/// The platform's name.
pub(crate) const SOURCE: galatea_core::Source = galatea_core::Source::new(SOURCE_NAME);
/// The platform's name as text.
pub(crate) const SOURCE_NAME: &str = "x";
/// Handle of the schedule that asks for original posts; nobody on X has one with a hyphen.
pub(crate) const SCHEDULE: &str = "post-schedule";
