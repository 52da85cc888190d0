//! Which sections a kind of summary has, in which order, and how much room each may take.

/// What a section is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Topic {
    /// What the user asked for.
    Instructions,
    /// What earlier summaries said about anything else.
    Earlier,
    /// What was decided or found out, and why.
    Decisions,
    /// Files read, created and modified.
    Files,
    /// Failures that were not followed by a success.
    Errors,
    /// What is left to do.
    Open,
    /// The last word.
    State,
}

/// One section.
#[derive(Clone, Copy, Debug)]
pub(super) struct Section {
    /// What it is made of.
    pub(super) topic: Topic,
    /// Its heading.
    pub(super) heading: &'static str,
    /// Percent of the budget that are kept for it.
    pub(super) share: u64,
    /// Percent of the budget that it may take where other sections leave room.
    pub(super) most: u64,
}

const fn section(topic: Topic, heading: &'static str, share: u64, most: u64) -> Section {
    Section { topic, heading, share, most }
}

/// The general form: what a reader without the conversation needs to go on.
const GENERAL: &[Section] = &[
    section(Topic::Instructions, "## User instructions", 30, 70),
    section(Topic::Earlier, "## Earlier", 10, 40),
    section(Topic::Decisions, "## Decisions", 10, 25),
    section(Topic::Files, "## Files", 12, 25),
    section(Topic::Errors, "## Last errors", 10, 20),
    section(Topic::Open, "## Open items", 10, 20),
    section(Topic::State, "## Current state", 18, 50),
];

/// The sections that OpenCode has asked its model for since its anchored summaries.
const ANCHORED: &[Section] = &[
    section(Topic::Instructions, "## Goal", 30, 70),
    section(Topic::Earlier, "## Earlier", 10, 40),
    section(Topic::State, "## Progress", 18, 50),
    section(Topic::Decisions, "## Key Decisions", 10, 25),
    section(Topic::Open, "## Next Steps", 10, 20),
    section(Topic::Errors, "## Critical Context", 10, 20),
    section(Topic::Files, "## Relevant Files", 12, 25),
];

/// The sections that OpenCode 1.18 asks its model for.
const OBJECTIVE: &[Section] = &[
    section(Topic::Instructions, "## Objective", 30, 70),
    section(Topic::Earlier, "## Earlier", 10, 40),
    section(Topic::Decisions, "## Important Details", 10, 25),
    section(Topic::State, "## Work State", 18, 50),
    section(Topic::Errors, "### Blocked", 10, 20),
    section(Topic::Open, "## Next Move", 10, 20),
    section(Topic::Files, "## Relevant Files", 12, 25),
];

/// The sections that OpenCode 2 asks its model for.
const CHECKPOINT_2: &[Section] = &[
    section(Topic::Instructions, "## Objective", 30, 70),
    section(Topic::Decisions, "## Decisions", 10, 25),
    section(Topic::State, "## Work State", 18, 50),
    section(Topic::Errors, "### Blocked", 10, 20),
    section(Topic::Open, "## Next Move", 10, 20),
    section(Topic::Files, "## Relevant Files", 12, 25),
    section(Topic::Earlier, "## Additional Context", 10, 40),
];

/// The middle tier: errors and open items of that long ago have been dealt with since.
const MIDDLE: &[Section] = &[
    section(Topic::Instructions, "## User instructions", 35, 70),
    section(Topic::Decisions, "## Decisions", 30, 60),
    section(Topic::Files, "## Files", 15, 30),
    section(Topic::State, "## Outcome", 20, 50),
];

/// The oldest tier.
const OLDEST: &[Section] = &[
    section(Topic::Instructions, "## What it was about", 50, 80),
    section(Topic::Decisions, "## What was concluded", 50, 80),
];

/// The sections of a style; the general form for styles that are not known.
pub(super) fn style(name: &str) -> &'static [Section] {
    match name {
        "opencode.anchored" => ANCHORED,
        "opencode.objective" => OBJECTIVE,
        "opencode.checkpoint-2" => CHECKPOINT_2,
        "tiered.2" => MIDDLE,
        "tiered.3" => OLDEST,
        _ => GENERAL,
    }
}

/// The topic of a heading, in any style of summary.
pub(super) fn topic_of(heading: &str) -> Option<Topic> {
    // Few lines of what is asked are headings.
    if !heading.starts_with('#') {
        return None;
    }
    [GENERAL, ANCHORED, OBJECTIVE, CHECKPOINT_2, MIDDLE, OLDEST]
        .into_iter()
        .flatten()
        .find(|section| section.heading.eq_ignore_ascii_case(heading.trim_end()))
        .map(|section| section.topic)
}
