//! Where the labels of dots go: next to them if there is room, else further away, never over another. The same dots
//! give the same places.

/// Half the room that a marker takes, in pixels.
const MARKER: i64 = 7;
/// Half the height of a label, what a sign of it is wide, and the room to either side.
const HEIGHT: i64 = 6;
const SIGN: i64 = 7;
const ASIDE: i64 = 2;
/// How far from its dot a label may stand, the nearest first.
const AWAY: [i64; 8] = [15, 22, 30, 40, 52, 66, 82, 100];
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

/// Left, top, right, bottom.
type Rectangle = (i64, i64, i64, i64);

fn around(x: i64, y: i64, width: i64, height: i64) -> Rectangle {
    (x - width, y - height, x + width, y + height)
}

/// Whether the way from a dot to its label passes over the middle of another.
fn crosses(dot: (i64, i64), label: (i64, i64), others: &[(i64, i64)]) -> bool {
    const STEPS: i64 = 16;
    let passes = |(x, y): (i64, i64)| {
        (1..STEPS).any(|step| {
            let at = |from: i64, to: i64| from + (to - from) * step / STEPS;
            at(dot.0, label.0).abs_diff(x) < 4 && at(dot.1, label.1).abs_diff(y) < 4
        })
    };
    others.iter().any(|other| *other != dot && passes(*other))
}

/// The directions of a label, first those that lead away from the dots that are near.
fn directions(dot: (i64, i64), others: &[(i64, i64)]) -> Vec<(i64, i64)> {
    const NEAR: u64 = 40;
    let (mut x, mut y) = (0, 0);
    for other in others {
        if other.0.abs_diff(dot.0) < NEAR && other.1.abs_diff(dot.1) < NEAR {
            x += dot.0 - other.0;
            y += dot.1 - other.1;
        }
    }
    let mut directions = DIRECTIONS.to_vec();
    directions.sort_by_key(|(dx, dy)| -(dx * x + dy * y));
    directions
}

fn half_width(signs: usize) -> i64 {
    ASIDE + SIGN * i64::try_from(signs).unwrap_or(1) / 2
}

fn overlap(a: Rectangle, b: Rectangle) -> bool {
    a.0 < b.2 && b.0 < a.2 && a.1 < b.3 && b.1 < a.3
}

/// Places for the labels of dots, given with how many signs each has, inside a frame (left, top, right, bottom).
pub(super) fn place(dots: &[((u64, u64), usize)], frame: (u64, u64, u64, u64)) -> Vec<Label> {
    let signed = |at: u64| i64::try_from(at).unwrap_or(i64::MAX);
    let (left, top, right, bottom) =
        (signed(frame.0), signed(frame.1), signed(frame.2), signed(frame.3));
    let middles: Vec<(i64, i64)> =
        dots.iter().map(|((x, y), _)| (signed(*x), signed(*y))).collect();
    let markers = middles.iter().map(|(x, y)| around(*x, *y, MARKER, MARKER));
    let mut taken: Vec<Rectangle> = markers.collect();
    dots.iter()
        .map(|((x, y), signs)| {
            let dot = (signed(*x), signed(*y));
            let half = half_width(*signs);
            let directions = directions(dot, &middles);
            let places = AWAY.iter().flat_map(|away| {
                // The middle of a long label stands further to the side, so that its end is as near.
                directions.iter().map(move |(dx, dy)| {
                    let aside = (half - half_width(1)) * dx.signum();
                    (dot.0 + away * dx / 100 + aside, dot.1 + away * dy / 100, *away)
                })
            });
            let free = |(x, y, _): &(i64, i64, i64)| {
                let own = around(*x, *y, half, HEIGHT);
                let inside = own.0 >= left && own.1 >= top && own.2 <= right && own.3 <= bottom;
                inside && !taken.iter().any(|other| overlap(own, *other))
            };
            let clear = |(x, y, _): &(i64, i64, i64)| !crosses(dot, (*x, *y), &middles);
            // A line over another marker is better than no room, and that than no label.
            let place = places.clone().filter(free).find(clear);
            let place = place.or_else(|| places.clone().find(free));
            let (x, y, away) = place.unwrap_or((dot.0 + AWAY[0], dot.1, AWAY[0]));
            taken.push(around(x, y, half, HEIGHT));
            // From within the marker, for others may lie on it, to the edge of the label.
            let along = |part: i64| {
                let at = |from: i64, to: i64| (from + (to - from) * part / away).unsigned_abs();
                (at(dot.0, x), at(dot.1, y))
            };
            let lead = (away > AWAY[0]).then(|| [along(0), along(away - MARKER - 2)]);
            Label { x: x.unsigned_abs(), y: y.unsigned_abs(), lead }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: (u64, u64, u64, u64) = (50, 20, 470, 360);

    fn taken(label: &Label, signs: usize) -> Rectangle {
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
