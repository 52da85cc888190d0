//! A suffix automaton over what the calls of a session name, in words and separators
//! (Blumer et al., Theoretical Computer Science 40, 1985; for several texts). It is shown the tool
//! results one after the other, and knows of every stretch of arguments the longest end that one of them
//! held. It takes time in proportion to the texts, regardless of their content.

use crate::number;
use rustc_hash::FxHashMap;

/// Number of a word, or of what stands between two.
pub(super) type Symbol = u32;

type State = u32;

const ROOT: State = 0;
const NONE: u32 = u32::MAX;

/// How much of what was read last is matched: a state, and the number of symbols.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Match {
    state: State,
    pub(super) length: u32,
}

/// All stretches of texts that end in the same places.
#[derive(Clone, Copy, Debug)]
struct Node {
    /// Symbols of the longest of these stretches.
    length: u32,
    /// The state of the longest end that stands in more places.
    link: State,
    /// Symbols of the longest of them that a result held; 0 for none.
    held: u32,
    /// The latest edge that leaves it.
    edge: u32,
}

#[derive(Clone, Debug)]
pub(super) struct Automaton {
    nodes: Vec<Node>,
    next: FxHashMap<(State, Symbol), State>,
    /// Symbols of edges, each with the edge of the same state before it.
    edges: Vec<(Symbol, u32)>,
}

impl Default for Automaton {
    fn default() -> Self {
        let root = Node { length: 0, link: NONE, held: 0, edge: NONE };
        Self { nodes: vec![root], next: FxHashMap::default(), edges: Vec::new() }
    }
}

impl Automaton {
    /// Adds a text.
    pub(super) fn add(&mut self, text: &[Symbol]) {
        text.iter().fold(ROOT, |last, symbol| self.push(last, *symbol));
    }

    /// The longest end of what was read that some text goes on with `symbol`, with it.
    fn step(&self, Match { mut state, mut length }: Match, symbol: Symbol) -> Match {
        loop {
            if let Some(next) = self.next.get(&(state, symbol)) {
                return Match { state: *next, length: length + 1 };
            }
            if state == ROOT {
                return Match::default();
            }
            state = self.node(state).link;
            length = self.node(state).length;
        }
    }

    /// Reads a symbol of a result.
    pub(super) fn hear(&mut self, before: Match, symbol: Symbol) -> Match {
        let now = self.step(before, symbol);
        let node = &mut self.nodes[now.state as usize];
        node.held = node.held.max(now.length);
        // What holds something holds its ends. Those of ends that are marked are marked.
        let mut state = node.link;
        while state != NONE && self.node(state).held < self.node(state).length {
            self.nodes[state as usize].held = self.node(state).length;
            state = self.node(state).link;
        }
        now
    }

    /// Reads a symbol of arguments: the longest end that a result held so far.
    pub(super) fn recall(&self, before: Match, symbol: Symbol) -> Match {
        let Match { mut state, mut length } = self.step(before, symbol);
        while state != ROOT {
            let node = self.node(state);
            if node.held > 0 {
                return Match { state, length: length.min(node.held) };
            }
            state = node.link;
            length = self.node(state).length;
        }
        Match::default()
    }

    fn node(&self, state: State) -> &Node {
        &self.nodes[state as usize]
    }

    /// The state of `last` and one symbol more.
    fn push(&mut self, last: State, symbol: Symbol) -> State {
        if let Some(next) = self.next.get(&(last, symbol)).copied() {
            return self.exactly(last, symbol, next);
        }
        let new = self.state(Node { length: self.node(last).length + 1, ..NEW });
        let mut state = last;
        while state != NONE && !self.next.contains_key(&(state, symbol)) {
            self.lead(state, symbol, new);
            state = self.node(state).link;
        }
        self.nodes[new as usize].link = match self.next.get(&(state, symbol)).copied() {
            Some(next) if state != NONE => self.exactly(state, symbol, next),
            _ => ROOT,
        };
        new
    }

    /// The state whose longest stretch is that of `from` plus the symbol. The symbol leads to `next` now: returns `next` if
    /// its longest stretch has that length, else a new state split off from it.
    fn exactly(&mut self, from: State, symbol: Symbol, next: State) -> State {
        let length = self.node(from).length + 1;
        if self.node(next).length == length {
            return next;
        }
        let split = self.state(Node { length, link: self.node(next).link, ..NEW });
        let mut edge = self.node(next).edge;
        while let Some((symbol, before)) = self.edges.get(edge as usize).copied() {
            if let Some(to) = self.next.get(&(next, symbol)).copied() {
                self.lead(split, symbol, to);
            }
            edge = before;
        }
        self.nodes[next as usize].link = split;
        let mut state = from;
        while state != NONE && self.next.get(&(state, symbol)) == Some(&next) {
            self.next.insert((state, symbol), split);
            state = self.node(state).link;
        }
        split
    }

    fn state(&mut self, node: Node) -> State {
        let state: State = number::next(self.nodes.len());
        self.nodes.push(node);
        state
    }

    fn lead(&mut self, from: State, symbol: Symbol, to: State) {
        self.next.insert((from, symbol), to);
        let edge = number::next(self.edges.len());
        let before = std::mem::replace(&mut self.nodes[from as usize].edge, edge);
        self.edges.push((symbol, before));
    }
}

const NEW: Node = Node { length: 0, link: ROOT, held: 0, edge: NONE };
