//! Telegram for Galatea: chats become Worlds, chats and forum topics Rooms, people and speaking
//! chats Entities.
//!
//! Updates arrive by long polling or webhook and are stored before Telegram may forget them;
//! answers leave as plain text with entities. teloxide supplies the types and requests of the Bot
//! API; its `Dispatcher` and its HTTP client are not used (`README.md` says why).

mod config;
mod connector;
mod decode;
mod encode;
mod error;
#[cfg(feature = "fuzz")]
pub mod fuzz;
mod receive;
mod send;

pub use config::{Mode, TelegramConfig};
pub use connector::TelegramConnector;
pub use decode::place::{parse_link, parse_public_link};

/// The platform's name.
pub(crate) const SOURCE: galatea_core::Source = galatea_core::Source::new(SOURCE_NAME);
/// The platform's name as text.
pub(crate) const SOURCE_NAME: &str = "telegram";
