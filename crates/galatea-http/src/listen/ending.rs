//! Tells handlers of streams that the listener stops.

use tokio::sync::watch;

/// Resolves when the listener begins to stop. An extension of every request: a handler whose answer
/// goes on sends its last words then, and ends.
#[derive(Debug, Clone)]
pub struct Ending(watch::Receiver<bool>);

impl Ending {
    pub(super) fn new() -> (watch::Sender<bool>, Self) {
        let (sender, receiver) = watch::channel(false);
        (sender, Self(receiver))
    }

    /// Waits until the listener begins to stop. A listener that is gone has stopped.
    pub async fn begins(mut self) {
        let _ = self.0.wait_for(|ending| *ending).await;
    }
}
