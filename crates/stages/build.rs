//! Takes the tokens of the vocabularies out of `bpe-openai`, in the order of their numbers, and compresses them: 2 MB. The
//! automata that the crate itself embeds are 47 MB, of which a count needs nothing.

use bpe_openai::Tokenizer;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::io::{Result, Write};
use std::path::Path;

fn main() -> Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let out = std::env::var_os("OUT_DIR").unwrap_or_default();
    let out = Path::new(&out);
    std::fs::write(out.join("o200k.tokens"), tokens(bpe_openai::o200k_base())?)?;
    std::fs::write(out.join("cl100k.tokens"), tokens(bpe_openai::cl100k_base())?)
}

/// How many tokens there are, their lengths, a byte each, and their bytes.
fn tokens(tokenizer: &Tokenizer) -> Result<Vec<u8>> {
    let count = tokenizer.bpe.num_tokens() as u32;
    let all = || (0..count).map(|token| tokenizer.bpe.token_bytes(token));
    let mut written = ZlibEncoder::new(Vec::new(), Compression::best());
    written.write_all(&count.to_le_bytes())?;
    for token in all() {
        let length = u8::try_from(token.len()).expect("no token has 256 bytes");
        written.write_all(&[length])?;
    }
    for token in all() {
        written.write_all(token)?;
    }
    written.finish()
}
