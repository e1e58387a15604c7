//! A strict server of X's API v2 on the loopback, written from the published documents and from
//! known answers of the real API.
//!
//! The server keeps people and posts, and checks every request: signature or token, parameters,
//! bodies, limits, and X's rule that an account replies only to posts that summoned it. It answers
//! a request that a correct client must not send as X does *and* records it as a violation.
//! Dropping [`XApi`] fails the test when a violation was not allowed. Tests can schedule faults per
//! route and call.
//!
//! ```no_run
//! # async fn example() {
//! use galatea_testkit::x::{Effect, Fault, XApi};
//! let api = XApi::start().await;
//! let ann = api.user("Ann", "ann_b");
//! api.fault(Fault::new(Effect::LoseResponse).on("POST /2/tweets"));
//! let asked = ann.posts("@galatea_test hello");
//! // … run a client against api.url() with api.keys() …
//! let shown = api.wait_shown(1).await;
//! assert_eq!(shown[0].reply_to, Some(asked));
//! # }
//! ```

mod faults;
mod handle;
mod http;
mod limits;
mod media;
mod oauth1;
mod oauth2;
mod options;
mod params;
mod people;
mod posting;
mod problem;
mod render;
mod routes;
mod scene;
mod state;
mod world;

pub use crate::loopback::ErrorBody;
pub use faults::Effect;
pub use handle::{Handle, Shown};
pub use options::{Access, Keys, Options};
pub use people::Person;
pub use state::Call;

/// A running server. Dropping it stops the server and fails the test on violations. Tests use it
/// through its [`Handle`].
pub type XApi = crate::loopback::Server<state::State>;

/// A fault and the calls it applies to.
pub type Fault = crate::loopback::Fault<Effect>;
