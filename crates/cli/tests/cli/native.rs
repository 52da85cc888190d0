//! What providers compact themselves goes through every command, in both protocols that have it, with its bytes.

use crate::common::{line, run, write};
use crate::serve::{ask, start};
use foldback_fake_provider::{Background, Reply};
use foldback_test_support::deadline::deadline;
use serde_json::{Value, json};
use std::sync::mpsc;

/// A recording whose provider compacted after 10 of 30 calls.
struct Recording {
    format: &'static str,
    /// The request's path at the provider.
    path: &'static str,
    /// The request, one message or item a line.
    text: String,
    /// The line with what the provider compacted.
    block: String,
    /// An answer with one more compaction.
    answer: String,
}

/// A result that a model would look at again.
fn output(call: usize) -> String {
    format!("src/part_{call}.rs:\n{}", format!("fn part_{call}() {{ todo!() }}\n").repeat(30))
}

/// A spelling that no library writes.
fn odd(value: &Value) -> String {
    value.to_string().replacen(':', " : ", 1).replace("SoFar", "So f\\u0061r")
}

fn anthropic() -> Recording {
    let mut records = vec![json!({"role": "user", "content": "Fix all parts."})];
    for call in 0..30 {
        let input = json!({"path": format!("src/part_{call}.rs")});
        let mut content = vec![
            json!({"type": "tool_use", "id": format!("c{call}"), "name": "read", "input": input}),
        ];
        let size = 1_000 + 300 * (call % 10);
        let mut usage = json!({"input_tokens": size, "output_tokens": 50});
        if call == 10 {
            content.insert(
                0,
                json!({"type": "compaction", "content": "SoFar: ten parts.", "signature": "c2ln"}),
            );
            usage["iterations"] = json!([
                {"type": "compaction", "input_tokens": 4_100, "output_tokens": 350},
                {"type": "message", "input_tokens": size, "output_tokens": 50},
            ]);
        }
        records.push(json!({"role": "assistant", "content": content, "usage": usage}));
        let result = json!({"type": "tool_result", "tool_use_id": format!("c{call}"), "content": output(call)});
        records.push(json!({"role": "user", "content": [result]}));
    }
    let edits = r#"{"edits": [{"type": "compact_20260112"}]}"#;
    let answer = json!({
        "type": "message", "role": "assistant", "model": "claude-sonnet-4-6", "stop_reason": "end_turn",
        "content": [{"type": "compaction", "content": "All parts."}, {"type": "text", "text": "Done."}],
        "usage": {"input_tokens": 900, "output_tokens": 10, "iterations": [{"type": "compaction", "input_tokens": 1_000_000, "output_tokens": 0}]},
        "context_management": {"applied_edits": []},
    });
    Recording::of("anthropic", "/v1/messages", "messages", edits, &records, &answer)
}

fn responses() -> Recording {
    let mut records = vec![json!({"role": "user", "content": "Fix all parts."})];
    for call in 0..30 {
        if call == 10 {
            records
                .push(json!({"type": "compaction", "id": "cmp_1", "encrypted_content": "SoFar"}));
        }
        let arguments = json!({"path": format!("src/part_{call}.rs")}).to_string();
        let id = format!("c{call}");
        records.push(
            json!({"type": "function_call", "call_id": id, "name": "read", "arguments": arguments}),
        );
        records
            .push(json!({"type": "function_call_output", "call_id": id, "output": output(call)}));
    }
    let threshold = r#"[{"type": "compaction", "compact_threshold": 200000}]"#;
    let answer = json!({
        "id": "resp_1", "object": "response", "status": "completed", "model": "gpt-5.2",
        "output": [
            {"type": "compaction", "id": "cmp_2", "encrypted_content": "c2ln"},
            {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]},
        ],
        "usage": {"input_tokens": 900, "output_tokens": 10, "total_tokens": 910},
    });
    Recording::of("openai-responses", "/v1/responses", "input", threshold, &records, &answer)
}

impl Recording {
    fn of(
        format: &'static str,
        path: &'static str,
        list: &str,
        managed: &str,
        records: &[Value],
        answer: &Value,
    ) -> Self {
        let model = if format == "anthropic" { "claude-sonnet-4-6" } else { "gpt-5.2" };
        let lines: Vec<String> = records.iter().map(odd).collect();
        let block = lines.iter().find(|line| line.contains("f\\u0061r")).unwrap().clone();
        let text = format!(
            "{{\"model\": \"{model}\", \"context_management\": {managed},\n\"{list}\": [\n{}\n]}}\n",
            lines.join(",\n")
        );
        Self { format, path, text, block, answer: odd(answer) }
    }
}

#[test]
fn what_a_provider_compacted_goes_through_every_command() {
    for recording in [anthropic(), responses()] {
        let Recording { format, text, block, .. } = &recording;
        let folder = tempfile::tempdir().unwrap();
        let file = write(folder.path(), "session.json", text);
        // It is a compaction of the recorder's.
        let inspected = line(&format!("inspect {file}")).done().stdout;
        assert!(inspected.contains(&format!("format        {format}\n")), "{inspected}");
        assert!(inspected.contains("boundary      "), "{inspected}");
        assert!(!inspected.contains("warning"), "{inspected}");
        let compared = line(&format!(
            "compare {file} --preset indexed --window 8000 --max-output 1000 --store=none --json -"
        ));
        let compared: Value = serde_json::from_str(&compared.done().stdout).unwrap();
        assert_eq!(
            compared["corpus"]["sessions"][0]["boundaries"], 1,
            "{}",
            compared["corpus"]["sessions"][0]
        );
        // Nothing is done, and every byte stays, there and back.
        let none = line(&format!("compact {file} --preset none")).done();
        assert_eq!(none.stdout, *text, "{}", none.stderr);
        let same = run(&["convert", "-", "-", "--to", format], text, &[]).done();
        assert_eq!(same.stdout, *text, "{}", same.stderr);
        let kept = run(&["convert", "-", "-", "--to", "foldback"], text, &[]).done();
        assert!(!kept.stderr.contains("compaction"), "{}", kept.stderr);
        let back = run(&["convert", "-", "-", "--to", format], &kept.stdout, &[]).done();
        assert!(back.stdout.contains("\"compaction\""), "{}", back.stdout);
        // Another provider does not take it, which is said.
        let other = if *format == "anthropic" { "openai-responses" } else { "anthropic" };
        let converted = run(&["convert", "-", "-", "--to", other], text, &[]).done();
        let said = "1 message that the recorder's compaction wrote: ";
        assert!(converted.stderr.contains(said), "{}", converted.stderr);
        assert!(!converted.stdout.contains("ompaction"), "{}", converted.stdout);
        // A fold of the whole log stands for it as well.
        let folded =
            line(&format!("compact {file} --preset indexed --window 8000 --max-output 1000"))
                .done();
        assert!(!folded.stdout.contains(block.as_str()), "{}", folded.stdout);
        assert!(!folded.stderr.contains("break"), "{}", folded.stderr);
    }
}

#[test]
fn what_a_provider_compacts_goes_through_the_proxy() {
    let _deadline = deadline();
    for recording in [anthropic(), responses()] {
        let Recording { path, text, block, answer, .. } = recording;
        let reply = Reply::raw(200, "application/json", &answer);
        let (tell, told) = mpsc::channel();
        let provider = Background::start(move |request| {
            tell.send(request.text.clone()).unwrap();
            reply.clone()
        });
        let provider = provider.unwrap();
        let upstream = provider.url();
        // Wide enough for all, and so narrow that what follows is folded.
        for (window, folds) in [("400k", false), ("4k", true)] {
            let args = ["--preset", "tiered", "--window", window, "--max-output", "500"];
            let (mut proxy, address, _) = start(&[&args[..], &["--upstream", &upstream]].concat());
            let got = ask(&address, &format!("POST {path}"), "", &text).unwrap();
            assert!(got.contains(&answer), "{got}");
            let sent = told.recv().unwrap();
            assert_eq!(sent != text, folds, "{got}");
            // It and what stands before it are the provider's: they stay where they are, as they are.
            let until = text.find(&block).unwrap() + block.len();
            assert_eq!(sent.get(..until), text.get(..until), "{sent}");
            let metrics = ask(&address, "GET /metrics", "", "").unwrap();
            let usd = metrics
                .lines()
                .find_map(|line| line.strip_prefix("foldback_proxy_sent_usd_total{"));
            let usd = usd.and_then(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
            // A million tokens of its iterations, at $3.
            let expected = if path == "/v1/messages" { 3.0..3.1 } else { 0.001..0.1 };
            assert!(usd.is_some_and(|usd| expected.contains(&usd)), "{usd:?}: {metrics}");
            proxy.kill().unwrap();
            proxy.wait().unwrap();
        }
    }
}
