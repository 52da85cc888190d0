//! Where the entries of a store stand. There is one of each session and preset, so a million of them must not take much:
//! lists in order have no gaps, as a hash table has.

use rustc_hash::FxHashMap;

/// Entries that are kept in a table until they are sorted in.
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
    recent: FxHashMap<u64, Spot>,
    /// Each in order, and more than twice as long as the next one, so that there are few.
    lists: Vec<Vec<(u64, Spot)>>,
}

impl Places {
    pub(super) fn get(&self, name: u64) -> Option<Spot> {
        let sorted = |list: &Vec<(u64, Spot)>| {
            let at = list.binary_search_by_key(&name, |(name, _)| *name).ok()?;
            Some(list[at].1)
        };
        let recent = self.recent.get(&name).copied();
        recent.or_else(|| self.lists.iter().rev().find_map(sorted))
    }

    /// Takes an entry, in place of one of this name.
    pub(super) fn insert(&mut self, name: u64, spot: Spot) {
        self.recent.insert(name, spot);
        if self.recent.len() < RECENT {
            return;
        }
        let mut list: Vec<(u64, Spot)> = self.recent.drain().collect();
        list.sort_unstable_by_key(|(name, _)| *name);
        while let Some(mut older) = self.lists.pop_if(|older| older.len() <= 2 * list.len()) {
            older.reserve_exact(list.len());
            older.append(&mut list);
            // Stable, so that of two with one name the newer comes last; and quick, for two lists in order.
            older.sort_by_key(|(name, _)| *name);
            older.dedup_by(|newer, kept| {
                let same = newer.0 == kept.0;
                if same {
                    *kept = *newer;
                }
                same
            });
            list = older;
        }
        list.shrink_to_fit();
        self.lists.push(list);
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
            // Every third entry is written again later on, some of them soon and some in another list.
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
        assert!(places.lists.len() <= 6, "{} lists", places.lists.len());
        let room: usize = places.lists.iter().map(Vec::capacity).sum();
        assert!(room <= all + RECENT, "room for {room} entries");
    }
}
