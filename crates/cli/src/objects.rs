//! Sessions in object storage: `s3://BUCKET/KEY` instead of a path.
//!
//! A URL that ends in `/` is a folder: all objects below it whose names end as those of sessions do. Any other is one
//! object. An object is fetched when its turn comes and kept in a temporary file without a name, since a comparison
//! reads a file once for its hash and once for its sessions.
//!
//! Credentials, region and endpoint come from the environment (`AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT_URL`, …).

use crate::endings;
use crate::error::Error;
use foldback_formats::limit;
use foldback_replay::Source;
use foldback_replay::corpus::{Failure, Fetch};
use futures_util::TryStreamExt as _;
use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey};
use object_store::path::Path as Key;
use object_store::{
    BackoffConfig, ClientConfigKey, ObjectMeta, ObjectStore as _, ObjectStoreExt as _, RetryConfig,
};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::runtime::Runtime;

/// Requests with a temporary failure are repeated for some six seconds.
const RETRIES: usize = 6;

/// How long a server may be silent, unless a variable says so. A whole object has no time limit, since it may be large.
const LIMITS: [(&str, ClientConfigKey, &str); 2] = [
    ("AWS_READ_TIMEOUT", ClientConfigKey::ReadTimeout, "30s"),
    ("AWS_TIMEOUT", ClientConfigKey::Timeout, "24h"),
];

/// Bytes of objects that are kept for the next read. Other objects are fetched again.
const KEPT: u64 = 8 << 30;

const CREDENTIALS: &str = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (and AWS_SESSION_TOKEN), or \
     AWS_SKIP_SIGNATURE=true for a public bucket";

/// The sessions that a URL names.
pub(crate) fn sources(url: &str) -> Result<Vec<Source>, Error> {
    let (bucket, key) = Bucket::open(url)?;
    let bucket = Arc::new(bucket);
    let found = match is_folder(url) {
        true => bucket.list(url, &key)?,
        false => vec![bucket.head(url, &key)?],
    };
    let source = |object: ObjectMeta| {
        let (name, bucket) = (bucket.url(&object.location), Arc::clone(&bucket));
        let fetch = Fetch(Box::new(move || bucket.fetch(&object)));
        Source::Elsewhere { name, fetch }
    };
    Ok(found.into_iter().map(source).collect())
}

/// The bytes of the object that a URL names.
pub(crate) fn bytes(url: &str) -> Result<Vec<u8>, Error> {
    let (bucket, key) = Bucket::open(url)?;
    if is_folder(url) {
        return Err(wrong(url, "is a folder; name one object"));
    }
    let object = bucket.head(url, &key)?;
    bucket.fetch(&object).map_err(|failure| match failure {
        Failure::Source(why) | Failure::Unreached(why) | Failure::Store(why) => wrong(url, &why),
    })
}

/// Whether a URL names a folder: a bucket, or what ends in `/`.
pub(crate) fn is_folder(url: &str) -> bool {
    url.ends_with('/') || !url.trim_start_matches("s3://").contains('/')
}

fn wrong(url: &str, why: &str) -> Error {
    Error::Usage(format!("{url}: {why}"))
}

struct Bucket {
    name: String,
    store: AmazonS3,
    runtime: Runtime,
    kept: Mutex<ObjectCache>,
}

/// Objects that were fetched before.
#[derive(Default)]
struct ObjectCache {
    file: Option<File>,
    /// The place of each object, and its bytes.
    places: HashMap<Key, (u64, usize)>,
    end: u64,
}

impl Bucket {
    /// The bucket of a URL, and the key in it.
    fn open(url: &str) -> Result<(Self, String), Error> {
        let wrong = |why: &str| wrong(url, why);
        let rest = url.strip_prefix("s3://").unwrap_or(url);
        let (name, key) = rest.split_once('/').unwrap_or((rest, ""));
        if name.is_empty() {
            return Err(wrong("names no bucket; write s3://BUCKET/FOLDER/"));
        }
        // An error says that a choice was made before.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = AmazonS3Builder::from_env();
        for (variable, key, value) in LIMITS {
            if std::env::var_os(variable).is_none() {
                builder = builder.with_config(AmazonS3ConfigKey::Client(key), value);
            }
        }
        let value = |key: AmazonS3ConfigKey| builder.get_config_value(&key);
        let is_set = |key| value(key).is_some_and(|value| value == "true");
        let endpoint = value(AmazonS3ConfigKey::S3Endpoint).or(value(AmazonS3ConfigKey::Endpoint));
        if let Some(endpoint) = endpoint.filter(|endpoint| endpoint.starts_with("http://"))
            && !is_set(AmazonS3ConfigKey::Client(ClientConfigKey::AllowHttp))
        {
            return Err(wrong(&format!(
                "the endpoint {endpoint} is not encrypted; AWS_ALLOW_HTTP=true allows that"
            )));
        }
        let unsigned = is_set(AmazonS3ConfigKey::SkipSignature);
        let store = builder
            .with_bucket_name(name)
            .with_retry(RetryConfig {
                backoff: BackoffConfig::default(),
                max_retries: RETRIES,
                retry_timeout: Duration::from_secs(60),
            })
            .build()
            .map_err(|error| wrong(&said(&error)))?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .map_err(|error| wrong(&error.to_string()))?;
        let bucket = Self { name: name.to_owned(), store, runtime, kept: Mutex::default() };
        if !unsigned {
            // Looked for once, so that an error says that there are none.
            let found = bucket.runtime.block_on(bucket.store.credentials().get_credential());
            found.map_err(|error| {
                wrong(&format!("no credentials: {CREDENTIALS}\n({})", said(&error)))
            })?;
        }
        Ok((bucket, key.to_owned()))
    }

    fn url(&self, key: &Key) -> String {
        format!("s3://{}/{key}", self.name)
    }

    /// The session files of a folder.
    fn list(&self, url: &str, folder: &str) -> Result<Vec<ObjectMeta>, Error> {
        let prefix = Key::parse(folder).map_err(|error| wrong(url, &error.to_string()))?;
        let listed = self.store.list(Some(&prefix)).try_filter(|object| {
            let is_session = endings::is_session(Path::new(object.location.as_ref()));
            std::future::ready(is_session)
        });
        self.runtime.block_on(listed.try_collect()).map_err(|error| {
            // The error of a list has no kind, so it is told by the status in its text.
            let said = said(&error);
            let why = match said.split("status code: ").nth(1).and_then(|rest| rest.get(..3)) {
                Some("404") => "there is no such bucket".to_owned(),
                Some("403") => denied(&said),
                _ => cause(&error),
            };
            wrong(url, &why)
        })
    }

    fn head(&self, url: &str, key: &str) -> Result<ObjectMeta, Error> {
        let parsed = Key::parse(key).map_err(|error| wrong(url, &error.to_string()))?;
        self.runtime.block_on(self.store.head(&parsed)).map_err(|error| match error {
            object_store::Error::NotFound { .. } => wrong(
                url,
                &format!("there is no such object, or no such bucket; a folder is written {url}/"),
            ),
            error => wrong(url, &cause(&error)),
        })
    }

    /// An object, from the temporary file if it is there.
    fn fetch(&self, object: &ObjectMeta) -> Result<Vec<u8>, Failure> {
        if let Some(bytes) = self.kept().get(&object.location) {
            return Ok(bytes);
        }
        let largest = limit::largest().map_err(|error| error.to_string())?;
        let within = |size: u64| match size <= largest {
            true => Ok(()),
            false => Err(limit::too_large(largest).to_string()),
        };
        within(object.size)?;
        let gotten = self.runtime.block_on(async {
            let gotten =
                self.store.get(&object.location).await.map_err(|error| self.failed(error))?;
            // It may have been written since it was listed.
            within(gotten.meta.size)?;
            gotten.bytes().await.map_err(|error| self.failed(error))
        })?;
        let bytes = gotten.to_vec();
        self.kept().put(&object.location, &bytes);
        Ok(bytes)
    }

    /// Whether an object is skipped like an unreadable file, or the run ends. An object is skipped only if the server refused
    /// that object.
    fn failed(&self, error: object_store::Error) -> Failure {
        match error {
            object_store::Error::NotFound { .. } => Failure::Source("is gone".to_owned()),
            error @ object_store::Error::PermissionDenied { .. } => Failure::Source(cause(&error)),
            error => Failure::Unreached(cause(&error)),
        }
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, ObjectCache> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ObjectCache {
    fn get(&mut self, key: &Key) -> Option<Vec<u8>> {
        let (at, size) = *self.places.get(key)?;
        let file = self.file.as_mut()?;
        let mut bytes = vec![0; size];
        file.seek(SeekFrom::Start(at)).ok()?;
        file.read_exact(&mut bytes).ok()?;
        Some(bytes)
    }

    /// An object without room is fetched again.
    fn put(&mut self, key: &Key, bytes: &[u8]) {
        if self.end + bytes.len() as u64 <= KEPT && self.append(bytes).is_ok() {
            self.places.insert(key.clone(), (self.end, bytes.len()));
            self.end += bytes.len() as u64;
        }
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile()?),
        };
        file.seek(SeekFrom::Start(self.end))?;
        file.write_all(bytes)
    }
}

/// The message of an error, with the way out.
fn cause(error: &object_store::Error) -> String {
    let said = said(error);
    match error {
        object_store::Error::PermissionDenied { .. } => denied(&said),
        object_store::Error::Unauthenticated { .. } => {
            format!("the credentials are not accepted: {CREDENTIALS}\n({said})")
        }
        _ => said,
    }
}

fn denied(said: &str) -> String {
    format!("access denied: the credentials do not allow it ({said})")
}

/// An error with its causes, each once.
fn said(error: &dyn std::error::Error) -> String {
    let mut said = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !said.contains(&text) {
            said = format!("{said}: {text}");
        }
        cause = error.source();
    }
    said
}
