//! Hosts in homes of their own: what is written, and that taking it out leaves what was there.

use super::*;
use proptest::prelude::*;

const URL: &str = "http://127.0.0.1:8787";

fn host(name: &str) -> &'static Host {
    Host::from_name(name).unwrap()
}

/// Does what a change says, and remembers it.
fn done(change: &Change, remove: bool, written: &mut SetupRecord) {
    written.note(change, remove);
    match &change.after {
        Some(after) => std::fs::write(&change.path, after).unwrap(),
        None => std::fs::remove_file(&change.path).unwrap(),
    }
}

/// Sets a host up in a folder with a file of this text, and undoes it: the text in between.
fn there_and_back(name: &str, file: &str, before: Option<&str>) -> Result<String, String> {
    let (folder, host) = (tempfile::tempdir().unwrap(), host(name));
    let path = folder.path().join(file);
    if let Some(before) = before {
        std::fs::write(&path, before).unwrap();
    }
    let read = || std::fs::read_to_string(&path).ok();
    let mut written = SetupRecord::default();
    let change = |remove, written: &SetupRecord| {
        let short =
            |error: Error| error.to_string().rsplit('/').next().unwrap_or_default().to_owned();
        super::change(host, folder.path(), URL, remove, &[], written).map_err(short)
    };
    assert_eq!(change(true, &written)?, None, "nothing is there to be removed");
    done(&change(false, &written)?.unwrap(), false, &mut written);
    let set = read().unwrap();
    assert_ne!(Some(&*set), before);
    assert_eq!(change(false, &written)?, None, "it is set up");
    done(&change(true, &written)?.unwrap(), true, &mut written);
    assert_eq!(read().as_deref(), before, "byte for byte");
    assert_eq!(change(true, &written)?, None);
    // The same, as the user's own: it is set up, and nothing is foldback's.
    if matches!(host.needs, Needs::Members(_)) {
        std::fs::write(&path, &set).unwrap();
        assert!([false, true].iter().all(|remove| change(*remove, &written) == Ok(None)));
        assert!(!own(host, folder.path(), URL, &written).is_empty());
    }
    Ok(set)
}

#[test]
fn what_is_written_for_every_host() {
    let files = HOSTS.iter().filter_map(|host| Some((&*host.name, host.files.last()?)));
    let texts = files.map(|(name, file)| {
        format!("{name} {file}:\n{}", there_and_back(name, file, None).unwrap().trim_end())
    });
    insta::assert_snapshot!(texts.collect::<Vec<_>>().join("\n\n"));
}

#[test]
fn what_was_there_stays() {
    let rows = [
        ("claude-code", "settings.json", "{}"),
        ("claude-code", "settings.json", "{}\n"),
        ("claude-code", "settings.json", "{ }"),
        ("claude-code", "settings.json", "{\r\n  \"model\": \"opus\",\r\n  \"env\": {}\r\n}\r\n"),
        ("claude-code", "settings.json", "{\"env\":{\"A\":\"1\"}}"),
        (
            "claude-code",
            "settings.json",
            "{\"env\": { \"A\": \"ANTHROPIC_BASE_URL\" }, \"b\": [1, {\"c\": null}]}",
        ),
        (
            "opencode",
            "opencode.jsonc",
            "// mine\n{\n  /* } */ \"provider\": { \"openai\": { \"options\": {}, }, },\n}\n",
        ),
        (
            "opencode",
            "opencode.json",
            "{\"provider\": {\"anthropic\": {\"options\": {\"apiKey\": \"{env:K}\"}}}}",
        ),
        ("claude-code-hooks", "settings.json", "{}\n"),
        ("claude-code-hooks", "settings.json", "{\"hooks\": {\"Stop\": []}, \"env\": {}}"),
        ("pi", "models.json", "{\"providers\": {\"here\": {\"baseUrl\": \"http://x\"}}}\n"),
        ("codex", "config.toml", ""),
        (
            "codex",
            "config.toml",
            "model = \"gpt-5.4\"\n\n[model_providers.mine]\nname = \"mine\"\n",
        ),
        ("codex", "config.toml", "# no line end at the end\n[a]\nb = 1"),
    ];
    for (name, file, before) in rows {
        let set = there_and_back(name, file, Some(before))
            .unwrap_or_else(|why| panic!("{before}: {why}"));
        match file.rsplit_once('.').unwrap().1 {
            "json" => {
                let set: serde_json::Value =
                    serde_json::from_str(&set).unwrap_or_else(|why| panic!("{why}: {set}"));
                match name {
                    "claude-code-hooks" => {
                        let command = &set["hooks"]["SessionStart"][0]["hooks"][0]["command"];
                        assert_eq!(command, "foldback hook || exit 1");
                    }
                    _ => assert!(set.to_string().contains(URL)),
                }
            }
            "toml" => {
                let set: toml::Table = set.parse().unwrap();
                assert_eq!(
                    set["model_providers"]["foldback"]["base_url"].as_str(),
                    Some("http://127.0.0.1:8787/v1")
                );
            }
            _ => {}
        }
    }
}

#[test]
fn a_file_that_is_not_what_it_should_be_is_left_alone() {
    let rows = [
        ("claude-code", "settings.json", "", "settings.json: line 1: it is no object"),
        (
            "claude-code",
            "settings.json",
            "{\n  \"env\": {\n}",
            "settings.json: line 1: it is no JSON: Unterminated object",
        ),
        (
            "claude-code",
            "settings.json",
            "{\"a\": 1 \"b\": 2}",
            "settings.json: line 1: it is no JSON: Expected comma",
        ),
        (
            "claude-code",
            "settings.json",
            "{} {}",
            "settings.json: line 1: it is no JSON: Text cannot contain more than one JSON value",
        ),
        ("claude-code", "settings.json", "[]", "settings.json: line 1: it is no object"),
        (
            "claude-code",
            "settings.json",
            "{\n\"env\": \"A=1\"}",
            "settings.json: line 2: env is no object",
        ),
        (
            "claude-code",
            "settings.json",
            "{\"env\": {\"ANTHROPIC_BASE_URL\": \"https://gateway.example\"}}",
            "gateway.example\" already; foldback would hide that",
        ),
        (
            "claude-code-hooks",
            "settings.json",
            "{\"hooks\": {\"PreCompact\": []}}",
            "settings.json: it sets hooks.PreCompact to [] already; foldback would hide that",
        ),
        ("codex", "config.toml", "model = \n", "config.toml: line 1: it is no TOML: "),
        (
            "codex",
            "config.toml",
            "model_provider = \"mine\"",
            "config.toml: it sets model_provider to \"mine\" already; foldback would hide that",
        ),
        ("codex", "config.toml", "model_providers = \"mine\"", "with the lines of foldback, line "),
    ];
    for (name, file, text, why) in rows {
        let refused = there_and_back(name, file, Some(text)).unwrap_err();
        assert!(refused.contains(why), "{text}: {refused}");
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("settings.json"), b"{\"a\": \"\xe9\"}").unwrap();
    let refused =
        change(host("claude-code"), folder.path(), URL, false, &[], &SetupRecord::default())
            .unwrap_err()
            .to_string();
    assert!(refused.ends_with("settings.json: it is not UTF-8"), "{refused}");
}

#[test]
fn what_was_changed_since_stays_or_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("settings.json");
    let claude = host("claude-code");
    let write = |text: &str| std::fs::write(&path, text).unwrap();
    let mut written = SetupRecord::default();
    let mut make = |host: &Host, url: &str, remove| {
        let change = change(host, folder.path(), url, remove, &[], &written).unwrap();
        change.iter().for_each(|change| done(change, remove, &mut written));
    };
    let read = || std::fs::read_to_string(&path).unwrap();

    // Something else was set since.
    write("{\"model\": \"opus\"}\n");
    make(claude, URL, false);
    write(&read().replace("opus", "sonnet"));
    make(claude, URL, true);
    assert_eq!(read(), "{\"model\": \"sonnet\"}\n");

    // A program wrote the file in its own way: only the member is known to be foldback's.
    for (rewritten, left) in [
        ("{\"env\":{\"ANTHROPIC_BASE_URL\":\"{url}\"}}", "{\"env\":{}}"),
        ("{\"env\":{\"A\":\"1\",\"ANTHROPIC_BASE_URL\":\"{url}\"}}", "{\"env\":{\"A\":\"1\"}}"),
        ("{\"env\":{\"ANTHROPIC_BASE_URL\":\"{url}\", \"A\":\"1\"}}", "{\"env\":{ \"A\":\"1\"}}"),
        (
            "{\n  \"env\": {\n    \"A\": \"1\",\n    // mine\n    \"ANTHROPIC_BASE_URL\": \"{url}\" /* , */,\n  },\n}",
            "{\n  \"env\": {\n    \"A\": \"1\",\n    // mine\n     /* , */\n  },\n}",
        ),
    ] {
        write("{}");
        make(claude, URL, false);
        write(&rewritten.replace("{url}", URL));
        make(claude, URL, true);
        assert_eq!(read(), left);
    }

    // Another address.
    write("{}\n");
    make(claude, URL, false);
    let before = read();
    make(claude, "http://127.0.0.1:9999", true);
    assert_eq!(read(), before, "that is not what was written");
    make(claude, URL, true);
    assert_eq!(read(), "{}\n");

    // Lines between marks are known for any address.
    let mut codex = |url, remove| {
        make(host("codex"), url, remove);
        std::fs::read_to_string(folder.path().join("config.toml")).ok()
    };
    codex("http://127.0.0.1:9999", false);
    assert_eq!(codex(URL, false).unwrap().matches(URL).count(), 1);
    assert_eq!(codex("http://127.0.0.1:9999", true), None);
}

#[test]
fn hosts_of_one_file_are_set_up_and_taken_out_in_any_order() {
    let [claude, hooks] = ["claude-code", "claude-code-hooks"].map(host);
    let orders = [[claude, hooks], [hooks, claude]];
    for before in ["{}", "{ \"a\": 1 }", "{\n  \"env\": {},\n  \"hooks\": {\"Stop\": []}\n}\n"] {
        for (set, unset) in orders.iter().flat_map(|set| orders.map(|unset| (set, unset))) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("settings.json");
            std::fs::write(&path, before).unwrap();
            let mut written = SetupRecord::default();
            for (hosts, remove) in [(*set, false), (unset, true)] {
                let changes = hosts.into_iter().fold(Vec::new(), |mut changes, host| {
                    let next = change(host, folder.path(), URL, remove, &changes, &written);
                    changes.extend(next.unwrap());
                    changes
                });
                changes.iter().for_each(|change| done(change, remove, &mut written));
            }
            assert_eq!(std::fs::read_to_string(&path).unwrap(), before);
        }
    }
}

/// Values that `recommend` writes, before and after those of `setup`, and taken out in either order.
#[test]
fn settings_of_agents_are_written_and_taken_out_byte_for_byte() {
    let agents = foldback_replay::tune::agents::embedded().unwrap();
    let with_file = agents.iter().filter(|agent| !agent.settings.is_empty());
    for agent in with_file {
        let values = |at: fn(&[serde_json::Value]) -> Option<&serde_json::Value>| {
            let values = agent
                .settings
                .iter()
                .map(|setting| (setting.key.clone(), at(&setting.tries).unwrap().clone()));
            values.collect::<Vec<_>>()
        };
        let (first, last) = (values(<[_]>::first), values(<[_]>::last));
        let json =
            [None, Some("{}"), Some("{\n  \"other\": {\"a\": 1}, // x\n  \"compaction\": {}\n}\n")];
        let toml = [None, Some("a = 1\n\n[b]\nc = 2"), Some("")];
        let is_toml = agent.files[0].ends_with("toml");
        for before in if is_toml { toml } else { json } {
            for setup_first in [None, Some(true), Some(false)] {
                let home = tempfile::tempdir().unwrap();
                let variable = |name: &str| (name == "HOME").then(|| home.path().to_owned());
                let file = AgentFile::find(agent, &variable).unwrap();
                let folder = file.path.parent().unwrap();
                std::fs::create_dir_all(folder).unwrap();
                if let Some(before) = before {
                    std::fs::write(&file.path, before).unwrap();
                }
                let mut record = SetupRecord::default();
                let host = Host::from_name(&agent.name).filter(|host| !host.files.is_empty());
                let setup = |remove, record: &mut SetupRecord| {
                    if let (Some(host), Some(_)) = (host, setup_first) {
                        let change = change(host, folder, URL, remove, &[], record).unwrap();
                        change.iter().for_each(|change| done(change, remove, record));
                    }
                };
                if setup_first == Some(true) {
                    setup(false, &mut record);
                }
                for values in [&first, &last] {
                    let (out, new) = file.changes(values, &record).unwrap();
                    assert_eq!(out.is_some(), values == &last);
                    out.iter().for_each(|out| done(out, true, &mut record));
                    done(&new.unwrap(), false, &mut record);
                    assert_eq!(file.present().unwrap(), values.iter().cloned().collect());
                }
                // Whichever came first goes first, so that it is no longer where it was written.
                match setup_first {
                    Some(true) => setup(true, &mut record),
                    Some(false) => setup(false, &mut record),
                    None => {}
                }
                let (out, _) = file.changes(&[], &record).unwrap();
                done(&out.unwrap(), true, &mut record);
                assert_eq!(file.changes(&[], &record).unwrap(), (None, None));
                if setup_first == Some(false) {
                    setup(true, &mut record);
                }
                let left = std::fs::read_to_string(&file.path).ok();
                assert_eq!(left.as_deref(), before, "{}: {setup_first:?}", agent.name);
            }
        }
    }
}

#[test]
fn hosts_are_found_by_their_folder_or_their_program() {
    let root = tempfile::tempdir().unwrap();
    let home = root.path().join("home");
    let bin = root.path().join("bin");
    for folder in [
        home.join(".claude"),
        home.join(".gemini"),
        bin.clone(),
        root.path().join("elsewhere/opencode"),
    ] {
        std::fs::create_dir_all(folder).unwrap();
    }
    std::fs::write(bin.join("pi"), "").unwrap();
    let found = |moved: &[(&str, PathBuf)]| -> Vec<&str> {
        let variable = |name: &str| {
            let moved =
                moved.iter().find(|(moved, _)| *moved == name).map(|(_, path)| path.clone());
            moved.or_else(|| (name == "HOME").then(|| home.clone()))
        };
        let programs = [bin.clone()];
        let all = HOSTS.iter().filter(|host| host.is_installed(&variable, &programs));
        all.map(|host| &*host.name).collect()
    };
    assert_eq!(found(&[]), ["claude-code", "pi", "gemini-cli"]);
    let moved = [
        ("CLAUDE_CONFIG_DIR", root.path().join("none")),
        ("XDG_CONFIG_HOME", root.path().join("elsewhere")),
    ];
    assert_eq!(found(&moved), ["opencode", "pi", "gemini-cli"]);
}

/// JSON in any spelling, with names that setup looks for among others.
fn json() -> impl Strategy<Value = String> {
    let blank = || prop::sample::select(vec!["", " ", "\n  ", "\r\n\t", " // x {\n", "/* \" */"]);
    let leaf =
        prop::sample::select(vec!["1", "null", "\"}\"", "\"\\\"{\"", "[]", "[{}, 2]", "{}", "{ }"])
            .prop_map(str::to_owned);
    let object = leaf.prop_recursive(4, 24, 3, move |inner| {
        let name =
            prop::sample::select(vec!["env", "a", "provider", "anthropic", "openai", "options"]);
        let member = (blank(), name, blank(), inner);
        prop::collection::vec(member, 0..4).prop_map(|members| {
            let members: Vec<String> = members
                .into_iter()
                .map(|(before, name, between, value)| {
                    format!("{before}\"{name}\":{between}{value}")
                })
                .collect();
            format!("{{{}}}", members.join(","))
        })
    });
    (blank(), object, blank())
        .prop_map(|(before, object, after)| format!("{before}{object}{after}"))
}

proptest! {
    #[test]
    fn any_file_is_byte_for_byte_what_it_was(text in json(), name in prop::sample::select(vec!["claude-code", "opencode"])) {
        let members = host(name).members(URL).unwrap();
        if let Ok(Some(set)) = members.set(&text) {
            prop_assert_eq!(members.set(&set), Ok(None));
            prop_assert_eq!(members.unset(&set), Ok(Some(text)));
        }
    }
}
