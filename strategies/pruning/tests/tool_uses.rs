//! Which tool uses are cleared: the documented options and examples of Anthropic's context editing, as rows.

use foldback_core::Limits;
use foldback_core::log::{Message, Part};
use foldback_core::moment::Moment;
use foldback_test_support::table;
use foldback_testkit::talk;

type Row = (String, String, String, Vec<usize>, Vec<usize>, bool);

#[test]
fn documented_options_do_what_they_say() {
    let registry =
        talk::registry([&foldback_stages::REGISTRATION, &foldback_pruning::REGISTRATION]);
    let rows: Vec<Row> = table::rows(include_str!("../rows/tool_uses.toml"), "rows");
    for (id, fields, tool, sizes, expected, inputs) in rows {
        let toml = format!(
            "name = \"t\"\nextends = \"anthropic-clear-tool-uses\"\n[estimator]\nuse = \"chars\"\nper_token = 1\n\
             [[pruner]]\nuse = \"clear-tool-uses\"\n{fields}\n"
        );
        let strategy = talk::compiled(&registry, &toml);
        let mut talk = talk::conversation(strategy, Limits::default());
        talk.append(Message::user("u", "u"));
        // A call has six characters in all; where inputs are cleared there is one to clear.
        let input = if inputs || fields.contains("inputs") { "{\"path\":\"src\"}" } else { "{}" };
        for (number, size) in sizes.iter().enumerate() {
            let call = format!("c{number}");
            let called = vec![Part::call(&call, &tool, input)];
            talk.append(Message::assistant(format!("a{number}"), called));
            talk.append(Message::tool(format!("t{number}"), call, &tool, "r".repeat(*size)));
        }
        talk::at(&mut talk, Moment::CallStart);
        let result = |item: usize| talk.history().message(item).parts[0].as_result().is_some();
        let (cleared, emptied): (Vec<usize>, Vec<usize>) =
            talk.view().edits().keys().map(|at| at.item).partition(|item| result(*item));
        let numbers =
            |items: Vec<usize>| items.iter().map(|item| (item - 1) / 2).collect::<Vec<_>>();
        assert_eq!(numbers(cleared), expected, "{id}");
        assert_eq!(numbers(emptied), if inputs { expected } else { Vec::new() }, "{id}");
    }
}
