//! A strict Telegram Bot API server on the loopback, written from the published Bot API and from
//! known answers of the real server.
//!
//! The server keeps people and chats, delivers updates by `getUpdates` or webhook, and checks every
//! call. It answers a call that a correct client must not send as the real server does *and*
//! records it as a violation. Dropping [`BotApi`] fails the test when a violation was not allowed.
//! Tests can schedule faults per method, chat and call.
//!
//! ```no_run
//! # async fn example() {
//! use galatea_testkit::telegram::{BotApi, Effect, Fault};
//! let api = BotApi::start().await;
//! let ann = api.user("Ann", "ann_b");
//! api.fault(Fault::new(Effect::LoseResponse).on("sendMessage"));
//! ann.says(&ann.direct(), "hello").send();
//! // … run a client against api.url() with api.token() …
//! let shown = api.wait_shown(ann.id, 1).await;
//! assert_eq!(shown[0].text, "hi Ann");
//! # }
//! ```

mod adding;
mod answer;
mod doings;
mod entities;
mod fast;
mod faults;
mod flood;
mod handle;
mod http;
mod load;
mod loading;
mod markup;
mod message;
mod message_json;
mod methods;
pub(crate) mod multipart;
mod params;
mod parse;
mod people;
mod scene;
mod schema;
mod state;
mod updates;
mod webhook;
mod world;

pub use crate::loopback::ErrorBody;
pub use faults::Effect;
pub use flood::Pace;
pub use handle::{Handle, Shown};
pub use params::Upload;
pub use people::{Chat, Saying, User};
pub use state::{Call, Options};
pub use world::{ChatKind, Standing};

/// A running server. Dropping it stops the server and fails the test on violations. Tests use it
/// through its [`Handle`].
pub type BotApi = crate::loopback::Server<state::State>;

/// A fault and the calls it applies to.
pub type Fault = crate::loopback::Fault<Effect>;
