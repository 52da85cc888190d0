//! The size of images in the measure: by the rule of Anthropic's documentation, `width · height / 750` tokens after
//! scaling down to 1,568 pixels of the longer edge, and 1,600 at most.
//!
//! Without it an image is free, so clearing one gains nothing, and its recorded size is taken for text. The size
//! is in the head of a PNG; where it can't be read there (other kinds, URLs, bytes that a recorder left out) an
//! image counts with the maximum size. Other files count nothing: the size of a page of a document depends on
//! its text. The estimators of the presets remain those of their originals.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use foldback_core::log::{Counts, Media, Message, Part, PartKind};
use foldback_core::stage::Estimator;
use std::sync::Arc;

/// Pixels that the longer edge is scaled down to.
const EDGE: u64 = 1_568;

/// Pixels to a token.
const PIXELS: u64 = 750;

/// Tokens that an image weighs at most, and where its size is not known.
const MOST: u64 = 1_600;

/// An estimator, plus the size of images.
#[derive(Clone, Debug)]
pub struct WithImages {
    inner: Arc<dyn Estimator>,
    id: Arc<str>,
}

impl WithImages {
    /// Adds the weight of images to an estimator.
    pub fn new(inner: Arc<dyn Estimator>) -> Self {
        let id = format!("{} +images", inner.id()).into();
        Self { inner, id }
    }
}

impl Estimator for WithImages {
    fn id(&self) -> &Arc<str> {
        &self.id
    }

    fn text(&self, text: &str) -> u64 {
        self.inner.text(text)
    }

    fn part(&self, part: &Part, shown: &str) -> u64 {
        let files = match &part.kind {
            // Clearing a result takes its files along.
            PartKind::Result(result) if shown != result.text => &[],
            _ => files(part),
        };
        self.inner.part(part, shown) + files.iter().map(weight).sum::<u64>()
    }

    fn result(&self, shown: &str) -> Option<u64> {
        self.inner.result(shown)
    }

    fn overhead(&self, message: &Message) -> u64 {
        self.inner.overhead(message)
    }

    fn per_request(&self) -> u64 {
        self.inner.per_request()
    }

    /// Where there is no image, the counts of the estimator without them, which a preset may have made.
    fn counts<'m>(&self, message: &'m Message) -> &'m Counts {
        match message.parts.iter().flat_map(files).any(is_image) {
            true => message.counts.get_or_count(&self.id, || self.count(message)),
            false => self.inner.counts(message),
        }
    }
}

/// The files of a part.
fn files(part: &Part) -> &[Media] {
    match &part.kind {
        PartKind::File(file) => std::slice::from_ref(file),
        PartKind::Result(result) => &result.media,
        _ => &[],
    }
}

fn is_image(file: &Media) -> bool {
    file.mime.starts_with("image/")
}

/// Tokens of a file: an image counts by its size, any other file counts none.
fn weight(file: &Media) -> u64 {
    if !is_image(file) {
        return 0;
    }
    let Some((width, height)) = size(&file.url) else { return MOST };
    let longer = width.max(height).max(1);
    let scaled = |edge: u64| if longer > EDGE { edge * EDGE / longer } else { edge };
    (scaled(width) * scaled(height)).div_ceil(PIXELS).min(MOST)
}

/// Characters of base64 that hold the head of a PNG up to its size: 24 bytes.
const HEAD: usize = 32;

/// Width and height of a PNG in base64, with or without `data:` before it.
fn size(url: &str) -> Option<(u64, u64)> {
    let data = url.split_once(";base64,").map_or(url, |(_, data)| data);
    let head = BASE64_STANDARD.decode(data.get(..HEAD)?).ok()?;
    let edge = |at: usize| {
        let bytes: [u8; 4] = head.get(at..at + 4)?.try_into().ok()?;
        Some(u64::from(u32::from_be_bytes(bytes)))
    };
    let is_png = head.starts_with(b"\x89PNG\r\n\x1a\n") && head.get(12..16)? == b"IHDR";
    if is_png { edge(16).zip(edge(20)) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foldback_core::log::{Role, ToolResult};
    use foldback_stages::estimator::o200k;

    /// The head of a PNG of this size.
    fn png(width: u32, height: u32) -> String {
        let mut head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        head.extend(width.to_be_bytes());
        head.extend(height.to_be_bytes());
        head.extend([8, 6, 0, 0, 0, 1, 2, 3, 4]);
        BASE64_STANDARD.encode(head)
    }

    fn file(mime: &str, url: &str) -> Media {
        Media { mime: mime.to_owned(), url: url.to_owned(), name: None }
    }

    #[test]
    fn weights() {
        let table = [
            ("a button", file("image/png", &png(116, 88)), 14),
            (
                "a data URL",
                file("image/png", &format!("data:image/png;base64,{}", png(1_000, 750))),
                1_000,
            ),
            ("a strip is scaled down: 1,568 by 491", file("image/png", &png(2_047, 642)), 1_027),
            ("a page", file("image/png", &png(1_568, 1_568)), 1_600),
            ("no pixel", file("image/png", &png(0, 0)), 0),
            ("not a PNG", file("image/jpeg", "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAMCAgMCAgM"), 1_600),
            ("elsewhere", file("image/*", "https://example.org/a.png"), 1_600),
            ("no base64", file("image/png", "ü".repeat(40).as_str()), 1_600),
            ("a document", file("application/pdf", "JVBERi0xLjc"), 0),
        ];
        for (name, file, tokens) in table {
            assert_eq!(weight(&file), tokens, "{name}");
        }
    }

    #[test]
    fn an_image_goes_with_the_result_that_is_cleared() {
        let measure = WithImages::new(Arc::new(o200k()));
        let result = ToolResult {
            text: "shot".to_owned(),
            media: vec![file("image/png", &png(750, 10))],
            ..ToolResult::default()
        };
        let part = Part::new(PartKind::Result(result));
        assert_eq!(measure.part(&part, "shot"), 1 + 10);
        assert_eq!(measure.part(&part, "gone"), 1);
        let image = Part::new(PartKind::File(file("image/png", &png(750, 10))));
        assert_eq!(measure.part(&image, ""), 10);
        assert_eq!(measure.id().as_ref(), "o200k +3/message +images");
    }

    #[test]
    fn a_message_without_images_is_counted_once_for_both_estimators() {
        let inner: Arc<dyn Estimator> = Arc::new(o200k());
        let measure = WithImages::new(Arc::clone(&inner));
        let said = Message::new("m", Role::User, vec![Part::text("twelve words")]);
        assert!(std::ptr::eq(measure.counts(&said), inner.counts(&said)));
        let image = Part::new(PartKind::File(file("image/png", &png(750, 10))));
        let shown = Message::new("m", Role::User, vec![image]);
        assert_eq!(measure.counts(&shown).total(), inner.counts(&shown).total() + 10);
    }
}
