//! The `foldback` command with the strategies that ship with it.

fn main() -> std::process::ExitCode {
    foldback_cli::run()
}
