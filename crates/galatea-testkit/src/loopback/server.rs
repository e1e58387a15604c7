//! A running platform server on the loopback.

use std::{net::SocketAddr, ops::Deref, sync::Arc};

use super::{
    Handle, Scene, Shared,
    wire::{Door, Wire},
};

/// A running server. Dropping it stops the server and fails the test on violations. Tests use it
/// through its [`Handle`].
pub struct Server<S: Scene> {
    handle: Handle<S>,
}

impl<S: Scene> Server<S> {
    /// Starts with default options on a free port.
    ///
    /// # Panics
    /// When the loopback has no free port.
    pub async fn start() -> Self {
        Self::with(S::Options::default()).await
    }

    /// Starts with options on a free loopback port.
    ///
    /// # Panics
    /// When the loopback has no free port.
    pub async fn with(options: S::Options) -> Self {
        Self::on(SocketAddr::from(([127, 0, 0, 1], 0)), options).await
    }

    /// Starts on this address.
    ///
    /// # Panics
    /// When the address is in use.
    pub async fn on(address: SocketAddr, options: S::Options) -> Self {
        let bound = async {
            let listener = tokio::net::TcpListener::bind(address).await?;
            let address = listener.local_addr()?;
            Ok::<_, std::io::Error>((listener, address))
        };
        let (listener, address) =
            bound.await.unwrap_or_else(|e| panic!("no loopback address to listen on: {e}"));
        let base = format!("http://{address}");
        let shared = Arc::new(Shared::new(S::new(options, &base)));
        let service = S::router(Arc::clone(&shared)).into_make_service_with_connect_info::<Wire>();
        let stop = shared.stop.clone();
        tokio::spawn(async move {
            let serving = axum::serve(Door(listener), service);
            let _ = stop.run_until_cancelled(serving.into_future()).await;
        });
        Self { handle: Handle::new(shared, base) }
    }

    /// A handle without a lifetime. The server still stops when this value is dropped.
    pub fn handle(&self) -> Handle<S> {
        self.handle.clone()
    }
}

impl<S: Scene> Deref for Server<S> {
    type Target = Handle<S>;
    fn deref(&self) -> &Handle<S> {
        &self.handle
    }
}

impl<S: Scene> Drop for Server<S> {
    fn drop(&mut self) {
        self.handle.shared.stop.cancel();
        if !std::thread::panicking() {
            self.handle.assert_clean();
        }
    }
}
