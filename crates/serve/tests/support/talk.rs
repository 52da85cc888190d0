//! An agent's conversation, request by request: what it sends before each answer of the model, and what the model
//! answers.

use super::{Proxy, http, outcome};
use foldback::core::log::{Answer, Finish, Message, Part};
use foldback::wire::{self, Dialect};
use foldback_fake_provider::{Call, Reply};
use serde_json::{Value, json};
use std::sync::Arc;

/// A task with so many calls of the model; every 25th ends a turn.
pub(crate) fn task(calls: usize) -> Vec<Arc<Message>> {
    let mut log = vec![Message::user("u", "Fix the build of the parser.")];
    for call in 0..calls {
        if call % 25 == 24 {
            let answer = Answer { finish: Some(Finish::Stop), ..Answer::default() };
            let said = vec![Part::text(format!("Part {call} is done."))];
            log.push(Message::assistant(format!("a{call}"), said).with_answer(answer));
            log.push(Message::user(format!("u{call}"), format!("Now fix part {call}, too.")));
            continue;
        }
        let answer = Answer { finish: Some(Finish::ToolCalls), ..Answer::default() };
        let id = format!("call_{call}");
        let arguments = json!({"path": format!("src/part_{call}.rs")}).to_string();
        let parts =
            vec![Part::text(format!("I read part {call}.")), Part::call(&id, "read", arguments)];
        log.push(Message::assistant(format!("a{call}"), parts).with_answer(answer));
        let lines =
            (0..20 + call % 40).map(|line| format!("let value_{call}_{line} = {line}; // é\n"));
        log.push(Message::tool(format!("t{call}"), &id, "read", lines.collect::<String>()));
    }
    log.into_iter().map(Arc::new).collect()
}

/// The messages before each answer, and the answer.
pub(crate) fn calls(log: &[Arc<Message>]) -> Vec<(&[Arc<Message>], &Arc<Message>)> {
    let answers = log.iter().enumerate().filter(|(_, message)| message.is_answer());
    answers.map(|(at, answer)| (&log[..at], answer)).collect()
}

/// An answer as the stand-in for providers gives it.
pub(crate) fn reply(answer: &Message) -> Reply {
    let calls = answer.parts.iter().filter_map(|part| part.as_call());
    let calls = calls.map(|call| Call::new(&call.call_id, &call.tool, call.arguments_value()));
    let text = answer.said();
    Reply::answer(foldback_fake_provider::Answer {
        text,
        calls: calls.collect(),
        ..Default::default()
    })
}

/// Messages of a recorded session, the recorder's own compactions undone, as a request of a protocol has them: ids and
/// records are its own, and nothing tells of usage.
pub(crate) fn recorded(file: &str, dialect: Dialect) -> Vec<Arc<Message>> {
    let file = std::fs::read(foldback_test_support::sessions().join(file)).unwrap();
    let sessions = foldback_formats::read(&file, None).unwrap();
    let log: Vec<_> = sessions[0].log().map(Arc::clone).collect();
    let sent = wire::Request::parse(dialect, body(dialect, &log)).unwrap();
    let finished = |message: &Arc<Message>| {
        let mut message = Message::clone(message);
        let calls = message.call_ids().next().is_some();
        if let Some(answer) = &mut message.answer {
            answer.finish = Some(if calls { Finish::ToolCalls } else { Finish::Stop });
        }
        Arc::new(message)
    };
    sent.messages().iter().map(finished).collect()
}

/// The path of a protocol.
pub(crate) fn path(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Anthropic => "/v1/messages",
        Dialect::OpenAiChat => "/v1/chat/completions",
        Dialect::OpenAiResponses => "/v1/responses",
        Dialect::Gemini => "/v1beta/models/m-1:generateContent",
    }
}

/// The path and the body of a request, made to ask for a stream.
pub(crate) fn streamed(dialect: Dialect, body: &str) -> (&'static str, String) {
    match dialect {
        Dialect::Gemini => ("/v1beta/models/m-1:streamGenerateContent?alt=sse", body.to_owned()),
        _ => (path(dialect), body.replacen("{ ", "{ \"stream\" : true, ", 1)),
    }
}

/// The member of a request with its messages.
pub(crate) fn list(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::OpenAiResponses => "input",
        Dialect::Gemini => "contents",
        _ => "messages",
    }
}

/// The body of a request with these messages.
pub(crate) fn body(dialect: Dialect, log: &[Arc<Message>]) -> String {
    let messages: Vec<Message> = log.iter().map(|message| Message::clone(message)).collect();
    let messages = wire::messages(dialect, &messages, &mut Vec::new());
    spelt(dialect, &messages)
}

/// The model that is asked. No table knows it.
pub(crate) const MODEL: &str = "m-1";

/// The body of a request, in a spelling that no library writes.
pub(crate) fn spelt(dialect: Dialect, messages: &[Value]) -> String {
    let messages: Vec<String> = messages.iter().map(|message| format!("\n  {message}")).collect();
    let list = list(dialect);
    let tools = r#"[ {"name" : "read"} ]"#;
    // Gemini's paths name the model.
    let named = match dialect {
        Dialect::Gemini => String::new(),
        _ => format!("\"model\" : \"{MODEL}\", \"max_tokens\" : 500,\n "),
    };
    format!(
        "{{ {named}\"tools\" : {tools}, \"{list}\" : [{} ] , \"temperature\" : 1.0 }}\n",
        messages.join(" ,")
    )
}

/// Sends a body through a proxy; what the proxy did, and the status.
pub(crate) async fn send(proxy: &Proxy, dialect: Dialect, body: String) -> (String, u16) {
    send_to(proxy, path(dialect), body).await
}

/// Sends a body to a path.
pub(crate) async fn send_to(proxy: &Proxy, path: &str, body: String) -> (String, u16) {
    let url = format!("{}{path}", proxy.url);
    let response = http().post(url).body(body).send().await.unwrap();
    let answered = (outcome(&response), response.status().as_u16());
    response.bytes().await.unwrap();
    answered
}
