//! The breaker and the timeout around a plugin's model.

use std::sync::Arc;

use galatea_core::{Clock, ModelInfo};

use crate::{
    dependencies::{Dependencies, PluginUse},
    guarded::{Allowed, Guarded, limits},
};

/// State of a breaker and a timeout around a plugin's model.
pub(super) struct Guard {
    pub(super) clock: Arc<dyn Clock>,
    pub(super) dependencies: Dependencies,
    pub(super) allowed: Allowed,
}

impl Guard {
    pub(super) fn of<M: Send + Sync + ?Sized>(
        &self,
        used_for: PluginUse,
        info: &ModelInfo,
        model: Arc<M>,
    ) -> Guarded<M> {
        let (limits, now) = (limits(self.allowed.total), self.clock.now());
        let breaker = self.dependencies.breaker_of_plugin(used_for, &info.full_name(), limits, now);
        Guarded::new(model, breaker, self.allowed, false, Arc::clone(&self.clock))
    }
}
