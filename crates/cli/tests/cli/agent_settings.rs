//! `foldback recommend --for`: the table of agents' settings, what is advised, and that taking it out leaves the file as it was.

use crate::common::{Ran, planted, run};
use foldback_core::Limits;
use foldback_core::config::{Options, compile_preset};
use foldback_replay::tune::agents;
use std::collections::BTreeMap;
use std::path::Path;

/// Runs it in a home of its own.
fn recommend(home: &Path, args: &str) -> Ran {
    let moved = [
        "CLAUDE_CONFIG_DIR",
        "CODEX_HOME",
        "XDG_CONFIG_HOME",
        "OPENCODE_CONFIG_DIR",
        "PI_CODING_AGENT_DIR",
        "QWEN_HOME",
        "KIMI_CODE_HOME",
        "USERPROFILE",
        "XDG_STATE_HOME",
    ];
    let mut env = vec![("HOME", home.to_str().unwrap())];
    env.extend(moved.map(|name| (name, "")));
    let args: Vec<&str> = ["recommend"].into_iter().chain(args.split_whitespace()).collect();
    run(&args, "", &env)
}

/// What is in the table exists in the presets and is what the agents take.
#[test]
fn every_setting_is_a_field_of_its_preset() {
    let registry = foldback::registry().unwrap();
    let limits = Limits { context: 1_000_000, input: 0, output: 32_000 };
    let agents = agents::embedded().unwrap();
    assert_eq!(agents.len(), 8);
    for agent in agents.iter().filter(|agent| !agent.settings.is_empty()) {
        let name = &agent.name;
        let made = agent.candidates(&registry, &BTreeMap::new(), limits, Options::default());
        let (candidates, rejected) = made.unwrap_or_else(|why| panic!("{name}: {why}"));
        assert!(rejected.is_empty(), "{name}: {rejected:?}");
        assert!(candidates.len() > 4, "{name}");
        assert!(agent.changed(&candidates[0]).is_empty());
        assert!(candidates[1..].iter().all(|one| !agent.changed(one).is_empty()), "{name}");
        let preset = compile_preset(&registry, &agent.preset, Options::default()).unwrap();
        let preset = preset.root.to_value();
        for setting in &agent.settings {
            let values = setting.tries.iter().chain(&setting.default);
            for value in values {
                assert!(setting.takes(value), "{name}: {} = {value}", setting.key);
                assert_eq!(setting.to_setting(&setting.to_field(value)), *value);
            }
            let field = format!("/{}", setting.field.replace('.', "/"));
            // Its preset stands for another agent.
            if let (Some(own), Some(default), true) =
                (preset.pointer(&field), &setting.default, name != "qwen-code")
            {
                assert_eq!(own, default, "{name}: {}", setting.key);
            }
        }
    }
}

/// Sessions in which a lower limit of Kimi Code saves, at the price of what it forgets.
const CHEAPER: &str = "--for kimi-code --window 16000 --max-output 2000 --store=none";

#[test]
fn what_is_advised_is_written_and_taken_out() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let sessions = planted(home, 40);
    let file = home.join(".kimi-code/config.toml");
    let before = "# mine\ndefault_model = \"kimi\"\n";
    std::fs::create_dir(home.join(".kimi-code")).unwrap();
    std::fs::write(&file, before).unwrap();
    let read = || std::fs::read_to_string(&file).unwrap();

    let advised = format!("{sessions} {CHEAPER} --budget keep=0.3");
    let told = recommend(home, &advised).done().stdout;
    assert_eq!(read(), before, "nothing is written yet");
    insta::assert_snapshot!(told.replace(home.to_str().unwrap(), "~"));

    recommend(home, &format!("{advised} --write")).done();
    assert!(read().contains("\nloop_control.compaction_trigger_ratio = 0.6\n"), "{}", read());
    // It is the present setting now, and nothing is better.
    let again = recommend(home, &format!("{advised} --write")).done().stdout;
    assert!(again.contains("Leave it as it is: no value"), "{again}");
    assert!(again.contains("compaction_trigger_ratio is 0.6; tried were"), "{again}");
    let removed = recommend(home, "--for kimi-code --remove").done().stdout;
    assert!(removed.starts_with("taken out of "), "{removed}");
    assert_eq!(read(), before);
    let removed = recommend(home, "--for kimi-code --remove").done().stdout;
    assert!(removed.starts_with("nothing to take out of "), "{removed}");
}

#[test]
fn settings_stay_where_nothing_is_better() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let sessions = planted(home, 8);
    let four = "tests/four-sessions --store=none";
    let rows = [
        // What saves forgets too much.
        (format!("{sessions} {CHEAPER}"), "no value that keeps enough is cheaper"),
        (format!("{sessions} --store=none --for codex"), "no session came near a limit"),
        (format!("{four} --for pi --window 60000"), "is not cheaper beyond noise"),
        (
            format!("{four} --for pi --window 60000"),
            "not tried: 3 configurations, the first pi-today[reserve=100000",
        ),
        (format!("{four} --for cline"), "Cline has no setting for this"),
    ];
    for (args, says) in rows {
        let ran = recommend(home, &format!("{args} --write")).done();
        let words: Vec<&str> = ran.stdout.split_whitespace().collect();
        assert!(words.join(" ").contains(says), "{args}: {}", ran.stdout);
        assert!(!ran.stdout.contains("written"), "{args}: {}", ran.stdout);
    }
    let settings = [".codex", ".pi", ".kimi-code"].map(|name| home.join(name).exists());
    assert_eq!(settings, [false; 3], "nothing is written");
}

#[test]
fn a_file_that_says_something_else_is_told() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let sessions = planted(home, 40);
    std::fs::create_dir(home.join(".kimi-code")).unwrap();
    let file = home.join(".kimi-code/config.toml");
    let advised = format!("{sessions} {CHEAPER} --budget keep=0.3 --write");
    let rows = [
        (
            "[loop_control]\ncompaction_trigger_ratio = 0.8\n",
            "to 0.8 already; foldback would hide that",
        ),
        ("[loop_control]\nmax_steps_per_turn = 9\n", "with the lines of foldback, line 4"),
        (
            "loop_control.compaction_trigger_ratio = 3\n",
            "ratio to 3, which Kimi Code does not take",
        ),
        ("loop_control = \n", "line 1: it is no TOML"),
    ];
    for (before, says) in rows {
        std::fs::write(&file, before).unwrap();
        let ran = recommend(home, &advised);
        assert_eq!(ran.code, 2, "{before}: {}", ran.stdout);
        assert!(ran.stderr.contains(says), "{before}: {}", ran.stderr);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
    }
    let rows = [
        ("--for emacs", "no such agent; known are claude-code, codex"),
        ("--for codex --budget cost=0.7", "it is the share of what the present settings keep"),
        ("--write", "--for <AGENT>"),
    ];
    for (args, says) in rows {
        let ran = recommend(home, &format!("{sessions} --store=none {args}"));
        assert_eq!(ran.code, 2, "{args}: {}", ran.stdout);
        assert!(ran.stderr.contains(says), "{args}: {}", ran.stderr);
    }
}
