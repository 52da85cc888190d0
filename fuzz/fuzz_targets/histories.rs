#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| foldback_fuzz_targets::run("histories", data));
