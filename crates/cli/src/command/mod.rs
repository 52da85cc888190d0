//! One module per command.

mod agent_settings;
mod audit;
mod cache;
mod check;
mod compact;
pub(crate) mod compare;
mod completions;
mod convert;
mod explain;
mod hook;
mod inspect;
mod man;
#[cfg(feature = "mcp")]
mod mcp;
mod presets;
#[cfg(feature = "llm")]
mod probe;
mod recommend;
mod schema;
mod score;
#[cfg(feature = "serve")]
mod serve;
mod setup;
mod snapshot;
mod stages;
mod trial;
mod tune;

use crate::args::Command;
use crate::error::Error;
use crate::output;

/// Runs a command. Outputs that can't be written, or that would take the place of something else, are refused before
/// anything is computed.
pub(crate) fn run(command: Command) -> Result<(), Error> {
    output::check(&command.outputs(), command.writes_sessions())?;
    match command {
        Command::Compare(args) => compare::run(&args),
        Command::Audit(args) => audit::run(args),
        Command::Compact(args) => compact::run(&args),
        Command::Convert(args) => convert::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Hook => hook::run(),
        Command::Inspect(args) => inspect::run(args),
        #[cfg(feature = "mcp")]
        Command::Mcp(args) => mcp::run(&args),
        #[cfg(not(feature = "mcp"))]
        Command::Mcp(_) => Err(Error::left_out("`foldback mcp`", "mcp")),
        Command::Presets(args) => presets::run(&args),
        #[cfg(feature = "llm")]
        Command::Probe(args) => probe::run(&args),
        #[cfg(not(feature = "llm"))]
        Command::Probe(_) => Err(Error::left_out("`foldback probe`", "llm")),
        Command::Recommend(args) => recommend::run(&args),
        Command::Score(args) => score::run(&args),
        Command::Schema(args) => schema::run(&args),
        #[cfg(feature = "serve")]
        Command::Serve(args) => serve::run(&args),
        #[cfg(not(feature = "serve"))]
        Command::Serve(_) => Err(Error::left_out("`foldback serve`", "serve")),
        Command::Setup(args) => setup::run(&args),
        Command::Snapshot(args) => snapshot::run(&args),
        Command::Stages(args) => stages::run(&args),
        Command::Trial(args) => trial::run(&args),
        Command::Tune(args) => tune::run(&args),
        Command::Cache(args) => cache::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
    }
}
