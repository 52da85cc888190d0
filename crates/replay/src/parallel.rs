//! Work on all threads, in the order of its results.
//!
//! Everything goes through one instance of rayon's machinery: it is as much code for each type that it is made for as a
//! module of this crate.

use crate::fault::{carried, is_inside};
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// The results of `make` for all items, in their order.
pub fn in_parallel<I: Sync, T: Send>(items: &[I], make: impl Fn(&I) -> T + Sync) -> Vec<T> {
    let made: Vec<Mutex<Option<T>>> = items.iter().map(|_| Mutex::default()).collect();
    let is_inside = is_inside();
    each(items.len(), &|at| {
        let one = carried(is_inside, || make(&items[at]));
        *made[at].lock().unwrap_or_else(PoisonError::into_inner) = Some(one);
    });
    let made = made.into_iter().map(|one| one.into_inner().unwrap_or_else(PoisonError::into_inner));
    made.flatten().collect()
}

/// The results of `make` for all items, in their order. Once it failed, no further item is begun.
///
/// # Errors
///
/// `make` failed.
pub fn try_in_parallel<I: Sync, T: Send, E: Send>(
    items: &[I],
    make: impl Fn(&I) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    let failed = AtomicBool::new(false);
    let made = in_parallel(items, |item| {
        if failed.load(Ordering::Relaxed) {
            return None;
        }
        let made = make(item);
        failed.fetch_or(made.is_err(), Ordering::Relaxed);
        Some(made)
    });
    made.into_iter().flatten().collect()
}

/// One item at a time and the first ones first, so that a long one at the beginning holds up nothing.
fn each(count: usize, work: &(dyn Fn(usize) + Sync)) {
    (0..count).into_par_iter().with_max_len(1).for_each(work);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_have_the_order_of_their_items_and_a_failure_is_told() {
        let items: Vec<usize> = (0..1000).collect();
        assert_eq!(in_parallel(&items, |item| *item), items);
        assert_eq!(try_in_parallel(&items, |item| Ok::<_, usize>(*item)), Ok(items.clone()));
        let odd = |item: &usize| if item.is_multiple_of(2) { Ok(*item) } else { Err(*item) };
        assert_eq!(try_in_parallel(&items, odd).map_err(|item| item % 2), Err(1));
    }
}
