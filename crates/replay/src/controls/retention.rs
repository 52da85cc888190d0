//! Normalized retention: the position of a strategy between chance and foresight.

/// Least distance between foresight and chance at which the scale means anything.
const MIN_GAP: f64 = 0.01;

/// Normalized forward-reference retention, (FRR − FRR_random) / (FRR_clairvoyant − FRR_random): 0 is
/// chance and 1 is greedy foresight, at the sizes that the strategy's own views had. Below 0 and above
/// 1 are possible; foresight is greedy and bound to the sizes of the strategy.
///
/// # Errors
///
/// The denominator is below [`MIN_GAP`] or no number. The budget does not bind then: with so much kept, foresight is hardly
/// better than chance, and no strategy can be told from another.
pub fn nfr(frr: f64, random: f64, clairvoyant: f64) -> Result<f64, String> {
    let gap = clairvoyant - random;
    if gap >= MIN_GAP {
        return Ok((frr - random) / gap);
    }
    Err(format!(
        "budget not binding: foresight keeps only {gap:.4} more than chance (less than {MIN_GAP}), so \
         strategies can't be told apart"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale() {
        let table = [
            ("chance", 0.5, 0.5, 0.75, Ok(0.0)),
            ("foresight", 0.75, 0.5, 0.75, Ok(1.0)),
            ("half way", 0.625, 0.5, 0.75, Ok(0.5)),
            ("worse than chance", 0.375, 0.5, 0.75, Ok(-0.5)),
            ("better than greedy", 1.0, 0.5, 0.75, Ok(2.0)),
            ("at the least gap", 1.0, 0.0, MIN_GAP, Ok(100.0)),
            ("below it", 1.0, 0.995, 1.0, Err(())),
            ("turned round", 0.5, 0.75, 0.5, Err(())),
            ("nothing needed", f64::NAN, f64::NAN, f64::NAN, Err(())),
        ];
        for (name, frr, random, clairvoyant, expected) in table {
            let is = nfr(frr, random, clairvoyant).map_err(drop);
            assert_eq!(is, expected, "{name}");
        }
    }
}
