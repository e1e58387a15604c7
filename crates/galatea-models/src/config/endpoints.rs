//! The endpoints of a provider.

use crate::wire::Endpoint;

/// A provider's endpoints, one per key.
pub(super) struct Endpoints {
    pub(super) first: Endpoint,
    pub(super) further: Vec<Endpoint>,
}

impl Endpoints {
    pub(super) fn all(&self) -> impl Iterator<Item = &Endpoint> {
        std::iter::once(&self.first).chain(&self.further)
    }

    /// Adds a public header to every call.
    pub(super) fn with_header(self, name: &'static str, value: &str) -> Self {
        let further =
            self.further.into_iter().map(|endpoint| endpoint.with_header(name, value)).collect();
        Self { first: self.first.with_header(name, value), further }
    }
}
