//! The prices of a comparison, in words: whose they are, their date, and how to set others.

use super::table::Reporting;
use crate::judge::cost::ServiceTerms;
use crate::number::grouped;
use crate::rows::study::Recording;
use crate::run::setup::Setup;
use std::collections::BTreeMap;

/// In one or two lines.
pub(super) fn short(setup: &Setup, sessions: &[Recording], reporting: &Reporting) -> String {
    let day = &setup.models.as_of;
    match (setup.regime(&reporting.regime), &setup.model) {
        (Ok(regime), _) => {
            format!(
                "the prices of {}, {}, {day}, for all models, listed or not; --models FILE",
                regime.base, regime.name
            )
        }
        (Err(_), Some(model)) => {
            format!("the prices of {model}, {day}, for all sessions; --models FILE")
        }
        (Err(_), None) => {
            let unpriced: usize = unpriced(setup, sessions).values().sum();
            let stood_in = match unpriced {
                0 => String::new(),
                1 => format!(
                    " (1 session of an unlisted model is billed as {})",
                    setup.regimes.stand_in
                ),
                some => format!(
                    " ({} sessions of unlisted models are billed as {})",
                    grouped(some as u64),
                    setup.regimes.stand_in
                ),
            };
            format!("the models' list prices{stood_in}, {day}; --prices, --models FILE")
        }
    }
}

/// With amounts, sources and what is assumed.
pub(super) fn whole(setup: &Setup, sessions: &[Recording], reporting: &Reporting) -> String {
    let table = format!(
        "the model table of {} ({}, from the providers' pages); --models FILE replaces it",
        setup.models.as_of, setup.models.source
    );
    let Ok(regime) = setup.regime(&reporting.regime) else {
        return own(setup, sessions, &table);
    };
    let base = setup.models.find(&regime.base);
    let amounts = base.and_then(|model| model.price).map_or_else(String::new, |price| {
        format!(", {} USD per million tokens of input and {} of output", price.input, price.output)
    });
    format!(
        "Prices: every session is billed as {} under {}{amounts}, whatever its model, listed or not. They are from \
         {table}. Without --prices, each session is billed by its own model.",
        regime.base, regime.name
    )
}

/// Where recorders asked for a cache of one hour and the bills are those of a shorter one.
pub(super) fn hour(setup: &Setup, sessions: &[Recording], reporting: &Reporting) -> Option<String> {
    let asked = sessions.iter().filter(|session| session.hour).count();
    let regime = setup.regime(&reporting.regime).ok()?;
    let base = setup.models.find(&regime.base)?;
    let hour = setup.regimes.own(&base, ServiceTerms { hour: 1.0, ..ServiceTerms::default() })?;
    (asked > 0 && hour.rules != regime.rules()).then(|| {
        format!(
            "{asked} of {} sessions asked for a cache that lives for an hour and costs more to write; {} bills them \
             as if they had not. Without --prices, each is billed by the cache that it asked for.",
            sessions.len(),
            regime.name
        )
    })
}

/// The models that the table has no prices of, and how many sessions have them.
fn unpriced<'s>(setup: &Setup, sessions: &'s [Recording]) -> BTreeMap<&'s str, usize> {
    let mut unpriced = BTreeMap::new();
    let models = sessions.iter().map(|session| session.model.as_deref());
    for model in models.filter(|model| !setup.is_priced(*model)) {
        *unpriced.entry(model.unwrap_or("no name")).or_default() += 1;
    }
    unpriced
}

fn own(setup: &Setup, sessions: &[Recording], table: &str) -> String {
    if let Some(model) = &setup.model {
        return format!("Prices: every session is billed as {model}. They are from {table}.");
    }
    let unpriced = unpriced(setup, sessions);
    let stood_in = match unpriced.is_empty() {
        true => "all of them are listed".to_owned(),
        false => {
            let names: Vec<String> =
                unpriced.iter().map(|(model, sessions)| format!("{model} ({sessions})")).collect();
            format!(
                "sessions of models that are not listed are billed as {}: {}",
                setup.regimes.stand_in,
                names.join(", ")
            )
        }
    };
    format!(
        "Prices: each session is billed by its own model, on its day, with the cache that its requests asked for; \
         {stood_in}. They are from {table}."
    )
}
