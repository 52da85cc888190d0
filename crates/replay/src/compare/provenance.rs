//! The inputs and the program of a comparison: what must be the same to reproduce its figures.

use crate::read::corpus::ContentHash;
use crate::rows::study::Names;
use schemars::JsonSchema;
use serde::Serialize;

/// The inputs and the program of a comparison. Two with the same `version`, `configuration` and `inputs` have the same
/// figures, apart from `reporting` and answers of models.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Provenance {
    /// Version of foldback.
    pub version: String,
    /// Command line, without options that only say where and how results are shown; `null` where no command
    /// made it.
    pub command: Option<String>,
    /// Hash of the command line, by which rows name it; `null` where no command made it.
    pub command_hash: Option<String>,
    /// Hash of limits, model tables, prices, estimator and the merged configuration of every preset.
    pub configuration: String,
    /// Hash of the content of all sources, in whatever order they came and whatever they are called.
    pub inputs: String,
}

impl Provenance {
    /// Says which command line made it.
    pub fn made_by(&mut self, command: Option<String>) {
        self.command_hash = command.as_ref().map(|line| short(blake3::hash(line.as_bytes())));
        self.command = command;
    }

    /// Version and hashes, in words.
    pub fn made(&self) -> String {
        let Self { version, configuration, inputs, .. } = self;
        format!("Made by foldback {version}: configuration {configuration}, inputs {inputs}")
    }

    /// `names` tells the results of a study from those of others, `contents` are hashes of what was read.
    pub(super) fn new(names: &Names, contents: impl IntoIterator<Item = ContentHash>) -> Self {
        let mut contents: Vec<[u8; 32]> = contents.into_iter().map(Into::into).collect();
        contents.sort_unstable();
        contents.dedup();
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            command: None,
            command_hash: None,
            configuration: short(names.hash()),
            inputs: short(blake3::hash(contents.as_flattened())),
        }
    }
}

/// The hash of a file's bytes as outputs print it.
pub fn short_hash(bytes: &[u8]) -> String {
    short(blake3::hash(bytes))
}

/// The first 16 hexadecimal digits of a BLAKE3 hash: long enough to identify, short enough to print.
pub(crate) fn short(hash: ContentHash) -> String {
    hash.to_hex()[..16].to_owned()
}
