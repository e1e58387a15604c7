//! Journal of an account: recent posts, the posts that summoned us, and what waiting posts reply
//! to. It lets a thread continue and a read-back conclude after the process was killed, and proves
//! which posts X permits a reply to. It is state of the account, so it follows the account to
//! another machine.

mod lists;

use galatea_core::{DeliveryId, Gateway, Result, TurnId};
use parking_lot::{Mutex, MutexGuard};
use serde::de::DeserializeOwned;
use serde_json::Value;

use lists::{Lists, POSTS, Posted, SUMMONS, TARGETS};

pub(crate) use self::lists::Summons;

/// The journal of one account.
pub(crate) struct Journal {
    lists: Mutex<Lists>,
    /// Locked while a list is stored, so that an older copy never replaces a newer one.
    gateway: tokio::sync::Mutex<Option<Gateway>>,
}

impl Journal {
    /// An empty journal.
    pub(crate) fn new() -> Self {
        Self { lists: Mutex::default(), gateway: tokio::sync::Mutex::new(None) }
    }

    /// Adds the entries of earlier runs and of other machines. Entries are stored through `gateway`
    /// from now on.
    ///
    /// # Errors
    /// Errors of the store.
    pub(crate) async fn restore(&self, gateway: &Gateway) -> Result<()> {
        let kept = Lists {
            posts: read(gateway, POSTS).await?,
            summons: read(gateway, SUMMONS).await?,
            targets: read(gateway, TARGETS).await?,
        };
        // Entries of an earlier run of this process are newer than the stored ones.
        self.lists().put_before(kept);
        *self.gateway.lock().await = Some(gateway.clone());
        Ok(())
    }

    /// Records the post that a delivery became; `None` in a dry run. A failure does not fail the
    /// delivery, because the post is out already.
    pub(crate) async fn posted(
        &self,
        turn: TurnId,
        part: u32,
        delivery: DeliveryId,
        post: Option<u64>,
    ) {
        self.lists().posted(Posted { delivery, turn, part, post });
        if let Err(error) = self.store(POSTS).await {
            tracing::warn!(%delivery, error = %error.report(), "failed to store the list of posts on X; the next post stores it too, and a read-back asks X");
        }
    }

    /// Records the post a delivery replies to, if that is decided only when it is sent. Ok means
    /// durable.
    ///
    /// # Errors
    /// Errors of the store; the delivery must not be sent then, since a read-back could not find it.
    pub(crate) async fn set_target(&self, delivery: DeliveryId, target: u64) -> Result<()> {
        if self.target(delivery) == Some(target) {
            return Ok(());
        }
        self.lists().set_target(delivery, target);
        self.store(TARGETS).await
    }

    /// The recorded post a delivery replies to.
    pub(crate) fn target(&self, delivery: DeliveryId) -> Option<u64> {
        self.lists().targets.iter().rev().find(|(of, _)| *of == delivery).map(|(_, target)| *target)
    }

    /// Records a post that summoned us, in memory. [`Self::summons`] is stored with the events.
    pub(crate) fn add_summons(&self, post: u64, summons: Summons) {
        self.lists().add_summons(post, summons);
    }

    /// The summoning posts as a value of [`galatea_core::Batch::state`].
    pub(crate) fn summons(&self) -> (String, Value) {
        (SUMMONS.to_owned(), self.lists().value(SUMMONS))
    }

    /// The post that a delivery became; `Some(None)` in a dry run.
    pub(crate) fn receipt(&self, delivery: DeliveryId) -> Option<Option<u64>> {
        self.lists().posts.iter().rev().find(|p| p.delivery == delivery).map(|p| p.post)
    }

    /// The post that a part of an answer became; `Some(None)` in a dry run.
    pub(crate) fn part(&self, turn: TurnId, part: u32) -> Option<Option<u64>> {
        self.lists().posts.iter().rev().find(|p| (p.turn, p.part) == (turn, part)).map(|p| p.post)
    }

    /// True if a delivery of this account became this post.
    pub(crate) fn is_own(&self, post: u64) -> bool {
        self.lists().posts.iter().any(|p| p.post == Some(post))
    }

    /// The entry of a post, if it summoned us.
    pub(crate) fn summons_of(&self, post: u64) -> Option<Summons> {
        self.lists().summons.iter().find(|(id, _)| *id == post).map(|(_, summons)| summons.clone())
    }

    /// The newest post of a conversation that summoned us.
    pub(crate) fn newest(&self, conversation: u64) -> Option<u64> {
        let lists = self.lists();
        let of = lists.summons.iter().filter(|(_, summons)| summons.conversation == conversation);
        of.map(|(post, _)| *post).max()
    }

    /// Stores one list. Entries before the first [`Self::restore`] stay in memory.
    async fn store(&self, key: &str) -> Result<()> {
        let gateway = self.gateway.lock().await;
        let Some(gateway) = gateway.as_ref() else { return Ok(()) };
        let value = self.lists().value(key);
        gateway.save_state(key, value).await
    }

    fn lists(&self) -> MutexGuard<'_, Lists> {
        self.lists.lock()
    }
}

/// A stored list. A malformed one counts as empty: what it held can be asked of X.
async fn read<T: DeserializeOwned>(gateway: &Gateway, key: &'static str) -> Result<Vec<T>> {
    Ok(galatea_core::StateKeeper::new(key).restore(gateway).await?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::{lists::MOST_SUMMONS, *};
    use galatea_core::{
        Account, Capabilities, ConnectorInfo, ReadBack, Source, SystemClock, TextUnit,
    };
    use galatea_testkit::connector_suite::{RecordingGateway, running};
    use std::sync::Arc;

    fn summons(conversation: u64) -> Summons {
        Summons { conversation, name: "ann".into() }
    }

    fn gateway(recording: &Arc<RecordingGateway>) -> Gateway {
        let capabilities = Capabilities {
            max_text: 280,
            text_unit: TextUnit::Weighted,
            edit: false,
            delete: true,
            react: false,
            typing: false,
            buttons: false,
            files: true,
            threads: false,
            read_back: ReadBack::Find,
            public: true,
        };
        let info =
            ConnectorInfo { source: Source::new("x"), account: Account("7".into()), capabilities };
        Gateway::new(info, running::identity(), recording.clone(), Arc::new(SystemClock))
    }

    async fn journal(gateway: &Gateway) -> Journal {
        let journal = Journal::new();
        journal.restore(gateway).await.unwrap();
        journal
    }

    #[tokio::test]
    async fn posts_and_targets_survive_the_process_and_summons_go_with_their_events() {
        let recording = RecordingGateway::new(running::identity());
        let gateway = gateway(&recording);
        let (turn, one, two) = (TurnId::fresh(), DeliveryId::fresh(), DeliveryId::fresh());
        let first = journal(&gateway).await;
        first.posted(turn, 0, one, Some(77)).await;
        first.posted(turn, 1, two, None).await;
        first.set_target(two, 9).await.unwrap();
        first.add_summons(6, summons(5));
        first.add_summons(9, summons(5));
        assert_eq!(recording.stored_state(SUMMONS), None, "it is not stored before the events");
        let (key, value) = first.summons();
        gateway.save_state(&key, value).await.unwrap();
        let second = journal(&gateway).await;
        assert_eq!(*first.lists(), *second.lists());
        assert_eq!(
            (second.receipt(one), second.receipt(two), second.receipt(DeliveryId::fresh())),
            (Some(Some(77)), Some(None), None)
        );
        assert_eq!((second.part(turn, 0), second.part(turn, 2)), (Some(Some(77)), None));
        assert!(second.is_own(77) && !second.is_own(6));
        assert_eq!((second.target(two), second.target(one)), (Some(9), None));
        assert_eq!(
            (second.summons_of(6), second.newest(5), second.newest(6)),
            (Some(summons(5)), Some(9), None)
        );
    }

    #[test]
    fn the_lists_are_bounded_and_keep_the_newest() {
        let journal = Journal::new();
        (0..=MOST_SUMMONS as u64).for_each(|post| journal.add_summons(post, summons(post)));
        assert_eq!((journal.summons_of(0), journal.summons_of(1)), (None, Some(summons(1))));
        assert_eq!(journal.lists().summons.len(), MOST_SUMMONS);
    }
}
