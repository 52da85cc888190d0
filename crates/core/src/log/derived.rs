//! Data that stages derive from a message or a history and keep with it.
//!
//! A message never changes, so a hash of it, its telling lines or the marks in it are derived once,
//! however often a fold looks at it and however many strategies replay the log. A history only grows, so
//! it is never read twice.

use std::any::{Any, TypeId};
use std::fmt;
use std::sync::OnceLock;

/// A value that says how much memory it takes.
#[doc(hidden)]
pub trait Weighed: Any + Send + Sync {
    /// Bytes beside those of the value itself, by estimate.
    fn bytes(&self) -> usize;
}

/// Values that follow from a message or a history alone, one of each type.
///
/// A clone starts with none, and two messages are equal whatever was derived from them.
#[derive(Default)]
#[doc(hidden)]
pub struct Derived(OnceLock<Box<Slots>>);

/// A few values side by side, so that finding one reads one place of memory and not a chain of them.
#[derive(Default)]
struct Slots {
    values: [OnceLock<Slot>; 6],
    more: Derived,
}

struct Slot {
    of: TypeId,
    value: Box<dyn Any + Send + Sync>,
    /// Bytes that it takes in memory now, where that is much.
    weigh: fn(&(dyn Any + Send + Sync)) -> usize,
}

impl Derived {
    /// The value of this type, made by `derive` the first time. It must follow from its owner alone, and be small beside it.
    #[doc(hidden)]
    pub fn get_or<T: Any + Send + Sync>(&self, derive: impl Fn() -> T) -> &T {
        self.find(derive, |_| 0)
    }

    /// As [`get_or`](Self::get_or), for a value that reports the memory it takes itself.
    #[doc(hidden)]
    pub fn get_or_weighed<T: Weighed>(&self, derive: impl Fn() -> T) -> &T {
        self.find(derive, |value| value.downcast_ref().map_or(0, T::bytes))
    }

    /// Bytes that the values take in memory now which say so.
    #[doc(hidden)]
    pub fn bytes(&self) -> usize {
        let Some(slots) = self.0.get() else { return 0 };
        let values = slots.values.iter().filter_map(OnceLock::get);
        values.map(|slot| (slot.weigh)(&*slot.value)).sum::<usize>() + slots.more.bytes()
    }

    fn find<T: Any + Send + Sync>(
        &self,
        derive: impl Fn() -> T,
        weigh: fn(&(dyn Any + Send + Sync)) -> usize,
    ) -> &T {
        let mut derived = self;
        loop {
            let slots = derived.0.get_or_init(Box::default);
            for slot in &slots.values {
                let make = || Slot { of: TypeId::of::<T>(), value: Box::new(derive()), weigh };
                let slot = slot.get_or_init(make);
                if slot.of == TypeId::of::<T>()
                    && let Some(value) = slot.value.downcast_ref()
                {
                    return value;
                }
            }
            derived = &slots.more;
        }
    }
}

impl fmt::Debug for Derived {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Derived")
    }
}

impl Clone for Derived {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for Derived {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
