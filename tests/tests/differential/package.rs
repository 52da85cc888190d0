//! A real package in a process of its own.

use crate::differential::corpus::Case;
use crate::differential::told::told;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A package, by the name that `cargo xtask test-external` knows it by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Package {
    /// The folder under `target/external` that its virtual environment is in.
    pub(crate) name: &'static str,
    /// The script of `python` that runs it.
    pub(crate) script: &'static str,
}

impl Package {
    /// What it answers to each session, in order. `options` go with every session.
    ///
    /// # Panics
    ///
    /// If it can't be run, or says something else.
    pub(crate) fn answers<T: DeserializeOwned>(&self, cases: &[Case], options: &Value) -> Vec<T> {
        let asked = cases.iter().map(|case| {
            let messages: Vec<_> = case.log.iter().map(|message| told(message)).collect();
            json!({ "messages": messages, "at": case.at, "calls": case.calls, "options": options })
        });
        self.says(&asked.collect::<Vec<_>>())
    }

    /// What it answers to each of these, in order.
    ///
    /// # Panics
    ///
    /// If it can't be run, or says something else.
    pub(crate) fn says<T: DeserializeOwned>(&self, asked: &[Value]) -> Vec<T> {
        let project = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("differential");
        let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
        let target = target.unwrap_or_else(|| project.join("../../target"));
        let home = target.join("external").join(self.name);
        let mut process = Command::new(home.join("bin/python"))
            .arg(project.join("python").join(self.script))
            .env("PACKAGE_HOME", &home)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| {
                panic!(
                    "{error}; `cargo xtask test-external {}` makes {}",
                    self.name,
                    home.display()
                )
            });
        let count = asked.len();
        let asked: Vec<String> = asked.iter().map(Value::to_string).collect();
        let mut input = process.stdin.take().unwrap_or_else(|| panic!("no standard input"));
        let writer = std::thread::spawn(move || {
            // A process that ended has said why on standard error.
            asked.iter().try_for_each(|line| writeln!(input, "{line}")).is_ok()
        });
        let output = process.stdout.take().unwrap_or_else(|| panic!("no standard output"));
        let answers = BufReader::new(output).lines().map(|line| {
            let line = line.unwrap_or_else(|error| panic!("{}: {error}", self.name));
            serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
        });
        let answers: Vec<T> = answers.collect();
        let wrote = writer.join().is_ok_and(|wrote| wrote);
        let ended = process.wait().is_ok_and(|status| status.success());
        assert!(
            ended && wrote && answers.len() == count,
            "{} answered {}",
            self.name,
            answers.len()
        );
        answers
    }
}
