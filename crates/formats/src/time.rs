//! Timestamps as recorders write them: RFC 3339 text to milliseconds since the Unix epoch, and back.

/// Milliseconds since the Unix epoch of a timestamp like `2026-01-20T12:30:00.123456Z` or
/// `2026-01-20 12:30:00+01:00`. Fractions below a millisecond are cut off; a timestamp without an
/// offset is taken as UTC, which is how Python prints naive times. `None` where it is no timestamp.
pub(crate) fn parse_rfc3339(text: &str) -> Option<i64> {
    let text = text.trim();
    let (date, rest) = (text.get(..10)?, text.get(11..)?);
    if !matches!(text.as_bytes().get(10), Some(b'T' | b't' | b' ')) {
        return None;
    }
    let mut date = date.split('-');
    let year = number(date.next()?, 4)?;
    let month = number(date.next()?, 2)?;
    let day = number(date.next()?, 2)?;

    let offset_at = rest.find(['Z', 'z', '+', '-']).unwrap_or(rest.len());
    let (clock, offset) = rest.split_at(offset_at);
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let mut clock = clock.split(':');
    let hour = number(clock.next()?, 2)?;
    let minute = number(clock.next()?, 2)?;
    let second = number(clock.next()?, 2)?;

    if !(1..=12).contains(&month)
        || !(1..=days_in_month(year, month)).contains(&day)
        || hour > 23
        || minute > 59
        || second > 60
        || date.next().is_some()
        || clock.next().is_some()
    {
        return None;
    }
    let seconds = days_from_epoch(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second;
    Some((seconds - offset_seconds(offset)?) * 1000 + milliseconds(fraction)?)
}

/// The timestamp of milliseconds since the Unix epoch in UTC, with milliseconds only where there are
/// any: `2026-01-20T12:30:00Z`, `2026-01-20T12:30:00.123Z`.
pub(crate) fn format_rfc3339(ms: i64) -> String {
    let days = ms.div_euclid(86_400_000);
    let rest = ms.rem_euclid(86_400_000);
    let (year, month, day) = date_of(days);
    let (second, fraction) = (rest / 1000, rest % 1000);
    let clock = format!("{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60);
    match fraction {
        0 => format!("{year:04}-{month:02}-{day:02}T{clock}Z"),
        _ => format!("{year:04}-{month:02}-{day:02}T{clock}.{fraction:03}Z"),
    }
}

fn number(text: &str, digits: usize) -> Option<i64> {
    (text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| text.parse().ok())?
}

fn milliseconds(fraction: &str) -> Option<i64> {
    if fraction.is_empty() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    format!("{fraction:0<3}").get(..3)?.parse().ok()
}

fn offset_seconds(offset: &str) -> Option<i64> {
    let sign = match offset.as_bytes().first() {
        None => return Some(0),
        Some(b'Z' | b'z') => return (offset.len() == 1).then_some(0),
        Some(b'-') => -1,
        Some(_) => 1,
    };
    let digits = offset[1..].replace(':', "");
    let (hours, minutes) = (number(digits.get(..2)?, 2)?, number(digits.get(2..)?, 2)?);
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 to a date of the proleptic Gregorian calendar. Years are taken to begin in
/// March, so that the leap day comes last, and are counted in eras of 400.
fn days_from_epoch(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The date of a number of days from 1970-01-01; the inverse of [`days_from_epoch`].
fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day = days.rem_euclid(146_097);
    let of_era = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * of_era + of_era / 4 - of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let month = (shifted + 2) % 12 + 1;
    let year = era * 400 + of_era + i64::from(month <= 2);
    (year, month, of_year - (153 * shifted + 2) / 5 + 1)
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
