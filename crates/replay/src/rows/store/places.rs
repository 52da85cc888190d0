//! Where the entries of a store stand. There is one of each session and preset, so a million of them must not take much:
//! a list in order has no gaps, as a hash table has.

use rustc_hash::FxHashMap;

/// Entries that are kept in a table until they are sorted in, at least.
const RECENT: usize = 1 << 14;

/// Where an entry stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) pack: u32,
    /// Where it begins: a pack is full long before this is too small.
    pub(super) at: u32,
}

/// Places by the beginnings of names, which stand whole in the entries.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// An eighth of what is sorted at most, so that sorting in takes little of the time.
    recent: FxHashMap<u64, Spot>,
    sorted: Vec<(u64, Spot)>,
}

impl Places {
    pub(super) fn get(&self, name: u64) -> Option<Spot> {
        self.recent.get(&name).copied().or_else(|| {
            let at = self.sorted.binary_search_by_key(&name, |(name, _)| *name).ok()?;
            Some(self.sorted[at].1)
        })
    }

    /// Takes an entry, in place of one of this name.
    pub(super) fn insert(&mut self, name: u64, spot: Spot) {
        self.recent.insert(name, spot);
        if self.recent.len() < RECENT.max(self.sorted.len() / 8) {
            return;
        }
        self.sorted.reserve_exact(self.recent.len());
        self.sorted.extend(self.recent.drain());
        // Stable, so that of two with one name the newer comes last.
        self.sorted.sort_by_key(|(name, _)| *name);
        self.sorted.dedup_by(|newer, kept| {
            let same = newer.0 == kept.0;
            if same {
                *kept = *newer;
            }
            same
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_place_of_each_name_is_found() {
        let spot = |at: usize| Spot { pack: 1, at: u32::try_from(at).unwrap() };
        let name = |of: usize| (of as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut places = Places::default();
        let all = 20 * RECENT + 5;
        for of in 0..all {
            places.insert(name(of), spot(of));
            // Every third entry is written again later on, some of them soon and some when they were sorted in.
            if of % 3 == 0 {
                places.insert(name(of / 2), spot(all + of));
            }
        }
        for of in 0..all {
            let again = (2 * of..2 * of + 2).rev().find(|later| *later < all && later % 3 == 0);
            let newest = again.filter(|later| *later >= of).map_or(of, |later| all + later);
            assert_eq!(places.get(name(of)), Some(spot(newest)), "{of}");
        }
        assert_eq!(places.get(name(all)), None);
        let (room, recent) = (places.sorted.capacity(), places.recent.len());
        assert!(room <= all + RECENT, "room for {room} entries");
        assert!(recent <= RECENT.max(all / 8), "{recent} in the table");
    }
}
