//! Sessions in which it is known what is needed when, so that it is known which strategy must keep more.
//!
//! Every call reads something, and every call but the first ones names facts that stand in one earlier
//! result and nowhere else. The facts are made up and each is named once, so whether one is still in
//! the view depends on the strategy alone.

use crate::Script;
use foldback_formats::Session;
use foldback_replay::stats::SplitMix64;
use std::sync::Arc;

/// From which end of the session the needed results are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// From the newest: what was read lately is needed most.
    Recent,
    /// From the oldest: what was read first is needed most. The mirror image: of the same number of
    /// results, the needed one is as far from the other end.
    Old,
}

/// A corpus of planted sessions.
#[derive(Clone, Copy, Debug)]
pub struct Planted {
    /// From which end the needs are counted.
    pub needs: Needs,
    /// Sessions; each is a cluster of its own.
    pub sessions: usize,
    /// Calls of each.
    pub calls: usize,
    /// Characters of a result, give or take a quarter.
    pub characters: usize,
    /// The farthest that a needed result is from its end; near ones are likelier, in a triangle.
    pub reach: usize,
    /// Whether the agent repeats every fact as soon as it has read it, so that no need is one of what
    /// results alone said.
    pub restated: bool,
    /// Whether facts stand in lines, which calls name whole: words that no identifier has stand around them.
    pub lines: bool,
}

impl Default for Planted {
    fn default() -> Self {
        Self {
            needs: Needs::Recent,
            sessions: 40,
            calls: 40,
            characters: 800,
            reach: 24,
            restated: false,
            lines: false,
        }
    }
}

/// Facts that a call names.
const NAMED: usize = 2;

impl Planted {
    /// The sessions. The same corpus gives the same sessions.
    pub fn sessions(&self) -> Vec<Session> {
        (0..self.sessions).map(|number| self.session(number)).collect()
    }

    fn session(&self, number: usize) -> Session {
        let mut rng = SplitMix64::new(number as u64);
        // By result, the facts that it must hold; by call, those that it names.
        let mut held: Vec<Vec<String>> = vec![Vec::new(); self.calls];
        let mut named: Vec<Vec<String>> = vec![Vec::new(); self.calls];
        for (call, named) in named.iter_mut().enumerate().skip(1) {
            for _ in 0..NAMED {
                let reach = 1 + rng.below(self.reach).min(rng.below(self.reach));
                if reach > call {
                    continue;
                }
                let result = match self.needs {
                    Needs::Recent => call - reach,
                    Needs::Old => reach - 1,
                };
                let mut fact = format!("planted_{number}_{result}_{}", held[result].len());
                if self.lines {
                    fact.push_str(" is what was found there\n");
                }
                held[result].push(fact.clone());
                named.push(fact);
            }
        }
        let mut script = Script::default();
        script.user("Do what is to be done");
        let mut said = String::new();
        for (facts, named) in held.iter().zip(&named) {
            let size = self.characters * 3 / 4 + rng.below(self.characters / 2);
            let mut text = facts.join(" ");
            while text.len() < size {
                text.push_str(" so on");
            }
            let named: Vec<&str> = named.iter().map(|fact| fact.trim_end()).collect();
            let arguments = serde_json::json!({ "of": named }).to_string();
            script.call(&said, &[("look", &arguments, &text)]);
            if self.restated {
                said = facts.join(" ");
            }
        }
        let mut session = script.session();
        session.id = format!("planted-{number}");
        // What is drawn at random is drawn by the ids of the messages, among other things.
        for message in &mut session.messages {
            let message = Arc::make_mut(message);
            message.id = format!("{number}-{}", message.id);
        }
        session
    }
}
