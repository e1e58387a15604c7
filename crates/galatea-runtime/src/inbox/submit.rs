//! Puts a stored message into its Room's lane, or leaves it in the store until its backlog is
//! cleared or for another process.

use galatea_core::{
    Event, Hint, MemoryId, Result, RoomId, Source,
    store::{InboxEntry, InboxItem, InboxState},
};

use super::state::Inbox;
use crate::{
    lanes::Pushed,
    ownership::{Assignment, LeaseGuard},
    turn::{Claimed, Waiting},
};

impl Inbox {
    /// An edit of a message is stored: a turn that answers it now begins again, in this process or in
    /// the one that answers in the Room.
    pub(crate) fn edited(&self, source: &Source, room: RoomId, memory: MemoryId) {
        self.engine.state.edits.notify(memory);
        if matches!(self.ownership.assignment(source, room), Assignment::Elsewhere) {
            self.ownership.hints().notify(Hint::Edits);
        }
    }

    /// For a message that was just stored.
    pub(crate) fn submit(&self, entry: InboxEntry) {
        if let Some(lease) = self.admitted(&entry) {
            self.push(Waiting::fresh(entry, self.clock.now(), lease));
        }
    }

    /// For a message that a connector hands over again. When the store's answer to its commit was
    /// lost, it waits in the store and is not in flight, and one that follows would overtake it.
    ///
    /// # Errors
    /// The store cannot tell: nothing after it may go on.
    pub(crate) async fn submit_again(&self, id: MemoryId) -> Result<()> {
        if self.in_flight.contains(&id) {
            return Ok(());
        }
        let item = self.store.inbox_item(id).await?.filter(|item| item.state == InboxState::New);
        if let Some(item) = item
            && let Some(lease) = self.admitted(&item.entry)
        {
            self.push(Waiting { recheck: true, ..Waiting::stored(item, lease) });
        }
        Ok(())
    }

    /// The right to begin with a stored message at once, if it does not wait in the store for the
    /// backlog or for another process.
    fn admitted(&self, entry: &InboxEntry) -> Option<LeaseGuard> {
        // Asked whatever follows: a backlog that says no is read once more.
        let cleared = self
            .outbox
            .routes
            .any(&entry.source, &entry.account)
            .is_some_and(|route| route.backlog.turns.admits());
        match self.ownership.assignment(&entry.source, entry.memory.room_id) {
            Assignment::Exclusive => cleared.then(LeaseGuard::always),
            Assignment::Partition(partition) => {
                (partition.backlog.admits() && cleared).then(|| partition.lease.clone())
            }
            Assignment::Elsewhere => {
                if entry.envelope.awaited {
                    self.awaited.insert(entry.memory.id, entry.clone());
                }
                self.ownership.hints().notify(Hint::Inbox);
                None
            }
        }
    }

    /// Claims a message and puts it into its lane, unless it is in flight: a connector and a
    /// reconcile may both hand it over.
    pub(super) fn push(&self, message: Waiting) {
        let _both = self.claiming.lock();
        if let Some(in_flight) = self.in_flight.begin(message.entry.memory.id) {
            self.requeue(Claimed { message, in_flight });
        }
    }

    /// Puts a message in flight into its lane. A lane that is full drops it: it is read back from
    /// the store later.
    pub(super) fn requeue(&self, claimed: Claimed) {
        let (agent, room) = (claimed.entry.memory.agent_id, claimed.entry.memory.room_id);
        if matches!(self.lanes.push(room, claimed), Pushed::Spilled) {
            self.engine.events.publish(Event::SystemOverloaded { agent, room });
        }
    }

    /// A stored message; none when another process answers in its Room.
    pub(super) fn to_waiting(&self, item: InboxItem) -> Option<Waiting> {
        let lease = self.ownership.room(&item.entry.source, item.entry.memory.room_id)?;
        Some(Waiting::stored(item, lease))
    }
}
