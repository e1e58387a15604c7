//! SendPermit: whether something may still reach a platform at the moment when it goes out.

use std::{fmt, sync::Arc};

/// SendPermit to send, which can be withdrawn at any moment. A process that is paused in the middle
/// of a call (a suspended machine) goes on with it when it wakes up, long after another one has
/// taken its place; only a look right before the bytes are written tells it.
#[derive(Clone)]
pub struct SendPermit(Option<Arc<dyn Fn() -> bool + Send + Sync>>);

impl SendPermit {
    /// Never withdrawn.
    pub const fn always() -> Self {
        Self(None)
    }

    /// As long as this says so. It is asked often and must not block.
    pub fn while_true(given: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(given)))
    }

    /// Whether it is given now.
    pub fn is_valid(&self) -> bool {
        self.0.as_ref().is_none_or(|given| given())
    }

    /// Whether it can be withdrawn at all.
    pub fn can_end(&self) -> bool {
        self.0.is_some()
    }
}

impl fmt::Debug for SendPermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Leave").field(&self.is_valid()).finish()
    }
}
