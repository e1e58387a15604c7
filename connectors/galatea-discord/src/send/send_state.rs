//! State that sending keeps in memory: interactions that wait for an answer, and the nonces of our
//! own messages that came back over the gateway.

use dashmap::DashMap;
use galatea_core::{ExposeSecret, RemoteId, SecretString, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{sync::OnceLock, time::Duration};

use super::muted::Muted;

/// An interaction can be answered for 15 minutes (Discord, "Followup Messages"), less a margin of
/// 30 seconds.
const ANSWERABLE: Duration = Duration::from_secs(14 * 60 + 30);
/// Time for which the caller of an interaction is remembered. No answer is sent later than that.
const KNOWN: Duration = Duration::from_secs(24 * 3600);
/// Most entries of each kind; when full, expired interactions are removed and echoes are cleared.
const MAX: usize = 10_000;
/// Most interactions stored for the next process; the newest are kept.
const KEPT: usize = 200;

/// An acknowledged interaction that waits for its answer.
#[derive(Clone)]
pub(crate) struct PendingAnswer {
    /// The application it belongs to.
    pub(crate) application: u64,
    /// The interaction's token, which authorizes the answer until it expires. `None` once it has
    /// expired.
    pub(crate) token: Option<SecretString>,
    /// User id of the caller.
    pub(crate) who: Option<u64>,
    /// Arrival of the interaction.
    pub(crate) at: Timestamp,
    /// Of a press, what its message shows once its buttons are used; none for commands.
    pub(crate) used: Option<Value>,
}

/// A [`PendingAnswer`] as it is stored. Its token is valid for a quarter of an hour.
#[derive(Serialize, Deserialize)]
pub(crate) struct KeptPending {
    id: String,
    application: u64,
    #[serde(default)]
    token: Option<String>,
    #[serde(default)]
    who: Option<u64>,
    at: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    used: Option<Value>,
}

/// Interactions that wait for an answer, and the nonces of posted messages.
#[derive(Default)]
pub(crate) struct SendState {
    /// Channels in which the bot cannot write.
    pub(crate) muted: Muted,
    interactions: DashMap<RemoteId, PendingAnswer>,
    echoes: DashMap<String, RemoteId>,
    /// The inverse of `echoes`.
    nonces: DashMap<RemoteId, String>,
    /// The bot's name on Discord.
    handle: OnceLock<String>,
}

impl SendState {
    /// Records the bot's name once Discord has returned it.
    pub(crate) fn introduce(&self, handle: &str) {
        if !handle.is_empty() {
            // The first name stays for the life of the process.
            let _ = self.handle.set(handle.to_owned());
        }
    }

    /// The bot's name on Discord, once it is known.
    pub(crate) fn handle(&self) -> Option<String> {
        self.handle.get().cloned()
    }

    /// Adds an interaction that waits for an answer.
    pub(crate) fn asked(&self, id: RemoteId, pending: PendingAnswer) {
        if self.interactions.len() >= MAX {
            self.interactions.retain(|_, p| pending.at.since(p.at) < ANSWERABLE);
        }
        self.interactions.insert(id, pending);
    }

    /// An interaction and its token, as long as it can be answered.
    pub(crate) fn pending(
        &self,
        id: &RemoteId,
        now: Timestamp,
    ) -> Option<(PendingAnswer, SecretString)> {
        let known = self.known(id, now).filter(|p| now.since(p.at) < ANSWERABLE)?;
        let token = known.token.clone()?;
        Some((known, token))
    }

    /// An interaction, even if it can no longer be answered.
    pub(crate) fn known(&self, id: &RemoteId, now: Timestamp) -> Option<PendingAnswer> {
        self.interactions.get(id).filter(|p| now.since(p.at) < KNOWN).map(|p| p.clone())
    }

    /// Drops an interaction's token, because Discord no longer accepts an answer. The caller stays
    /// known.
    pub(crate) fn ran_out(&self, id: &RemoteId) {
        if let Some(mut pending) = self.interactions.get_mut(id) {
            pending.token = None;
        }
    }

    /// The interactions for the next process, which needs them to answer or to name the caller.
    pub(crate) fn keep(&self, now: Timestamp) -> Vec<KeptPending> {
        let mut kept: Vec<KeptPending> = self
            .interactions
            .iter()
            .filter(|p| now.since(p.at) < KNOWN)
            .map(|p| {
                let token = p
                    .token
                    .as_ref()
                    .filter(|_| now.since(p.at) < ANSWERABLE)
                    .map(|token| token.expose_secret().to_owned());
                KeptPending {
                    id: p.key().as_str().to_owned(),
                    application: p.application,
                    token,
                    who: p.who,
                    at: p.at.0,
                    used: p.used.clone(),
                }
            })
            .collect();
        kept.sort_by_key(|kept| std::cmp::Reverse(kept.at));
        kept.truncate(KEPT);
        kept
    }

    /// Loads the interactions that the previous process stored.
    pub(crate) fn restore(&self, kept: Vec<KeptPending>) {
        for KeptPending { id, application, token, who, at, used } in kept {
            let pending = PendingAnswer {
                application,
                token: token.map(SecretString::from),
                who,
                at: Timestamp(at),
                used,
            };
            self.interactions.entry(RemoteId(id)).or_insert(pending);
        }
    }

    /// Removes an interaction that was answered or cannot be.
    pub(crate) fn answered(&self, id: &RemoteId) {
        self.interactions.remove(id);
    }

    /// Records that a message of ours with this nonce exists.
    pub(crate) fn echo(&self, nonce: String, id: RemoteId) {
        if self.echoes.len() >= MAX {
            self.echoes.clear();
            self.nonces.clear();
        }
        self.nonces.insert(id.clone(), nonce.clone());
        self.echoes.insert(nonce, id);
    }

    /// The message that was posted with this nonce, if it is known.
    pub(crate) fn by_nonce(&self, nonce: &str) -> Option<RemoteId> {
        self.echoes.get(nonce).map(|id| id.clone())
    }

    /// True if a message is known to belong to a delivery with another nonce.
    pub(crate) fn is_anothers(&self, id: &RemoteId, nonce: &str) -> bool {
        self.nonces.get(id).is_some_and(|known| *known != nonce)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_process_can_answer_and_later_still_name_who_asked() {
        let (send_state, next) = (SendState::default(), SendState::default());
        let pending = PendingAnswer {
            application: 5,
            token: Some(SecretString::from("t".to_owned())),
            who: Some(9),
            at: Timestamp(0),
            used: None,
        };
        let id = RemoteId("a".to_owned());
        send_state.asked(id.clone(), pending);
        next.restore(stored(send_state.keep(Timestamp(60_000))));
        let (known, token) = next.pending(&id, Timestamp(60_000)).unwrap();
        assert_eq!((known.who, token.expose_secret()), (Some(9), "t"));
        let late = Timestamp(20 * 60_000);
        assert!(
            next.pending(&id, late).is_none()
                && next.known(&id, late).is_some_and(|p| p.who == Some(9))
        );
        assert!(next.keep(late).iter().all(|kept| kept.token.is_none()), "it has expired");
        let last = SendState::default();
        last.restore(stored(next.keep(late)));
        assert!(
            last.known(&id, late).is_some() && last.known(&id, Timestamp(25 * 3_600_000)).is_none()
        );
    }

    /// As the store returns it.
    fn stored(kept: Vec<KeptPending>) -> Vec<KeptPending> {
        serde_json::from_value(serde_json::to_value(kept).unwrap()).unwrap()
    }

    /// While the history is read, the message may come back over the gateway. Under its own nonce
    /// it must still be found.
    #[test]
    fn a_message_is_anothers_only_by_another_nonce() {
        let send_state = SendState::default();
        let id = RemoteId::new(7);
        assert!(!send_state.is_anothers(&id, "a"), "no nonce is known yet");
        send_state.echo("a".to_owned(), id.clone());
        assert!(!send_state.is_anothers(&id, "a"));
        assert!(send_state.is_anothers(&id, "b"));
        assert_eq!(send_state.by_nonce("a"), Some(id));
    }
}
