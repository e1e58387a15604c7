//! A group of changes as one call of `commit_group`: the rows of each kind together.

use galatea_core::{Error, ErrorKind, Result};
use sqlx::{Arguments, PgConnection, postgres::PgArguments, query_as_with};
use std::collections::HashSet;
use uuid::Uuid;

use crate::{
    change::{Change, Write},
    error as common,
    rows::{
        CursorRow, DeliveryRow, FenceRow, FinishRow, MemoryRow, MessageRow, SettleRow, UsageSum,
    },
};

/// One round trip and, but for a transaction around it, one transaction.
pub(crate) const COMMIT_GROUP: &str =
    "SELECT fresh, taken FROM commit_group($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";

/// The SQLSTATE of a row that meets what has been committed already.
const CONFLICT: &str = "GA001";
/// The SQLSTATE of a lease that another process holds by now.
const FENCED: &str = "GA002";

/// What a row is about: two about the same thing are not taken together.
type Key = (u8, Uuid);

/// Adds what a change is about. False when a part of it has to wait for another part, or for a
/// change that is there already: then the set is of no use any more, unless nothing is to follow.
pub(crate) fn joins(keys: &mut HashSet<Key>, change: &Change) -> bool {
    change.writes.iter().all(|write| match write {
        Write::Fence(_) | Write::Cursor(_) | Write::Usage(_) | Write::Delivery(_) => true,
        Write::Message(row) => {
            row.legacy.is_none_or(|legacy| !keys.contains(&(0, legacy)))
                && keys.insert((0, row.memory.id))
        }
        Write::Memory(row) => keys.insert((0, row.id)),
        Write::Begin(id) => keys.insert((1, *id)),
        Write::Finish(row) => keys.insert((2, row.id)),
        Write::Settle(row) => keys.insert((3, row.id)),
        Write::Other { .. } | Write::Required { .. } => false,
    })
}

/// Where a row comes from: which change, which of its writes.
type Place = (usize, usize);

/// Rows of a kind, each with its place.
struct Rows<'a, T>(Vec<&'a T>, Vec<Place>);

impl<T> Default for Rows<'_, T> {
    fn default() -> Self {
        Self(Vec::new(), Vec::new())
    }
}

impl<'a, T> Rows<'a, T> {
    fn push(&mut self, row: &'a T, place: Place) {
        self.0.push(row);
        self.1.push(place);
    }

    /// The place of the row that the server counts as `ordinal`, from 1.
    fn place(&self, ordinal: i64) -> Option<Place> {
        self.1.get(usize::try_from(ordinal).ok()?.checked_sub(1)?).copied()
    }
}

/// A call of `commit_group`.
#[derive(Default)]
pub(crate) struct Group<'a> {
    fences: Rows<'a, FenceRow>,
    messages: Rows<'a, MessageRow>,
    begun: Vec<Uuid>,
    finished: Rows<'a, FinishRow>,
    remembered: Rows<'a, MemoryRow>,
    deliveries: Rows<'a, DeliveryRow>,
    settled: Rows<'a, SettleRow>,
    cursors: Rows<'a, CursorRow>,
    used: Rows<'a, UsageSum>,
}

impl<'a> Group<'a> {
    /// Adds a write; false for one that is not a row of `commit_group`.
    pub(crate) fn add(&mut self, write: &'a Write, place: Place) -> bool {
        match write {
            Write::Fence(row) => self.fences.push(row, place),
            Write::Message(row) => self.messages.push(row, place),
            Write::Begin(id) => self.begun.push(*id),
            Write::Finish(row) => self.finished.push(row, place),
            Write::Memory(row) => self.remembered.push(row, place),
            Write::Delivery(row) => self.deliveries.push(row, place),
            Write::Settle(row) => self.settled.push(row, place),
            Write::Cursor(row) => self.cursors.push(row, place),
            Write::Usage(row) => self.used.push(row, place),
            Write::Other { .. } | Write::Required { .. } => return false,
        }
        true
    }

    fn arguments(&self, again: bool) -> Result<PgArguments, sqlx::Error> {
        let mut out = PgArguments::default();
        let mut add = || {
            out.add(again)?;
            out.add(&self.fences.0)?;
            out.add(&self.messages.0)?;
            out.add(&self.begun)?;
            out.add(&self.finished.0)?;
            out.add(&self.remembered.0)?;
            out.add(&self.deliveries.0)?;
            out.add(&self.settled.0)?;
            out.add(&self.cursors.0)?;
            out.add(&self.used.0)
        };
        add().map_err(sqlx::Error::Encode)?;
        Ok(out)
    }

    /// Carries it out. `hits` has a number for each write of each change and gets what they
    /// touched.
    pub(crate) async fn commit(
        &self,
        connection: &mut PgConnection,
        again: bool,
        hits: &mut [Vec<u64>],
    ) -> Result<(), sqlx::Error> {
        type Numbers = Option<Vec<i64>>;
        let (fresh, taken): (Numbers, Numbers) =
            query_as_with(COMMIT_GROUP, self.arguments(again)?).fetch_one(connection).await?;
        let mut set = |(change, write): Place, n| {
            if let Some(slot) = hits.get_mut(change).and_then(|of_change| of_change.get_mut(write))
            {
                *slot = n;
            }
        };
        self.messages.1.iter().chain(&self.settled.1).for_each(|place| set(*place, 0));
        let fresh = fresh.into_iter().flatten().filter_map(|n| self.messages.place(n));
        let taken = taken.into_iter().flatten().filter_map(|n| self.settled.place(n));
        fresh.chain(taken).for_each(|place| set(place, 1));
        Ok(())
    }

    /// The change that a row refused, and why.
    pub(crate) fn conflict(&self, error: &sqlx::Error) -> Option<(usize, Error)> {
        let error = error.as_database_error()?;
        let refused = match error.code()?.as_ref() {
            CONFLICT => common::conflict(),
            FENCED => Error::new(
                ErrorKind::Conflict,
                "another process has taken this part over, so nothing was written",
            ),
            _ => return None,
        };
        let (kind, ordinal) = error.message().split_once(':')?;
        let ordinal = ordinal.parse().ok()?;
        let (change, _) = match kind {
            "fence" => self.fences.place(ordinal),
            "finish" => self.finished.place(ordinal),
            "delivery" => self.deliveries.place(ordinal),
            _ => None,
        }?;
        Some((change, refused))
    }
}
