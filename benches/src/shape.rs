//! A seeded coding session: a user message every ten turns, one tool call per turn, tool outputs whose
//! length is log-normal.
//!
//! Ten turns are 22 messages (the question, ten calls with their results, the answer) and about 5,000
//! tokens by four characters each; a task and its acknowledgment stand in front. Made from integers
//! and a seed alone, so that every run and every library sees the same text.

use foldback_core::log::{Finish, Message, Part};
use foldback_formats::Session;
use foldback_formats::session::{Shape, Source};
use foldback_replay::stats::SplitMix64;
use std::sync::{Arc, LazyLock};

/// Turns of the sessions that figures are given for, with their messages: 222, 1,102, 2,202 and 11,002.
pub const TURNS: [usize; 4] = [100, 500, 1_000, 5_000];

/// Turns between two messages of the user.
const TURNS_PER_QUESTION: usize = 10;

/// Median length of a tool output in characters, and the deviation of its logarithm.
const MEDIAN_OUTPUT: f64 = 1_020.0;
const OUTPUT_SIGMA: f64 = 1.1;

/// Where harnesses commonly cut a tool output.
const LONGEST_OUTPUT: usize = 30_000;

const SEED: u64 = 0x5EED_F01D_BAC4;

const TOOLS: [&str; 6] = ["read_file", "bash", "grep", "read_file", "edit_file", "bash"];

static WORDS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    "fn let self return match if else for in while parser token buffer offset request response \
     session config index value error result stream handler cache render layout cursor commit \
     branch status length config_path read_line write_all to_string unwrap_or_default Option<usize> \
     Vec<String> HashMap"
        .split(' ')
        .collect()
});

const MARKS: [&str; 8] = [" ", " ", " ", ", ", "(", ") ", " = ", ": "];

/// Messages of a session with so many turns.
pub const fn messages_in(turns: usize) -> usize {
    2 + 2 * turns + 2 * turns.div_ceil(TURNS_PER_QUESTION)
}

/// The messages of a session with so many turns, their tokens not counted yet.
pub fn messages(turns: usize) -> Vec<Arc<Message>> {
    let mut writer =
        Writer { rng: Text(SplitMix64::new(SEED)), out: Vec::with_capacity(messages_in(turns)) };
    writer.user(600);
    writer.answer(200, Finish::Stop);
    for turn in 0..turns {
        if turn % TURNS_PER_QUESTION == 0 {
            writer.user(240);
        }
        writer.step(turn);
        if turn % TURNS_PER_QUESTION == TURNS_PER_QUESTION - 1 || turn + 1 == turns {
            writer.answer(320, Finish::Stop);
        }
    }
    writer.out
}

/// The same messages as new ones: nothing is counted, whoever counted the others.
pub fn uncounted(messages: &[Arc<Message>]) -> Vec<Arc<Message>> {
    messages.iter().map(|message| Arc::new(Message::clone(message))).collect()
}

/// A session of these messages.
pub fn session(messages: Vec<Arc<Message>>) -> Session {
    let source = Source { text: "".into(), shape: Shape::Lines, records: Default::default() };
    let mut session = Session::new("shape", "foldback", source);
    session.messages = messages;
    session
}

struct Writer {
    rng: Text,
    out: Vec<Arc<Message>>,
}

impl Writer {
    fn id(&self) -> String {
        format!("message-{}", self.out.len())
    }

    fn user(&mut self, length: usize) {
        let text = self.rng.prose(length);
        self.out.push(Arc::new(Message::user(self.id(), text)));
    }

    fn answer(&mut self, length: usize, finish: Finish) {
        let text = self.rng.prose(length);
        self.assistant(vec![Part::text(text)], finish);
    }

    /// One turn: a sentence and a call, and what the tool gave.
    fn step(&mut self, turn: usize) {
        let tool = TOOLS[turn % TOOLS.len()];
        let call = format!("call-{turn}");
        let path = format!("src/{}/{}.rs", self.rng.word(), self.rng.word());
        let arguments = serde_json::json!({ "path": path, "pattern": self.rng.prose(40) });
        let text = self.rng.prose(80);
        self.assistant(
            vec![Part::text(text), Part::call(&*call, tool, arguments.to_string())],
            Finish::ToolCalls,
        );
        let length = self.rng.output_length();
        let output = self.rng.code(length);
        let result = Message::tool(self.id(), call, tool, output);
        self.out.push(Arc::new(result));
    }

    fn assistant(&mut self, parts: Vec<Part>, finish: Finish) {
        let mut message = Message::assistant(self.id(), parts);
        if let Some(answer) = &mut message.answer {
            answer.finish = Some(finish);
        }
        self.out.push(Arc::new(message));
    }
}

/// Random text.
struct Text(SplitMix64);

impl Text {
    fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    fn pick<'t>(&mut self, from: &[&'t str]) -> &'t str {
        from[(self.next() % from.len() as u64) as usize]
    }

    fn word(&mut self) -> &'static str {
        self.pick(&WORDS[10..32])
    }

    /// Uniform in 0 to 1.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Near enough to normal: twelve uniforms less their mean have variance one.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }

    fn output_length(&mut self) -> usize {
        let length = MEDIAN_OUTPUT * (OUTPUT_SIGMA * self.normal()).exp();
        (length as usize).clamp(1, LONGEST_OUTPUT)
    }

    /// Words with spaces between them.
    fn prose(&mut self, length: usize) -> String {
        let mut out = String::with_capacity(length + 16);
        while out.len() < length {
            out.push_str(self.word());
            out.push(' ');
        }
        out.truncate(length);
        out
    }

    /// Lines that tokenize like source code and its search results.
    fn code(&mut self, length: usize) -> String {
        let mut out = String::with_capacity(length + 80);
        let mut line = 1;
        while out.len() < length {
            let indent = self.next() % 4 * 4;
            out.push_str(&format!("{line:>5}: {:indent$}", "", indent = indent as usize));
            for _ in 0..4 + self.next() % 8 {
                out.push_str(self.pick(&WORDS));
                out.push_str(self.pick(&MARKS));
            }
            out.push_str(";\n");
            line += 1;
        }
        out.truncate(length);
        out
    }
}
