//! Which values a field is tried with, from a text such as `2_000..40_000`.

use crate::number;
use crate::stats::SplitMix64;
use serde_json::Value;

/// The values that a field is tried with.
#[derive(Clone, Debug, PartialEq)]
pub enum Range {
    /// Whole numbers from the first to the second, both included. Spaced by ratio where the second is at
    /// least ten times the first, else evenly: a threshold that goes from 2,000 to 40,000 has as much to
    /// tell between 2,000 and 4,000 as between 20,000 and 40,000.
    Integers(i64, i64),
    /// Numbers from the first to the second, both included, evenly spaced.
    Floats(f64, f64),
    /// These values and no others.
    List(Vec<Value>),
}

/// How much larger the end of a range of integers must be for its points to be spaced by ratio.
const BY_RATIO: i64 = 10;

impl Range {
    /// Reads `2_000..40_000`, `0.5..0.95`, or a list such as `1,2,4` or `bytes,utf16`. The error says what
    /// is wrong with the text.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.split_once("..") {
            Some((from, to)) => Self::between(from.trim(), to.trim()),
            None => text
                .split(',')
                .map(|item| value(item.trim()))
                .collect::<Result<_, _>>()
                .map(Self::List),
        }
    }

    fn between(from: &str, to: &str) -> Result<Self, String> {
        if from.is_empty() || to.is_empty() {
            return Err("the range is empty: write both ends, such as `2_000..40_000`".to_owned());
        }
        let above = || format!("the range is empty: it starts at {from}, above its end {to}");
        if let (Some(lo), Some(hi)) = (integer(from), integer(to)) {
            return if lo > hi { Err(above()) } else { Ok(Self::Integers(lo, hi)) };
        }
        match (float(from), float(to)) {
            (Some(lo), Some(hi)) if lo > hi => Err(above()),
            (Some(lo), Some(hi)) => Ok(Self::Floats(lo, hi)),
            _ => Err(format!(
                "`{from}..{to}` is not a range of numbers; give words as a list: `a,b,c`"
            )),
        }
    }

    /// At most `count` values, the ends among them, in ascending order; of a list all, whatever the count.
    /// Points of a range that is spaced by ratio are rounded to two digits, so that they can be read.
    pub fn points(&self, count: usize) -> Vec<Value> {
        let steps = count.max(2) - 1;
        let at = |step: usize| self.at(step as f64 / steps as f64);
        let mut points = match self {
            Self::List(values) => values.clone(),
            _ => (0..=steps).map(at).collect(),
        };
        points.dedup();
        points
    }

    /// A value at random: of a list each alike, of a range as its points are spaced.
    pub fn draw(&self, rng: &mut SplitMix64) -> Value {
        match self {
            Self::List(values) => values.get(rng.below(values.len())).cloned().unwrap_or_default(),
            // The upper 53 bits: as many as a double holds.
            _ => self.at((rng.next_u64() >> 11) as f64 / ((1_u64 << 53) - 1) as f64),
        }
    }

    /// The value at a share of the way from the first to the second.
    fn at(&self, share: f64) -> Value {
        match *self {
            Self::Integers(lo, hi) => Value::from(between(lo, hi, share)),
            Self::Floats(lo, hi) => Value::from(digits(lo + (hi - lo) * share, 4).clamp(lo, hi)),
            Self::List(_) => Value::Null,
        }
    }
}

fn between(lo: i64, hi: i64, share: f64) -> i64 {
    if share <= 0.0 {
        return lo;
    }
    if share >= 1.0 {
        return hi;
    }
    let (from, to) = (lo as f64, hi as f64);
    let at = if lo > 0 && hi / lo >= BY_RATIO {
        digits(from * (to / from).powf(share), 2)
    } else {
        from + (to - from) * share
    };
    (at.round() as i64).clamp(lo, hi)
}

/// Rounds to so many significant digits.
fn digits(number: f64, digits: usize) -> f64 {
    let text = format!("{number:.*e}", digits.saturating_sub(1));
    text.parse().unwrap_or(number)
}

fn integer(text: &str) -> Option<i64> {
    let as_people_write = || number::parse(text).and_then(|number| i64::try_from(number).ok());
    text.replace('_', "").parse().ok().or_else(as_people_write)
}

fn float(text: &str) -> Option<f64> {
    let number: Option<f64> = text.replace('_', "").parse().ok();
    number.filter(|number| number.is_finite())
}

/// One value of a list: a number, `true` or `false`, else a string, in quotes or not.
fn value(text: &str) -> Result<Value, String> {
    let starts_as_number = text.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.');
    let number = || integer(text).map(Value::from).or(float(text).map(Value::from));
    match text {
        "" => Err("a value is missing: write `a..b` or a list such as `1,2,4`".to_owned()),
        "true" => Ok(Value::Bool(true)),
        "false" => Ok(Value::Bool(false)),
        _ if starts_as_number && number().is_some() => Ok(number().unwrap_or_default()),
        _ => {
            let quoted = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
            Ok(Value::from(quoted.unwrap_or(text)))
        }
    }
}
