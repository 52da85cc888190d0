//! Data that stages derive from a message or a history and keep with it.
//!
//! A message never changes, so a hash of it, its telling lines or the marks in it are derived once,
//! however often a fold looks at it and however many strategies replay the log. A history only grows, so
//! it is never read twice.

use std::any::{Any, TypeId};
use std::fmt;
use std::sync::OnceLock;

/// Values that follow from a message or a history alone, one of each type.
///
/// A clone starts with none, and two messages are equal whatever was derived from them.
#[derive(Default)]
pub struct Derived(OnceLock<Box<Slots>>);

/// A few values side by side, so that finding one reads one place of memory and not a chain of them.
#[derive(Default)]
struct Slots {
    values: [OnceLock<(TypeId, Box<dyn Any + Send + Sync>)>; 6],
    more: Derived,
}

impl Derived {
    /// The value of this type, made by `derive` the first time. It must follow from its owner alone.
    pub fn get_or<T: Any + Send + Sync>(&self, derive: impl Fn() -> T) -> &T {
        let mut derived = self;
        loop {
            let slots = derived.0.get_or_init(Box::default);
            for slot in &slots.values {
                let (of, value) = slot.get_or_init(|| (TypeId::of::<T>(), Box::new(derive())));
                if *of == TypeId::of::<T>()
                    && let Some(value) = value.downcast_ref()
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
