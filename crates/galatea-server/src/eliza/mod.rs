//! The API of elizaOS's server 1.7.2, for programs that were written for it. Addresses and envelopes are
//! elizaOS's; what happens is [`galatea_host::ops`].

mod agents;
mod channels;
mod envelope;
mod jobs;
mod kept;
pub(crate) mod logs;
mod memories;
mod rooms;
mod runs;
pub(crate) mod say;
mod servers;
mod sessions;
mod system;
mod wait;
pub(crate) mod who;
pub(crate) mod wire_message;

use axum::Router;
use std::sync::Arc;

use crate::app::App;

pub(crate) use envelope::{uuid, uuid_in};

/// Every route but that of sockets.
pub(crate) fn routes() -> Router<Arc<App>> {
    let mut router = Router::new()
        .merge(agents::routes())
        .merge(runs::routes())
        .merge(rooms::groups())
        .merge(servers::routes())
        .merge(channels::routes())
        .merge(kept::routes())
        .merge(say::routes())
        .merge(sessions::routes())
        .merge(jobs::routes())
        .merge(logs::routes())
        .merge(system::routes());
    // elizaOS has both twice.
    for base in ["/api/agents", "/api/memory"] {
        router = router.merge(memories::routes(base)).merge(rooms::routes(base));
    }
    router
}
