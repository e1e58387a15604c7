//! A strict Telegram Bot API server on the loopback, written from the published Bot API and from what the real server is known to answer.
//!
//! It keeps a world of people and chats, delivers updates by `getUpdates` or webhook, and checks every call: what a correct client
//! must not send is answered as the real server answers it *and* recorded as a violation. Dropping [`BotApi`] fails the test when a
//! violation was not allowed. Faults can be ordered per method, chat and call.
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

mod answer;
mod doings;
mod entities;
mod fast;
mod faults;
mod flood;
mod handle;
mod http;
mod load;
mod markup;
mod message;
mod methods;
pub(crate) mod multipart;
mod params;
mod parse;
mod people;
mod schema;
mod state;
mod updates;
mod webhook;
pub(crate) mod wire;
mod world;

use std::{net::SocketAddr, ops::Deref, sync::Arc};

pub use faults::{Effect, ErrorBody, Fault};
pub use flood::Pace;
pub use handle::{Handle, Shown};
pub use params::Upload;
pub use people::{Chat, Saying, User};
pub use state::{Call, Options};
pub use world::{ChatKind, Standing};

use wire::{Door, Wire};

/// A running server; stops and checks when dropped. Everything a test does goes through its [`Handle`].
pub struct BotApi {
    handle: Handle,
}

impl BotApi {
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
        Self::on(SocketAddr::from(([127, 0, 0, 1], 0)), options).await
    }

    /// Starts on an address of the loopback.
    ///
    /// # Panics
    /// When it is taken.
    pub async fn on(address: SocketAddr, options: Options) -> Self {
        let bound = async {
            let listener = tokio::net::TcpListener::bind(address).await?;
            let address = listener.local_addr()?;
            Ok::<_, std::io::Error>((listener, address))
        };
        let (listener, address) = bound.await.unwrap_or_else(|e| panic!("no loopback address to listen on: {e}"));
        let shared = Arc::new(state::Shared::new(options));
        let service = http::router(shared.clone()).into_make_service_with_connect_info::<Wire>();
        let stop = shared.stop.clone();
        tokio::spawn(async move {
            let stopped = async move { stop.cancelled().await };
            let _ = axum::serve(Door(listener), service).with_graceful_shutdown(stopped).await;
        });
        Self { handle: Handle { shared, base: format!("http://{address}").into() } }
    }

    /// A handle that outlives borrows; the server itself lives as long as this value.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }
}

impl Deref for BotApi {
    type Target = Handle;
    fn deref(&self) -> &Handle {
        &self.handle
    }
}

impl Drop for BotApi {
    fn drop(&mut self) {
        self.handle.shared.stop.cancel();
        if !std::thread::panicking() {
            self.handle.assert_clean();
        }
    }
}
