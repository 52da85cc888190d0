//! `langchain.approximate` beside the real count, message by message.

use crate::differential::{Package, generated, recorded, strategy, told};
use serde_json::json;

#[test]
#[ignore = "needs LangChain: cargo xtask test-external langchain"]
fn messages_count_the_same() {
    let package = Package { name: "langchain", script: "langchain_counts.py" };
    let strategy = strategy("name = \"t\"\nextends = \"langchain-context-editing\"");
    let mut cases = recorded();
    cases.extend(generated(500));
    let answers: Vec<Vec<u64>> = package.answers(&cases, &json!({}));
    let mut wrong = Vec::new();
    for (case, theirs) in cases.iter().zip(answers) {
        for (message, tokens) in case.log.iter().zip(theirs) {
            let ours = strategy.estimator().count(message).total();
            if ours != tokens {
                let told = serde_json::to_string(&told(message)).unwrap();
                let kinds: Vec<&str> =
                    message.parts.iter().map(foldback_core::Part::kind_name).collect();
                wrong.push(format!(
                    "{} {}: {ours}, {tokens} {kinds:?} {told:.300}",
                    case.name, message.id
                ));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} differ:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(20)].join("\n")
    );
}
