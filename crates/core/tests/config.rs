//! Strategy files: what is accepted, what is refused, and where each error points.

use crate::support;
use foldback_core::Limits;
use foldback_core::config::{Compiled, ConfigErrors, Document, Options, compile, compile_preset};
use foldback_core::moment::Moment;
use foldback_core::outcome::Why;
use foldback_core::registry::{
    Invalid, PresetDescriptor, Registration, Registry, RegistryError, StageConfig, StageDescriptor,
};
use foldback_core::stage::{
    Decision, Estimator, OverflowPolicy, Pressure, Pruner, Pruning, StageContext,
};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

/// Counts characters.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Letters {
    /// Divisor.
    per_token: u64,
}

impl Default for Letters {
    fn default() -> Self {
        Self { per_token: 4 }
    }
}

impl StageConfig<dyn Estimator> for Letters {
    fn build(self) -> Result<Arc<dyn Estimator>, Invalid> {
        let per_token = self.per_token;
        if per_token == 0 {
            return Err(Invalid::new("per_token", "must be at least 1"));
        }
        Ok(Arc::new(support::Letters { id: "letters".into(), per_token, overhead: 0 }))
    }
}

/// Clears nothing.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Idle {
    /// Tokens that are protected.
    protect_tokens: u64,
    /// Text that stands for what was cleared.
    placeholder: String,
}

impl Pruner for Idle {
    fn moment(&self) -> Moment {
        Moment::TurnStart
    }

    fn prune(&self, _: &StageContext<'_>) -> Pruning {
        Pruning::Nothing(Why::new("idle", self.placeholder.clone()))
    }
}

impl StageConfig<dyn Pruner> for Idle {
    fn build(self) -> Result<Arc<dyn Pruner>, Invalid> {
        Ok(Arc::new(self))
    }
}

/// Folds over a share of the window.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Over {
    /// Switched on.
    auto: bool,
    /// Tokens kept free.
    reserve: u64,
}

impl OverflowPolicy for Over {
    fn moments(&self) -> &'static [Moment] {
        &[Moment::CallStart]
    }

    fn decide(&self, _: &Pressure<'_>) -> Decision {
        Decision::off("never")
    }

    fn refuses(&self, limits: Limits) -> Option<String> {
        (limits.context <= self.reserve).then(|| "nothing could ever fit".to_owned())
    }
}

impl StageConfig<dyn OverflowPolicy> for Over {
    fn build(self) -> Result<Arc<dyn OverflowPolicy>, Invalid> {
        Ok(Arc::new(self))
    }
}

/// Clears what is long.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Strict {
    /// Bytes that are long.
    #[allow(dead_code)]
    over: u64,
    /// Share that stays.
    #[allow(dead_code)]
    keep: foldback_core::config::Share,
}

impl Pruner for Strict {
    fn moment(&self) -> Moment {
        Moment::CallStart
    }

    fn prune(&self, _: &StageContext<'_>) -> Pruning {
        Pruning::Nothing(Why::new("idle", "never"))
    }
}

impl StageConfig<dyn Pruner> for Strict {
    fn build(self) -> Result<Arc<dyn Pruner>, Invalid> {
        Ok(Arc::new(self))
    }
}

const STRICT: &str = r#"name = "strict"
[estimator]
use = "letters"
[[pruner]]
use = "strict"
over = 9
keep = 0.5
"#;

const BASE: &str = r#"name = "base"
description = "what others change"
aliases = ["basis"]

[window]
context = 10_000

[estimator]
use = "letters"
per_token = 4

[[pruner]]
use = "idle"
protect_tokens = 2_000
placeholder = "[cleared]"

[overflow]
use = "over"
auto = true
"#;

const REGISTRATION: Registration = Registration {
    package: "test",
    version: "0",
    stages: &[
        StageDescriptor::estimator::<Letters>("letters", "Counts characters"),
        StageDescriptor::pruner::<Idle>("idle", "Clears nothing"),
        StageDescriptor::pruner::<Strict>("strict", "Has no defaults"),
        StageDescriptor::overflow::<Over>("over", "Folds over a share of the window"),
    ],
    presets: &[
        PresetDescriptor { name: "base", toml: BASE },
        PresetDescriptor { name: "strict", toml: STRICT },
    ],
};

fn registry() -> Registry {
    Registry::from_registrations([&REGISTRATION]).expect("one registration")
}

fn check(text: &str) -> Result<Compiled, ConfigErrors> {
    compile(&registry(), Document::parse("mine.toml", text)?, Options::default())
}

#[test]
fn a_field_without_a_default_is_asked_for_beside_other_errors() {
    let said = |fields: &str| {
        let text = format!(
            "name = \"t\"\n[estimator]\nuse = \"letters\"\n[[pruner]]\nuse = \"strict\"\n{fields}\n"
        );
        check(&text).map_or_else(|errors| errors.to_string(), |_| String::new())
    };
    let keep = "mine.toml:6:8: `pruner[0].keep`: must be a share above 0 and up to 1, e.g. 0.9";
    let over = "mine.toml:4:1: `pruner[0]`: lacks `over`, which `strict` has no default for; \
                say `extends = \"strict\"`, or copy them from `foldback presets strict`";
    assert_eq!(said("over = 9\nkeep = 0.5"), "");
    assert_eq!(said("keep = 0.5"), over);
    assert_eq!(said("keep = 1.5"), format!("{over}\n{keep}"));
    assert_eq!(check("name = \"t\"\nextends = \"strict\"\n").err(), None);
}

#[test]
fn errors_point_at_their_place_and_come_all_at_once() {
    #[derive(Deserialize)]
    struct Table {
        case: Vec<Case>,
    }
    #[derive(Deserialize)]
    struct Case {
        what: String,
        text: String,
        errors: Vec<String>,
    }
    let table: Table = toml::from_str(include_str!("config.toml")).unwrap();
    for Case { what, text, errors: expected } in table.case {
        let errors = check(&text).expect_err(&what);
        let shown: Vec<String> = errors.0.iter().map(ToString::to_string).collect();
        assert_eq!(shown.len(), expected.len(), "{what}: {shown:#?}");
        for (error, expected) in shown.iter().zip(&expected) {
            assert!(error.contains(expected), "{what}:\n  {error}\nlacks\n  {expected}");
        }
    }
}

#[test]
fn a_file_that_extends_says_only_what_changes() {
    let compiled = check(
        "name = \"mine\"\nextends = \"base\"\n[[pruner]]\nuse = \"idle\"\nprotect_tokens = 4_000\n",
    )
    .unwrap();
    let pruner = &compiled.root.get("pruner").unwrap().elements()[0];
    let place = |key: &str| {
        let node = pruner.get(key).unwrap();
        (node.to_value(), node.place.source.to_string(), node.place.line)
    };
    assert_eq!(place("protect_tokens"), (4_000.into(), "mine.toml".to_owned(), 5));
    assert_eq!(place("placeholder"), ("[cleared]".into(), "base".to_owned(), 15));
    assert_eq!(compiled.strategy.preset_limits, Limits::new(10_000, 0));
    assert_eq!(compiled.strategy.user_limits, Limits::default());
    assert_eq!(compiled.strategy.name, "mine");
    assert!(compiled.header.aliases.is_empty(), "aliases are not inherited");
}

#[test]
fn a_section_whose_use_changes_inherits_nothing() {
    let compiled = check("extends = \"base\"\n[overflow]\nuse = \"none\"\n").unwrap();
    assert!(compiled.strategy.overflow.is_none());
    let compiled =
        check("extends = \"base\"\n[[pruner]]\nuse = \"idle\"\nenabled = false\n").unwrap();
    assert!(compiled.strategy.pruners.is_empty());
}

#[test]
fn presets_are_found_by_name_and_alias() {
    for name in ["base", "basis"] {
        let compiled = compile_preset(&registry(), name, Options::default()).unwrap();
        assert_eq!(compiled.strategy.name, "base");
    }
    let error = compile_preset(&registry(), "bass", Options::default()).unwrap_err().to_string();
    assert!(error.contains("did you mean `base`?"), "{error}");
}

#[test]
fn environment_variables_are_read_only_when_asked() {
    let text = "name = \"x\"\nextends = \"base\"\n\
                [[env]]\nname = \"NO_AUTO\"\nsets = \"overflow.auto\"\nto = false\n\
                [[env]]\nname = \"PROTECT\"\nsets = \"pruner.idle.protect_tokens\"\n";
    let env = |name: &str| match name {
        "NO_AUTO" => Some("1".to_owned()),
        "PROTECT" => Some("77".to_owned()),
        _ => None,
    };
    let options = Options { env: Some(&env), ..Options::default() };
    let document = Document::parse("mine.toml", text).unwrap();
    let with = compile(&registry(), document.clone(), options).unwrap();
    let value = |compiled: &Compiled, path: &str| compiled.root.at(path).unwrap().to_value();
    assert_eq!(value(&with, "overflow.auto"), false);
    assert_eq!(value(&with, "pruner[0].protect_tokens"), 77);
    assert_eq!(with.env.len(), 2);
    let without = compile(&registry(), document, Options::default()).unwrap();
    assert_eq!(value(&without, "overflow.auto"), true);
}

#[test]
fn a_circle_of_files_is_refused() {
    let read = |name: &str| match name {
        "a.toml" => Ok("extends = \"b.toml\"\n".to_owned()),
        _ => Ok("extends = \"a.toml\"\n".to_owned()),
    };
    let options = Options { read_file: Some(&read), ..Options::default() };
    let document = Document::parse("a.toml", "extends = \"b.toml\"\n").unwrap();
    let error = compile(&registry(), document, options).unwrap_err().to_string();
    assert!(error.contains("comes back to itself: a.toml -> b.toml -> a.toml"), "{error}");
}

#[test]
fn the_registry_refuses_what_is_ambiguous_or_empty() {
    let other = Registration { package: "other", presets: &[], ..REGISTRATION };
    let error = Registry::from_registrations([&REGISTRATION, &other]).unwrap_err();
    assert!(matches!(&error, RegistryError::Conflict { .. }), "{error}");
    assert!(error.to_string().contains("registered by both"), "{error}");
    assert_eq!(Registry::from_registrations([]).unwrap_err(), RegistryError::Empty);
    assert!(
        Registry::from_registrations([&REGISTRATION, &REGISTRATION]).is_ok(),
        "the same one twice is no conflict"
    );
}

#[test]
fn fields_come_from_the_struct() {
    let registry = registry();
    let stage = registry.stage(foldback_core::registry::StageKind::Pruner, "idle").unwrap();
    let fields = stage.item.fields();
    let names: Vec<(&str, &str, &str)> =
        fields.iter().map(|f| (f.name.as_str(), f.takes.as_str(), f.doc.as_str())).collect();
    assert_eq!(
        names,
        [
            ("protect_tokens", "integer", "Tokens that are protected."),
            ("placeholder", "string", "Text that stands for what was cleared."),
        ]
    );
}
