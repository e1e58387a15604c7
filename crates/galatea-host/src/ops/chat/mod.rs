//! Conversations over the program's own ways in: the API, sockets, the chat script of a page, clients of
//! other interfaces. A message is stored like that of any platform, under the source `web`; its answers are
//! read from the store, in any process. Whoever calls decides who may speak as whom.

mod ask;
mod follow;
mod message;
mod relay;
mod say;
mod state;

pub use ask::{Outcome, Waiting};
pub use follow::{ChatEvent, ChatFollower};
pub use galatea_web::{Channel, SOURCE, Said, Speaker, VISITORS, channel_of, person_id, room_id};
pub use message::{ChatMessage, KINDS, reason};
pub use say::Heard;
pub use state::Chat;
