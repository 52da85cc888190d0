//! The agent under every preset: 200 model calls, ten user turns, a window of 64,000 tokens with 4,000
//! of output, against a provider that enforces the window and the pairs of calls and results.
//!
//! What is expected stands in `presets.toml`, with the reason; the transcripts are snapshots. The provider
//! counts four bytes of the request's JSON as a token, which is more than any strategy counts: it sees
//! escapes, ids and roles as well.

use crate::support::model::{self, TURN};
use crate::support::project;
use crate::support::transcript::Transcript;
use crate::support::{WINDOW, agent, work};
use agent_loop::agent::End;
use agent_loop::client;
use agent_loop::setup;
use foldback::Services;
use foldback::live::Stopped;
use foldback::llm::{Client, Keys};
use foldback_fake_provider::FakeProvider;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::sync::Arc;

const CALLS: u64 = 200;

/// What a run is made of.
#[derive(Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Variant {
    /// The preset as it is.
    #[default]
    Preset,
    /// The preset, and a provider to which the output that is asked for does not count.
    InputWindow,
    /// The preset with summaries written by a model.
    Llm,
    /// The preset, asked again when the provider refuses.
    Reactive,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    preset: String,
    #[serde(default)]
    variant: Variant,
    ends: String,
    folds: [u64; 2],
    prunings: [u64; 2],
    why: String,
}

#[derive(Deserialize)]
struct Table {
    run: Vec<Expected>,
}

fn expected() -> Vec<Expected> {
    toml::from_str::<Table>(include_str!("presets.toml")).unwrap().run
}

impl Expected {
    fn name(&self) -> String {
        let variant = match self.variant {
            Variant::Preset => "",
            Variant::InputWindow => "-input-window",
            Variant::Llm => "-llm",
            Variant::Reactive => "-reactive",
        };
        format!("{}{variant}", self.preset)
    }

    /// What is wrong with a run, or nothing.
    fn differs(&self, end: &End, calls: u64, transcript: &Transcript) -> Vec<String> {
        let ends = match end {
            End::Finished => "finished".to_owned(),
            End::Stopped(Stopped::Overflow { why, .. }) => format!("overflow: {}", why.code),
            End::Stopped(Stopped::Provider(error)) => format!("refused: {}", error.kind.as_str()),
            other => return vec![format!("ended with {other:?}")],
        };
        let mut wrong = Vec::new();
        if ends != self.ends {
            wrong.push(format!("ended with {ends}, not {}", self.ends));
        }
        if (ends == "finished") != (calls == CALLS) {
            wrong.push(format!("{calls} model calls"));
        }
        for (what, count, range) in [
            ("folds", transcript.folds(), self.folds),
            ("prunings", transcript.prunings(), self.prunings),
        ] {
            if count < range[0] || count > range[1] {
                wrong.push(format!("{count} {what}, not {range:?}"));
            }
        }
        if transcript.most_folds_in_a_step() > 1 {
            wrong.push("more than one fold between two answers".to_owned());
        }
        // Four mishaps of the provider, and at most one refusal for each fold and one at the end.
        let most = calls + 4 + transcript.folds() + 1;
        if transcript.asked() as u64 > most {
            wrong.push(format!("{} requests, more than {most}", transcript.asked()));
        }
        wrong
    }

    /// The run, and its page.
    async fn run(&self, http: &reqwest::Client) -> (End, u64, Transcript, String) {
        let directory = tempfile::tempdir().unwrap();
        project::write(directory.path());
        let provider = FakeProvider::builder(model::script()).pairs();
        let provider = match self.variant {
            Variant::InputWindow => provider.input_window(WINDOW),
            Variant::Preset | Variant::Llm | Variant::Reactive => provider.window(WINDOW),
        };
        let provider = provider.start().await.unwrap();
        let transcript = Transcript::default();
        let strategy = match self.variant {
            Variant::Llm => {
                setup::compile(&self.name(), &with_llm(&self.preset, &provider.openai_url()))
            }
            Variant::Reactive => setup::compile(&self.name(), &reactive(&self.preset)),
            Variant::Preset | Variant::InputWindow => setup::strategy(&self.preset),
        };
        let mut services = Services::fixed();
        if let Variant::Llm = self.variant {
            let client = Client::new(Keys::new(|_| None)).unwrap();
            services.model = Some(Arc::new(client));
        }
        let conversation = (strategy.unwrap(), services);
        let mut agent = agent(http, &provider, directory.path(), conversation, CALLS, &transcript);
        let end = work(&mut agent, (0..CALLS / TURN).map(model::task)).await;
        let title = format!("{}: {}", self.name(), self.why);
        let page = transcript.page(&title, &agent, &end, &provider.requests());
        (end, agent.calls(), transcript, page)
    }
}

fn with_llm(preset: &str, url: &str) -> String {
    format!(
        "name = \"{preset}-llm\"\nextends = \"{preset}\"\n[summarizer]\nuse = \"llm\"\n\
         provider = \"openai-compatible\"\nbase_url = \"{url}\"\nmodel = \"scripted\"\n\
         context_tokens = {WINDOW}\n"
    )
}

fn reactive(preset: &str) -> String {
    format!(
        "name = \"{preset}-reactive\"\nextends = \"{preset}\"\n\
         [overflow]\nwhen = [\"call-start\", \"provider-overflow\"]\n"
    )
}

#[test]
fn every_preset_is_expected() {
    let registry = foldback::registry().unwrap();
    let shipped: BTreeSet<&str> = registry.presets().map(|preset| preset.item.name).collect();
    let rows = expected();
    let plain = rows.iter().filter(|row| row.variant == Variant::Preset);
    let plain: Vec<&str> = plain.map(|row| &*row.preset).collect();
    let expected: BTreeSet<&str> = plain.iter().copied().collect();
    assert_eq!(expected, shipped);
    assert_eq!(expected.len(), plain.len(), "a preset stands twice in the table");
}

/// Runs every `PARTS`th row, from this one on.
fn runs_end_as_expected(part: usize) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let http = client::http().unwrap();
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let mut wrong = Vec::new();
    for row in expected().iter().skip(part).step_by(PARTS) {
        let (end, calls, transcript, page) = runtime.block_on(row.run(&http));
        let differs = row.differs(&end, calls, &transcript);
        if differs.is_empty() {
            settings.bind(|| insta::assert_snapshot!(row.name(), page));
        } else {
            wrong.push(format!("{}: {}\n{page}", row.name(), differs.join("; ")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Tests that share the rows: they run at the same time.
const PARTS: usize = 4;

#[test]
fn runs_of_the_first_part_end_as_expected() {
    runs_end_as_expected(0);
}

#[test]
fn runs_of_the_second_part_end_as_expected() {
    runs_end_as_expected(1);
}

#[test]
fn runs_of_the_third_part_end_as_expected() {
    runs_end_as_expected(2);
}

#[test]
fn runs_of_the_fourth_part_end_as_expected() {
    runs_end_as_expected(3);
}
