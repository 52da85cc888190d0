//! What a compaction makes the cache write again.

use super::session::Priced;

impl Priced<'_> {
    /// Tokens after the first edit that had been cached and had to be written again at a request, where the view shrank by so many
    /// tokens before it; tokens that were new anyway are not counted. And whether the cache had expired before the request, so that
    /// nothing was written again for the edit's sake. `None` if there is no such request.
    pub(crate) fn rewritten(&self, call: usize, reclaimed: u64) -> Option<(u64, bool)> {
        let (requests, cache) = (self.log.requests(), self.uses.get(call)?);
        if cache.expired || call == 0 {
            return Some((0, true));
        }
        // What of the request before is still sent, less what is read of it.
        let previous = requests.get(call - 1)?.input_tokens;
        Some((previous.saturating_sub(reclaimed).saturating_sub(cache.read), false))
    }
}
