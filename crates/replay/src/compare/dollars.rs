//! The bills of a preset over all sessions, and whether its compactions paid for themselves.

use super::saving::Paid;
use super::table::Table;
use crate::in_order;
use crate::judge::cost::OWN;
use crate::rows::study::Pauses;
use schemars::JsonSchema;
use serde::Serialize;

/// The bill over all sessions under one regime, in dollars.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Dollars {
    /// Name of the regime; `own` for each session's own model.
    pub regime: String,
    /// `recorded-or-warm`: recorded pauses, and none too long where not recorded. `recorded-or-cold`:
    /// there, every user turn starts with a cold cache.
    pub pauses: &'static str,
    /// Sessions that count, which are those of the base.
    pub n: usize,
    /// Everything: input, output and summaries, as if nothing that was forgotten mattered.
    pub usd: f64,
    /// Input alone.
    pub input_usd: f64,
    /// Output alone, the same for every preset.
    pub output_usd: f64,
    /// The summarizer's calls, with a prompt of their own.
    pub summaries_usd: f64,
    /// Everything, with what was missed read again with the chance that recordings show; `null` where it is not known what was.
    pub net_usd: Option<f64>,
    /// The same if all that was missed were read again.
    pub net_all_usd: Option<f64>,
    /// `usd` to that of the base.
    pub ratio: Option<f64>,
    /// `net_usd` to that of the base.
    pub net_ratio: Option<f64>,
}

pub(super) const RECORDED_OR_WARM: &str = "recorded-or-warm";
const RECORDED_OR_COLD: &str = "recorded-or-cold";

/// The bills under every regime, in the order of the regimes, each with both readings of recordings
/// without times. `own` comes first.
pub(super) fn costs(table: &Table<'_>, preset: usize, paid: Option<Paid>) -> Vec<Dollars> {
    let Some(paid) = paid else { return Vec::new() };
    let bills = table.column(preset).flat_map(|score| score.bills.iter());
    let mut regimes = in_order(bills.map(|(by, _)| &*by.regime));
    regimes.sort_by_key(|regime| *regime != OWN);
    let readings = [(RECORDED_OR_WARM, Pauses::Warm), (RECORDED_OR_COLD, Pauses::ColdTurns)];
    regimes
        .iter()
        .flat_map(|regime| readings.map(|reading| dollars(table, preset, paid, regime, reading)))
        .collect()
}

fn dollars(
    table: &Table<'_>,
    preset: usize,
    paid: Paid,
    regime: &str,
    (name, untimed): (&'static str, Pauses),
) -> Dollars {
    let pauses = |pauses| matches!(pauses, Pauses::Recorded | Pauses::Any) || pauses == untimed;
    let mut sum = Dollars { regime: regime.to_owned(), pauses: name, ..Dollars::default() };
    let add = |sum: Option<f64>, usd: Option<f64>| Some(sum? + usd?);
    let (mut base_usd, mut base_net) = (0.0, Some(0.0));
    (sum.net_usd, sum.net_all_usd) = (Some(0.0), Some(0.0));
    for (score, base) in paid.scores(table, preset) {
        let bills = (score.bills.under(regime, pauses), base.bills.under(regime, pauses));
        let (Some(bill), Some(plain)) = bills else { continue };
        sum.n += 1;
        sum.usd += bill.usd;
        sum.input_usd += bill.input_usd;
        sum.output_usd += bill.output_usd;
        sum.summaries_usd += bill.compaction.as_ref().map_or(0.0, |added| added.summaries_usd);
        let again = bill.again();
        sum.net_usd = add(sum.net_usd, again.map(|again| again.usd));
        sum.net_all_usd = add(sum.net_all_usd, again.map(|again| again.all_usd));
        base_usd += plain.usd;
        base_net = add(base_net, plain.net_usd());
    }
    sum.ratio = (base_usd > 0.0).then(|| sum.usd / base_usd);
    let nets = sum.net_usd.zip(base_net).filter(|(_, base)| *base > 0.0);
    sum.net_ratio = nets.map(|(net, base)| net / base);
    sum
}
