//! Names of units and conversations as they stand in the file of a trial, and the arm that a unit gets.
//!
//! Both are hashes with the seed of the trial. Who knows the name of a unit finds its line; the file tells no name.

use super::record::TrialArm;

/// The name of a unit in the file.
pub fn unit_name(seed: u64, unit: &str) -> String {
    hash("unit", seed, &[unit.as_bytes()]).to_hex()[..20].to_owned()
}

/// The name of a conversation in the file: of what its requests say of their unit, and of how it begins.
pub fn conversation_name(seed: u64, own: &str, opening: &str) -> String {
    hash("conversation", seed, &[own.as_bytes(), opening.as_bytes()]).to_hex()[..20].to_owned()
}

/// The arm of a unit, among those that take new ones, in the shares of their weights. `unit` is its name in the file.
///
/// Each arm draws a number for the unit, and the least one wins (weighted rendezvous hashing). So where an arm is stopped, only its
/// units go elsewhere.
pub fn arm_of(seed: u64, unit: &str, arms: &[TrialArm], is_open: impl Fn(&str) -> bool) -> usize {
    let any = arms.iter().any(|arm| is_open(&arm.name));
    let drawn = |(at, arm): (usize, &TrialArm)| {
        let hash = hash("arm", seed, &[unit.as_bytes(), arm.name.as_bytes()]);
        let bits = hash.as_bytes().first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let uniform = (bits as f64 + 0.5) / 2_f64.powi(64);
        (-uniform.ln() / f64::from(arm.weight), at)
    };
    let numbered = arms.iter().enumerate().filter(|(_, arm)| !any || is_open(&arm.name));
    numbered.map(drawn).min_by(|a, b| a.0.total_cmp(&b.0)).map_or(0, |(_, at)| at)
}

fn hash(what: &str, seed: u64, parts: &[&[u8]]) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"foldback trial ").update(what.as_bytes()).update(&seed.to_le_bytes());
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
    }
    hasher.finalize()
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
