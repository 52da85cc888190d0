//! Puts the changes that stand beside a store in their places, as SQLite does when the store is closed
//! (<https://www.sqlite.org/fileformat2.html#the_write_ahead_log>).

/// Bytes before the first frame, and before the page of each.
const HEADER: usize = 32;
const FRAME: usize = 24;

/// Takes over every transaction that is whole. A log that is no log, or another store's, changes nothing.
pub(super) fn apply(store: &mut Vec<u8>, log: &[u8]) {
    let Some((header, mut frames)) = log.split_at_checked(HEADER) else { return };
    let big = match word(header, 0) {
        0x377f_0682 => false,
        0x377f_0683 => true,
        _ => return,
    };
    let page = word(header, 8) as usize;
    let mut sum = checksum([0, 0], &header[..24], big);
    let fits = page.is_power_of_two() && (512..=65_536).contains(&page) && page == page_of(store);
    if !fits || sum != [word(header, 24), word(header, 28)] {
        return;
    }
    let mut pending: Vec<(usize, &[u8])> = Vec::new();
    while let Some((frame, rest)) = frames.split_at_checked(FRAME + page) {
        frames = rest;
        sum = checksum(sum, &frame[..8], big);
        sum = checksum(sum, &frame[FRAME..], big);
        // The rest is an earlier log.
        if frame[8..16] != header[16..24] || sum != [word(frame, 16), word(frame, 20)] {
            return;
        }
        pending.push((word(frame, 0) as usize, &frame[FRAME..]));
        // The size of the store in pages, where a transaction ends.
        let pages = word(frame, 4) as usize;
        if pages == 0 {
            continue;
        }
        // A page is there once or in the log: a size beyond both is none.
        if pages > store.len() / page + log.len() / page {
            return;
        }
        store.resize(pages * page, 0);
        for (number, content) in pending.drain(..) {
            let at = number.checked_sub(1).map(|before| before * page);
            if let Some(place) = at.and_then(|at| store.get_mut(at..at + page)) {
                place.copy_from_slice(content);
            }
        }
    }
}

/// The size of a store's pages.
fn page_of(store: &[u8]) -> usize {
    match store.get(16..18) {
        Some([0, 1]) => 65_536,
        Some(size) => usize::from(size[0]) << 8 | usize::from(size[1]),
        None => 0,
    }
}

/// Four bytes, the highest first.
fn word(bytes: &[u8], at: usize) -> u32 {
    bytes[at..at + 4].iter().fold(0, |word, byte| word << 8 | u32::from(*byte))
}

fn checksum([mut one, mut two]: [u32; 2], bytes: &[u8], big: bool) -> [u32; 2] {
    let number = |at: usize| if big { word(bytes, at) } else { word(bytes, at).swap_bytes() };
    for at in (0..bytes.len()).step_by(8) {
        one = one.wrapping_add(number(at)).wrapping_add(two);
        two = two.wrapping_add(number(at + 4)).wrapping_add(one);
    }
    [one, two]
}
