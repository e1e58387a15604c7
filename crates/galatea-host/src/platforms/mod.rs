//! The platforms, their settings and accounts, and the connectors built from them.

pub mod accounts;
mod connect;
mod direct;
mod gates;
mod list;

pub use connect::{Built, Taken, encoders};
pub use direct::{Answer, Message, Person, Piece};
pub(crate) use direct::{Asked, Direct, MeetingRoom, defaults as direct_defaults};
pub use gates::{gate_variables, names_of};
pub use list::{Link, Login, PLATFORMS, Platform, PublicLink, ReadExport, TERMINAL, with_policies};

/// Pages of other servers that may show the chat script (`WEB_ORIGINS`).
///
/// # Errors
/// `Invalid` with the place of the setting.
pub fn chat_pages(settings: &galatea_core::Settings) -> galatea_core::Result<Vec<String>> {
    galatea_web::origins(settings)
}

#[cfg(test)]
mod tests;
