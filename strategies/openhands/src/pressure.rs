//! `openhands.pressure`: why the condenser of the OpenHands SDK acts, and the count of events that it goes by.

use foldback_core::limits::Limits;
use foldback_core::log::{EntryKind, Message, Part, PartKind, Role};
use foldback_core::moment::Moment;
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::{Decision, Estimator, OverflowPolicy, Pressure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU64;
use std::sync::Arc;

/// Whether a message is an event, or as many as it has calls. What the harness says belongs to the system prompt.
pub(crate) fn is_event(message: &Message) -> bool {
    message.role != Role::System && !message.is_entry_of(EntryKind::Carried)
}

/// Counts events instead of tokens.
#[derive(Debug)]
struct Events(Arc<str>);

impl Estimator for Events {
    fn id(&self) -> &Arc<str> {
        &self.0
    }

    fn text(&self, _: &str) -> u64 {
        0
    }

    fn part(&self, part: &Part, _: &str) -> u64 {
        u64::from(matches!(part.kind, PartKind::Call(_)))
    }

    fn overhead(&self, message: &Message) -> u64 {
        u64::from(is_event(message) && message.call_ids().next().is_none())
    }

    /// The system prompt is an event, wherever it was recorded.
    fn per_request(&self) -> u64 {
        1
    }
}

/// The limits that policy and filter share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caps {
    pub(crate) max_size: u64,
    pub(crate) max_tokens: u64,
    pub(crate) window: bool,
}

impl Caps {
    /// The smaller of the limits in tokens, if there is one.
    pub(crate) fn tokens(self, limits: Limits) -> Option<u64> {
        let own = Some(self.max_tokens).filter(|tokens| *tokens > 0);
        let window = limits.request_ceiling().filter(|_| self.window);
        own.into_iter().chain(window).min()
    }
}

/// Configuration of [`PressureOf`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PressureConfig {
    /// Events above which it folds: a message, a call and a result are one each, the system prompt too.
    pub max_size: NonZeroU64,
    /// Tokens above which it folds; unset: none.
    pub max_tokens: Option<u64>,
    /// Whether it also folds above the largest request that the model takes.
    pub window: bool,
}

impl StageConfig<dyn OverflowPolicy> for PressureConfig {
    fn build(self) -> Result<Arc<dyn OverflowPolicy>, Invalid> {
        let (max_size, max_tokens) = (self.max_size.get(), self.max_tokens.unwrap_or(0));
        Ok(Arc::new(PressureOf {
            caps: Caps { max_size, max_tokens, window: self.window },
            unit: Arc::new(Events("openhands.events".into())),
        }))
    }
}

/// Folds above a number of events or of tokens.
#[derive(Clone, Debug)]
pub struct PressureOf {
    caps: Caps,
    unit: Arc<dyn Estimator>,
}

impl OverflowPolicy for PressureOf {
    fn moments(&self) -> &'static [Moment] {
        &[Moment::CallStart, Moment::ProviderOverflow]
    }

    fn decide(&self, pressure: &Pressure<'_>) -> Decision {
        let (events, size) = (pressure.units, self.caps.max_size);
        let tokens = pressure.view_tokens + pressure.frame_tokens;
        let cap = self.caps.tokens(pressure.limits);
        let over_tokens = cap.is_some_and(|cap| tokens > cap);
        let refused = pressure.moment == Moment::ProviderOverflow;
        let sign = |over: bool| if over { ">" } else { "<=" };
        let of_events = format!("{events} {} {size} events", sign(events > size));
        let of_tokens = cap.map(|cap| format!("{tokens} {} {cap} tokens", sign(over_tokens)));
        // Tokens press harder; where they do not press, they are what is nearest to the window.
        let (count, trigger) = match cap {
            Some(cap) if over_tokens || events <= size => (tokens, cap),
            _ => (events, size),
        };
        Decision {
            fold: refused || over_tokens || events > size,
            count,
            trigger,
            target: None,
            floor: None,
            reason: of_tokens.into_iter().chain([of_events]).collect::<Vec<_>>().join(", "),
        }
    }

    fn unit(&self) -> Option<Arc<dyn Estimator>> {
        Some(Arc::clone(&self.unit))
    }
}
