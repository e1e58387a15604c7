//! Connects Galatea to Telegram. Chats become Worlds; chats and forum topics become Rooms; people,
//! and chats that post in their own name, become Entities.
//!
//! Updates arrive by long polling or webhook. An update is stored before it is confirmed to
//! Telegram. Messages leave as plain text with entities. teloxide supplies the types and requests
//! of the Bot API; its `Dispatcher` and HTTP client are not used (`README.md` says why).

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
pub use decode::{
    export::read_export,
    place::{parse_link, parse_public_link},
};

/// The platform, as other crates name it.
pub(crate) const SOURCE: galatea_core::Source = galatea_core::Source::new(SOURCE_NAME);
/// [`SOURCE`] as text.
pub(crate) const SOURCE_NAME: &str = "telegram";
