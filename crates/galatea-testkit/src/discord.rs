//! A strict Discord on the loopback: REST v10 and gateway v10, written from Discord's published documents.
//!
//! It keeps guilds, channels and people, sends events to the sessions that asked for them, and checks every call and every payload: what
//! a correct client must not send is answered as Discord answers it *and* recorded as a violation. Dropping [`DiscordApi`] fails the test
//! when a violation was not allowed. Faults can be ordered per route and channel, and for the gateway.
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
mod routes;
mod sessions;
mod state;
mod validate;
mod world;

use std::{net::SocketAddr, ops::Deref, sync::Arc};

pub use crate::telegram::ErrorBody;
pub use faults::{Effect, Fault, Order};
pub use handle::{Handle, Shown};
pub use people::{Channel, Guild, Saying, User};
pub use state::{Call, Options};

use crate::telegram::wire::{Door, Wire};

/// A running server; stops and checks when dropped. Everything a test does goes through its [`Handle`].
pub struct DiscordApi {
    handle: Handle,
}

impl DiscordApi {
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
        let shared = Arc::new(state::Shared::new(options, address));
        let service = http::router(shared.clone()).into_make_service_with_connect_info::<Wire>();
        let stop = shared.stop.clone();
        tokio::spawn(async move {
            let serving = axum::serve(Door(listener), service);
            let _ = stop.run_until_cancelled(serving.into_future()).await;
        });
        Self { handle: Handle { shared, base: format!("http://{address}").into() } }
    }

    /// A handle that outlives borrows; the server itself lives as long as this value.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }
}

impl Deref for DiscordApi {
    type Target = Handle;
    fn deref(&self) -> &Handle {
        &self.handle
    }
}

impl Drop for DiscordApi {
    fn drop(&mut self) {
        self.handle.shared.stop.cancel();
        if !std::thread::panicking() {
            self.handle.assert_clean();
        }
    }
}
