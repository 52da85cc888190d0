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
        let head = format!("{}-{}", self.hex(8), self.hex(4));
        format!("{head}-4{}-{variant}{}-{}", self.hex(3), self.hex(3), self.hex(12))
    }

    /// A UUID that sorts by time (version 7).
    pub fn uuid7(&mut self, millis: u64) -> String {
        let time = format!("{millis:012x}");
        let variant = self.chars(b"89ab", 1);
        let head = format!("{}-{}", &time[..8], &time[8..]);
        format!("{head}-7{}-{variant}{}-{}", self.hex(3), self.hex(3), self.hex(12))
    }
}

/// `2026-03-09T08:12:04.123Z` as milliseconds since 1970 and back.
pub mod time {
    use jiff::Timestamp;

    /// Milliseconds of a time, or `None` where it is none after 1970.
    pub fn parse(text: &str) -> Option<u64> {
        text.parse::<Timestamp>().ok()?.as_millisecond().try_into().ok()
    }

    /// Milliseconds as `YYYY-MM-DDThh:mm:ss.mmmZ`.
    pub fn show(millis: u64) -> String {
        let at = i64::try_from(millis).ok().and_then(|at| Timestamp::from_millisecond(at).ok());
        at.unwrap_or_default().strftime("%FT%T%.3fZ").to_string()
    }
}
