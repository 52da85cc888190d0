//! `foldback cache`

use crate::args::{Cache, CacheTask};
use crate::error::Error;
use crate::{output, results};
use foldback_replay::Store;
use foldback_report::number::{count, grouped};

pub(crate) fn run(args: &Cache) -> Result<(), Error> {
    let folder = results::folder(args.store.as_deref())?;
    let fail = |error| Error::File { path: folder.clone(), error };
    let (files, bytes) = Store::size(&folder).map_err(fail)?;
    let place = folder.display();
    let text = match args.task {
        CacheTask::Size => format!("{place}: {} in {}\n", size(bytes), count(files as u64, "file")),
        CacheTask::Clean if files == 0 => format!("{place}: nothing to delete\n"),
        CacheTask::Clean => {
            Store::clean(&folder).map_err(fail)?;
            let (left, kept) = Store::size(&folder).map_err(fail)?;
            let rest = match left {
                0 => String::new(),
                _ => format!("; {} in {} are in use", size(kept), count(left as u64, "file")),
            };
            format!("{place}: {} deleted{rest}\n", size(bytes.saturating_sub(kept)))
        }
    };
    output::print(&text)
}

/// Bytes as people read them: `812 bytes`, `4.1 MB`.
fn size(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{} bytes", grouped(bytes)),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}
