//! Stages with a defect each: the laws must find it, and name the law that it breaks.

use foldback_core::layout::{Layout, Slot};
use foldback_core::log::{Counts, Role};
use foldback_core::moment::Moment;
use foldback_core::outcome::Why;
use foldback_core::plan::Edit;
use foldback_core::stage::{Arrangement, Filter, Proposal, Pruner, Pruning, StageContext};
use foldback_core::view::{EditKind, PartPos};
use foldback_testkit::Subject;
use foldback_testkit::law::{Law, check};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// A pruner that is a function.
struct By<F>(F);

impl<F> fmt::Debug for By<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("By")
    }
}

impl<F: Fn(&StageContext<'_>) -> Vec<Edit> + Send + Sync> Pruner for By<F> {
    fn moment(&self) -> Moment {
        Moment::CallStart
    }

    fn prune(&self, context: &StageContext<'_>) -> Pruning {
        let edits = (self.0)(context);
        if edits.is_empty() {
            return Pruning::Nothing(Why::new("nothing", "nothing to do"));
        }
        Pruning::Edits { prunable: 0, reason: format!("{} edits", edits.len()), edits }
    }
}

fn pruner<F>(prune: F) -> Subject
where
    F: Fn(&StageContext<'_>) -> Vec<Edit> + Clone + Send + Sync + 'static,
{
    Subject::pruner(move || By(prune.clone()))
}

/// Clears what is large: no defect.
fn sound(context: &StageContext<'_>) -> Vec<Edit> {
    let large = context.meter.standing().filter(|result| result.tokens > 20);
    context.clear(large.map(|result| result.at), &Arc::from("[gone]"), "test")
}

/// Keeps what comes from the newest result on, and not its call.
#[derive(Debug)]
struct Orphans;

impl Filter for Orphans {
    fn propose(&self, context: &StageContext<'_>) -> Result<Proposal<'_>, Why> {
        let mut results = context.history.iter().rev().filter(|(_, m)| m.role == Role::Tool);
        let (result, _) = results.next().ok_or_else(|| Why::new("nothing", "no result"))?;
        let layout = Layout { slots: vec![Slot::Keep(0..1)], tail_from: result };
        Ok(Proposal::Layout(Arrangement { layout, ..Arrangement::default() }))
    }
}

/// Asks for less than what it keeps: every fold frees something, and the next is due at once.
const OUT_OF_REACH: &str = "
name = \"out-of-reach\"
extends = \"drop-oldest\"
[overflow]
trigger = 0.001
cold_trigger = 0.001
target = 0.001
[filter]
target = 0.001
";

/// Clears nothing that comes late in a session.
fn tires(context: &StageContext<'_>) -> Vec<Edit> {
    let large =
        context.meter.standing().filter(|result| result.tokens > 20 && result.at.item < 3_000);
    context.clear(large.map(|result| result.at), &Arc::from("[gone]"), "test")
}

/// Shows more than was there.
fn grows(context: &StageContext<'_>) -> Vec<Edit> {
    let large = context.meter.standing().filter(|result| result.tokens > 100);
    let twice = |at: PartPos| {
        let text = context.history.message(at.item).shown_text().repeat(2);
        context.edit(at.item, at.part, EditKind::Clear, text.into(), "test")
    };
    large.map(|result| twice(result.at)).collect()
}

/// Takes an answer for one with few calls.
fn counts_on_few_results(context: &StageContext<'_>) -> Vec<Edit> {
    let results = context.history.iter().filter(|(_, message)| message.role == Role::Tool);
    let mut behind = [0; 7];
    let first =
        results.take_while(|(pos, _)| *pos < 12).map(|(pos, _)| context.history.group_of(pos));
    first.enumerate().for_each(|(number, group)| behind[number] = group);
    if behind.len() > 7 { Vec::new() } else { sound(context) }
}

/// Reads the whole history at every call.
fn quadratic(context: &StageContext<'_>) -> Vec<Edit> {
    let said: usize = context.history.iter().map(|(_, message)| message.parts.len()).sum();
    if said == 0 { Vec::new() } else { sound(context) }
}

/// Makes messages look small to whoever counts them later by an estimator that this strategy does not use.
fn touches_the_log(context: &StageContext<'_>) -> Vec<Edit> {
    let measure = Arc::from("chars(utf16)/4 ceil");
    let nothing = || Counts { parts: Default::default(), overhead: 0 };
    for result in context.meter.standing() {
        context.history.message(result.at.item).counts.get_or_count(&measure, nothing);
    }
    sound(context)
}

/// Cuts what it has cut before.
fn never_done(context: &StageContext<'_>) -> Vec<Edit> {
    let Some(at) = context.meter.results().last().map(|result| result.at) else {
        return Vec::new();
    };
    let text = context.view.show_item(context.history, at.item).text_of(at.part).into_owned();
    let half: String = text.chars().take(text.chars().count() / 2).collect();
    match text.len() > 100 {
        true => vec![context.edit(at.item, at.part, EditKind::Truncate, half.into(), "test")],
        false => Vec::new(),
    }
}

/// Remembers across conversations what it has cleared.
fn remembers() -> Subject {
    Subject::pruner(|| {
        let seen: Mutex<BTreeSet<String>> = Mutex::default();
        By(move |context: &StageContext<'_>| {
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            let new = |edit: &Edit| seen.insert(context.history.message(edit.at.item).id.clone());
            sound(context).into_iter().filter(new).collect()
        })
    })
}

/// Is made with the session at hand, and keeps what comes near its end.
fn looks_ahead() -> Subject {
    Subject::made_by(|session| {
        let all = session.messages().len();
        let early = move |edit: &Edit| edit.at.item + 10 < all;
        let prune =
            move |context: &StageContext<'_>| sound(context).into_iter().filter(early).collect();
        pruner(prune).strategy(session)
    })
}

/// Laws that a subject breaks.
fn broken(subject: &Subject) -> Vec<Law> {
    let breaches = Law::ALL.into_iter().filter_map(|law| check(law, subject).err());
    breaches.inspect(|breach| println!("{breach}")).map(|breach| breach.law).collect()
}

macro_rules! breaks {
    ($($test:ident: $subject:expr => [$($law:ident)?],)*) => {
        $(
            #[test]
            fn $test() {
                let expected: &[Law] = &[$(Law::$law)?];
                assert_eq!(broken(&$subject), expected);
            }
        )*
    };
}

breaks! {
    a_sound_one_breaks_none: pruner(sound) => [],
    one_that_is_idle: pruner(|_| Vec::new()) => [Acts],
    one_that_orphans_a_result: Subject::filter(|| Orphans) => [ValidInEveryDialect],
    one_that_grows: pruner(grows) => [SmallerOrRefused],
    one_that_is_never_done: pruner(never_done) => [IdempotentWhereNothingChanged],
    one_that_touches_the_log: pruner(touches_the_log) => [LogUntouched],
    one_that_remembers: remembers() => [Deterministic],
    one_that_is_quadratic: pruner(quadratic) => [CostPerCallFlat],
    one_that_looks_ahead: looks_ahead() => [BlindToTheFuture],
    one_that_tires: pruner(tires) => [KeepsFreeing],
    one_with_a_target_out_of_reach: Subject::toml(OUT_OF_REACH) => [KeepsFreeing],
    one_that_counts_on_few_results: pruner(counts_on_few_results) => [NeverPanics],
}
