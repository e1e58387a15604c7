//! Discord for Galatea: guilds become Worlds, channels, threads and direct messages Rooms, people
//! and other applications Entities.
//!
//! Events arrive over the gateway and are stored before the session's sequence is committed; a
//! session goes on in another process. Answers leave over REST with a nonce that Discord enforces.
//! serenity supplies the types and builders; its gateway client and its HTTP client are not used
//! (`README.md` says why).

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
pub use decode::parse_link;

/// The platform's name.
pub(crate) const SOURCE: galatea_core::Source = galatea_core::Source::new(SOURCE_NAME);
/// The platform's name as text.
pub(crate) const SOURCE_NAME: &str = "discord";
/// First second of 2015 in milliseconds of Unix time: where ids begin (Discord, "Snowflakes").
const EPOCH: i64 = 1_420_070_400_000;

/// When an id was made.
pub(crate) fn time_of(snowflake: u64) -> galatea_core::Timestamp {
    galatea_core::Timestamp(i64::try_from(snowflake >> 22).unwrap_or(0).saturating_add(EPOCH))
}

/// The smallest id of a moment.
pub(crate) fn snowflake_at(at: galatea_core::Timestamp) -> u64 {
    u64::try_from(at.0.saturating_sub(EPOCH)).unwrap_or(0) << 22
}

/// An id as a number.
///
/// # Errors
/// `Invalid` for what is no id of Discord.
pub(crate) fn snowflake(
    id: &galatea_core::RemoteId,
    what: &'static str,
) -> galatea_core::Result<u64> {
    id.as_str().parse().ok().filter(|n| *n > 0).ok_or_else(|| {
        galatea_core::Error::invalid("not an id of Discord")
            .with_code(error::codes::INVALID)
            .with("of", what)
            .with("id", galatea_http::shorten(id.as_str(), 40))
    })
}
