//! Terminal connector: talk to an agent from the machine it runs on, over a Unix socket.
//!
//! The protocol is newline-delimited JSON ([`frame`]); `galatea chat` and tests speak it through
//! [`TerminalClient`].

#[cfg(unix)]
mod client;
mod config;
mod connector;
mod decode;
mod encode;
mod error;
pub mod frame;
#[cfg(unix)]
mod receive;
mod send;

#[cfg(unix)]
pub use client::{Heard, TerminalClient};
pub use config::Config;
pub use connector::SOCKET_FILE;
pub use decode::{MAX_NAME, MAX_TEXT, check_name};
pub use encode::printable;

/// The platform's name in addresses, rooms and settings.
pub const SOURCE: galatea_core::Source = galatea_core::Source::new("terminal");
