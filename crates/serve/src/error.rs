//! Why a proxy can't run.

use crate::fold::conversations::journals::JournalsError;
use crate::settings::SettingsError;
use std::io;
use std::net::SocketAddr;
use thiserror::Error;

/// Why a proxy can't run.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The settings can't be used.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The proxy can't listen on the address.
    #[error("can't listen on {address}: {error}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        error: io::Error,
    },
    /// The journals can't be used.
    #[error(transparent)]
    Journals(#[from] JournalsError),
    /// The file of the trial can't be used.
    #[error("{0}")]
    Trial(String),
    /// The threads that fold can't be started.
    #[error("can't start threads: {0}")]
    Threads(#[from] rayon::ThreadPoolBuildError),
    /// The client for providers can't be made.
    #[error("can't ask providers: {0}")]
    Client(#[from] rustls::Error),
}
