//! A map that costs only its new entries to copy.

use std::collections::HashMap;
use std::sync::Arc;

/// A map of texts. Its copies share the entries that it had when it was last [settled](Self::settle).
#[derive(Clone, Debug)]
pub struct Layered<V> {
    shared: Arc<HashMap<String, V>>,
    own: HashMap<String, V>,
}

impl<V> Default for Layered<V> {
    fn default() -> Self {
        Self { shared: Arc::default(), own: HashMap::new() }
    }
}

impl<V: Clone> Layered<V> {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&V> {
        self.own.get(key).or_else(|| self.shared.get(key))
    }

    /// The value of a key, mutable.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut V> {
        if !self.own.contains_key(key) {
            let shared = self.shared.get(key)?.clone();
            self.own.insert(key.to_owned(), shared);
        }
        self.own.get_mut(key)
    }

    /// Sets the value of a key. Returns whether the key is new.
    pub fn insert(&mut self, key: &str, value: V) -> bool {
        self.own.insert(key.to_owned(), value).is_none() && !self.shared.contains_key(key)
    }

    /// Shares all entries with copies that are made from here on.
    pub fn settle(&mut self) {
        Arc::make_mut(&mut self.shared).extend(self.own.drain());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_have_what_was_settled_and_go_their_own_ways() {
        let mut map = Layered::default();
        assert!(map.insert("a", 1) && map.insert("b", 2) && !map.insert("b", 3));
        map.settle();
        let mut copy = map.clone();
        *copy.get_mut("a").unwrap() = 4;
        assert!(copy.insert("c", 5) && !copy.insert("a", 6));
        copy.settle();
        for (key, one, other) in
            [("a", Some(1), Some(6)), ("b", Some(3), Some(3)), ("c", None, Some(5))]
        {
            assert_eq!((map.get(key).copied(), copy.get(key).copied()), (one, other), "{key}");
        }
        assert!(map.get_mut("c").is_none());
    }
}
