#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| foldback_tests::fuzz::run("strategy", data));
