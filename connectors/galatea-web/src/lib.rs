//! The web connector: conversations over the program's own server, such as the console's chat, the
//! chat script of a page, elizaOS's sockets, and clients of OpenAI's and Anthropic's interfaces.
//!
//! The recipient reads the answer from the store. The commit of an answer is therefore its delivery:
//! nothing is sent, there is no login, and every process takes messages in.

mod config;
mod connector;
mod decode;
mod encode;
mod error;
mod receive;
mod send;

pub use config::{Config, ORIGINS, Visitors, origins};
pub use decode::{
    AGENTS, Channel, MAX_FILES, MAX_FILES_BYTES, MAX_ID, MAX_NAME, MAX_TEXT, Said, Speaker,
    channel_of, check_id, decode, message_id, person_id, room_id,
};
pub use encode::{WebMessage, read};

/// The source of this connector's events: its name in addresses, Rooms and settings.
pub const SOURCE: galatea_core::Source = galatea_core::Source::new("web");
/// The source of what anonymous visitors of other pages write. It is public: the limits of strangers hold.
pub const VISITORS: galatea_core::Source = galatea_core::Source::new("visitors");
/// The only account: there is nothing to log in to.
pub const ACCOUNT: &str = "local";
