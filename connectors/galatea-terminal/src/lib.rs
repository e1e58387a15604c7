//! The terminal connector. It lets people on the same machine talk to an agent over a Unix socket.
//!
//! The protocol is newline-delimited JSON ([`frame`]). `galatea chat` and tests use it through
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
pub use config::{Config, SOCKET_FILE};
pub use decode::{MAX_NAME, MAX_TEXT, check_name};
pub use encode::printable;

/// The source of this connector's events: its name in addresses, rooms and settings.
pub const SOURCE: galatea_core::Source = galatea_core::Source::new("terminal");
