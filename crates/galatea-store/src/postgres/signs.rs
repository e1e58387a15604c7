//! Signs of vectors, kept in memory place by place: to read or compare those of a large Room takes the
//! server longer than the rest of a search. A search asks the server for what has changed since the
//! last one.

use galatea_core::MemoryKind;
use parking_lot::{Mutex, MutexGuard};
use sqlx::{
    Decode,
    error::BoxDynError,
    postgres::{PgTypeInfo, PgValueRef, Postgres as Server, types::Oid},
    types::Type,
};
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};
use uuid::Uuid;

use crate::convert;

/// Bytes kept, about: 1,200,000 memories with 384 numbers each, or three places of 100,000 with 1,536.
const BYTES: usize = 64 << 20;
/// Memories of the largest place that is kept, if its vectors are short. The server compares the
/// signs of larger ones.
const LARGEST: usize = 150_000;
/// Bytes of the largest one: two places of that size do not evict each other.
const LARGEST_BYTES: usize = BYTES / 3;
/// Memories of the smallest one: reading fewer takes less than two milliseconds.
const SMALLEST: usize = 500;
/// Places known to be too large.
const MOST_LARGE: usize = 1_024;

/// Memories of the largest place that is kept with vectors of this many numbers.
pub(super) fn largest(width: usize) -> usize {
    LARGEST.min(LARGEST_BYTES / (size_of::<i64>() + width.div_ceil(8)))
}

/// A place: its owner, a sort, and the width of the vectors.
pub(super) type Key = (Uuid, MemoryKind, usize);

/// The signs of some places.
#[derive(Default)]
pub(crate) struct Signs(Mutex<State>);

#[derive(Default)]
struct State {
    places: HashMap<Key, Kept>,
    large: HashSet<Key>,
    ticks: u64,
}

struct Kept {
    place: Arc<Place>,
    used: u64,
}

/// The signs of one place, by the number of their memory.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    seqs: Vec<i64>,
    bits: Vec<u8>,
    /// Every transaction before this one has been read.
    pub(super) oldest: i64,
}

/// Places as one search sees them.
pub(crate) struct Seen(pub(super) Vec<(Key, Arc<Place>)>);

/// A row's signs as the server sends `bit varying`: the number of bits, then the bits, the first one
/// highest.
#[derive(Debug)]
pub(super) struct Bits {
    width: usize,
    bytes: Vec<u8>,
}

impl Type<Server> for Bits {
    fn type_info() -> PgTypeInfo {
        // https://github.com/postgres/postgres/blob/master/src/include/catalog/pg_type.dat: varbit.
        PgTypeInfo::with_oid(Oid(1562))
    }
}

impl Decode<'_, Server> for Bits {
    fn decode(value: PgValueRef<'_>) -> Result<Self, BoxDynError> {
        let (width, bytes) =
            value.as_bytes()?.split_first_chunk::<4>().ok_or("bits without their number")?;
        let width = usize::try_from(i32::from_be_bytes(*width))?;
        Ok(Self { width, bytes: bytes.to_vec() })
    }
}

/// The signs of a question, in the order of the server's.
fn asked(numbers: &[f32]) -> Vec<u8> {
    convert::signs(numbers).into_iter().map(u8::reverse_bits).collect()
}

impl Place {
    /// With these rows instead of those of the same numbers. Rows of another width have gone.
    pub(super) fn with(&self, width: usize, mut rows: Vec<(i64, Bits)>, oldest: i64) -> Self {
        rows.sort_by_key(|(seq, _)| *seq);
        let stride = width.div_ceil(8);
        let most = self.seqs.len() + rows.len();
        let mut out = Self {
            seqs: Vec::with_capacity(most),
            bits: Vec::with_capacity(most * stride),
            oldest,
        };
        let mut add = |seq: i64, bits: &[u8]| {
            out.seqs.push(seq);
            out.bits.extend_from_slice(bits);
        };
        let mut kept = self.rows(stride).peekable();
        for (seq, bits) in rows {
            while let Some((before, bits)) = kept.next_if(|(kept, _)| *kept < seq) {
                add(before, bits);
            }
            kept.next_if(|(kept, _)| *kept == seq);
            if bits.width == width && bits.bytes.len() == stride {
                add(seq, &bits.bytes);
            }
        }
        kept.for_each(|(seq, bits)| add(seq, bits));
        out
    }

    fn without(&self, width: usize, gone: &HashSet<i64>) -> Self {
        let stride = width.div_ceil(8);
        let mut out = Self { oldest: self.oldest, ..Self::default() };
        for (seq, bits) in self.rows(stride).filter(|(seq, _)| !gone.contains(seq)) {
            out.seqs.push(seq);
            out.bits.extend_from_slice(bits);
        }
        out
    }

    fn rows(&self, stride: usize) -> impl Iterator<Item = (i64, &[u8])> {
        self.seqs.iter().copied().zip(self.bits.chunks_exact(stride.max(1)))
    }

    /// How many memories.
    pub(super) fn len(&self) -> usize {
        self.seqs.len()
    }

    fn bytes(&self) -> usize {
        size_of::<i64>() * self.seqs.capacity() + self.bits.capacity()
    }
}

impl Seen {
    /// The nearest by signs, the newest of equals first.
    pub(crate) fn nearest(&self, numbers: &[f32], most: usize) -> Vec<i64> {
        let asked = asked(numbers);
        let all = self.0.iter().flat_map(|(_, place)| place.rows(asked.len()));
        let mut near: Vec<(i64, i64)> =
            all.map(|(seq, bits)| (convert::distance(&asked, bits), -seq)).collect();
        if near.len() > most {
            near.select_nth_unstable(most);
            near.truncate(most);
        }
        near.sort_unstable();
        near.into_iter().map(|(_, seq)| -seq).collect()
    }
}

impl Signs {
    /// The places as they are kept, and whether one of them is too large to be kept.
    pub(super) fn kept(&self, keys: &[Key]) -> (Vec<Option<Arc<Place>>>, bool) {
        let mut state = self.lock();
        state.ticks += 1;
        let ticks = state.ticks;
        let large = keys.iter().any(|key| state.large.contains(key));
        let kept = keys.iter().map(|key| {
            let kept = state.places.get_mut(key)?;
            kept.used = ticks;
            Some(Arc::clone(&kept.place))
        });
        (kept.collect(), large)
    }

    /// Keeps a place in place of what was there before, unless that was replaced meanwhile.
    pub(super) fn keep(&self, key: Key, before: Option<&Arc<Place>>, place: &Arc<Place>) {
        let mut state = self.lock();
        let same = match (before, state.places.get(&key)) {
            (None, None) => true,
            (Some(before), Some(kept)) => Arc::ptr_eq(before, &kept.place),
            _ => false,
        };
        if !same {
            return;
        }
        if place.seqs.len() < SMALLEST {
            state.places.remove(&key);
            return;
        }
        let used = state.ticks;
        state.places.insert(key, Kept { place: Arc::clone(place), used });
        state.bound(BYTES);
    }

    /// Remembers that a place is too large to be kept.
    pub(super) fn leave(&self, key: Key) {
        let mut state = self.lock();
        if state.large.len() >= MOST_LARGE {
            state.large.clear();
        }
        state.places.remove(&key);
        state.large.insert(key);
    }

    /// Drops what has gone from the places that a search saw; all of them if that was `much`.
    pub(super) fn forget(&self, seen: &Seen, gone: &HashSet<i64>, much: bool) {
        for (key, place) in &seen.0 {
            if !much && place.seqs.iter().any(|seq| gone.contains(seq)) {
                self.keep(*key, Some(place), &Arc::new(place.without(key.2, gone)));
            }
            if much {
                self.drop_place(key);
            }
        }
    }

    /// Removes a place from the cache, so that the next search reads it again.
    pub(super) fn drop_place(&self, key: &Key) {
        self.lock().places.remove(key);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }
}

impl State {
    /// The least recently used places go first.
    fn bound(&mut self, most: usize) {
        let mut bytes: usize = self.places.values().map(|kept| kept.place.bytes()).sum();
        while bytes > most
            && let Some(key) =
                self.places.iter().min_by_key(|(_, kept)| kept.used).map(|(key, _)| *key)
            && let Some(gone) = self.places.remove(&key)
        {
            bytes -= gone.place.bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDTH: usize = 10;

    fn bits(first: u8) -> Bits {
        Bits { width: WIDTH, bytes: vec![first, 0] }
    }

    fn place(seqs: &[(i64, u8)]) -> Place {
        let rows = seqs.iter().map(|(seq, first)| (*seq, bits(*first))).collect();
        Place::default().with(WIDTH, rows, 1)
    }

    fn key() -> Key {
        (Uuid::nil(), MemoryKind::Messages, WIDTH)
    }

    #[test]
    fn changed_rows_take_the_place_of_older_ones() {
        let before = place(&[(5, 5), (1, 1), (3, 3)]);
        let wide = Bits { width: 16, bytes: vec![0, 0] };
        let after = before.with(WIDTH, vec![(4, bits(4)), (3, bits(9)), (5, wide)], 7);
        assert_eq!(after, Place { oldest: 7, ..place(&[(1, 1), (3, 9), (4, 4)]) });
        let without = after.without(WIDTH, &HashSet::from([3]));
        assert_eq!(without, Place { oldest: 7, ..place(&[(1, 1), (4, 4)]) });
    }

    #[test]
    fn the_nearest_come_first() {
        let mut numbers = vec![-1.0; WIDTH];
        numbers[0] = 1.0;
        let seen = Seen(vec![
            (key(), Arc::new(place(&[(1, 0b1000_0000), (2, 0b1100_0000), (3, 0xff)]))),
            (key(), Arc::new(place(&[(9, 0b1000_0000)]))),
        ]);
        assert_eq!(seen.nearest(&numbers, 3), [9, 1, 2]);
        assert_eq!(seen.nearest(&numbers, 9), [9, 1, 2, 3]);
    }

    #[test]
    fn a_place_that_was_replaced_meanwhile_is_not_kept() {
        let many = |from: i64| {
            Arc::new(place(&(from..from + 1_000).map(|seq| (seq, 1)).collect::<Vec<_>>()))
        };
        let (signs, first, second, third) = (Signs::default(), many(1), many(2), many(3));
        let kept = || signs.kept(&[key()]).0.pop().flatten();
        signs.keep(key(), None, &first);
        signs.keep(key(), None, &second);
        assert!(Arc::ptr_eq(&kept().unwrap(), &first), "it was kept already");
        signs.keep(key(), Some(&first), &second);
        signs.keep(key(), Some(&first), &third);
        assert!(Arc::ptr_eq(&kept().unwrap(), &second));
        signs.keep(key(), Some(&second), &Arc::new(place(&[(1, 1)])));
        assert_eq!(kept(), None, "a small one is not kept");
        signs.leave(key());
        assert!(signs.kept(&[key()]).1);
    }

    #[test]
    fn several_places_of_the_largest_size_are_kept() {
        for width in [256, 384, 1_536, 3_072] {
            let bytes = largest(width) * (size_of::<i64>() + width.div_ceil(8));
            assert!(largest(width) <= LARGEST && 3 * bytes <= BYTES, "{width}: {bytes}");
        }
        assert_eq!(largest(384), LARGEST);
    }

    #[test]
    fn the_least_recently_used_place_makes_room() {
        let mut state = State::default();
        for n in 0..4_u8 {
            let key = (Uuid::from_bytes([n; 16]), MemoryKind::Messages, WIDTH);
            let place = Arc::new(place(&[(1, 1), (2, 2)]));
            state.places.insert(key, Kept { place, used: 10 - u64::from(n) });
        }
        let one = place(&[(1, 1), (2, 2)]).bytes();
        state.bound(2 * one);
        let mut left: Vec<u64> = state.places.values().map(|kept| kept.used).collect();
        left.sort_unstable();
        assert_eq!(left, [9, 10]);
    }
}
