//! Words of code and prose: identifiers whole and in parts.

use std::collections::BTreeSet;

/// Longest word that is indexed, in characters: enough for a hash or the start of a data URL.
const LONGEST: usize = 64;

/// The words of a text, in lower case, in order, repeats included. An identifier or a path gives itself
/// and its parts: `read_config` → `read_config`, `read`, `config`; `HttpServer2` → `httpserver2`,
/// `http`, `server`, `2`; `src/main.rs` → `src/main.rs`, `src`, `main`, `rs`.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for chunk in text.split(|c: char| !(c.is_alphanumeric() || "_-./:".contains(c))) {
        let chunk = chunk.trim_matches(|c: char| !c.is_alphanumeric());
        if chunk.is_empty() {
            continue;
        }
        let mut parts = BTreeSet::new();
        let mut found = Vec::new();
        for name in chunk.split(|c: char| !(c.is_alphanumeric() || c == '_')) {
            for piece in name.split('_').filter(|piece| !piece.is_empty()) {
                for part in humps(piece) {
                    found.push(part.to_lowercase());
                }
                found.push(piece.to_lowercase());
            }
            found.push(name.trim_matches('_').to_lowercase());
        }
        found.push(chunk.to_lowercase());
        // `main` in `main` is one word, not the part, the piece, the name and the path.
        for word in found {
            let fits = !word.is_empty() && word.chars().count() <= LONGEST;
            if fits && parts.insert(word.clone()) {
                words.push(word);
            }
        }
    }
    words
}

/// `HTTPServer2x` → `HTTP`, `Server`, `2`, `x`.
fn humps(name: &str) -> Vec<&str> {
    let letters: Vec<(usize, char)> = name.char_indices().collect();
    let mut cuts = vec![0];
    for (index, pair) in letters.windows(2).enumerate() {
        let ((_, before), (at, here)) = (pair[0], pair[1]);
        let next_is_lower = letters.get(index + 2).is_some_and(|(_, c)| c.is_lowercase());
        let new_word = before.is_lowercase() && here.is_uppercase();
        let end_of_capitals = before.is_uppercase() && here.is_uppercase() && next_is_lower;
        let number = before.is_numeric() != here.is_numeric();
        if new_word || end_of_capitals || number {
            cuts.push(at);
        }
    }
    cuts.push(name.len());
    cuts.windows(2).map(|cut| &name[cut[0]..cut[1]]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_and_paths_come_apart() {
        let cases = [
            ("read_config", "read config read_config"),
            ("HttpServer2", "http server 2 httpserver2"),
            ("parseJSONBody", "parse json body parsejsonbody"),
            ("src/main.rs:12", "src main rs 12 src/main.rs:12"),
            ("fn main() {}", "fn main"),
            ("--dry-run", "dry run dry-run"),
            ("E0308", "e 0308 e0308"),
            ("__init__", "init"),
            ("Größe Ärger", "größe ärger"),
            ("a.b a.b", "a b a.b a b a.b"),
            ("... -- //", ""),
        ];
        for (text, expect) in cases {
            assert_eq!(words(text).join(" "), expect, "{text}");
        }
    }
}
