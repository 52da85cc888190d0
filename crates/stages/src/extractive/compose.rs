//! Facts fitted into a budget.
//!
//! Every section first fills the share that is kept for it; what sections leave goes to the others, in
//! the order of the table, up to the most that each may take. The sum of the lines only approximates
//! the size of the whole, because estimators round and tokens span lines, so the whole is measured and
//! composed again for a smaller budget until it fits.

use super::facts::Facts;
use super::open::is_open;
use super::sentence::fit;
use super::style::{Section, Topic};
use foldback_core::stage::Estimator;

/// Attempts at a text within the budget before only its beginning is kept.
const ATTEMPTS: usize = 6;
/// Budgets below this have room for two sections at most.
const SMALL: u64 = 128;
/// Budgets below this have no room for headings.
const TINY: u64 = 24;
/// An item is not cut to less than this.
const LEAST: u64 = 10;
/// Items that do not fit before a section is taken to be full.
const MISSES: usize = 8;

/// The summary. `None` if not even one word fits.
pub(super) fn compose(
    facts: Facts,
    style: &[Section],
    budget: u64,
    estimator: &dyn Estimator,
) -> Option<String> {
    let items = items(facts, style);
    let mut limit = budget;
    for _ in 0..ATTEMPTS {
        if limit < TINY {
            break;
        }
        let text = attempt(&items, style, limit, estimator);
        let tokens = estimator.text(&text);
        if !text.is_empty() && tokens <= budget {
            return Some(text);
        }
        limit = (limit * budget / tokens.max(1)).min(limit - limit / 16 - 1);
    }
    // The newest item of what matters most, without a heading.
    let items = items.iter().filter(|(_, items)| !items.is_empty());
    let telling = items.min_by_key(|(topic, _)| small_rank(*topic))?.1.last()?;
    let text = fit(telling, budget, estimator, |_| false)?;
    (estimator.text(&text) <= budget).then_some(text)
}

/// The items of each section, oldest first, in the order of the style. Topics that the style has no
/// section for join the one that takes their place, or are left out.
fn items(facts: Facts, style: &[Section]) -> Vec<(Topic, Vec<String>)> {
    let Facts { instructions, earlier, decisions, files, errors, open, state } = facts;
    let has = |topic| style.iter().any(|section| section.topic == topic);
    let files = files.into_iter().map(|(path, touch)| path + touch.mark()).collect();
    let (earlier, before) =
        if has(Topic::Earlier) { (earlier, Vec::new()) } else { (Vec::new(), earlier) };
    let (state, after) = if has(Topic::State) { (state, Vec::new()) } else { (Vec::new(), state) };
    let mut concluded = before;
    concluded.extend(decisions);
    // The last word often says again what was decided.
    concluded.retain(|item| !after.iter().any(|state| state.contains(item.as_str())));
    concluded.extend(after);
    let mut all = [
        (Topic::Instructions, instructions),
        (Topic::Earlier, earlier),
        (Topic::Decisions, concluded),
        (Topic::Files, files),
        (Topic::Errors, errors),
        (Topic::Open, open),
        (Topic::State, state),
    ];
    let mut out: Vec<(Topic, Vec<String>)> = style
        .iter()
        .map(|section| {
            let found = all.iter_mut().find(|(topic, _)| *topic == section.topic);
            let items = found.map(|(_, items)| std::mem::take(items));
            (section.topic, items.unwrap_or_default())
        })
        .collect();
    // A group of which only the topics are known that the style leaves out still says something.
    if let (true, Some((_, items))) =
        (out.iter().all(|(_, items)| items.is_empty()), out.last_mut())
    {
        items.extend(all.into_iter().flat_map(|(_, left)| left));
    }
    out
}

/// A section that is being filled.
struct Filling<'a> {
    section: &'a Section,
    items: &'a [String],
    /// Chosen items with their index.
    chosen: Vec<(usize, String)>,
    used: u64,
}

fn attempt(
    items: &[(Topic, Vec<String>)],
    style: &[Section],
    limit: u64,
    estimator: &dyn Estimator,
) -> String {
    let mut sections: Vec<Filling<'_>> = style
        .iter()
        .zip(items)
        .filter(|(_, (_, items))| !items.is_empty())
        .map(|(section, (_, items))| Filling { section, items, chosen: Vec::new(), used: 0 })
        .collect();
    if limit < SMALL {
        sections.sort_by_key(|filling| small_rank(filling.section.topic));
        sections.truncate(2);
    }
    let whole: u64 = sections.iter().map(|filling| filling.section.share).sum();
    for filling in &mut sections {
        let share = if limit < SMALL {
            limit * filling.section.share / whole.max(1)
        } else {
            limit * filling.section.share / 100
        };
        filling.fill(share, estimator);
    }
    let mut left = limit.saturating_sub(sections.iter().map(|filling| filling.used).sum());
    for filling in &mut sections {
        let most = if limit < SMALL { limit } else { limit * filling.section.most / 100 };
        let before = filling.used;
        let room = (before + left).min(most);
        if room > before && filling.is_cut() {
            filling.fill(room, estimator);
            left = (left + before).saturating_sub(filling.used);
        }
    }
    let mut text = String::new();
    sections.sort_by_key(|filling| {
        let place = |section: &Section| section.topic == filling.section.topic;
        style.iter().position(place)
    });
    for filling in sections.iter().filter(|filling| !filling.chosen.is_empty()) {
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str(filling.section.heading);
        for (_, item) in &filling.chosen {
            text.push('\n');
            text.push_str(&bullet(item));
        }
    }
    text
}

/// In a small budget what was asked and where things stand go before everything else.
fn small_rank(topic: Topic) -> u8 {
    match topic {
        Topic::Instructions => 0,
        Topic::State => 1,
        Topic::Decisions => 2,
        Topic::Earlier => 3,
        Topic::Files => 4,
        Topic::Open => 5,
        Topic::Errors => 6,
    }
}

/// An item as it stands in the text: continuation lines are indented, so that a summary can be taken
/// apart again and nothing inside an item looks like a heading.
fn bullet(item: &str) -> String {
    format!("- {}", item.replace('\n', "\n  "))
}

impl Filling<'_> {
    /// Whether an item was left out or cut.
    fn is_cut(&self) -> bool {
        self.chosen.len() < self.items.len()
            || self.chosen.iter().any(|(index, text)| *text != self.items[*index])
    }

    /// Refills the section with at most `room` tokens, heading included.
    fn fill(&mut self, room: u64, estimator: &dyn Estimator) {
        self.chosen.clear();
        self.used = 0;
        let heading = estimator.text(self.section.heading) + 1;
        let mut left = room.saturating_sub(heading);
        let mut misses = 0;
        for (rank, index) in self.ranking().into_iter().enumerate() {
            if left < 3 || misses >= MISSES {
                break;
            }
            let item = &self.items[index];
            // Of older instructions none may take all that is left.
            let most = match self.section.topic {
                Topic::Instructions if rank > 0 => (left / 2).max(LEAST),
                _ => left,
            }
            .min(left);
            let Some(text) = self.cut(item, most, estimator) else {
                misses += 1;
                continue;
            };
            let cost = estimator.text(&bullet(&text)) + 1;
            if cost > left {
                misses += 1;
                continue;
            }
            left -= cost;
            self.chosen.push((index, text));
        }
        self.chosen.sort_unstable_by_key(|(index, _)| *index);
        if !self.chosen.is_empty() {
            self.used = room - left;
        }
    }

    /// The item within a number of tokens, list mark included.
    fn cut(&self, item: &str, tokens: u64, estimator: &dyn Estimator) -> Option<String> {
        // What can't fit by its length alone is not measured.
        if item.len() as u64 <= tokens * 16 && estimator.text(&bullet(item)) < tokens {
            return Some(item.to_owned());
        }
        let whole = matches!(self.section.topic, Topic::Files | Topic::Open);
        if whole || tokens < LEAST {
            return None;
        }
        // The mark, and the indents that continuation lines get.
        let marks = 2 + item.lines().count().min(8) as u64 / 2;
        let telling = match self.section.topic {
            Topic::State => leads_on,
            _ => is_constraint,
        };
        fit(item, tokens.saturating_sub(marks), estimator, telling)
    }

    /// Indices of the items, the most telling first.
    fn ranking(&self) -> Vec<usize> {
        let newest_first = (0..self.items.len()).rev();
        match self.section.topic {
            // The newest instruction is the one being worked on, the first one the task.
            Topic::Instructions if self.items.len() > 1 => {
                let newest = self.items.len() - 1;
                [newest, 0].into_iter().chain((1..newest).rev()).collect()
            }
            Topic::Open => (0..self.items.len()).collect(),
            Topic::Files => {
                let mut order: Vec<usize> = newest_first.collect();
                // What was written goes before what was only read.
                order.sort_by_key(|index| self.items[*index].ends_with("(read)"));
                order
            }
            _ => newest_first.collect(),
        }
    }
}

/// Whether a sentence says what comes next.
fn leads_on(sentence: &str) -> bool {
    sentence.ends_with('?') || is_open(sentence) || sentence.to_lowercase().contains("next")
}

/// Whether a sentence binds the next agent.
fn is_constraint(sentence: &str) -> bool {
    const MARKS: [&str; 12] = [
        "must",
        "never",
        "always",
        "don't",
        "do not",
        "only ",
        "should",
        "without",
        "make sure",
        "important",
        "prefer",
        "keep ",
    ];
    let lower = sentence.to_lowercase();
    MARKS.iter().any(|mark| lower.contains(mark))
}
