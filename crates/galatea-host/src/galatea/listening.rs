//! Listeners of events, and messages to several agents.

use galatea_core::Event;
use tokio::{sync::broadcast::error::RecvError, task::AbortHandle};

use super::running::Galatea;

/// A listener that was added with [`Galatea::on`]. Dropping it changes nothing.
#[derive(Debug)]
pub struct Listener(AbortHandle);

impl Listener {
    /// elizaOS `off`: no event is passed on any more.
    pub fn off(&self) {
        self.0.abort();
    }
}

impl Galatea {
    /// elizaOS `on`: calls back for every event of every agent, one after another, until the program
    /// shuts down. A callback that is too slow for the flow of events misses some; turns never wait
    /// for one.
    pub fn on(&self, mut call: impl FnMut(&Event) + Send + 'static) -> Listener {
        let mut events = self.events().subscribe();
        let listening = tokio::spawn(async move {
            loop {
                match events.recv().await {
                    Ok(event) => call(&event),
                    Err(RecvError::Lagged(missed)) => {
                        tracing::warn!(missed, "a listener is too slow and missed events");
                    }
                    Err(RecvError::Closed) => return,
                }
            }
        });
        Listener(listening.abort_handle())
    }
}
