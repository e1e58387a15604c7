//! A strict Discord server on the loopback: REST v10 and gateway v10, written from Discord's
//! published documents.
//!
//! The server keeps guilds, channels and people, sends events to the sessions that asked for them,
//! and checks every call and every payload. It answers a request that a correct client must not
//! send as Discord does *and* records it as a violation. Dropping [`DiscordApi`] fails the test
//! when a violation was not allowed. Tests can schedule faults per route and channel, and for the
//! gateway.
//!
//! ```no_run
//! # async fn example() {
//! use galatea_testkit::discord::{DiscordApi, Effect, Fault};
//! let api = DiscordApi::start().await;
//! let ann = api.user("Ann", "ann_b");
//! let guild = api.guild("Garden", &[&ann]);
//! api.fault(Fault::new(Effect::LoseResponse).on("POST /channels/{}/messages"));
//! ann.says(&guild.general(), "hello").send();
//! // … run a client against api.url() with api.token() …
//! let shown = api.wait_shown(guild.general().id, 1).await;
//! assert_eq!(shown[0].text, "hi Ann");
//! # }
//! ```

mod adding;
mod applications;
mod channels;
mod doings;
mod faults;
mod gateway;
mod handle;
mod http;
mod interactions;
mod json;
mod limits;
mod load;
mod people;
mod refusal;
mod request;
mod routes;
mod scene;
mod sessions;
mod state;
mod validate;
mod world;

pub use crate::loopback::ErrorBody;
pub use faults::{Effect, Order, Silent};
pub use handle::{Handle, Shown};
pub use people::{Channel, Guild, Saying, User};
pub use state::{Call, Options};

/// A running server. Dropping it stops the server and fails the test on violations. Tests use it
/// through its [`Handle`].
pub type DiscordApi = crate::loopback::Server<state::State>;

/// A fault and the calls it applies to.
pub type Fault = crate::loopback::Fault<Effect>;
