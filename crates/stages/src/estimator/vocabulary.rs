//! The vocabularies that are embedded.

/// A vocabulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vocabulary {
    /// `o200k_base`: GPT-4o and later.
    O200k,
    /// `cl100k_base`: GPT-4, GPT-3.5 Turbo.
    Cl100k,
}

impl Vocabulary {
    /// The name that configuration and ids use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::O200k => "o200k",
            Self::Cl100k => "cl100k",
        }
    }
}
