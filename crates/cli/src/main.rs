//! The `foldback` command with the strategies that ship with it.

/// The proxy runs for days. With the allocator of glibc, which keeps memory for each thread, it grew by a fifth in one.
#[cfg(feature = "serve")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    foldback_cli::run()
}
