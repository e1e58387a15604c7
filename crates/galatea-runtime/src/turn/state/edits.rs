//! Tells a turn that a message which it answers was edited: the new words are answered, and the old
//! ones are not.

use galatea_core::{MemoryId, Store};
use parking_lot::{Mutex, MutexGuard};
use std::{collections::HashMap, sync::Arc};
use tokio::sync::Notify;

use crate::turn::message::Waiting;

/// Messages that turns of this process answer now, with who waits for an edit of them.
#[derive(Default)]
pub(crate) struct Edits(Mutex<HashMap<MemoryId, Arc<Notify>>>);

impl Edits {
    /// Call when an edit is stored. Costs nothing for a message that is not being answered.
    pub(crate) fn notify(&self, memory: MemoryId) {
        if let Some(waiting) = self.waiting().get(&memory) {
            waiting.notify_one();
        }
    }

    /// Call when another process has stored edits, of which messages is unknown: each turn looks at its
    /// own.
    pub(crate) fn notify_all(&self) {
        self.waiting().values().for_each(|waiting| waiting.notify_one());
    }

    /// Watches the messages of a turn until the guard is dropped.
    pub(crate) fn watch<'a>(&self, messages: impl Iterator<Item = &'a Waiting>) -> EditWatch<'_> {
        let asked = messages
            .map(|waiting| &waiting.entry.memory)
            .map(|memory| (memory.id, memory.content.text.clone()))
            .collect::<Vec<_>>();
        let notify = Arc::new(Notify::new());
        let mut waiting = self.waiting();
        waiting.extend(asked.iter().map(|(id, _)| (*id, Arc::clone(&notify))));
        drop(waiting);
        EditWatch { edits: self, asked, notify }
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<MemoryId, Arc<Notify>>> {
        // A panic while it is held cannot leave it half changed: each change is one call.
        self.0.lock()
    }
}

/// Takes the messages of a turn as they read now, so that the next edit is told from this one.
pub(crate) async fn reread(store: &dyn Store, messages: impl Iterator<Item = &mut Waiting>) {
    for waiting in messages {
        if let Ok(Some(memory)) = store.memory(waiting.entry.memory.id).await {
            Arc::make_mut(&mut waiting.entry).memory.content = memory.content;
        }
    }
}

/// The messages of one turn, as they read when it began.
pub(crate) struct EditWatch<'a> {
    edits: &'a Edits,
    asked: Vec<(MemoryId, String)>,
    notify: Arc<Notify>,
}

impl EditWatch<'_> {
    /// Completes when the words of a message have changed. Platforms report many an edit that
    /// changes none: a preview of a link, a reaction.
    pub(crate) async fn changed(&self, store: &dyn Store) {
        loop {
            self.notify.notified().await;
            for (id, words) in &self.asked {
                if let Ok(Some(memory)) = store.memory(*id).await
                    && memory.content.text != *words
                {
                    return;
                }
            }
        }
    }
}

impl Drop for EditWatch<'_> {
    fn drop(&mut self) {
        let mut waiting = self.edits.waiting();
        for (id, _) in &self.asked {
            waiting.remove(id);
        }
    }
}
