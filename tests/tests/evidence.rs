//! What `kept` is worth against answers of a model: 2,400 questions to views that a summary stands in, of which it is known
//! whether the model answered right (`tests/evidence`).
//!
//! The facts stand in results before and after the cut of the original, the summary has those that the original's had, and
//! the laboratory says what of them a call that names one finds in the view.

use async_trait::async_trait;
use foldback_core::services::Services;
use foldback_core::stage::{Summarizer, Summary, SummaryError, SummaryRequest};
use foldback_replay::availability::Availability;
use foldback_replay::index::Index;
use foldback_replay::probe::{Moment, Own};
use foldback_replay::retention::Retention;
use foldback_replay::stats::Share;
use foldback_replay::{Preset, replay, replay_with};
use foldback_tests::{Script, lab, options};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A question, and what the original's view and model made of it.
struct Question {
    arm: String,
    fixture: String,
    age: usize,
    literal: String,
    /// The message of the fact.
    message: usize,
    /// The first message that stayed.
    cut: usize,
    in_summary: bool,
    right: bool,
}

fn read(name: &str) -> String {
    std::fs::read_to_string(lab::root().join(name))
        .unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn questions() -> Vec<Question> {
    let text = read("tests/evidence/answers.tsv");
    let rows = text.lines().filter(|line| !line.starts_with('#')).skip(1);
    let number = |text: &str| text.parse::<usize>().unwrap();
    let question = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let [arm, fixture, _, age, literal, message, cut, in_summary, right] = fields[..] else {
            panic!("{line}");
        };
        Question {
            arm: arm.to_owned(),
            fixture: fixture.to_owned(),
            age: number(age),
            literal: literal.to_owned(),
            message: number(message),
            cut: number(cut),
            in_summary: in_summary == "1",
            right: right == "1",
        }
    };
    rows.map(question).collect()
}

/// Says what the original's summary had of what is asked for.
#[derive(Debug)]
struct Told(String);

#[async_trait]
impl Summarizer for Told {
    fn id(&self) -> &str {
        "told"
    }

    async fn summarize(
        &self,
        request: &SummaryRequest,
        _: &Services,
    ) -> Result<Summary, SummaryError> {
        let tokens = request.estimator.text(&self.0);
        Ok(Summary { text: self.0.clone(), tokens, by: "told".into(), usage: None, lacks: None })
    }
}

/// Calls in front of the facts, so that the view is folded once: it never again holds as many messages.
const BEFORE: usize = 300;
/// Calls between the facts and the questions, so that all facts are far.
const AFTER: usize = 4;

/// What each question finds in the view: whether the literal is there as `probe` looks for it, and what both judges say.
fn found(questions: &[&Question]) -> Vec<(bool, Retention)> {
    let mut script = Script::default();
    script.user("Keep what is found.");
    let idle = |script: &mut Script, calls: usize| {
        for _ in 0..calls {
            script.call("", &[("wait", "{}", "nothing so far")]);
        }
    };
    idle(&mut script, BEFORE);
    // Facts in the order of their messages; several of one message are one result.
    let mut facts: BTreeMap<usize, BTreeSet<&str>> = BTreeMap::new();
    for question in questions {
        facts.entry(question.message).or_default().insert(&question.literal);
    }
    for literals in facts.values() {
        let lines: Vec<String> = literals.iter().map(|it| format!("so it is: {it}\n")).collect();
        script.call("", &[("look", "{}", &lines.concat())]);
    }
    idle(&mut script, AFTER);
    for question in questions {
        let arguments = serde_json::json!({ "value": question.literal }).to_string();
        script.call("", &[("answer", &arguments, "noted")]);
    }
    let session = script.session();
    let calls = BEFORE + facts.len() + AFTER;
    let stay = facts.keys().filter(|message| **message >= questions[0].cut).count() + AFTER;
    // A policy by number of messages, and a filter that keeps as many as the original did.
    let toml = format!(
        "name = \"cut\"\nextends = \"langchain-summarization\"\n\
         [overflow]\nuse = \"openhands.pressure\"\nwhen = [\"call-start\"]\n\
         max_size = {}\nwindow = false\n\
         [filter]\nuse = \"langchain.summary\"\nkeep_messages = {}\ntrim_tokens = 0\nsummary_tokens = 100000\n",
        2 * calls + 1,
        2 * stay,
    );
    let mut strategy = lab::compiled("cut", &toml);
    let said = questions.iter().filter(|question| question.in_summary);
    let told: Vec<&str> = said.map(|question| question.literal.as_str()).collect();
    strategy.summarizer = Some(Arc::new(Told(format!("Noted:\n{}", told.join("\n")))));
    let preset = Preset::new(strategy, "cut".to_owned());
    let (index, options) = (Arc::new(Index::new(&session)), options(1_000_000, 1_000));
    let mut availability = Availability::new(Arc::clone(&index));
    let replayed =
        replay_with(&session, &index, &preset.strategy, &options, &mut [&mut availability]);
    assert_eq!(replayed.metrics.compactions, 1, "{}", questions[0].fixture);
    let judged = availability.finish().calls.split_off(calls);
    // Before the first question says its literal.
    let moment = Moment::before(&session, calls).unwrap();
    let view = moment.view(&preset, &lab::setup(1_000_000, 1_000));
    let line =
        |literal: &str| serde_json::json!({ "question": "?", "answer": literal }).to_string();
    let lines: Vec<String> = questions.iter().map(|question| line(&question.literal)).collect();
    let asked = Own::read(&lines.join("\n")).unwrap().about("", &moment);
    asked.iter().map(|question| view.has(question)).zip(judged).collect()
}

/// How often something says the same as the answers, of how many questions that it says something of.
#[derive(Clone, Copy, Default)]
struct Agreement {
    same: u64,
    of: u64,
}

impl Agreement {
    fn count(&mut self, says: bool, right: bool) {
        self.of += 1;
        self.same += u64::from(says == right);
    }

    /// With the interval of Wilson at 95 %, in percent.
    fn line(self) -> String {
        if self.of == 0 {
            return "–".to_owned();
        }
        let (z, n, p) = (1.959_964_f64, self.of as f64, self.same as f64 / self.of as f64);
        let middle = (p + z * z / (2.0 * n)) / (1.0 + z * z / n);
        let half = z / (1.0 + z * z / n) * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
        let percent = |share: f64| format!("{:.1}", 100.0 * share);
        let (lo, hi) = (percent((middle - half).max(0.0)), percent((middle + half).min(1.0)));
        format!("{}/{} ({lo}–{hi})", self.same, self.of)
    }
}

#[derive(Default)]
struct Line {
    questions: u64,
    right: u64,
    in_view: u64,
    literal: Agreement,
    kept: Agreement,
    verbatim: Agreement,
}

impl Line {
    fn count(&mut self, question: &Question, (in_view, found): (bool, &Retention)) {
        self.questions += 1;
        self.right += u64::from(question.right);
        self.in_view += u64::from(in_view);
        self.literal.count(in_view, question.right);
        let judged = |agreement: &mut Agreement, share: Share| {
            if share.needed > 0 {
                agreement.count(share.kept == share.needed, question.right);
            }
        };
        judged(&mut self.kept, found.obs_far);
        judged(&mut self.verbatim, found.pieces_far);
    }

    fn cells(&self) -> String {
        let percent = |count: u64| 100.0 * count as f64 / self.questions as f64;
        format!(
            "{:.1} | {:.1} | {} | {} | {} |",
            percent(self.right),
            percent(self.in_view),
            self.literal.line(),
            self.kept.line(),
            self.verbatim.line(),
        )
    }
}

/// The pages have the rows that these questions and the definitions give.
#[test]
fn what_is_kept_agrees_with_what_a_model_answered() {
    let questions = questions();
    let mut fixtures: BTreeMap<(&str, &str), Vec<&Question>> = BTreeMap::new();
    for question in &questions {
        fixtures.entry((&question.arm, &question.fixture)).or_default().push(question);
    }
    let names = [("pi", "pi's own summary"), ("text", "a summary"), ("dense", "a dense summary")];
    let mut all = Line::default();
    let mut by_arm: BTreeMap<&str, Line> = BTreeMap::new();
    let mut by_age: BTreeMap<(&str, usize), Line> = BTreeMap::new();
    for ((arm, _), asked) in &fixtures {
        for (question, (in_view, judged)) in asked.iter().copied().zip(found(asked)) {
            // Ten ages in the first set, five in the other: 0 to 4, 5, 6 to 9; each by itself.
            let age = match (*arm, question.age) {
                ("pi", 0..=4) => 0,
                ("pi", 6..) => 2,
                ("pi", _) => 1,
                (_, age) => age,
            };
            for line in
                [&mut all, by_arm.entry(arm).or_default(), by_age.entry((arm, age)).or_default()]
            {
                line.count(question, (in_view, &judged));
            }
        }
    }
    let mut rows = vec![format!("| all | | {}", all.cells())];
    for (arm, name) in names {
        rows.push(format!("| {name} | all | {}", by_arm[arm].cells()));
        for ((_, age), line) in by_age.range((arm, 0)..=(arm, 9)) {
            let age = match (arm, *age) {
                ("pi", 0) => "oldest half",
                ("pi", 1) => "next tenth",
                ("pi", _) => "newest four tenths",
                (_, age) => ["first fifth", "second", "third", "fourth", "last"][age],
            };
            rows.push(format!("| {name} | {age} | {}", line.cells()));
        }
    }
    println!("{}", rows.join("\n"));
    let literal = all.literal;
    assert_eq!((literal.same, literal.of), (2_389, 2_400));
    // All of them stand beside the data, some on the page.
    let table = |name: &str| {
        let page = read(name);
        let lines = page.lines().skip_while(|line| !line.starts_with("| summary | age"));
        let rows = lines.skip(2).take_while(|line| line.starts_with('|'));
        rows.map(str::to_owned).collect::<Vec<String>>()
    };
    assert_eq!(table("tests/evidence/README.md"), rows);
    let thousands = |count: u64| format!("{},{:03}", count / 1_000, count % 1_000);
    let (same, of) = (thousands(all.kept.same), thousands(all.kept.of));
    assert!(read("README.md").contains(&format!("agrees with {same} of {of} answers")));
    let some = table("docs/evidence.md");
    assert!(some.contains(&rows[0]) && some.iter().all(|row| rows.contains(row)), "{some:#?}");
}

/// The arms of the study are strategies that act when its processors do: before which calls, a turn being one call.
#[test]
fn the_arms_of_the_study_act_when_its_processors_do() {
    const CALLS: usize = 90;
    let mut script = Script::default();
    script.user("Mend what is broken.");
    for call in 0..CALLS {
        let arguments = format!("{{\"path\":\"src/part_{call}.rs\"}}");
        script.call("on", &[("read", &arguments, &foldback_tests::file("part", 4_000))]);
    }
    let (session, options) = (script.session(), options(1_000_000, 1_000));
    let folder = lab::root().join("examples/complexity-trap");
    let mut names = BTreeSet::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let strategy = lab::compiled(&name, &std::fs::read_to_string(&path).unwrap());
        assert_eq!(strategy.name, name);
        let replayed = replay(&session, &Arc::new(strategy), &options);
        let rows = replayed.rows.iter().filter(|row| !row.fired.is_empty());
        let acted: Vec<usize> = rows.map(|row| row.call).collect();
        let numbers: Vec<usize> = name.split('-').skip(1).map(|it| it.parse().unwrap()).collect();
        let expected: Vec<usize> = match (name.split('-').next().unwrap(), &numbers[..]) {
            // All but the newest go before every call.
            ("mask" | "omit", [newest]) => (newest + 1..CALLS).collect(),
            // So many turns go at once where as many are there besides the newest.
            ("summary", [turns, newest]) => (turns + newest..CALLS).step_by(*turns).collect(),
            _ => panic!("{name}"),
        };
        assert_eq!(acted, expected, "{name}");
        names.insert(name);
    }
    // Those of the tables, and the preset.
    let table = read("tests/evidence/figures.tsv");
    let arms = table.lines().skip(1).filter_map(|line| line.split('\t').next());
    let known = |arm: &str| ["none", "masking-10"].contains(&arm) || names.contains(arm);
    assert_eq!(arms.filter(|arm| known(arm)).count(), names.len() + 2);
}

/// Rank correlations, pairs, areas and summaries are what the extracts give.
#[foldback_needs::judge]
#[test]
fn the_tables_are_what_the_extracts_give() {
    unittest("tests/evidence", "test_evidence");
}

/// What beats `indexed`, and the sums of rows that its page compares (`tests/indexed`).
#[foldback_needs::judge]
#[test]
fn what_beats_another_preset_is_told() {
    unittest("tests/indexed", "test_indexed");
}

fn unittest(folder: &str, module: &str) {
    let mut python = std::process::Command::new("python3");
    python.args(["-B", "-m", "unittest", module]);
    let output = python.current_dir(lab::root().join(folder)).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
