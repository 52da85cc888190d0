//! Types of values that a stage's configuration holds. Reading a file checks them, so that a stage needs no check of its own.

use crate::fraction::Fraction;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

/// A share of a whole, above 0 and at most 1, to the nearest millionth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "f64", try_from = "f64")]
pub struct Share(Fraction);

impl Share {
    /// All of it.
    pub const WHOLE: Self = Self(Fraction::WHOLE);
}

impl TryFrom<f64> for Share {
    type Error = &'static str;

    fn try_from(number: f64) -> Result<Self, Self::Error> {
        match (1.0..=1e6).contains(&(number * 1e6).round()) {
            true => Ok(Self(Fraction::from_number(number))),
            false => Err("must be a share above 0 and up to 1, e.g. 0.9"),
        }
    }
}

impl From<Fraction> for Share {
    fn from(fraction: Fraction) -> Self {
        Self(fraction)
    }
}

impl From<Share> for f64 {
    fn from(share: Share) -> Self {
        share.number()
    }
}

impl Deref for Share {
    type Target = Fraction;

    fn deref(&self) -> &Fraction {
        &self.0
    }
}

impl JsonSchema for Share {
    fn schema_name() -> Cow<'static, str> {
        "Share".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "exclusiveMinimum": 0, "maximum": 1 })
    }
}

/// A text that is more than blanks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct NonBlank(String);

impl TryFrom<String> for NonBlank {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        match text.trim().is_empty() {
            true => Err("must not be blank: it is what stands there"),
            false => Ok(Self(text)),
        }
    }
}

impl From<NonBlank> for String {
    fn from(text: NonBlank) -> Self {
        text.0
    }
}

impl Deref for NonBlank {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for NonBlank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl JsonSchema for NonBlank {
    fn schema_name() -> Cow<'static, str> {
        "NonBlank".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::in_words;
    use serde_json::json;
    use std::num::NonZeroU64;

    #[test]
    fn wrong_values_are_refused_in_words() {
        fn refused<T: for<'de> Deserialize<'de>>(value: serde_json::Value) -> String {
            let error = serde_json::from_value::<T>(value).err();
            in_words(&error.map(|error| error.to_string()).unwrap_or_default())
        }
        let cases = [
            (refused::<Share>(json!(0.9)), ""),
            (refused::<Share>(json!(1)), ""),
            (refused::<Share>(json!(0.0)), "must be a share above 0 and up to 1, e.g. 0.9"),
            (refused::<Share>(json!(1.1)), "must be a share above 0 and up to 1, e.g. 0.9"),
            (refused::<Share>(json!("x")), "invalid type: string \"x\", expected a number"),
            (refused::<NonBlank>(json!("x")), ""),
            (refused::<NonBlank>(json!(" ")), "must not be blank: it is what stands there"),
            (
                refused::<NonZeroU64>(json!(0)),
                "invalid value: integer `0`, expected a whole number, 1 or more",
            ),
        ];
        for (message, expected) in cases {
            assert_eq!(message, expected);
        }
    }
}
