//! A strict server of X's API v2 on the loopback, written from the published API documents and from what the real one is known to answer.
//!
//! It keeps a world of people and posts, and checks every request: signature or token, known parameters, bodies, limits, X's rule that only
//! those are answered who summoned the account. What a correct client must not send is answered as X answers it *and* recorded as a
//! violation. Dropping [`XApi`] fails the test when a violation was not allowed. Faults can be ordered per route and call.
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

use std::{net::SocketAddr, ops::Deref, sync::Arc};

use crate::telegram::wire::{Door, Wire};

pub use faults::{Effect, ErrorBody, Fault};
pub use handle::{Handle, Shown};
pub use people::Person;
pub use state::{Access, Call, Keys, Options};

/// A running server; stops and checks when dropped. Everything a test does goes through its [`Handle`].
pub struct XApi {
    handle: Handle,
}

impl XApi {
    /// Starts with the default options.
    ///
    /// # Panics
    /// When the loopback has no free port.
    pub async fn start() -> Self {
        Self::with(Options::default()).await
    }

    /// Starts with options on a free loopback port.
    ///
    /// # Panics
    /// When the loopback has no free port.
    pub async fn with(options: Options) -> Self {
        let bound = async {
            let listener = tokio::net::TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await?;
            let address = listener.local_addr()?;
            Ok::<_, std::io::Error>((listener, address))
        };
        let (listener, address) = bound.await.unwrap_or_else(|e| panic!("no loopback address to listen on: {e}"));
        let base = format!("http://{address}");
        let shared = Arc::new(state::Shared::new(options, &base));
        let service = http::router(shared.clone()).into_make_service_with_connect_info::<Wire>();
        let stop = shared.stop.clone();
        tokio::spawn(async move {
            let stopped = async move { stop.cancelled().await };
            let _ = axum::serve(Door(listener), service).with_graceful_shutdown(stopped).await;
        });
        Self { handle: Handle { shared, base: base.into() } }
    }

    /// A handle that outlives borrows; the server itself lives as long as this value.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }
}

impl Deref for XApi {
    type Target = Handle;
    fn deref(&self) -> &Handle {
        &self.handle
    }
}

impl Drop for XApi {
    fn drop(&mut self) {
        self.handle.shared.stop.cancel();
        if !std::thread::panicking() {
            self.handle.assert_clean();
        }
    }
}
