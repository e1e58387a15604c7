//! Parrot for Galatea: rooms become Rooms, people Entities. Events are polled over HTTP, answers
//! are posted.

mod config;
mod connector;
mod decode;
mod encode;
mod error;
mod receive;
mod send;

pub use config::ParrotConfig;
pub use decode::parse_link;

/// The platform's name in addresses, rooms and settings.
pub(crate) const SOURCE: galatea_core::Source = galatea_core::Source::new("parrot");
/// Ids of ours are hashed without the platform's name, so a bare `7` could meet the 7 of another
/// platform.
pub(crate) const PREFIX: &str = "parrot-";
