//! Everything that a real recording draws from outside, drawn from one seed instead: ids, delays, the clock.

/// A small generator (SplitMix64).
#[derive(Debug)]
pub struct Seed(u64);

const HEX: &[u8] = b"0123456789abcdef";
const BASE58: &[u8] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
const BASE62: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

impl Seed {
    /// A generator that always gives the same numbers for the same seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number of `low..=high`.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low + 1)
    }

    fn chars(&mut self, alphabet: &[u8], length: usize) -> String {
        (0..length)
            .map(|_| char::from(alphabet[self.between(0, alphabet.len() as u64 - 1) as usize]))
            .collect()
    }

    /// Hexadecimal digits.
    pub fn hex(&mut self, length: usize) -> String {
        self.chars(HEX, length)
    }

    /// Letters and digits without those that look alike.
    pub fn base58(&mut self, length: usize) -> String {
        self.chars(BASE58, length)
    }

    /// Letters and digits.
    pub fn base62(&mut self, length: usize) -> String {
        self.chars(BASE62, length)
    }

    /// A random UUID (version 4).
    pub fn uuid(&mut self) -> String {
        let variant = self.chars(b"89ab", 1);
        format!(
            "{}-{}-4{}-{variant}{}-{}",
            self.hex(8),
            self.hex(4),
            self.hex(3),
            self.hex(3),
            self.hex(12)
        )
    }

    /// A UUID that sorts by time (version 7).
    pub fn uuid7(&mut self, millis: u64) -> String {
        let time = format!("{millis:012x}");
        let variant = self.chars(b"89ab", 1);
        format!(
            "{}-{}-7{}-{variant}{}-{}",
            &time[..8],
            &time[8..],
            self.hex(3),
            self.hex(3),
            self.hex(12)
        )
    }
}

/// `2026-03-09T08:12:04.123Z` as milliseconds since 1970 and back.
pub mod time {
    /// Milliseconds of `YYYY-MM-DDThh:mm:ssZ`, or `None`.
    pub fn parse(text: &str) -> Option<u64> {
        let number = |from: usize, to: usize| text.get(from..to)?.parse::<u64>().ok();
        let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
        let days = days_before(year, month) + day - 1;
        let seconds = (days * 24 + number(11, 13)?) * 3600 + number(14, 16)? * 60 + number(17, 19)?;
        Some(seconds * 1000)
    }

    /// Milliseconds as `YYYY-MM-DDThh:mm:ss.mmmZ`.
    pub fn show(millis: u64) -> String {
        let (seconds, rest) = (millis / 1000, millis % 1000);
        let mut days = seconds / 86_400;
        let (mut year, mut month) = (1970, 1);
        while days >= length(year, month) {
            days -= length(year, month);
            (year, month) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
        }
        format!(
            "{year}-{month:02}-{:02}T{:02}:{:02}:{:02}.{rest:03}Z",
            days + 1,
            seconds / 3600 % 24,
            seconds / 60 % 60,
            seconds % 60
        )
    }

    fn days_before(year: u64, month: u64) -> u64 {
        let years: u64 =
            (1970..year).map(|year| (1..=12).map(|month| length(year, month)).sum::<u64>()).sum();
        years + (1..month).map(|month| length(year, month)).sum::<u64>()
    }

    fn length(year: u64, month: u64) -> u64 {
        match month {
            2 if year.is_multiple_of(4)
                && (!year.is_multiple_of(100) || year.is_multiple_of(400)) =>
            {
                29
            }
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        }
    }
}
