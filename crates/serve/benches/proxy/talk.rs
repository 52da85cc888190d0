//! A conversation that grows: the body of its next request is made by adding to the last.

use std::fmt::Write as _;

/// Bytes of a tool's result.
const RESULT: usize = 2_000;

/// The conversation of one agent, in the protocol of OpenAI's chat.
pub(crate) struct Talk {
    number: usize,
    calls: usize,
    messages: String,
}

impl Talk {
    /// The conversation of this number, with a history of so many tokens of four bytes.
    pub(crate) fn of(number: usize, tokens: usize) -> Self {
        let messages =
            format!(r#"{{"role":"user","content":"Read all parts of project {number}."}}"#);
        let mut talk = Self { number, calls: 0, messages };
        while talk.messages.len() < tokens * 4 {
            talk.call();
        }
        talk
    }

    /// The next request: one call and its result more.
    pub(crate) fn grown(&mut self) -> String {
        self.call();
        format!(r#"{{"model":"m","messages":[{}],"temperature":1.0}}"#, self.messages)
    }

    /// Bytes of its messages.
    pub(crate) fn size(&self) -> usize {
        self.messages.len()
    }

    fn call(&mut self) {
        let Self { number, calls: call, messages } = self;
        // Writing to a string can't fail.
        let _ = write!(
            messages,
            r#",{{"role":"assistant","content":"I read part {call}.","tool_calls":[{{"id":"call_{call}","type":"function","function":{{"name":"read","arguments":"{{\"path\":\"src/{number}/part_{call}.rs\"}}"}}}}]}},{{"role":"tool","tool_call_id":"call_{call}","content":""#,
        );
        let end = messages.len() + RESULT;
        let mut line = 0;
        while messages.len() < end {
            let _ = write!(messages, r#"    let value_{call}_{line} = \"{number}\";\n"#);
            line += 1;
        }
        messages.push_str(r#""}"#);
        *call += 1;
    }
}
