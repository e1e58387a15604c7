//! Guards of the inbox and the outbox: the guards of T1 to T4, as the stores keep them in SQL.

use std::collections::BTreeMap;

use crate::{
    ids::{DeliveryId, MemoryId, TurnId},
    store::{InboxState, OutboxState},
};

/// Inbox and outbox, reduced to what the protocol turns on.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Tables {
    /// State and turns begun, by message.
    pub inbox: BTreeMap<MemoryId, (InboxState, u32)>,
    /// State of every outbox row, by delivery.
    pub outbox: BTreeMap<DeliveryId, OutboxState>,
    /// Known (turn, part) pairs.
    pub parts: BTreeMap<(TurnId, u32), DeliveryId>,
}

/// A change that was refused; nothing of it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused;

impl Tables {
    /// T1: true when the message is new. One that is known changes nothing.
    pub fn ingest(&mut self, id: MemoryId) -> bool {
        let known = self.inbox.contains_key(&id);
        self.inbox.entry(id).or_insert((InboxState::New, 0));
        !known
    }

    /// Counts a turn on messages that are not finished.
    pub fn begin_turn(&mut self, ids: &[MemoryId]) {
        for id in ids {
            if let Some((InboxState::New, begun)) = self.inbox.get_mut(id) {
                *begun += 1;
            }
        }
    }

    /// T2: finishes messages and inserts parts, all or nothing.
    ///
    /// # Errors
    /// When a message is finished already or unknown, or a (turn, part) exists.
    pub fn finish_turn(
        &mut self,
        turn: TurnId,
        finished: &[(MemoryId, InboxState)],
        parts: &[(DeliveryId, u32, OutboxState)],
    ) -> Result<(), Refused> {
        let open = finished
            .iter()
            .all(|(id, _)| self.inbox.get(id).is_some_and(|(state, _)| *state == InboxState::New));
        if !open
            || parts.iter().any(|(id, part, _)| {
                self.outbox.contains_key(id) || self.parts.contains_key(&(turn, *part))
            })
        {
            return Err(Refused);
        }
        for (id, state) in finished {
            if let Some(row) = self.inbox.get_mut(id) {
                row.0 = *state;
            }
        }
        for (id, part, state) in parts {
            self.outbox.insert(*id, *state);
            self.parts.insert((turn, *part), *id);
        }
        Ok(())
    }

    /// T3 and T4: a part that has ended stays as it is.
    ///
    /// # Errors
    /// When it has ended, or is not there.
    pub fn settle(&mut self, id: DeliveryId, state: OutboxState) -> Result<(), Refused> {
        let row = self.outbox.get_mut(&id).filter(|row| row.is_open()).ok_or(Refused)?;
        *row = state;
        Ok(())
    }
}
