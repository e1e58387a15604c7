//! The system's tables of time zones (RFC 8536, "TZif").

use super::posix::{self, Rule};

/// Length of a header: magic, version, 15 unused bytes, six counts.
const HEADER: usize = 44;

/// Times at which clocks of a zone are set, and the rule behind the last time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Table {
    /// Moments in seconds since 1970, and the offset from then on.
    changes: Vec<(i64, i32)>,
    /// Before the first of them.
    before: i32,
    rule: Option<Rule>,
}

impl Table {
    /// Seconds east of Greenwich at a moment.
    pub(super) fn offset(&self, at: i64) -> i32 {
        let passed = self.changes.partition_point(|(from, _)| *from <= at);
        match (passed.checked_sub(1), &self.rule) {
            (last, Some(rule))
                if passed == self.changes.len()
                    && last.is_none_or(|last| self.changes[last].0 <= at) =>
            {
                rule.offset(at)
            }
            (Some(last), _) => self.changes[last].1,
            (None, _) => self.before,
        }
    }
}

/// Reads a table; none for one of another shape. Only the second block counts, whose times have 64
/// bits.
pub(super) fn read(bytes: &[u8]) -> Option<Table> {
    let (first, version) = counts(bytes)?;
    if version < b'2' {
        return None;
    }
    let second = bytes.get(HEADER + first.length(4)?..)?;
    let (counts, _) = counts(second)?;
    let body = second.get(HEADER..)?;
    let Counts { times, types, .. } = counts;
    let (moments, rest) = body.split_at_checked(times.checked_mul(8)?)?;
    let (kinds, rest) = rest.split_at_checked(times)?;
    let (offsets, _) = rest.split_at_checked(types.checked_mul(6)?)?;
    let offset = |kind: usize| {
        Some(i32::from_be_bytes(offsets.get(6 * kind..6 * kind + 4)?.try_into().ok()?))
    };
    let mut changes = Vec::with_capacity(times);
    for (moment, kind) in moments.chunks_exact(8).zip(kinds) {
        changes.push((i64::from_be_bytes(moment.try_into().ok()?), offset(usize::from(*kind))?));
    }
    let footer = body
        .get(counts.length(8)?..)
        .and_then(|rest| std::str::from_utf8(rest).ok())
        .map(str::trim);
    Some(Table { changes, before: offset(0)?, rule: footer.and_then(posix::read) })
}

struct Counts {
    utc: usize,
    standard: usize,
    leaps: usize,
    times: usize,
    types: usize,
    chars: usize,
}

impl Counts {
    /// Bytes of the block behind its header; a moment has `width` of them.
    fn length(&self, width: usize) -> Option<usize> {
        let parts = [
            self.times.checked_mul(width + 1)?,
            self.types.checked_mul(6)?,
            self.chars,
            self.leaps.checked_mul(width + 4)?,
            self.standard,
            self.utc,
        ];
        parts.into_iter().try_fold(0_usize, usize::checked_add)
    }
}

fn counts(bytes: &[u8]) -> Option<(Counts, u8)> {
    let header = bytes.get(..HEADER).filter(|header| header.starts_with(b"TZif"))?;
    let number = |at: usize| {
        Some(u32::from_be_bytes(header.get(20 + 4 * at..24 + 4 * at)?.try_into().ok()?) as usize)
    };
    Some((
        Counts {
            utc: number(0)?,
            standard: number(1)?,
            leaps: number(2)?,
            times: number(3)?,
            types: number(4)?,
            chars: number(5)?,
        },
        header[4],
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A zone that went from +1 to +2 at 1000 and has a rule since.
    fn file(footer: &str) -> Vec<u8> {
        let header = |times: u32| {
            let mut out = b"TZif2".to_vec();
            out.extend([0; 15]);
            for count in [0, 0, 0, times, 2, 4] {
                out.extend(count.to_be_bytes());
            }
            out
        };
        let types = [[0, 0, 14, 16, 0, 0], [0, 0, 28, 32, 1, 0]].concat();
        let mut out = header(0);
        out.extend(&types);
        out.extend(b"ABC\0");
        out.extend(header(1));
        out.extend(1_000_i64.to_be_bytes());
        out.push(1);
        out.extend(&types);
        out.extend(b"ABC\0");
        out.extend(format!("\n{footer}\n").bytes());
        out
    }

    #[test]
    fn tables_and_their_rules() {
        let table = read(&file("")).unwrap();
        assert_eq!((table.offset(999), table.offset(1_000)), (3_600, 7_200));
        let ruled = read(&file("CET-1CEST,M3.5.0,M10.5.0/3")).unwrap();
        assert_eq!((ruled.offset(999), ruled.offset(4_118_000_000)), (3_600, 7_200));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), cut in 0_usize..300, at in any::<i64>()) {
            let mut torn = file("EST5EDT,M3.2.0,M11.1.0");
            torn.truncate(cut);
            let mut wild = file("EST5EDT,M3.2.0,M11.1.0");
            for (place, byte) in wild.iter_mut().skip(cut).zip(&bytes) {
                *place = *byte;
            }
            for bytes in [&bytes, &torn, &wild] {
                let _ = read(bytes).map(|table| table.offset(at));
            }
        }
    }
}
