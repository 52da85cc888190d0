//! A conversation that grows: the body of its next request is made by adding to the last.

use crate::ends::Protocol;
use std::fmt::Write as _;

/// Tools, each with a definition of three kilobytes.
const TOOLS: usize = 20;

/// Bytes of a tool's result.
const RESULT: usize = 2_000;

/// The conversation of one agent.
pub(crate) struct Talk {
    protocol: Protocol,
    number: usize,
    calls: usize,
    messages: String,
}

impl Talk {
    /// The conversation of this number, with a history of so many tokens of four bytes.
    pub(crate) fn new(protocol: Protocol, number: usize, tokens: usize) -> Self {
        let messages =
            format!(r#"{{"role":"user","content":"Read all parts of project {number}."}}"#);
        let mut talk = Self { protocol, number, calls: 0, messages };
        while talk.messages.len() < tokens * 4 {
            talk.call();
        }
        talk
    }

    /// The next request: one call and its result more. That of an agent that speaks Messages has the definitions of its
    /// tools, and its cache breakpoint on the newest message.
    pub(crate) fn grown(&mut self) -> String {
        self.call();
        match self.protocol {
            Protocol::Chat => {
                format!(r#"{{"model":"gpt-5.4","messages":[{}],"temperature":1.0}}"#, self.messages)
            }
            Protocol::Messages => {
                let unmarked = self.messages.strip_suffix("}]}").unwrap();
                let text = "What the tool does, when to use it, and when not to. ".repeat(60);
                let tool = format!(
                    r#"{{"name":"tool","description":"{text}","input_schema":{{"type":"object"}}}}"#
                );
                let tools = vec![tool; TOOLS].join(",");
                format!(
                    r#"{{"model":"claude-sonnet-4-5","tools":[{tools}],"messages":[{unmarked},"cache_control":{{"type":"ephemeral"}}}}]}}],"max_tokens":500}}"#
                )
            }
        }
    }

    /// Bytes of its messages.
    pub(crate) fn size(&self) -> usize {
        self.messages.len()
    }

    fn call(&mut self) {
        let Self { protocol, number, calls: call, messages } = self;
        // Writing to a string can't fail.
        let _ = match protocol {
            Protocol::Chat => write!(
                messages,
                r#",{{"role":"assistant","content":"I read part {call}.","tool_calls":[{{"id":"call_{call}","type":"function","function":{{"name":"read","arguments":"{{\"path\":\"src/{number}/part_{call}.rs\"}}"}}}}]}},{{"role":"tool","tool_call_id":"call_{call}","content":""#,
            ),
            Protocol::Messages => write!(
                messages,
                r#",{{"role":"assistant","content":[{{"type":"text","text":"I read part {call}."}},{{"type":"tool_use","id":"call_{call}","name":"read","input":{{"path":"src/{number}/part_{call}.rs"}}}}]}},{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"call_{call}","content":""#,
            ),
        };
        let end = messages.len() + RESULT;
        let mut line = 0;
        while messages.len() < end {
            let _ = write!(messages, r#"    let value_{call}_{line} = \"{number}\";\n"#);
            line += 1;
        }
        messages.push_str(match protocol {
            Protocol::Chat => r#""}"#,
            Protocol::Messages => r#""}]}"#,
        });
        *call += 1;
    }
}
