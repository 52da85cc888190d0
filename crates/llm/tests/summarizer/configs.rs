//! The section as it is configured: values that are refused, ids, every preset with it.

use foldback_core::registry::{Registry, StageConfig, StageKind};
use foldback_core::stage::Summarizer;
use foldback_llm::{LlmConfig, LlmSummarizer};
use foldback_test_support::table;
use foldback_testkit::talk;

pub(super) fn registry() -> Registry {
    let llm = [&foldback_llm::REGISTRATION];
    talk::registry(foldback::registrations().into_iter().chain(llm))
}

#[test]
fn every_preset_compiles_with_it() {
    let registry = registry();
    let mut checked = 0;
    for preset in registry.presets() {
        let name = preset.item.name;
        if !preset.item.toml.contains("[summarizer]") || name == "drop-oldest" {
            continue;
        }
        for (model, more) in [
            ("claude-haiku-4-5", ""),
            ("gpt-5-mini", "on_failure = \"extractive\"\n"),
            ("qwen3:8b", "base_url = \"http://localhost:11434/v1/\"\ntemperature = 0.0\n"),
        ] {
            let toml = format!(
                "name = \"mine\"\nextends = \"{name}\"\n\
                 [summarizer]\nuse = \"llm\"\nmodel = \"{model}\"\n{more}"
            );
            let label = talk::compiled(&registry, &toml).label();
            assert!(label.starts_with(&format!("mine+llm({model} v7")), "{name}: {label}");
        }
        checked += 1;
    }
    assert!(checked >= 7, "{checked} presets with a summarizer");
}

#[test]
fn every_field_says_what_it_means() {
    let registry = registry();
    let stage = registry.stage(StageKind::Summarizer, "llm").unwrap();
    let fields = stage.item.fields();
    assert_eq!(fields.len(), 17);
    for field in fields {
        assert!(field.doc.len() > 20, "{}: {}", field.name, field.doc);
    }
}

#[test]
fn values_that_are_refused_as_a_table() {
    let cases: Vec<[String; 2]> = table::rows(include_str!("configs.toml"), "refused");
    for [toml, path] in &cases {
        let config: LlmConfig = toml::from_str(toml).expect(toml);
        let invalid = config.build().map(|_| ()).expect_err(toml);
        assert_eq!(invalid.path, *path, "{toml}: {}", invalid.message);
        assert!(!invalid.message.contains("hunter2"), "{}", invalid.message);
    }
    assert!(toml::from_str::<LlmConfig>("modle = 'x'").is_err());
    let whole = "provider = 'openai'\nmodel = 'x'\nbudget_usd = 0.5\nkey_variable = 'MY_KEY'";
    let config: LlmConfig = toml::from_str(whole).unwrap();
    assert_eq!(config.budget_usd(), Some(0.5));
    assert!(config.build().is_ok());
}

#[test]
fn providers_as_a_table() {
    let cases: Vec<[String; 2]> = table::rows(include_str!("configs.toml"), "providers");
    for [toml, provider] in cases {
        let config: LlmConfig = toml::from_str(&toml).unwrap();
        assert_eq!(config.endpoint().unwrap().provider, provider, "{toml}");
    }
}

/// Caches of summaries are keyed by the id: settings that change a text change the id, others don't.
#[test]
fn ids_tell_settings_apart() {
    let id = |toml: &str| {
        let config: LlmConfig = toml::from_str(toml).expect(toml);
        LlmSummarizer::new(config).expect(toml).id().to_owned()
    };
    let plain = id("");
    assert_eq!(plain, "llm(claude-haiku-4-5 v7)");
    for same in [
        "provider = 'anthropic'",
        "timeout_seconds = 5\nattempts = 1\nmemo = 0",
        "budget_usd = 1.0\nkey_variable = 'MY_KEY'",
        "provider = 'anthropic'\nbase_url = 'http://localhost/v1/'",
    ] {
        assert_eq!(id(same), plain, "{same}");
    }
    let [one, other] = ["http://localhost:1/v1/", "http://elsewhere/"]
        .map(|url| id(&format!("model = 'qwen3:8b'\nbase_url = '{url}'")));
    assert_eq!(one, other, "a recording replayed elsewhere has the same name");
    let mut seen = vec![plain];
    for other in [
        "model = 'claude-sonnet-4-5'",
        "provider = 'openrouter'",
        "provider = 'openai-compatible'\nbase_url = 'http://localhost/v1/'",
        "temperature = 0.0",
        "temperature = 1.0",
        "max_output_tokens = 2048",
        "context_tokens = 100000",
        "max_request_bytes = 1000",
        "tool_output_max = 0",
        "max_chunks = 2",
        "replicate = 1",
    ] {
        let id = id(other);
        assert!(id.len() < 48 && id.starts_with("llm(claude-"), "{id}");
        assert!(!seen.contains(&id), "{other}: {id}");
        seen.push(id);
    }
}
