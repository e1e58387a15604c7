//! A strict server of X's API v2 on the loopback, written from the published API documents and from
//! what the real one is known to answer.
//!
//! It keeps a world of people and posts, and checks every request: signature or token, known
//! parameters, bodies, limits, X's rule that only those are answered who summoned the account. What
//! a correct client must not send is answered as X answers it *and* recorded as a violation.
//! Dropping [`XApi`] fails the test when a violation was not allowed. Faults can be ordered per
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
mod params;
mod people;
mod posting;
mod problem;
mod render;
mod routes;
mod state;
mod world;

pub use crate::loopback::ErrorBody;
pub use faults::Effect;
pub use handle::{Handle, Shown};
pub use people::Person;
pub use state::{Access, Call, Keys, Options};

/// A running server; stops and checks when dropped. Everything a test does goes through its
/// [`Handle`].
pub type XApi = crate::loopback::Server<state::State>;

/// A fault and the calls it meets.
pub type Fault = crate::loopback::Fault<Effect>;
