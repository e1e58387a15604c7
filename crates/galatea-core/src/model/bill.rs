//! The bill of one call: what its failed attempts may cost. A call of a chain makes several
//! attempts, and a provider charges for each one whose answer was begun, whether it can be used or
//! not.

use std::{fmt, sync::Arc};

use super::{ModelInfo, Spent};
use crate::error::{Error, Result, Sent};

/// Counts what the failed attempts of one call may cost, and limits them. The runtime's
/// budget implements it.
pub trait Payer: Send + Sync {
    /// An attempt begins. Called before this model is asked, which may cost more than the one that
    /// the call is for.
    ///
    /// # Errors
    /// The refusal of a limit that leaves too little for this model.
    fn begin(&self, info: &ModelInfo) -> Result<()>;

    /// An attempt failed after the provider may have worked on it. `spent` is `None` if the
    /// provider counted nothing. Also called for an attempt that is given up while it is under way.
    fn failed(&self, info: &ModelInfo, spent: Option<Spent>);
}

/// The payer of the attempts of a call. There is none by default. Requests are compared without it.
#[derive(Clone, Default)]
pub struct Bill(Option<Arc<dyn Payer>>);

impl Bill {
    /// A bill that this payer pays.
    pub fn to(payer: Arc<dyn Payer>) -> Self {
        Self(Some(payer))
    }

    /// Begins an attempt to ask a model. Called once for each, by the layer around one model.
    ///
    /// # Errors
    /// The refusal of the payer's limit.
    pub fn attempt<'a>(&'a self, info: &'a ModelInfo) -> Result<Attempt<'a>> {
        if let Some(payer) = &self.0 {
            payer.begin(info)?;
        }
        Ok(Attempt { payer: self.0.as_deref(), info })
    }
}

impl fmt::Debug for Bill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Bill(…)" } else { "Bill" })
    }
}

impl PartialEq for Bill {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// An attempt under way. Dropped without an end, it was given up: the provider may well charge it.
pub struct Attempt<'a> {
    payer: Option<&'a dyn Payer>,
    info: &'a ModelInfo,
}

impl Attempt<'_> {
    /// The attempt ended. What a successful one used stands in its answer. One that provably had no
    /// effect costs nothing ([`Error::sent`]).
    pub fn end(mut self, failure: Option<&Error>) {
        let payer = self.payer.take();
        if let (Some(payer), Some(error)) = (payer, failure)
            && error.sent() == Sent::Maybe
        {
            payer.failed(self.info, error.spent());
        }
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        if let Some(payer) = self.payer {
            payer.failed(self.info, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{error::ErrorKind, model::Usage};
    use std::sync::Mutex;

    #[derive(Default)]
    struct Book(Mutex<Vec<Option<Spent>>>);

    impl Payer for Book {
        fn begin(&self, _: &ModelInfo) -> Result<()> {
            Ok(())
        }
        fn failed(&self, _: &ModelInfo, spent: Option<Spent>) {
            self.0.lock().unwrap().push(spent);
        }
    }

    #[test]
    fn an_attempt_costs_what_the_provider_may_charge() {
        let (book, info) = (Arc::new(Book::default()), ModelInfo::default());
        let bill = Bill::to(Arc::clone(&book) as _);
        let attempt = || bill.attempt(&info).unwrap();
        attempt().end(None);
        attempt().end(Some(&Error::new(ErrorKind::RateLimited, "refused")));
        assert_eq!(*book.0.lock().unwrap(), [], "an answer, and a refusal");
        let spent = Spent { usage: Usage { output: 9, ..Usage::default() }, whole: true };
        attempt().end(Some(&Error::unexpected("empty").with_sent(Sent::Maybe).with_spent(spent)));
        attempt().end(Some(&Error::new(ErrorKind::Timeout, "late")));
        drop(attempt());
        assert_eq!(*book.0.lock().unwrap(), [Some(spent), None, None]);
    }
}
