//! Sessions from outlines have the sizes of the sessions that they stand for.

use foldback_test_support::outline::filler;

#[test]
fn filler_has_the_size_that_the_outline_gives() {
    // The outline, and the units and bytes of the text.
    let rows =
        [("0:12", 12, 12), ("7:3:9", 3, 9), ("7:3:8", 3, 8), ("12:50:51", 50, 51), ("3:1:2", 1, 2)];
    for (outline, units, bytes) in rows {
        let text = filler(outline).unwrap_or_default();
        assert_eq!((text.encode_utf16().count(), text.len()), (units, bytes), "{outline}");
    }
    assert_eq!(filler("1:2:9"), None, "no text has so many bytes");
    assert_ne!(filler("1:9"), filler("2:9"));
}
