//! The threads on which requests are read and folded, apart from the tasks that wait for connections.

use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// Bytes from which a body is large. A million tokens are about four times as many.
const LARGE: usize = 1 << 20;

/// A fixed set of threads: the allocator keeps memory for each thread that ever ran.
#[derive(Debug)]
pub(crate) struct Threads {
    /// One thread for each processor.
    small: ThreadPool,
    /// Threads for large bodies, so that small requests do not wait. Half as many: they share the processors.
    large: ThreadPool,
}

impl Threads {
    pub(crate) fn new() -> Result<Self, ThreadPoolBuildError> {
        let processors = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let pool = |name: &'static str, count| {
            ThreadPoolBuilder::new()
                .num_threads(count)
                .thread_name(move |at| format!("{name}-{at}"))
                .build()
        };
        Ok(Self { small: pool("fold", processors)?, large: pool("large", processors.div_ceil(2))? })
    }

    /// Does work on a body of so many bytes. `None` if it panicked.
    pub(crate) async fn work<T: Send + 'static>(
        &self,
        bytes: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let (done, answer) = oneshot::channel();
        let runtime = Handle::current();
        let threads = if bytes < LARGE { &self.small } else { &self.large };
        threads.spawn(move || {
            let _entered = runtime.enter();
            // After a panic nothing is sent, and nobody waits any more where the client is gone.
            let _ = catch_unwind(AssertUnwindSafe(work)).map(|value| done.send(value));
        });
        answer.await.ok()
    }
}
