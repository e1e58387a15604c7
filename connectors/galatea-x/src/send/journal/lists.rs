//! The lists of the journal.

use galatea_core::{DeliveryId, TurnId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Keys of the connector state, one for each list.
pub(super) const POSTS: &str = "posts";

pub(super) const SUMMONS: &str = "summons";

pub(super) const TARGETS: &str = "targets";

/// Most posts kept. A read-back concerns the newest posts; X permits 100 posts in 15 minutes.
pub(super) const MOST_POSTS: usize = 200;

/// Most summoning posts kept. The reply to an older one costs a paid read, which proves the same.
pub(super) const MOST_SUMMONS: usize = 500;

/// Most targets kept. One is needed from just before its post until the outcome is stored.
pub(super) const MOST_TARGETS: usize = 100;

/// A post that mentioned or quoted us, which permits a reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Summons {
    /// Id of its conversation.
    pub(crate) conversation: u64,
    /// Handle of its author, lower case.
    pub(crate) name: String,
}

/// Post that a part of an answer became.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Posted {
    pub(super) delivery: DeliveryId,
    pub(super) turn: TurnId,
    pub(super) part: u32,
    /// `None` for a post of a dry run, which has no id.
    pub(super) post: Option<u64>,
}

/// The lists, oldest entry first.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Lists {
    pub(super) posts: Vec<Posted>,
    pub(super) summons: Vec<(u64, Summons)>,
    pub(super) targets: Vec<(DeliveryId, u64)>,
}

impl Lists {
    pub(super) fn posted(&mut self, posted: Posted) {
        self.posts.retain(|known| known.delivery != posted.delivery);
        add(&mut self.posts, posted, MOST_POSTS);
    }

    pub(super) fn add_summons(&mut self, post: u64, summons: Summons) {
        self.summons.retain(|(known, _)| *known != post);
        add(&mut self.summons, (post, summons), MOST_SUMMONS);
    }

    pub(super) fn set_target(&mut self, delivery: DeliveryId, target: u64) {
        self.targets.retain(|(known, _)| *known != delivery);
        add(&mut self.targets, (delivery, target), MOST_TARGETS);
    }

    /// Puts `older` entries before the ones known so far.
    pub(super) fn put_before(&mut self, older: Self) {
        let newer = std::mem::replace(self, older);
        newer.posts.into_iter().for_each(|posted| self.posted(posted));
        newer.summons.into_iter().for_each(|(post, summons)| self.add_summons(post, summons));
        newer.targets.into_iter().for_each(|(delivery, target)| self.set_target(delivery, target));
    }

    pub(super) fn value(&self, key: &str) -> Value {
        match key {
            POSTS => serde_json::json!(self.posts),
            SUMMONS => serde_json::json!(self.summons),
            _ => serde_json::json!(self.targets),
        }
    }
}

pub(super) fn add<T>(list: &mut Vec<T>, entry: T, most: usize) {
    list.push(entry);
    let surplus = list.len().saturating_sub(most);
    list.drain(..surplus);
}
