//! What answers have read since the last fold.

/// Sizes of the view at the answers since the last fold, kept so that what they read beyond a size is known without a walk over
/// them.
#[derive(Clone, Debug, Default)]
pub struct AnsweredViews {
    /// Of each answer, oldest first: the largest view up to it, and the sum of the views up to it.
    answers: Vec<(u64, u64)>,
}

/// Of a conversation without answers.
pub(super) static UNANSWERED: AnsweredViews = AnsweredViews { answers: Vec::new() };

impl AnsweredViews {
    /// Adds an answer to a view of so many tokens.
    pub fn push(&mut self, view_tokens: u64) {
        let (largest, sum) = self.answers.last().copied().unwrap_or_default();
        self.answers.push((largest.max(view_tokens), sum + view_tokens));
    }

    /// Forgets all, as after a fold.
    pub(crate) fn clear(&mut self) {
        self.answers.clear();
    }

    /// Tokens that the answers have read beyond `left` each, from the first one whose view was larger.
    pub fn beyond(&self, left: u64) -> u64 {
        let smaller = self.answers.partition_point(|(largest, _)| *largest <= left);
        let sum_at = |count: usize| count.checked_sub(1).map_or(0, |last| self.answers[last].1);
        let read = sum_at(self.answers.len()) - sum_at(smaller);
        read.saturating_sub(left.saturating_mul((self.answers.len() - smaller) as u64))
    }
}

impl FromIterator<u64> for AnsweredViews {
    fn from_iter<I: IntoIterator<Item = u64>>(views: I) -> Self {
        let mut answered = Self::default();
        views.into_iter().for_each(|view| answered.push(view));
        answered
    }
}
