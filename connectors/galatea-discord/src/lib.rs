//! Connects Galatea to Discord. Guilds become Worlds; channels, threads and direct messages become
//! Rooms; people and other applications become Entities.
//!
//! Events arrive over the gateway. An event is stored before its sequence number is committed, so
//! another process can resume the session. Messages leave over REST with a nonce that Discord
//! enforces, so a repeated call posts no second message. serenity supplies the types and builders;
//! its gateway client and HTTP client are not used (`README.md` says why).

mod config;
mod connector;
mod decode;
mod encode;
mod error;
#[cfg(feature = "fuzz")]
pub mod fuzz;
mod receive;
mod send;

pub use config::{DiscordConfig, Patience};
pub use connector::DiscordConnector;
pub use decode::{export::read_export, parse_link};

/// The platform, as other crates name it.
pub(crate) const SOURCE: galatea_core::Source = galatea_core::Source::new(SOURCE_NAME);
/// [`SOURCE`] as text.
pub(crate) const SOURCE_NAME: &str = "discord";
/// The first second of 2015 in Unix milliseconds, from which ids count (Discord, "Snowflakes").
const EPOCH: i64 = 1_420_070_400_000;

/// The time at which an id was created.
pub(crate) fn time_of(snowflake: u64) -> galatea_core::Timestamp {
    galatea_core::Timestamp(i64::try_from(snowflake >> 22).unwrap_or(0).saturating_add(EPOCH))
}

/// The smallest id that can be created at this time.
pub(crate) fn snowflake_at(at: galatea_core::Timestamp) -> u64 {
    u64::try_from(at.0.saturating_sub(EPOCH)).unwrap_or(0) << 22
}
