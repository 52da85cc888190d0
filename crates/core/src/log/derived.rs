//! What stages work out about a message and keep with it.
//!
//! A message never changes, so a hash of it, its telling lines or the marks in it are worked out once,
//! however often a fold looks at it and however many strategies replay the log.

use std::any::Any;
use std::fmt;
use std::sync::OnceLock;

/// Values that follow from a message alone, one of each type.
///
/// Cloning a message starts with none, and two messages are equal whatever was derived from them.
#[derive(Default)]
pub struct Derived(OnceLock<Box<Entry>>);

struct Entry {
    value: Box<dyn Any + Send + Sync>,
    next: Derived,
}

impl Derived {
    /// The value of this type, made by `derive` the first time. It must follow from the message alone.
    pub fn get_or<T: Any + Send + Sync>(&self, derive: impl Fn() -> T) -> &T {
        let mut derived = self;
        loop {
            let entry = derived.0.get_or_init(|| {
                Box::new(Entry { value: Box::new(derive()), next: Self::default() })
            });
            match entry.value.downcast_ref() {
                Some(value) => return value,
                None => derived = &entry.next,
            }
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
