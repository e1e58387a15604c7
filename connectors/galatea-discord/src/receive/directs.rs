//! Keeps the list of recently used direct message channels. Discord tells a new session the newest
//! message of guild channels, but not of direct ones, so catching up has to know them.

/// Most direct message channels to catch up on after a lost session; the ones used last are kept.
const MOST: usize = 500;

/// Records used channels, the latest at the end. Returns true if the list has to be stored again.
/// In a full list, a channel in the newer half keeps its place: otherwise every message would cost
/// a write of the whole list.
pub(super) fn note(known: &mut Vec<u64>, used: &[u64]) -> bool {
    let mut changed = false;
    for channel in used {
        let newer = if known.len() < MOST { 0 } else { MOST / 2 };
        if known[newer..].contains(channel) {
            continue;
        }
        known.retain(|c| c != channel);
        known.push(*channel);
        if known.len() > MOST {
            known.remove(0);
        }
        changed = true;
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ones_are_kept_and_most_messages_cost_no_write() {
        let mut known = Vec::new();
        assert!(note(&mut known, &[7, 8, 7]));
        assert_eq!(known, [7, 8]);
        assert!(!note(&mut known, &[8, 7]));
        let many: Vec<u64> = (1_000..1_000 + MOST as u64).collect();
        assert!(note(&mut known, &many));
        assert_eq!(known, many, "the oldest are dropped");
        assert!(note(&mut known, &[many[0]]), "it would be dropped next");
        assert_eq!((known.len(), known.last(), known[0]), (MOST, Some(&many[0]), many[1]));
        let writes = (0..10)
            .flat_map(|_| &many[300..400])
            .filter(|channel| note(&mut known, &[**channel]))
            .count();
        assert_eq!(writes, 0);
    }
}
