//! A share with both of its counts.

use derive_more::AddAssign;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Kept of needed.
#[derive(
    AddAssign, Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct Share {
    /// How many were kept.
    pub kept: u64,
    /// How many were needed.
    pub needed: u64,
}

impl Share {
    /// The share, `None` where nothing was needed.
    pub fn value(self) -> Option<f64> {
        (self.needed > 0).then(|| self.kept as f64 / self.needed as f64)
    }

    pub(crate) fn count(&mut self, kept: bool) {
        self.needed += 1;
        self.kept += u64::from(kept);
    }
}
