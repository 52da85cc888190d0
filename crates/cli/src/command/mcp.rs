//! `foldback mcp`: a server of the Model Context Protocol on standard input and output, with which an agent looks into its own and
//! other recorded sessions.
//!
//! Each tool is a command with some of its options, `recall`, or `pin`, whose call in the log is what pins. Only files below the given paths are read, nothing is written, and no
//! model is asked. What can't be done is an answer with the reason, for the model to read.

mod lines;

use super::{compact, explain, inspect};
use crate::args::{Command, Mcp};
use crate::error::{Error, guarded};
use crate::{folder, input, output, strategies};
use foldback::Registry;
use foldback::live::recall::{Page, Recall};
use foldback::live::tools;
use foldback_core::conversation::Conversation;
use foldback_replay::fault::FailedReplay;
use foldback_replay::replay;
use foldback_replay::state::{Ask, stored};
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{CallToolResult, ContentBlock, Implementation, ServerCapabilities, ServerConfig};
use rmcp::{ServerHandler, ServiceExt as _, tool, tool_handler, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes of one answer or error: some 4,000 tokens.
const LIMIT: usize = 16_000;

/// Bytes of it that say where to go on.
const TRAILER: usize = 200;

const INSTRUCTIONS: &str = "Recorded sessions of agents, this one's among them. `inspect` without a path lists them. \
    `recall` searches one session, or gives out a passage whole, also what a compaction removed. `explain` says what a \
    compaction preset would have forgotten there and when; `compact` shows what it would do now. `pin` keeps a rule of the user's \
    word for word in view where foldback compacts this conversation.";

pub(crate) fn run(args: &Mcp) -> Result<(), Error> {
    let sessions = Sessions { roots: roots(args)?.into() };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::Usage(format!("can't create a runtime: {error}")))?;
    let served = runtime.block_on(async {
        let service = sessions.serve(lines::Lines::start()).await;
        service
            .map_err(|error| error.to_string())?
            .waiting()
            .await
            .map_err(|error| error.to_string())
    });
    // A read of standard input that nobody answers is not waited for.
    runtime.shutdown_background();
    served.map(|_| ()).map_err(Error::Usage)
}

/// The places that may be read, links resolved.
fn roots(args: &Mcp) -> Result<Vec<PathBuf>, Error> {
    let paths = match args.paths.is_empty() {
        true => input::discovered()?,
        false => args.paths.clone(),
    };
    paths.iter().map(|path| resolved(path)).collect()
}

/// A file or a folder, links resolved. Reading anything else may never end.
fn resolved(path: &Path) -> Result<PathBuf, Error> {
    let fail = |error| Error::File { path: path.to_owned(), error };
    let found = path.canonicalize().map_err(fail)?;
    let kind = found.metadata().map_err(fail)?;
    if kind.is_file() || kind.is_dir() {
        return Ok(found);
    }
    Err(Error::Usage(format!("{} is neither a file nor a folder", path.display())))
}

/// The server.
#[derive(Clone)]
struct Sessions {
    roots: Arc<[PathBuf]>,
}

/// What is said to be looked at.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct InspectArguments {
    /// A session file or a folder of them. All sessions are listed without it.
    path: Option<String>,
    /// Where to go on in a long answer, in bytes; 0 if left out.
    offset: Option<usize>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ExplainArguments {
    /// The session file.
    path: String,
    /// Id of the session, for files that hold several.
    session: Option<String>,
    /// Name of a preset, or several with commas between them.
    preset: String,
    /// Window of the model in tokens; the session's own if left out.
    window: Option<u64>,
    /// Where to go on in a long answer, in bytes; 0 if left out.
    offset: Option<usize>,
}

/// At which moment a session is compacted.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum When {
    /// Before the next turn, as the preset would by itself.
    #[default]
    NextTurn,
    /// Now, whatever the size.
    Manual,
    /// From the first message on, moment by moment.
    Live,
}

/// What is shown of it.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Show {
    /// What is done and why.
    #[default]
    Plan,
    /// What the model would see.
    View,
    /// The session in its own format.
    Session,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CompactArguments {
    /// The session file.
    path: String,
    /// Id of the session, for files that hold several.
    session: Option<String>,
    /// Name of a preset.
    preset: String,
    /// Window of the model in tokens; the session's own if left out.
    window: Option<u64>,
    /// When: before the next turn if left out.
    when: Option<When>,
    /// What is shown: the plan if left out.
    show: Option<Show>,
    /// Where to go on in a long answer, in bytes; 0 if left out.
    offset: Option<usize>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RecallArguments {
    /// The session file.
    path: String,
    /// Id of the session, for files that hold several.
    session: Option<String>,
    /// Words to search for: names of files, functions or commands work best. Not together with `reference`.
    query: Option<String>,
    /// Id of a message or of a tool call, as a search names it. Not together with `query`.
    reference: Option<String>,
    /// Where to go on: bytes of the passage, or the number of matches to skip. 0 if left out.
    offset: Option<usize>,
    /// Only what the model no longer sees: what the recorder's compactions removed, or with `preset`, what that would have. All
    /// of the session if left out.
    cleared: Option<bool>,
    /// Name of the preset whose compactions count, in place of the recorder's own.
    preset: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PinArguments {
    /// The text, word for word.
    text: String,
}

#[tool_router]
impl Sessions {
    #[tool(description = "Lists recorded sessions with their sizes, or shows what one holds.")]
    async fn inspect(&self, Parameters(given): Parameters<InspectArguments>) -> CallToolResult {
        let roots = Arc::clone(&self.roots);
        answer(given.offset, move || {
            let paths = match &given.path {
                Some(path) => vec![allowed(&roots, path)?],
                None => roots.to_vec(),
            };
            let Command::Inspect(mut args) = Command::parse("inspect", &[], &paths)? else {
                return Err(Error::usage("no session was named"));
            };
            args.corpus.only_below = roots.to_vec();
            Ok(inspect::Inspection::new(&args)?.text(output::width()))
        })
        .await
    }

    #[tool(
        description = "Replays a session under compaction presets: when each would have acted, what it would have forgotten that later \
                       calls needed, and what that costs."
    )]
    async fn explain(&self, Parameters(given): Parameters<ExplainArguments>) -> CallToolResult {
        let roots = Arc::clone(&self.roots);
        answer(given.offset, move || {
            let path = allowed(&roots, &given.path)?;
            let presets = presets(&foldback::registry()?, given.preset.split(','))?;
            let options = options(&presets.join(","), given.session, given.window);
            run_command("explain", &options, &[path])
        })
        .await
    }

    #[tool(
        description = "Shows what a compaction preset would do to a session. Nothing is written."
    )]
    async fn compact(&self, Parameters(given): Parameters<CompactArguments>) -> CallToolResult {
        let roots = Arc::clone(&self.roots);
        answer(given.offset, move || {
            let path = allowed(&roots, &given.path)?;
            let preset = presets(&foldback::registry()?, [given.preset.as_str()])?.join(",");
            let mut options = options(&preset, given.session, given.window);
            options.extend(match given.when.unwrap_or_default() {
                When::NextTurn => None,
                When::Manual => Some("--when=manual".to_owned()),
                When::Live => Some("--when=live".to_owned()),
            });
            options.extend(match given.show.unwrap_or_default() {
                Show::Plan => Some("--show=plan".to_owned()),
                Show::View => Some("--show=view".to_owned()),
                Show::Session => None,
            });
            run_command("compact", &options, &[path])
        })
        .await
    }

    #[tool(
        description = "Searches a recorded session, or gives out one of its passages whole, also what a compaction has removed since."
    )]
    async fn recall(&self, Parameters(given): Parameters<RecallArguments>) -> CallToolResult {
        let roots = Arc::clone(&self.roots);
        // It gives out pages of its own.
        answer(None, move || {
            let path = allowed(&roots, &given.path)?;
            let (conversation, start) = conversation(&path, &given)?;
            let recall = Recall::new().with_limit(LIMIT - 1_000).with_cleared_before(start);
            let mut recall = match given.cleared.unwrap_or(false) {
                true => recall,
                false => recall.of_everything(),
            };
            let asked = tools::RecallArguments {
                reference: given.reference,
                query: given.query,
                offset: given.offset,
            };
            Ok(tools::answer(&mut recall, &conversation, &asked))
        })
        .await
    }

    #[tool(
        description = "Keeps a text word for word in view in this conversation, whatever is compacted: what the user forbids or asks for once \
                       and for all. It works where foldback compacts the conversation."
    )]
    async fn pin(
        &self,
        Parameters(PinArguments { text }): Parameters<PinArguments>,
    ) -> CallToolResult {
        answer(None, move || match text.trim() {
            "" => Err(Error::usage("there is no text to pin")),
            _ => Ok("Pinned, where foldback compacts this conversation.".to_owned()),
        })
        .await
    }

    #[tool(
        description = "Lets a compaction have a pinned text again, or all pinned texts that begin so."
    )]
    async fn unpin(
        &self,
        Parameters(PinArguments { text }): Parameters<PinArguments>,
    ) -> CallToolResult {
        answer(None, move || match text.trim() {
            "" => Err(Error::usage("there is no text to unpin")),
            _ => Ok("Unpinned.".to_owned()),
        })
        .await
    }
}

#[tool_handler]
impl ServerHandler for Sessions {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("foldback", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }
}

/// A page of a tool's answer, or its error. Other requests do not wait for it.
async fn answer(
    offset: Option<usize>,
    work: impl FnOnce() -> Result<String, Error> + Send + 'static,
) -> CallToolResult {
    let done = tokio::task::spawn_blocking(|| guarded(work)).await;
    let text = |text: String| vec![ContentBlock::text(text)];
    let offset = offset.unwrap_or(0);
    match done {
        Ok(Ok(whole)) => CallToolResult::success(text(page(&whole, offset))),
        Ok(Err(error)) => CallToolResult::error(text(page(&error.to_string(), offset))),
        Err(error) => CallToolResult::error(text(error.to_string())),
    }
}

fn page(whole: &str, offset: usize) -> String {
    let Some(page) = Page::cut(whole, offset, LIMIT - TRAILER) else {
        return format!("The answer has {} bytes; there is nothing from {offset} on.", whole.len());
    };
    match page.next {
        Some(next) => {
            let left = page.bytes - next;
            format!("{}\n[{left} more bytes: the same with \"offset\": {next}]", page.text)
        }
        None => page.text,
    }
}

/// The file or folder, if it is below one of the paths.
fn allowed(roots: &[PathBuf], path: &str) -> Result<PathBuf, Error> {
    let found = resolved(Path::new(path))?;
    if folder::is_below(&found, roots) {
        return Ok(found);
    }
    let roots: Vec<String> = roots.iter().map(|root| root.display().to_string()).collect();
    Err(Error::Usage(format!(
        "{path} is not among the sessions that may be read; they are below {}",
        roots.join(", ")
    )))
}

/// Names of presets. A file is not read: its strategy could ask a model.
fn presets<'a>(
    registry: &Registry,
    names: impl IntoIterator<Item = &'a str>,
) -> Result<Vec<String>, Error> {
    let known = |name: &str| match registry.preset(name.trim()) {
        Some(_) => Ok(name.trim().to_owned()),
        None => {
            let names: Vec<&str> = registry.presets().map(|preset| preset.item.name).collect();
            Err(Error::Usage(format!("no preset is called {name}; there are {}", names.join(", "))))
        }
    };
    names.into_iter().map(known).collect()
}

fn options(preset: &str, session: Option<String>, window: Option<u64>) -> Vec<String> {
    let preset = [format!("--preset={preset}")];
    let session = session.map(|id| format!("--session={id}"));
    let window = window.map(|tokens| format!("--window={tokens}"));
    preset.into_iter().chain(session).chain(window).collect()
}

/// The output of a command.
fn run_command(name: &str, options: &[String], paths: &[PathBuf]) -> Result<String, Error> {
    let width = output::width();
    match Command::parse(name, options, paths)? {
        Command::Explain(args) => explain::explained(&args, width).map(|(text, _)| text),
        Command::Compact(args) => Ok(match compact::compact(&args)? {
            compact::Output::Message(text)
            | compact::Output::Report(text)
            | compact::Output::Data { text, .. } => text,
        }),
        _ => Err(Error::Usage(format!("no tool runs {name}"))),
    }
}

/// The session as its recorder left it, or as a preset would have; and where what its recorder took out of sight ends.
fn conversation(path: &Path, given: &RecallArguments) -> Result<(Conversation, usize), Error> {
    let registry = foldback::registry()?;
    let name = given.preset.as_deref().unwrap_or("none");
    let preset = presets(&registry, [name])?.join(",");
    let options = options(&preset, given.session.clone(), None);
    let Command::Compact(args) = Command::parse("compact", &options, &[path.to_owned()])? else {
        return Err(Error::usage("no session was named"));
    };
    let strategy = strategies::preset(&registry, &args.preset, None)?.strategy;
    let setup = strategies::setup(&registry, &args.model)?;
    let (session, _) = input::session(&args.session, false)?;
    let options = setup.options(&session, &strategy);
    if given.preset.is_some() {
        let path = path.display().to_string();
        let replay = FailedReplay::caught(&path, &strategy.label(), || {
            replay(&session, &strategy, &options)
        });
        let (conversation, _) = replay?.into_state();
        return Ok((conversation, 0));
    }
    // Cleared parts are marked one by one.
    let folds = session.boundaries.iter().filter(|boundary| boundary.kind != "clear");
    let start = folds.map(|boundary| boundary.before).max().unwrap_or(0);
    let (conversation, _) = stored(&session, &strategy, &options, Ask::NextTurn);
    Ok((conversation, start))
}
