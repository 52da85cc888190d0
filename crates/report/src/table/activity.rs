//! What each preset did.

use super::{Layout, fitted, set, wrap};
use crate::number::{percent, short};
use comfy_table::Cell;
use foldback_replay::Comparison;

/// The table and what its columns mean.
pub(super) fn table(out: &mut String, comparison: &Comparison, layout: Layout) {
    let mut table = fitted(layout);
    let header = [
        "preset", "acted", "input", "peak", "mean", "over", "folds", "prunes", "cleared", "cache",
        "broken",
    ];
    table.set_header(header);
    for line in &comparison.presets {
        table.add_row([
            Cell::new(&line.preset),
            Cell::new(format!("{}/{}", line.triggered, line.sessions)),
            Cell::new(percent(line.input_ratio)),
            Cell::new(short(line.peak_tokens)),
            Cell::new(short(line.mean_tokens)),
            Cell::new(line.overflow_calls),
            Cell::new(line.compactions - line.prune_operations),
            Cell::new(line.prune_operations),
            Cell::new(short(line.tokens_reclaimed)),
            Cell::new(percent(line.cache_hit_rate)),
            Cell::new(line.strategy_violations),
        ]);
    }
    set(out, table, 0, layout);
    legend(out, comparison, layout);
}

fn legend(out: &mut String, comparison: &Comparison, layout: Layout) {
    wrap(
        out,
        "",
        "acted: sessions in which it changed something · input: all requests, of those without \
         compaction · peak, mean: size of a request · over: requests over the window · folds: summaries \
         or drops · prunes: clearings · cleared: tokens taken out, net, by the preset's own estimator · cache: \
         share of the input read from a simulated prompt cache · broken: provider rules broken by the preset",
        layout.width,
    );
    let off: Vec<String> = comparison
        .presets
        .iter()
        .filter(|line| !line.guards_off.is_empty())
        .map(|line| {
            format!("{} runs without the guards {}", line.preset, line.guards_off.join(", "))
        })
        .collect();
    if !off.is_empty() {
        wrap(out, "", &off.join("; "), layout.width);
    }
}
