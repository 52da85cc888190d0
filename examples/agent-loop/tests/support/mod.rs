//! A scripted model at work on a generated project, and what can be told about a run.

pub(crate) mod model;
pub(crate) mod project;
pub(crate) mod transcript;

use agent_loop::agent::{Agent, End};
use agent_loop::client::{Client, Target};
use agent_loop::retry::Retry;
use agent_loop::setup::{self, SYSTEM};
use agent_loop::tools::Tools;
use foldback::{Limits, Services, Strategy};
use foldback_fake_provider::FakeProvider;
use std::path::Path;
use transcript::Transcript;

/// The window of all runs.
pub(crate) const WINDOW: u64 = 64_000;
/// The output limit of all runs.
pub(crate) const OUTPUT: u32 = 4_000;

/// An agent against a provider, in a directory; it never really waits. The HTTP client belongs to the
/// runtime that it is first used on.
pub(crate) fn agent(
    http: &reqwest::Client,
    provider: &FakeProvider,
    directory: &Path,
    conversation: (Strategy, Services),
    max_calls: u64,
    transcript: &Transcript,
) -> Agent {
    let tools = Tools::new(directory.to_owned(), true);
    let limits = Limits::new(WINDOW, u64::from(OUTPUT));
    let (strategy, services) = conversation;
    let context = setup::context(strategy, limits, &tools, services).unwrap();
    let target = Target {
        base_url: provider.openai_url(),
        model: "scripted".to_owned(),
        max_output: OUTPUT,
    };
    let key = "sk-test".to_owned();
    let client = Client::new(http.clone(), target, key, SYSTEM, &tools.definitions()).unwrap();
    let retry = Retry { pause: |_| Box::pin(std::future::ready(())), ..Retry::default() };
    Agent::new(client, tools, context, max_calls, transcript.sink()).with_retry(retry)
}

/// Task after task until the agent can't go on, or there is none left.
pub(crate) async fn work(agent: &mut Agent, tasks: impl IntoIterator<Item = String>) -> End {
    let mut end = End::Finished;
    for task in tasks {
        end = agent.turn(&task).await;
        if end != End::Finished {
            break;
        }
    }
    end
}
