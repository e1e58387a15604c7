//! Grants of the agent's tools, kept for some seconds.

use galatea_core::{AgentId, Result, Store, Timestamp, rights::Grant};
use parking_lot::Mutex;
use std::{sync::Arc, time::Duration};

/// Longest time until a change by another process is seen, where there are grants or tools that
/// need one.
const KEPT: Duration = Duration::from_secs(2);
/// The same where there are none: an agent without such tools reads the list twice a minute at most.
const KEPT_WITHOUT: Duration = Duration::from_secs(30);

/// The grants as they were read last.
#[derive(Default)]
pub(crate) struct KnownGrants(Mutex<Option<(Timestamp, Arc<[Grant]>)>>);

impl KnownGrants {
    /// The grants of an agent. `wanted` says whether it has tools that only a grant opens.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) async fn read(
        &self,
        store: &dyn Store,
        agent: AgentId,
        now: Timestamp,
        wanted: bool,
    ) -> Result<Arc<[Grant]>> {
        if let Some((read, grants)) = &*self.0.lock() {
            let kept = if wanted || !grants.is_empty() { KEPT } else { KEPT_WITHOUT };
            if *read <= now && now.since(*read) < kept {
                return Ok(Arc::clone(grants));
            }
        }
        let grants: Arc<[Grant]> = store.grants(agent).await?.into();
        *self.0.lock() = Some((now, Arc::clone(&grants)));
        Ok(grants)
    }

    /// Has them read again before the next use. Called after a change by this process.
    pub(crate) fn forget(&self) {
        *self.0.lock() = None;
    }
}
