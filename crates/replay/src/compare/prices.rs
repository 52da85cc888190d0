//! The prices of a comparison, in words: whose they are, their date, and how to set others.

use super::table::Reporting;
use crate::setup::Setup;
use crate::study::Recording;
use std::collections::BTreeMap;

/// In one or two lines.
pub(super) fn short(setup: &Setup, reporting: &Reporting) -> String {
    let day = &setup.models.as_of;
    match setup.regime(&reporting.regime) {
        Ok(regime) => format!(
            "{}, {}, {day}, for all models, listed or not; --prices own, --models FILE",
            regime.base, regime.name
        ),
        Err(_) => match &setup.model {
            Some(model) => format!("{model}, {day}, for all sessions; --models FILE"),
            None => {
                format!(
                    "each session's own model, {day}; no bill if it is not listed; --models FILE"
                )
            }
        },
    }
}

/// With amounts, sources and what is assumed.
pub(super) fn whole(setup: &Setup, sessions: &[Recording], reporting: &Reporting) -> String {
    let day = &setup.models.as_of;
    let others = "--prices names another regime, `own` bills each session by its own model";
    let table = format!(
        "the model table of {day} (pydantic/genai-prices, from the providers' pages); --models FILE replaces it"
    );
    let Ok(regime) = setup.regime(&reporting.regime) else {
        return own(setup, sessions, &table);
    };
    let amounts = setup.models.find(&regime.base).map_or_else(String::new, |model| {
        let price = model.price;
        format!(", {} USD per million tokens of input and {} of output", price.input, price.output)
    });
    format!(
        "Prices: every session is billed as {} under {}{amounts}, whatever its model, listed or not. They are from \
         {table}. {others}.",
        regime.base, regime.name
    )
}

/// Where recorders asked for a cache of one hour and the bills are those of a shorter one.
pub(super) fn hour(setup: &Setup, sessions: &[Recording], reporting: &Reporting) -> Option<String> {
    let asked = sessions.iter().filter(|session| session.hour).count();
    let regime = setup.regime(&reporting.regime).ok()?;
    let hour = setup.regimes.own(setup.models.find(&regime.base)?, true)?;
    (asked > 0 && hour.rules != regime.rules()).then(|| {
        format!(
            "{asked} of {} sessions asked for a cache that lives for an hour and costs more to write; {} bills them \
             as if they had not. --prices own bills each by the cache that it asked for.",
            sessions.len(),
            regime.name
        )
    })
}

fn own(setup: &Setup, sessions: &[Recording], table: &str) -> String {
    if let Some(model) = &setup.model {
        return format!("Prices: every session is billed as {model}. They are from {table}.");
    }
    let mut unknown: BTreeMap<&str, usize> = BTreeMap::new();
    for facts in sessions {
        let model = facts.model.as_deref();
        if model.is_none_or(|model| setup.models.find(model).is_none()) {
            *unknown.entry(model.unwrap_or("no name")).or_default() += 1;
        }
    }
    let left_out = match unknown.is_empty() {
        true => "all of them are listed".to_owned(),
        false => {
            let names: Vec<String> =
                unknown.iter().map(|(model, sessions)| format!("{model} ({sessions})")).collect();
            format!("sessions of models that are not listed have no bill: {}", names.join(", "))
        }
    };
    format!("Prices: each session is billed by its own model; {left_out}. They are from {table}.")
}
