//! Names of units and conversations as they stand in the file of a trial, and the arm that a unit gets.
//!
//! Both are hashes with the seed of the trial. Who knows the name of a unit finds its line; the file tells no name.

use super::record::TrialArm;

/// The name of a unit in the file.
pub fn unit_name(seed: u64, unit: &str) -> String {
    hashed("unit", seed, &[unit.as_bytes()])
}

/// The name of a conversation in the file: of its unit, and of how it begins.
pub fn conversation_name(seed: u64, unit: &str, opening: &str) -> String {
    hashed("conversation", seed, &[unit.as_bytes(), opening.as_bytes()])
}

/// The name of how a conversation begins, whatever its unit is.
pub fn opening_name(seed: u64, opening: &[u8]) -> String {
    hashed("opening", seed, &[opening])
}

/// The arm of a unit, among those that take new ones, in the shares of their weights. `unit` is its name in the file.
///
/// Where an arm is stopped, only its units go elsewhere: all others have the arm that they had or would have had.
pub fn arm_of(seed: u64, unit: &str, arms: &[TrialArm], is_open: impl Fn(&str) -> bool) -> usize {
    let drawn = |open: &dyn Fn(usize) -> bool, round: u8| {
        let total: u64 = weights(arms, open).map(|(_, weight)| weight).sum();
        let hash = hash("arm", seed, &[unit.as_bytes(), &[round]]);
        let bits = hash.as_bytes().first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let mut left = ((u128::from(bits) * u128::from(total)) >> 64) as u64;
        weights(arms, open).find_map(|(at, weight)| match left.checked_sub(weight) {
            None => Some(at),
            Some(rest) => {
                left = rest;
                None
            }
        })
    };
    let open = |at: usize| is_open(&arms[at].name);
    match drawn(&|_| true, 0) {
        Some(first) if open(first) => first,
        first => drawn(&open, 1).or(first).unwrap_or(0),
    }
}

fn weights<'a>(
    arms: &'a [TrialArm],
    open: &'a dyn Fn(usize) -> bool,
) -> impl Iterator<Item = (usize, u64)> + 'a {
    let numbered = arms.iter().enumerate().filter(move |(at, _)| open(*at));
    numbered.map(|(at, arm)| (at, u64::from(arm.weight)))
}

fn hash(what: &str, seed: u64, parts: &[&[u8]]) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"foldback trial ").update(what.as_bytes()).update(&seed.to_le_bytes());
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
    }
    hasher.finalize()
}

fn hashed(what: &str, seed: u64, parts: &[&[u8]]) -> String {
    hash(what, seed, parts).to_hex()[..20].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_fall_into_arms_by_weight_and_stay_when_another_arm_is_stopped() {
        let arm = |name: &str, weight| TrialArm::new(name, "", weight);
        let arms = [arm("a", 1), arm("b", 1), arm("c", 2)];
        let units: Vec<String> = (0..4_000).map(|n| unit_name(7, &format!("task-{n}"))).collect();
        let all: Vec<usize> = units.iter().map(|unit| arm_of(7, unit, &arms, |_| true)).collect();
        let count = |arms: &[usize], arm| arms.iter().filter(|one| **one == arm).count();
        for (arm, expected) in [(0, 1_000), (1, 1_000), (2, 2_000)] {
            assert!(count(&all, arm).abs_diff(expected) < 120, "{arm}: {}", count(&all, arm));
        }
        let without: Vec<usize> =
            units.iter().map(|unit| arm_of(7, unit, &arms, |name| name != "b")).collect();
        assert_eq!(count(&without, 1), 0);
        assert!(all.iter().zip(&without).all(|(before, now)| before == now || *before == 1));
        // Of those that go elsewhere, a third goes to `a`.
        assert!(count(&without, 0).abs_diff(1_333) < 120, "{}", count(&without, 0));
        // Where every arm is stopped, units have the arm that they would have had.
        let none: Vec<usize> = units.iter().map(|unit| arm_of(7, unit, &arms, |_| false)).collect();
        assert_eq!(none, all);
        let other: Vec<usize> = units.iter().map(|unit| arm_of(8, unit, &arms, |_| true)).collect();
        assert_ne!(other, all);
    }

    #[test]
    fn names_depend_on_the_seed_and_on_where_their_parts_end() {
        assert_ne!(unit_name(1, "a"), unit_name(2, "a"));
        assert_ne!(conversation_name(1, "ab", "c"), conversation_name(1, "a", "bc"));
        assert_eq!(unit_name(1, "a").len(), 20);
    }
}
