//! The command: an agent in a directory, against any OpenAI-compatible endpoint.

use agent_loop::agent::{Agent, End};
use agent_loop::client::{self, Client, Target};
use agent_loop::setup::{self, SYSTEM};
use agent_loop::tools::Tools;
use clap::Parser;
use foldback::live::SystemClock;
use foldback::{Limits, Services};
use std::io::BufRead;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

/// A tool-using agent whose context is kept small by foldback.
#[derive(Debug, Parser)]
#[command(name = "agent-loop")]
struct Args {
    /// The directory to work in.
    dir: PathBuf,
    /// How the context is kept small: a preset (`foldback presets` lists them) or a strategy file.
    #[arg(long, default_value = "window")]
    preset: String,
    /// Where the OpenAI protocol is spoken.
    #[arg(long, default_value = "https://api.openai.com/v1/")]
    base_url: String,
    /// The model as the endpoint spells it.
    #[arg(long)]
    model: String,
    /// The variable that holds the key; it may be unset for servers that want none.
    #[arg(long, default_value = "OPENAI_API_KEY")]
    key_variable: String,
    /// The model's window in tokens.
    #[arg(long, default_value_t = 128_000)]
    context: u64,
    /// Most tokens of an answer.
    #[arg(long, default_value_t = 4_000)]
    max_output: u32,
    /// Most requests to the model.
    #[arg(long, default_value_t = 200)]
    max_calls: u64,
    /// Lets the model run shell commands, with your rights and unasked.
    #[arg(long)]
    run: bool,
    /// What to do; may be given more than once. Without it every line of the input is a task.
    #[arg(long)]
    task: Vec<String>,
}

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let result = match runtime {
        Ok(runtime) => runtime.block_on(run(Args::parse())),
        Err(error) => Err(error.to_string()),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            eprintln!("agent-loop: {error}");
            ExitCode::from(2)
        }
    }
}

async fn run(args: Args) -> Result<ExitCode, String> {
    let tools = Tools::new(args.dir, args.run);
    let strategy = setup::strategy(&args.preset)?;
    let limits = Limits::new(args.context, u64::from(args.max_output));
    // Only a strategy file that says `use = "llm"` has its summaries written by a model.
    let model = foldback::llm::Client::from_env().map_err(|error| error.to_string())?;
    let services = Services::with_clock(Arc::new(SystemClock)).with_model(Arc::new(model));
    let context = setup::context(strategy, limits, &tools, services)?;
    let target = Target { base_url: args.base_url, model: args.model, max_output: args.max_output };
    let key = std::env::var(&args.key_variable).unwrap_or_default();
    let http = client::http().map_err(|error| error.to_string())?;
    let client = Client::new(http, target, key, SYSTEM, &tools.definitions());
    let client = client.map_err(|error| error.to_string())?;
    let print = |event: agent_loop::event::Event<'_>| {
        if let Some(line) = event.line() {
            println!("{line}");
        }
    };
    let mut agent = Agent::new(client, tools, context, args.max_calls, Box::new(print));
    if !args.task.is_empty() {
        return turns(&mut agent, args.task.into_iter().map(Ok)).await;
    }
    turns(&mut agent, std::io::stdin().lock().lines()).await
}

async fn turns(
    agent: &mut Agent,
    tasks: impl Iterator<Item = std::io::Result<String>>,
) -> Result<ExitCode, String> {
    for task in tasks {
        let task = task.map_err(|error| format!("the input can't be read: {error}"))?;
        if task.trim().is_empty() {
            continue;
        }
        match agent.turn(&task).await {
            End::Finished => {}
            End::OutOfCalls => return Err("the model was asked as often as it may be".to_owned()),
            End::Stopped(why) => return Err(why.to_string()),
        }
    }
    Ok(ExitCode::SUCCESS)
}
