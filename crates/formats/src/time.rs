//! Timestamps as recorders write them: RFC 3339 text to milliseconds since the Unix epoch, and back.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// Milliseconds since the Unix epoch of a [timestamp](parse_timestamp). Fractions below a millisecond are cut off.
pub(crate) fn parse_rfc3339(text: &str) -> Option<i64> {
    parse_timestamp(text).map(Timestamp::as_millisecond)
}

/// A timestamp like `2026-01-20T12:30:00.123456Z` or `2026-01-20 12:30:00+01:00`. One without an offset is taken as UTC,
/// which is how Python prints naive times. `None` if the text is no timestamp.
pub(crate) fn parse_timestamp(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    // A day, or an hour without seconds, is no time at which a recorder wrote something.
    if text.as_bytes().get(16) != Some(&b':') {
        return None;
    }
    let naive =
        || Some(text.parse::<DateTime>().ok()?.to_zoned_datetime(TimeZone::UTC).ok()?.timestamp());
    text.parse::<Timestamp>().ok().or_else(naive)
}

/// The timestamp of milliseconds since the Unix epoch in UTC, with milliseconds only where there are
/// any: `2026-01-20T12:30:00Z`, `2026-01-20T12:30:00.123Z`. What lies beyond the year 9999 ends there.
pub(crate) fn format_rfc3339(ms: i64) -> String {
    let bound = if ms < 0 { Timestamp::MIN } else { Timestamp::MAX };
    let timestamp = Timestamp::from_millisecond(ms).unwrap_or(bound);
    if ms % 1000 == 0 { format!("{timestamp:.0}") } else { format!("{timestamp:.3}") }
}

/// The timestamp of something that is written anew. Without a time it is the epoch: no clock is read, so that
/// one input always gives one output.
pub(crate) fn stamp(at: Option<i64>) -> String {
    format_rfc3339(at.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps() {
        let table = [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2026-01-20T12:30:00Z", Some(1_768_912_200_000)),
            ("2026-01-20T13:30:00+01:00", Some(1_768_912_200_000)),
            ("2026-01-20T13:30:00+0100", Some(1_768_912_200_000)),
            ("2026-01-20 12:30:00", Some(1_768_912_200_000)),
            ("2026-01-20T12:30:00.123456Z", Some(1_768_912_200_123)),
            ("2026-01-20T12:30:00.5-00:30", Some(1_768_914_000_500)),
            ("2024-02-29T00:00:00Z", Some(1_709_164_800_000)),
            ("1969-12-31T23:59:59Z", Some(-1000)),
            ("2023-02-29T00:00:00Z", None),
            ("2026-13-01T00:00:00Z", None),
            ("2026-01-20T24:00:00Z", None),
            ("2026-01-20T12:30Z", None),
            ("2026-01-20", None),
            ("yesterday, at noon", None),
            ("2026-01-20T12:30:00Zulu", None),
            ("2026-01-20T12:30:00.Z", None),
            ("", None),
        ];
        for (text, expected) in table {
            assert_eq!(parse_rfc3339(text), expected, "{text}");
        }
    }

    #[test]
    fn formatting_is_the_inverse() {
        for ms in [0, -1, 951_782_400_000, 1_768_912_200_123, 4_107_542_399_000] {
            assert_eq!(parse_rfc3339(&format_rfc3339(ms)), Some(ms), "{ms}");
        }
        assert_eq!(format_rfc3339(1_768_912_200_000), "2026-01-20T12:30:00Z");
    }
}
