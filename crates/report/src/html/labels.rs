//! Where the labels of dots go: beside them where there is room, else further away, never over another. The same dots
//! give the same places.

/// Half the room that a marker takes, in pixels.
const MARKER: i64 = 7;
/// Half the height of a label, what a sign of it is wide, and the room to either side.
const HEIGHT: i64 = 6;
const SIGN: i64 = 7;
const ASIDE: i64 = 2;
/// How far from its dot a label may stand, the nearest first.
const AWAY: [i64; 8] = [15, 20, 28, 38, 50, 64, 80, 98];
/// Directions in hundredths, the best first.
const DIRECTIONS: [(i64, i64); 16] = [
    (71, -71),
    (100, 0),
    (71, 71),
    (-71, -71),
    (0, -100),
    (-100, 0),
    (-71, 71),
    (0, 100),
    (92, -38),
    (38, -92),
    (-38, -92),
    (-92, -38),
    (92, 38),
    (38, 92),
    (-38, 92),
    (-92, 38),
];

/// The middle of a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label {
    pub(super) x: u64,
    pub(super) y: u64,
    /// The ends of the line from its dot, where it does not stand right beside it.
    pub(super) lead: Option<[(u64, u64); 2]>,
}

/// What is taken: left, top, right, bottom.
type Taken = (i64, i64, i64, i64);

fn around(x: i64, y: i64, width: i64, height: i64) -> Taken {
    (x - width, y - height, x + width, y + height)
}

fn half_width(signs: usize) -> i64 {
    ASIDE + SIGN * i64::try_from(signs).unwrap_or(1) / 2
}

fn overlap(a: Taken, b: Taken) -> bool {
    a.0 < b.2 && b.0 < a.2 && a.1 < b.3 && b.1 < a.3
}

/// Places for the labels of dots, given with how many signs each has, inside a frame (left, top, right, bottom).
pub(super) fn place(dots: &[((u64, u64), usize)], frame: (u64, u64, u64, u64)) -> Vec<Label> {
    let signed = |at: u64| i64::try_from(at).unwrap_or(i64::MAX);
    let (left, top, right, bottom) =
        (signed(frame.0), signed(frame.1), signed(frame.2), signed(frame.3));
    let markers = dots.iter().map(|((x, y), _)| around(signed(*x), signed(*y), MARKER, MARKER));
    let mut taken: Vec<Taken> = markers.collect();
    dots.iter()
        .map(|((x, y), signs)| {
            let dot = (signed(*x), signed(*y));
            let half = half_width(*signs);
            let places = AWAY.iter().flat_map(|away| {
                // The middle of a long label stands further to the side, so that its end is as near.
                DIRECTIONS.iter().map(move |(dx, dy)| {
                    let aside = (half - half_width(1)) * dx.signum();
                    (dot.0 + away * dx / 100 + aside, dot.1 + away * dy / 100, *away)
                })
            });
            let free = |(x, y, _): &(i64, i64, i64)| {
                let own = around(*x, *y, half, HEIGHT);
                let inside = own.0 >= left && own.1 >= top && own.2 <= right && own.3 <= bottom;
                inside && !taken.iter().any(|other| overlap(own, *other))
            };
            let mut places = places;
            // Where nothing is free, beside the dot after all.
            let (x, y, away) = places.find(free).unwrap_or((dot.0 + AWAY[0], dot.1, AWAY[0]));
            taken.push(around(x, y, half, HEIGHT));
            // From the edge of the marker to that of the label.
            let along = |part: i64| {
                let at = |from: i64, to: i64| (from + (to - from) * part / away).unsigned_abs();
                (at(dot.0, x), at(dot.1, y))
            };
            let lead = (away > AWAY[0]).then(|| [along(MARKER - 2), along(away - MARKER - 2)]);
            Label { x: x.unsigned_abs(), y: y.unsigned_abs(), lead }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: (u64, u64, u64, u64) = (50, 20, 470, 360);

    fn taken(label: &Label, signs: usize) -> Taken {
        around(label.x as i64, label.y as i64, half_width(signs), HEIGHT)
    }

    #[test]
    fn a_dense_cluster_has_labels_that_can_be_told_apart() {
        let dots: Vec<((u64, u64), usize)> =
            (0..20).map(|at| ((400 + at % 5, 30 + at / 5 * 3), 2)).collect();
        let labels = place(&dots, FRAME);
        assert_eq!(labels, place(&dots, FRAME));
        for (at, label) in labels.iter().enumerate() {
            let own = taken(label, 2);
            assert!(own.0 >= 50 && own.1 >= 20 && own.2 <= 470 && own.3 <= 360, "{label:?}");
            for other in &labels[..at] {
                assert!(!overlap(own, taken(other, 2)), "{label:?} over {other:?}");
            }
            for ((x, y), _) in &dots {
                let marker = around(*x as i64, *y as i64, MARKER, MARKER);
                assert!(!overlap(own, marker), "{label:?} over the dot at {x} {y}");
            }
        }
        assert!(
            labels.iter().filter(|label| label.lead.is_some()).count() > 5,
            "lines lead to them"
        );
    }

    #[test]
    fn a_dot_that_stands_alone_has_its_label_beside_it() {
        let label = place(&[((200, 200), 1)], FRAME)[0];
        assert_eq!(label, Label { x: 215, y: 200, lead: None });
    }
}
