//! Ids that hold within one conversation: unique, deterministic, and the recorder's own wherever possible.

use super::layered::Layered;
use foldback_core::work;
use std::collections::VecDeque;

/// Hands out ids that are unique in a session. Recorders repeat ids (a redacted export has one word
/// for many; local models number the calls of each answer from zero), so a repeated id gets a number.
#[derive(Clone, Debug, Default)]
pub struct Ids {
    used: Layered<()>,
    /// By id that was wanted again, the last number that it got.
    numbers: Layered<usize>,
}

impl Ids {
    /// `wanted` itself the first time, then `wanted_2`, `wanted_3`, … The suffix keeps to characters
    /// that every provider takes in an id.
    pub fn unique(&mut self, wanted: &str) -> String {
        work::count(1);
        if self.used.insert(wanted, ()) {
            return wanted.to_owned();
        }
        let mut number = self.numbers.get(wanted).copied().unwrap_or(1);
        loop {
            work::count(1);
            number += 1;
            let id = format!("{wanted}_{number}");
            if self.used.insert(&id, ()) {
                self.numbers.insert(wanted, number);
                return id;
            }
        }
    }

    /// Shares what was handed out with the copies that are made from here on.
    pub fn settle(&mut self) {
        self.used.settle();
        self.numbers.settle();
    }
}

/// Joins results with calls whose recorded ids may repeat: a result answers the oldest open call of
/// its id.
#[derive(Clone, Debug, Default)]
pub struct Calls {
    ids: Ids,
    open: Layered<VecDeque<String>>,
}

impl Calls {
    /// The unique id of a new call that was recorded with `id`.
    pub fn call(&mut self, id: &str) -> String {
        let unique = self.ids.unique(id);
        match self.open.get_mut(id) {
            Some(open) => open.push_back(unique.clone()),
            None => {
                self.open.insert(id, VecDeque::from([unique.clone()]));
            }
        }
        unique
    }

    /// The unique id of the call that a result recorded with `id` answers. A second result of a call
    /// and a result without a call keep the recorded id.
    pub fn result(&mut self, id: &str) -> String {
        self.open.get_mut(id).and_then(VecDeque::pop_front).unwrap_or_else(|| id.to_owned())
    }

    /// Shares what is known with the copies that are made from here on.
    pub fn settle(&mut self) {
        self.ids.settle();
        self.open.settle();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_ids_are_numbered() {
        let mut ids = Ids::default();
        let given: Vec<_> = ["a", "a", "a_2", "a", ""].map(|id| ids.unique(id)).into();
        assert_eq!(given, ["a", "a_2", "a_2_2", "a_3", ""]);
    }

    #[test]
    fn results_find_the_oldest_open_call() {
        let mut calls = Calls::default();
        assert_eq!((calls.call("0"), calls.call("1")), ("0".into(), "1".into()));
        assert_eq!((calls.result("1"), calls.result("0")), ("1".into(), "0".into()));
        assert_eq!((calls.call("0"), calls.call("0")), ("0_2".into(), "0_3".into()));
        assert_eq!((calls.result("0"), calls.result("0")), ("0_2".into(), "0_3".into()));
        assert_eq!(calls.result("0"), "0");
        assert_eq!(calls.result("none"), "none");
    }
}
