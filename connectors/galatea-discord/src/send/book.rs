//! What sending has to remember for a while: interactions that wait for an answer, and messages of ours that came back over the gateway.

use dashmap::DashMap;
use galatea_core::{RemoteId, SecretString, Timestamp};
use std::time::Duration;

/// An interaction can be answered for 15 minutes (Discord, "Followup Messages"); the last moments are not trusted.
const ANSWERABLE: Duration = Duration::from_secs(14 * 60 + 30);
/// Most entries of each kind; beyond that the old ones go.
const MAX: usize = 10_000;

/// An interaction that was acknowledged and waits for its answer.
#[derive(Clone)]
pub(crate) struct Pending {
    /// The application it belongs to.
    pub(crate) application: u64,
    /// Its token: whoever has it can answer.
    pub(crate) token: SecretString,
    at: Timestamp,
}

/// Interactions and echoes.
#[derive(Default)]
pub(crate) struct Book {
    interactions: DashMap<String, Pending>,
    echoes: DashMap<String, RemoteId>,
    /// The same, the other way around.
    nonces: DashMap<RemoteId, String>,
}

impl Book {
    /// An interaction waits for an answer from now on.
    pub(crate) fn asked(&self, id: String, application: u64, token: SecretString, now: Timestamp) {
        if self.interactions.len() >= MAX {
            self.interactions.retain(|_, p| now.since(p.at) < ANSWERABLE);
        }
        self.interactions.insert(id, Pending { application, token, at: now });
    }

    /// The interaction, while it can be answered.
    pub(crate) fn pending(&self, id: &str, now: Timestamp) -> Option<Pending> {
        self.interactions.get(id).filter(|p| now.since(p.at) < ANSWERABLE).map(|p| p.clone())
    }

    /// The interaction is over.
    pub(crate) fn answered(&self, id: &str) {
        self.interactions.remove(id);
    }

    /// A message of ours with this nonce exists.
    pub(crate) fn echo(&self, nonce: String, id: RemoteId) {
        if self.echoes.len() >= MAX {
            self.echoes.clear();
            self.nonces.clear();
        }
        self.nonces.insert(id.clone(), nonce.clone());
        self.echoes.insert(nonce, id);
    }

    /// What became of a nonce.
    pub(crate) fn by_nonce(&self, nonce: &str) -> Option<RemoteId> {
        self.echoes.get(nonce).map(|id| id.clone())
    }

    /// Whether a message is another delivery's than the one with this nonce.
    pub(crate) fn is_anothers(&self, id: &RemoteId, nonce: &str) -> bool {
        self.nonces.get(id).is_some_and(|known| *known != nonce)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// While the history is read the message may come back over the gateway: looked for by its own nonce it is still free to be found.
    #[test]
    fn a_message_is_anothers_only_by_another_nonce() {
        let book = Book::default();
        let id = RemoteId::new(7);
        assert!(!book.is_anothers(&id, "a"), "nobody knows it yet");
        book.echo("a".to_owned(), id.clone());
        assert!(!book.is_anothers(&id, "a"));
        assert!(book.is_anothers(&id, "b"));
        assert_eq!(book.by_nonce("a"), Some(id));
    }
}
