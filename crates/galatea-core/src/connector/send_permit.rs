//! Permit for a request to go out to a platform.

use std::{fmt, sync::Arc};

/// Permission to send, which can end at any moment. A process that was paused in the middle of a
/// call (a suspended machine) continues the call when it wakes up, perhaps long after another
/// process has claimed its work. Only a check right before the bytes are written detects this.
///
/// A [`SendHandler`](crate::SendHandler) gets a permit with every call of
/// [`send_with`](crate::SendHandler::send_with).
///
/// ```
/// use galatea_core::SendPermit;
/// use std::sync::{Arc, atomic::{AtomicBool, Ordering}};
///
/// let held = Arc::new(AtomicBool::new(true));
/// let lease = Arc::clone(&held);
/// let permit = SendPermit::while_true(move || lease.load(Ordering::Acquire));
/// assert!(permit.is_valid());
///
/// // Another process takes over: nothing may be written from here on.
/// held.store(false, Ordering::Release);
/// assert!(!permit.is_valid());
/// ```
#[derive(Clone)]
pub struct SendPermit(Option<Arc<dyn Fn() -> bool + Send + Sync>>);

impl SendPermit {
    /// A permit that never ends.
    pub const fn always() -> Self {
        Self(None)
    }

    /// A permit that is valid while `given` returns true. It is called often and must not block.
    pub fn while_true(given: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(given)))
    }

    /// True if it is valid now.
    pub fn is_valid(&self) -> bool {
        self.0.as_ref().is_none_or(|given| given())
    }

    /// True if it can end at all.
    pub fn can_end(&self) -> bool {
        self.0.is_some()
    }
}

impl fmt::Debug for SendPermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SendPermit").field(&self.is_valid()).finish()
    }
}
