//! The generator behind every random number of a comparison.

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
///
/// Written out here, so that the numbers of a report depend on its seed and on nothing else: a
/// library's generator may change with its version.
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// A generator that starts at `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    // A comparison draws a hundred million times: whether this is inlined is not left to how the crate is cut into parts.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// An index below `bound`; 0 when `bound` is 0.
    ///
    /// Multiplication and shift instead of a remainder (Lemire 2019). The bias that rejection would
    /// take away is at most `bound / 2^64`.
    #[inline]
    pub fn below(&mut self, bound: usize) -> usize {
        let wide = u128::from(self.next_u64()) * bound as u128;
        (wide >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_the_published_one() {
        // First outputs for seed 1234567 of the reference implementation (S. Vigna, splitmix64.c).
        let mut rng = SplitMix64::new(1_234_567);
        let expected =
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        for (at, value) in expected.into_iter().enumerate() {
            assert_eq!(rng.next_u64(), value, "output {at}");
        }
    }

    #[test]
    fn indices_stay_below_their_bound_and_reach_all_of_it() {
        let mut rng = SplitMix64::new(1);
        let mut seen = [0usize; 7];
        for _ in 0..7000 {
            seen[rng.below(7)] += 1;
        }
        assert!(seen.iter().all(|count| (800..1200).contains(count)), "{seen:?}");
        assert_eq!(rng.below(0), 0);
    }
}
