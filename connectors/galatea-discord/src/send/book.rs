//! What sending has to remember for a while: interactions that wait for an answer, and messages of
//! ours that came back over the gateway.

use dashmap::DashMap;
use galatea_core::{ExposeSecret, RemoteId, SecretString, Timestamp};
use serde::{Deserialize, Serialize};
use std::{sync::OnceLock, time::Duration};

use super::muted::Muted;

/// An interaction can be answered for 15 minutes (Discord, "Followup Messages"); the last moments
/// are not trusted.
const ANSWERABLE: Duration = Duration::from_secs(14 * 60 + 30);
/// So long it is known who asked: no answer goes out later.
const KNOWN: Duration = Duration::from_secs(24 * 3600);
/// Most entries of each kind; beyond that the old ones go.
const MAX: usize = 10_000;
/// Most interactions kept for the next process, the newest.
const KEPT: usize = 200;

/// An interaction that was acknowledged and waits for its answer.
#[derive(Clone)]
pub(crate) struct Pending {
    /// The application it belongs to.
    pub(crate) application: u64,
    /// Its token: whoever has it can answer, until it runs out.
    pub(crate) token: Option<SecretString>,
    /// Who asked.
    pub(crate) who: Option<u64>,
    /// Only who asked sees the answer.
    pub(crate) private: bool,
    /// When it was asked.
    pub(crate) at: Timestamp,
}

/// A [`Pending`] as the store keeps it. Its token is worth something for a quarter of an hour.
#[derive(Serialize, Deserialize)]
struct Kept {
    id: String,
    application: u64,
    #[serde(default)]
    token: Option<String>,
    #[serde(default)]
    who: Option<u64>,
    #[serde(default)]
    private: bool,
    at: i64,
}

/// Interactions and echoes.
#[derive(Default)]
pub(crate) struct Book {
    /// Where nothing can be said.
    pub(crate) muted: Muted,
    interactions: DashMap<String, Pending>,
    echoes: DashMap<String, RemoteId>,
    /// The same, the other way around.
    nonces: DashMap<RemoteId, String>,
    /// What people address us by.
    handle: OnceLock<String>,
}

impl Book {
    /// Who we are is known now.
    pub(crate) fn introduce(&self, handle: &str) {
        if !handle.is_empty() {
            // It stays the same for as long as this runs.
            let _ = self.handle.set(handle.to_owned());
        }
    }

    /// What people address us by, once that is known.
    pub(crate) fn handle(&self) -> Option<String> {
        self.handle.get().cloned()
    }

    /// An interaction waits for an answer from now on.
    pub(crate) fn asked(&self, id: String, pending: Pending) {
        if self.interactions.len() >= MAX {
            self.interactions.retain(|_, p| pending.at.since(p.at) < ANSWERABLE);
        }
        self.interactions.insert(id, pending);
    }

    /// The interaction with its token, while it can be answered.
    pub(crate) fn pending(&self, id: &str, now: Timestamp) -> Option<(Pending, SecretString)> {
        let known = self.known(id, now).filter(|p| now.since(p.at) < ANSWERABLE)?;
        let token = known.token.clone()?;
        Some((known, token))
    }

    /// The interaction, also when it can be answered no more.
    pub(crate) fn known(&self, id: &str, now: Timestamp) -> Option<Pending> {
        self.interactions.get(id).filter(|p| now.since(p.at) < KNOWN).map(|p| p.clone())
    }

    /// Discord takes no answer to it any more.
    pub(crate) fn ran_out(&self, id: &str) {
        if let Some(mut pending) = self.interactions.get_mut(id) {
            pending.token = None;
        }
    }

    /// What the next process has to know to answer, or to name who asked.
    pub(crate) fn keep(&self, now: Timestamp) -> String {
        let mut kept: Vec<Kept> = self
            .interactions
            .iter()
            .filter(|p| now.since(p.at) < KNOWN)
            .map(|p| {
                let token = p
                    .token
                    .as_ref()
                    .filter(|_| now.since(p.at) < ANSWERABLE)
                    .map(|token| token.expose_secret().to_owned());
                Kept {
                    id: p.key().clone(),
                    application: p.application,
                    token,
                    who: p.who,
                    private: p.private,
                    at: p.at.0,
                }
            })
            .collect();
        kept.sort_by_key(|kept| std::cmp::Reverse(kept.at));
        kept.truncate(KEPT);
        serde_json::to_string(&kept).unwrap_or_default()
    }

    /// Takes up what the process before kept.
    pub(crate) fn restore(&self, kept: &str) {
        for Kept { id, application, token, who, private, at } in
            serde_json::from_str::<Vec<Kept>>(kept).unwrap_or_default()
        {
            let pending = Pending {
                application,
                token: token.map(SecretString::from),
                who,
                private,
                at: Timestamp(at),
            };
            self.interactions.entry(id).or_insert(pending);
        }
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

    #[test]
    fn the_next_process_can_answer_and_later_still_name_who_asked() {
        let (book, next) = (Book::default(), Book::default());
        let pending = Pending {
            application: 5,
            token: Some(SecretString::from("t".to_owned())),
            who: Some(9),
            private: true,
            at: Timestamp(0),
        };
        book.asked("a".to_owned(), pending);
        next.restore(&book.keep(Timestamp(60_000)));
        let (known, token) = next.pending("a", Timestamp(60_000)).unwrap();
        assert_eq!((known.who, known.private, token.expose_secret()), (Some(9), true, "t"));
        let late = Timestamp(20 * 60_000);
        assert!(
            next.pending("a", late).is_none()
                && next.known("a", late).is_some_and(|p| p.who == Some(9))
        );
        assert!(!next.keep(late).contains("\"t\""), "a token that is worth nothing is not kept");
        let last = Book::default();
        last.restore(&next.keep(late));
        assert!(
            last.known("a", late).is_some() && last.known("a", Timestamp(25 * 3_600_000)).is_none()
        );
        last.restore("no JSON");
    }

    /// While the history is read the message may come back over the gateway: looked for by its own
    /// nonce it is still free to be found.
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
