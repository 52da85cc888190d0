//! Separates sessions to tune on from sessions to report on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A part of the sessions. Which part a session falls into depends on its id alone, so it is the same
/// in every corpus and for everybody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Split {
    /// Three in five: parameters are chosen on these.
    Tune,
    /// Two in five: the chosen parameters are reported on these.
    Report,
}

impl Split {
    /// The part of a session, by the first eight bytes of the BLAKE3 hash of its id, modulo five.
    pub(crate) fn from_id(id: &str) -> Self {
        let hash = blake3::hash(id.as_bytes());
        let mut first = [0; 8];
        first.copy_from_slice(&hash.as_bytes()[..8]);
        if u64::from_le_bytes(first) % 5 < 3 { Self::Tune } else { Self::Report }
    }
}

#[cfg(test)]
mod tests {
    use super::Split;

    #[test]
    fn a_session_stays_in_its_part() {
        // The first eight bytes of the hash, computed with another implementation of BLAKE3.
        let table = [
            ("a", Split::Report),
            ("b", Split::Report),
            ("c", Split::Tune),
            ("d", Split::Tune),
            ("e", Split::Report),
            ("f", Split::Report),
            ("session-7", Split::Report),
        ];
        for (id, part) in table {
            assert_eq!(Split::from_id(id), part, "{id}");
        }
        let many = (0..10_000).filter(|id| Split::from_id(&id.to_string()) == Split::Tune);
        let many = many.count();
        assert!((5_800..6_200).contains(&many), "{many} of 10000");
    }
}
