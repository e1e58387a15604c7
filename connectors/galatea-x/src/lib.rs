//! The X connector for Galatea. It polls mentions and posts answers as replies and threads.
//!
//! A conversation on X is a Room, a person is an Entity, and each author has a World.
//!
//! twitter-v2 supplies the API's types and PKCE; its HTTP client is not used (`README.md` says
//! why).

mod config;
mod connector;
mod decode;
mod encode;
mod error;
#[cfg(feature = "fuzz")]
pub mod fuzz;
mod receive;
mod send;

pub use config::{
    Credentials, PollPace, Posting, Quiet, Tier, XConfig,
    prices::{Prices, Usd},
};
pub use connector::XConnector;
pub use decode::parse_link;
pub use encode::weight;

/// The source of this connector's events and accounts.
pub(crate) const SOURCE: galatea_core::Source = galatea_core::Source::new(SOURCE_NAME);
/// [`SOURCE`] as text.
pub(crate) const SOURCE_NAME: &str = "x";
/// Handle of the schedule that requests original posts. The hyphen keeps it apart from real
/// handles, which cannot contain one.
pub(crate) const SCHEDULE: &str = "post-schedule";
