//! Implausible numbers of a recording: they are left out, so that all sums over a session stay within
//! their range.

use crate::prelude::*;

/// Tokens of one call, a million times what the largest windows hold. A million of such calls still have a sum.
const MOST_TOKENS: u64 = 1 << 40;

/// Milliseconds before and after 1970, as far as JavaScript's dates reach.
const MOST_MILLIS: u64 = 8_640_000_000_000_000;

/// Leaves out what can't be, with a warning.
pub(crate) fn check(session: &mut Session) {
    let Limits { context, input, output } = &mut session.limits;
    let mut limits = 0;
    for limit in [context, input, output] {
        if *limit > MOST_TOKENS {
            *limit = 0;
            limits += 1;
        }
    }
    let (mut usages, mut times) = (0, 0);
    for message in &mut session.messages {
        if is_plausible(message) && !is_uncounted(message) {
            continue;
        }
        let message = Arc::make_mut(message);
        times += leave_out(&mut message.at, is_time);
        if let Some(answer) = &mut message.answer {
            usages += leave_out(&mut answer.usage, is_usage);
            answer.usage = answer.usage.filter(|usage| !usage.is_zero());
            times += leave_out(&mut answer.started, is_time);
            times += leave_out(&mut answer.ended, is_time);
        }
    }
    for boundary in &mut session.boundaries {
        usages += leave_out(&mut boundary.tokens_before, |tokens| *tokens <= MOST_TOKENS);
        usages += leave_out(&mut boundary.tokens_after, |tokens| *tokens <= MOST_TOKENS);
    }
    for (what, count) in [("window(s)", limits), ("token count(s)", usages), ("time(s)", times)] {
        if count > 0 {
            let detail = format!("{count} {what} larger than any can be; left out");
            session.warnings.push(Warning::new("implausible-number", "the session", detail));
        }
    }
}

fn is_plausible(message: &Message) -> bool {
    message.at.as_ref().is_none_or(is_time)
        && message.answer.as_ref().is_none_or(|answer| {
            answer.usage.as_ref().is_none_or(is_usage)
                && answer.started.as_ref().is_none_or(is_time)
                && answer.ended.as_ref().is_none_or(is_time)
        })
}

/// Whether a usage counts nothing: recorders write zeros where they were told none.
fn is_uncounted(message: &Message) -> bool {
    message.answer.as_ref().and_then(|answer| answer.usage).is_some_and(|usage| usage.is_zero())
}

fn is_usage(usage: &Usage) -> bool {
    // Those that are kept for an hour are part of what is written.
    let Usage { uncached, cache_read, cache_write, cache_write_1h: _, output, reasoning, total } =
        *usage;
    let counts = [uncached, cache_read, cache_write, output, reasoning, total.unwrap_or(0)];
    counts.into_iter().all(|count| count <= MOST_TOKENS)
}

fn is_time(time: &i64) -> bool {
    time.unsigned_abs() <= MOST_MILLIS
}

/// Takes out a value that can't be true; 1 if there was one.
fn leave_out<T>(value: &mut Option<T>, can_be: impl Fn(&T) -> bool) -> usize {
    usize::from(value.take_if(|value| !can_be(value)).is_some())
}
