//! Numbers: how they are read and written, and those that things are given.

pub use foldback_core::plain::grouped;

/// Reads a whole number as people write it: `200000`, `200_000`, `200k`, `1.5M`. `None` where it is none.
pub fn parse(text: &str) -> Option<u64> {
    let digits = text.replace('_', "");
    let (number, unit) = match digits.strip_suffix(['k', 'K']) {
        Some(number) => (number, 1_000),
        None => match digits.strip_suffix(['M', 'm']) {
            Some(number) => (number, 1_000_000),
            None => (digits.as_str(), 1_u64),
        },
    };
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || !is_digits(whole) || !is_digits(part) || number.ends_with('.') {
        return None;
    }
    // The digits after the point are worth a tenth, a hundredth and so on of the unit, and it must divide.
    let scale = 10_u64.checked_pow(u32::try_from(part.len()).ok()?)?;
    if !unit.is_multiple_of(scale) {
        return None;
    }
    let part = if part.is_empty() { 0 } else { part.parse::<u64>().ok()? * (unit / scale) };
    whole.parse::<u64>().ok()?.checked_mul(unit)?.checked_add(part)
}

/// The number of the next thing where there are `count` already. It is never `u32::MAX`, which can stand for none.
///
/// # Panics
///
/// Beyond some 4 billion things: their numbers would be those of others.
pub(crate) fn next(count: usize) -> u32 {
    let number = u32::try_from(count).ok().filter(|number| *number != u32::MAX);
    number.unwrap_or_else(|| panic!("{count} things are more than can be numbered"))
}

/// `part / all` of a number of tokens, rounded down.
pub(crate) fn share(tokens: u64, part: u64, all: u64) -> u64 {
    let share = u128::from(tokens) * u128::from(part.min(all)) / u128::from(all.max(1));
    u64::try_from(share).unwrap_or(tokens)
}

/// A share; nothing of nothing is none.
pub(crate) fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// The sum; that of nothing is 0, which the standard library says is -0.
pub(crate) fn total(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, |sum, value| sum + value)
}

/// Four significant characters at most: `812`, `4.1k`, `183k`, `2.4M`.
pub fn short(number: u64) -> String {
    let scaled = |unit: u64, suffix: &str| {
        let tenths = (number * 10 + unit / 2) / unit;
        if tenths >= 100 {
            format!("{}{suffix}", (number + unit / 2) / unit)
        } else {
            format!("{}.{}{suffix}", tenths / 10, tenths % 10)
        }
    };
    match number {
        0..1_000 => number.to_string(),
        1_000..999_500 => scaled(1_000, "k"),
        999_500..999_500_000 => scaled(1_000_000, "M"),
        _ => scaled(1_000_000_000, "G"),
    }
}

/// A ratio as percent with one decimal: `0.4567` is `45.7%`.
pub fn percent(ratio: f64) -> String {
    format!("{:.1}%", ratio * 100.0)
}

/// Dollars with so many decimals: `$1,234.50`, `−$0.61`.
pub fn dollars(usd: f64, decimals: usize) -> String {
    let written = format!("{:.decimals$}", usd.abs());
    let (whole, cents) = written.split_once('.').unwrap_or((&written, ""));
    let whole = whole.parse().map_or_else(|_| whole.to_owned(), grouped);
    let is_nothing = written.chars().all(|c| matches!(c, '0' | '.'));
    let sign = if usd < 0.0 && !is_nothing { "−" } else { "" };
    let point = if cents.is_empty() { "" } else { "." };
    format!("{sign}${whole}{point}{cents}")
}

/// Decimals with which an amount of dollars, and what is a part of it, has three figures: cents from a dollar on.
pub fn decimals(usd: f64) -> usize {
    match usd.abs() {
        0.1..1.0 => 3,
        usd if usd > 0.0 && usd < 0.1 => 4,
        _ => 2,
    }
}

/// Dollars with three figures: `$0.412`.
pub fn money(usd: f64) -> String {
    dollars(usd, decimals(usd))
}

/// A difference of shares in points, with its sign: `−4`.
pub fn points(share: f64) -> String {
    format!("{:+.0}", share * 100.0).replace('-', "−")
}

/// A change in percent, with its sign: `−40%`.
pub fn change(ratio: f64) -> String {
    let percent = ((ratio - 1.0) * 100.0).round();
    match percent {
        0.0 => "0%".to_owned(),
        less if less < 0.0 => format!("−{:.0}%", -less),
        more => format!("+{more:.0}%"),
    }
}

/// So many of something: `1 call`, `2,000 calls`.
pub fn count(number: u64, noun: &str) -> String {
    count_of(number, noun, &format!("{noun}s"))
}

/// The same where the plural has a form of its own.
pub fn count_of(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_people_write_them() {
        let cases = [
            ("200000", Some(200_000)),
            ("200_000", Some(200_000)),
            ("200k", Some(200_000)),
            ("200K", Some(200_000)),
            ("1.5M", Some(1_500_000)),
            ("0", Some(0)),
            ("1.5", None),
            ("1.2345k", None),
            ("k", None),
            ("", None),
            (".5k", None),
            ("5.k", None),
            ("-3", None),
            ("2e5", None),
            ("99999999999999999999", None),
            ("18446744073709551615k", None),
        ];
        for (text, number) in cases {
            assert_eq!(parse(text), number, "{text}");
        }
    }

    #[test]
    fn numbers_as_people_read_them() {
        let cases = [
            (0, "0", "0"),
            (999, "999", "999"),
            (1_000, "1,000", "1.0k"),
            (9_949, "9,949", "9.9k"),
            (9_950, "9,950", "10k"),
            (182_600, "182,600", "183k"),
            (999_499, "999,499", "999k"),
            (999_500, "999,500", "1.0M"),
            (2_449_999, "2,449,999", "2.4M"),
            (1_500_000_000, "1,500,000,000", "1.5G"),
        ];
        for (number, long, brief) in cases {
            assert_eq!(grouped(number), long);
            assert_eq!(short(number), brief, "{number}");
        }
        assert_eq!(percent(0.4567), "45.7%");
        let amounts =
            [(0.0, 2), (1.5, 2), (-0.61, 2), (1_234.499, 2), (-0.001, 2), (0.0949, 3), (7.6, 0)];
        let written = ["$0.00", "$1.50", "−$0.61", "$1,234.50", "$0.00", "$0.095", "$8"];
        assert_eq!(amounts.map(|(usd, decimals)| dollars(usd, decimals)), written);
        assert_eq!([0.0, 0.02, 0.61, 1.0, 700.0].map(decimals), [2, 4, 3, 2, 2]);
        assert_eq!([0.6, 1.0, 0.997, 1.03].map(change), ["−40%", "0%", "0%", "+3%"]);
        assert_eq!([1, 2_000].map(|calls| count(calls, "call")), ["1 call", "2,000 calls"]);
    }

    #[test]
    #[should_panic(expected = "4294967295 things are more than can be numbered")]
    fn no_number_stands_for_none() {
        assert_eq!(next(u32::MAX as usize - 1), u32::MAX - 1);
        next(u32::MAX as usize);
    }
}
