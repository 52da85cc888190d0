//! A mutator for where no fuzzing engine runs: seeded, by bytes, by lines and by values of JSON.

use serde_json::{Value, json};

/// Numbers that follow from a seed (splitmix64).
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// Numbers of this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below a bound that is not 0.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }

    fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// Bytes that parsers trip over.
const PIECES: [&[u8]; 16] = [
    b"null",
    b"[]",
    b"{}",
    b"\"\"",
    b"-1",
    b"18446744073709551615",
    b"1e999",
    b"\\u0000",
    b"\\ud800",
    b"\xff",
    b"\n",
    b"\"",
    b"}",
    b"]",
    b"=",
    b"9999-99-99T99:99:99Z",
];

/// An input made of others by a few changes.
pub fn mutated(inputs: &[&[u8]], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = match inputs {
        [] => Vec::new(),
        some => dice.of(some).to_vec(),
    };
    for _ in 0..1 + dice.below(4) {
        match dice.below(8) {
            0..=2 => value(&mut bytes, dice),
            3 => line(&mut bytes, inputs, dice),
            4 => piece(&mut bytes, dice),
            5 => {
                if !bytes.is_empty() {
                    let at = dice.below(bytes.len());
                    bytes[at] ^= 1 << dice.below(8);
                }
            }
            6 => {
                let (from, to) = range(&bytes, dice);
                bytes.drain(from..to);
            }
            _ => {
                let (from, to) = range(&bytes, dice);
                let copy = bytes[from..to].to_vec();
                let at = dice.below(bytes.len() + 1);
                bytes.splice(at..at, copy);
            }
        }
    }
    bytes
}

fn range(bytes: &[u8], dice: &mut Dice) -> (usize, usize) {
    let from = dice.below(bytes.len() + 1);
    let longest = (bytes.len() - from).min(1 << dice.below(12));
    (from, from + dice.below(longest + 1))
}

fn piece(bytes: &mut Vec<u8>, dice: &mut Dice) {
    let at = dice.below(bytes.len() + 1);
    let until = (at + dice.below(4)).min(bytes.len());
    bytes.splice(at..until, dice.of(&PIECES).iter().copied());
}

/// Takes a line out, doubles it, moves it, or puts one of another input in.
fn line(bytes: &mut Vec<u8>, inputs: &[&[u8]], dice: &mut Dice) {
    let split = |bytes: &[u8]| -> Vec<Vec<u8>> {
        bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
    };
    let mut lines = split(bytes);
    if lines.is_empty() {
        return;
    }
    let at = dice.below(lines.len());
    let taken = match dice.below(4) {
        0 => lines[at].clone(),
        1 | 2 => lines.remove(at),
        _ => {
            let others =
                if inputs.is_empty() { Vec::new() } else { split(dice.of::<&[u8]>(inputs)) };
            if others.is_empty() { Vec::new() } else { dice.of(&others).clone() }
        }
    };
    let to = dice.below(lines.len() + 1);
    lines.insert(to, taken);
    *bytes = lines.concat();
}

/// Changes a value in a document of JSON, or in one line of it.
fn value(bytes: &mut Vec<u8>, dice: &mut Dice) {
    // A byte in front may say what the rest is.
    let start = bytes.iter().position(|byte| matches!(byte, b'{' | b'[')).unwrap_or(0);
    let whole = serde_json::from_slice::<Value>(&bytes[start..]).is_ok();
    let ends = bytes.iter().enumerate().filter(|(at, byte)| **byte == b'\n' && *at >= start);
    let mut ends: Vec<usize> = ends.map(|(at, _)| at).collect();
    ends.push(bytes.len());
    let (from, to) = match whole {
        true => (start, bytes.len()),
        false => {
            let number = dice.below(ends.len());
            (number.checked_sub(1).map_or(start, |before| ends[before] + 1), ends[number])
        }
    };
    let Ok(mut document) = serde_json::from_slice::<Value>(bytes.get(from..to).unwrap_or(&[]))
    else {
        return piece(bytes, dice);
    };
    change(&mut document, dice);
    bytes.splice(from..to, document.to_string().into_bytes());
}

/// Goes down by chance and changes what it comes to.
fn change(value: &mut Value, dice: &mut Dice) {
    match value {
        Value::Array(items) if !items.is_empty() && dice.below(8) > 0 => {
            let at = dice.below(items.len());
            match dice.below(8) {
                0 => drop(items.remove(at)),
                1 => items.push(items[at].clone()),
                2 => items.reverse(),
                _ => change(&mut items[at], dice),
            }
        }
        Value::Object(members) if !members.is_empty() && dice.below(8) > 0 => {
            let names: Vec<String> = members.keys().cloned().collect();
            let name = dice.of(&names).clone();
            match dice.below(10) {
                0 => drop(members.remove(&name)),
                1 => {
                    // Ids and kinds of one are those of another.
                    let other = members[dice.of(&names)].clone();
                    members.insert(name, other);
                }
                _ => change(&mut members[&name], dice),
            }
        }
        _ => {
            let others = [
                json!(null),
                json!(true),
                json!(0),
                json!(-1),
                json!(u64::MAX),
                json!(1e300),
                json!(""),
                json!("\u{0}\u{202e}\n<x>[y]"),
                json!([]),
                json!({}),
                json!([{"type": "text", "text": "x"}]),
                json!({"type": "tool_use", "id": "x", "name": "y", "input": null}),
            ];
            *value = match value {
                Value::String(text) if dice.below(2) == 0 => json!(text.repeat(2)),
                _ => dice.of(&others).clone(),
            };
        }
    }
}
