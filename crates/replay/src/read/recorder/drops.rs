//! Unmarked compactions of a recording, found in its usage.

/// Least drop, in tokens, of a session with a large context.
const LEAST_DROP: u64 = 64_000;

/// How many calls after the drop must stay low.
const STEPS: usize = 3;

/// The calls after drops of the request's size that look like compactions, among calls with recorded input, each given as
/// its number and its input tokens.
///
/// The rule of TraceLab (`uw-syfi/TraceLab`, 2026): the input falls by 64k tokens or more, the call before
/// had at least three quarters of the largest request of the session, and none of the three requests from
/// there on is back at three quarters of it. In a session whose largest request is below 128k tokens nothing
/// could fall by 64k and leave half of it; there half of the largest request stands for the 64k.
pub(crate) fn drops(inputs: &[(usize, u64)]) -> Vec<usize> {
    let most = inputs.iter().map(|(_, input)| *input).max().unwrap_or(0);
    let least = LEAST_DROP.min(most / 2).max(1);
    let high = |input: u64| u128::from(input) * 4 >= u128::from(most) * 3;
    let mut out = Vec::new();
    for (at, pair) in inputs.windows(2).enumerate() {
        let [(_, before), (call, after)] = *pair else {
            continue;
        };
        let fell = before.saturating_sub(after) >= least;
        let stays = inputs[at + 1..].iter().take(STEPS).all(|(_, input)| !high(*input));
        if high(before) && fell && stays {
            out.push(call);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_as_a_table() {
        let cases: [(&str, &[u64], &[usize]); 9] = [
            ("growth alone", &[50_000, 100_000, 150_000], &[]),
            ("a compaction", &[100_000, 160_000, 30_000, 40_000, 50_000], &[2]),
            ("at the end", &[100_000, 160_000, 30_000], &[2]),
            (
                "a side call between two large ones",
                &[100_000, 160_000, 3_000, 161_000, 162_000],
                &[],
            ),
            ("from too low", &[200_000, 140_000, 70_000, 71_000, 72_000], &[]),
            ("too little", &[100_000, 190_000, 130_000, 131_000], &[]),
            ("64,000 will do", &[100_000, 190_000, 126_000, 127_000], &[2]),
            ("a small window, half of it", &[5_000, 10_000, 5_000, 5_500], &[2]),
            ("a small window, less", &[5_000, 10_000, 5_100, 5_500], &[]),
        ];
        for (name, inputs, expected) in cases {
            let inputs: Vec<(usize, u64)> = inputs.iter().copied().enumerate().collect();
            assert_eq!(drops(&inputs), expected, "{name}");
        }
    }

    #[test]
    fn the_third_call_behind_may_not_be_back_and_the_fourth_may() {
        let back = |at: usize| {
            let mut inputs = vec![(0, 160_000)];
            inputs.extend((1..=5).map(|call| (call, if call == at { 120_000 } else { 20_000 })));
            drops(&inputs).first().copied()
        };
        // Being back at call 3 makes the fall after it another one.
        assert_eq!((back(3), back(4)), (Some(4), Some(1)));
    }

    #[test]
    fn calls_keep_their_numbers() {
        assert_eq!((drops(&[(3, 160_000), (7, 30_000)]), drops(&[])), (vec![7], Vec::new()));
    }
}
