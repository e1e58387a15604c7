//! Signs of vectors, which this process keeps in part: what a search asks the server for.

use galatea_core::{MemoryKind, Result};
use sqlx::FromRow;
use std::{collections::HashSet, sync::Arc};
use uuid::Uuid;

use super::{
    Postgres,
    signs::{Bits, Key, Place, Seen, largest},
};
use crate::dialect::{Dialects, Value};

/// What has changed in places ($1, $2) since transactions ($3), at most $4 of each, in one row at
/// least. All rows of a place are asked for since 0. A database that was copied from another server has
/// transactions of the future; they have been read with the whole place.
pub(crate) const CHANGED: Dialects = Dialects {
    sqlite: "",
    postgres: "SELECT h.oldest, k.place, c.seq, c.bits FROM \
               (SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS oldest, pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS next) h \
               CROSS JOIN unnest($1::uuid[], $2::text[], $3::bigint[]) WITH ORDINALITY k (owner, type, since, place) \
               LEFT JOIN LATERAL (SELECT e.seq, e.bits FROM embeddings e WHERE e.owner = k.owner AND e.type = k.type AND e.changed >= k.since \
                  AND e.changed < CASE WHEN k.since = 0 THEN 9223372036854775807 ELSE h.next END LIMIT $4) c ON true",
};
/// Which of these memories have an embedding at these places.
pub(crate) const THERE: Dialects = Dialects {
    sqlite: "",
    postgres: "SELECT e.seq FROM embeddings e WHERE e.seq = ANY ($1) AND e.owner = ANY ($2) AND e.type = ANY ($3)",
};

#[derive(FromRow)]
struct Changed {
    oldest: i64,
    /// From 1.
    place: i64,
    seq: Option<i64>,
    bits: Option<Bits>,
}

impl Postgres {
    /// The signs of all places of these owners and sorts as the server has them now. None if one of
    /// the places is too large to be kept.
    pub(crate) async fn signs(
        &self,
        owners: &[Uuid],
        kinds: &[MemoryKind],
        width: usize,
    ) -> Result<Option<Seen>> {
        let mut keys: Vec<Key> = owners
            .iter()
            .flat_map(|owner| kinds.iter().map(move |kind| (*owner, *kind, width)))
            .collect();
        keys.sort_unstable_by_key(|(owner, kind, _)| (*owner, kind.as_str()));
        keys.dedup();
        let (largest, (kept, large)) = (largest(width), self.signs.kept(&keys));
        if large {
            return Ok(None);
        }
        let since = |kept: &Option<Arc<Place>>| kept.as_ref().map_or(0, |place| place.oldest);
        let statement = CHANGED.with(vec![
            Value::Ids(keys.iter().map(|(owner, ..)| *owner).collect()),
            Value::Texts(keys.iter().map(|(_, kind, _)| kind.as_str().to_owned()).collect()),
            Value::Ints(kept.iter().map(since).collect()),
            Value::Int(i64::try_from(largest + 1).ok()),
        ]);
        let mut oldest = 0;
        let mut rows: Vec<Vec<(i64, Bits)>> = keys.iter().map(|_| Vec::new()).collect();
        for row in self.all::<Changed>(statement).await? {
            oldest = row.oldest;
            let place = usize::try_from(row.place - 1).ok().and_then(|place| rows.get_mut(place));
            if let (Some(place), Some(seq), Some(bits)) = (place, row.seq, row.bits) {
                place.push((seq, bits));
            }
        }
        let mut seen = Vec::with_capacity(keys.len());
        for ((key, before), new) in keys.into_iter().zip(kept).zip(rows) {
            let read = new.len();
            let place = match &before {
                // Another server answers: its transactions have other numbers.
                Some(before) if oldest < before.oldest => {
                    self.signs.drop_place(&key);
                    return Ok(None);
                }
                Some(before) if new.is_empty() => Arc::clone(before),
                Some(before) => Arc::new(before.with(width, new, oldest)),
                None => Arc::new(Place::default().with(width, new, oldest)),
            };
            if read.max(place.len()) > largest {
                self.signs.leave(key);
                return Ok(None);
            }
            self.signs.keep(key, before.as_ref(), &place);
            seen.push((key, place));
        }
        Ok(Some(Seen(seen)))
    }

    /// Returns the numbers of `suspects` whose embeddings no longer exist, and removes these from the
    /// cached places. If they are more than `slack`, removes the places from the cache, so that the
    /// next search reads them again.
    pub(crate) async fn gone(
        &self,
        seen: &Seen,
        suspects: &[i64],
        slack: usize,
    ) -> Result<HashSet<i64>> {
        if suspects.is_empty() {
            return Ok(HashSet::new());
        }
        let there = THERE.with(vec![
            Value::Ints(suspects.to_vec()),
            Value::Ids(seen.0.iter().map(|((owner, ..), _)| *owner).collect()),
            Value::Texts(seen.0.iter().map(|((_, kind, _), _)| kind.as_str().to_owned()).collect()),
        ]);
        let there: HashSet<i64> =
            self.all::<(i64,)>(there).await?.into_iter().map(|(seq,)| seq).collect();
        let gone: HashSet<i64> =
            suspects.iter().copied().filter(|seq| !there.contains(seq)).collect();
        if !gone.is_empty() {
            self.signs.forget(seen, &gone, gone.len() > slack);
        }
        Ok(gone)
    }
}
