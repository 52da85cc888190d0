//! A row without nesting: what tables of plain columns are written from.

use super::Row;
use foldback_core::strategy::Kind;
use foldback_replay::totals::{BrokenRule, Fired};
use std::borrow::Cow;

/// Version of a row. It moves when a column goes or changes its meaning; further columns may come without.
#[cfg(feature = "arrow")]
pub(super) const ROW: &str = "foldback/row/2";

/// One value. Which of the five it is depends on the column alone, never on the row.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell<'a> {
    Text(Cow<'a, str>),
    /// Columns of counts are signed: tables elsewhere have no other integers.
    Number(i64),
    Optional(Option<i64>),
    Real(Option<f64>),
    Flag(bool),
}

macro_rules! cells {
    ($row:expr; $($name:ident)*) => {{
        // No `..`: a field that is added to the row must be added here.
        let Row { $($name),* } = *$row;
        vec![$((stringify!($name), Cell::from($name))),*]
    }};
}

/// Every value with the name of its column, in the order of the columns and under the names of JSON.
pub(super) fn cells<'a>(row: &Row<'a>) -> Vec<(&'static str, Cell<'a>)> {
    cells!(row;
        session cluster format preset kind estimator context output_limit call turn start_ms messages
        input_tokens calibrated_input decision_tokens uncompacted_tokens output_tokens web_searches recorded_input recorded_cache_read
        cache_read churn ceiling overflow excess fired recorder_compacted broken exam frr_needed frr_kept
        frr_rescued frr_obs_needed frr_obs_kept frr_far_needed frr_far_kept frr_obs_far_needed
        frr_obs_far_kept epr_needed epr_kept verbatim_needed verbatim_kept verbatim_far_needed
        verbatim_far_kept rules_needed rules_kept rules_named rereads reread_tokens overflow_detections tokens_pruned summary_requests summary_input summary_output outcome arm failed experiment
        content configuration version command)
}

impl<'a> From<&'a str> for Cell<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl From<Kind> for Cell<'_> {
    fn from(kind: Kind) -> Self {
        Self::from(match kind {
            Kind::Strategy => "strategy",
            Kind::Control => "control",
        })
    }
}

/// `moment:stage`, joined by `+`.
impl From<&[Fired]> for Cell<'_> {
    fn from(fired: &[Fired]) -> Self {
        let fired = fired.iter().map(|fired| format!("{}:{}", fired.moment, fired.stage));
        Self::Text(Cow::Owned(fired.collect::<Vec<_>>().join("+")))
    }
}

/// `dialect:rule:message`, joined by `+`.
impl From<&[BrokenRule]> for Cell<'_> {
    fn from(broken: &[BrokenRule]) -> Self {
        let broken =
            broken.iter().map(|one| format!("{}:{}:{}", one.dialect, one.rule, one.message));
        Self::Text(Cow::Owned(broken.collect::<Vec<_>>().join("+")))
    }
}

impl From<u64> for Cell<'_> {
    fn from(number: u64) -> Self {
        Self::Number(signed(number))
    }
}

impl From<usize> for Cell<'_> {
    fn from(number: usize) -> Self {
        Self::from(number as u64)
    }
}

impl From<Option<i64>> for Cell<'_> {
    fn from(number: Option<i64>) -> Self {
        Self::Optional(number)
    }
}

impl From<Option<u64>> for Cell<'_> {
    fn from(number: Option<u64>) -> Self {
        Self::Optional(number.map(signed))
    }
}

impl From<Option<f64>> for Cell<'_> {
    fn from(number: Option<f64>) -> Self {
        Self::Real(number)
    }
}

impl From<bool> for Cell<'_> {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

/// A limit beyond the range of the column is a limit that is never reached either way.
fn signed(number: u64) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}
