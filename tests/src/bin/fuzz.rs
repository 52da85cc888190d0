//! `cargo xtask fuzz --minutes N [--target T] [--seed S]`: fuzzing on stable Rust. What breaks a promise is written to
//! `fuzz/corpus/TARGET` and ends the run with exit code 1. `--runs N` in place of minutes tries the same inputs every
//! time, on any machine, on all processors. `--seeds DIR` writes what mutation starts from instead, a folder for each
//! target: the beginning of a corpus for `cargo fuzz`.

use foldback_tests::fuzz::mutate::Dice;
use foldback_tests::fuzz::{TARGETS, Target, inputs, target};
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// An input that takes longer is a finding: it is of some kilobytes.
const LONGEST: Duration = Duration::from_secs(10);

/// Inputs that mutation starts from are cut to this, so that a run sees many.
const LARGEST: usize = 64 * 1024;

/// Runs that follow one another on one processor. Each such piece has a seed of its own, so that the inputs are the same
/// however many processors there are.
const PIECE: u64 = 500;

/// How long a target is fuzzed.
#[derive(Clone, Copy)]
enum Length {
    Time(Duration),
    Runs(u64),
}

struct Args {
    targets: Vec<Target>,
    /// Of all targets together where it is a time, of each where it is a number of runs.
    length: Length,
    seed: u64,
    /// Where to write the inputs that mutation starts from, instead of fuzzing.
    seeds: Option<PathBuf>,
}

fn args() -> Result<Args, String> {
    let minutes = |minutes: f64| Length::Time(Duration::from_secs_f64(minutes * 60.0));
    let mut args =
        Args { targets: TARGETS.to_vec(), length: minutes(1.0), seed: 20_261_122, seeds: None };
    let mut given = std::env::args().skip(1);
    while let Some(name) = given.next() {
        let value = given.next().ok_or_else(|| format!("{name} needs a value"))?;
        let bad = |_| format!("{name} {value}: no number");
        match &*name {
            "--minutes" => {
                let given = value.parse::<f64>().map_err(|_| bad(()))?;
                let fine = (0.0..=100_000.0).contains(&given).then_some(given);
                args.length = minutes(fine.ok_or("--minutes is no time")?);
            }
            "--runs" => args.length = Length::Runs(value.parse::<u64>().map_err(|_| bad(()))?),
            "--seeds" => args.seeds = Some(value.into()),
            "--seed" => args.seed = value.parse::<u64>().map_err(|_| bad(()))?,
            "--target" => {
                let names = TARGETS.map(|target| target.name).join(", ");
                let known = target(&value);
                args.targets = vec![known.ok_or_else(|| format!("{value} is none of {names}"))?];
            }
            _ => {
                return Err(format!(
                    "{name} is none of --minutes, --runs, --target, --seed, --seeds"
                ));
            }
        }
    }
    if let Length::Time(time) = &mut args.length {
        *time = time.div_f64(args.targets.len() as f64);
    }
    Ok(args)
}

/// The inputs that mutation starts from.
fn begin(target: Target) -> Vec<Vec<u8>> {
    let inputs = inputs(target.name).into_iter().map(|(_, mut bytes)| {
        bytes.truncate(LARGEST);
        bytes
    });
    inputs.collect()
}

fn write_seeds(folder: &Path, targets: &[Target]) -> std::io::Result<()> {
    for target in targets {
        for bytes in begin(*target) {
            keep(&folder.join(target.name), "seed", &bytes)?;
        }
    }
    Ok(())
}

/// Runs a target; how often it ran, and the input that broke a promise.
fn fuzz(target: Target, length: Length, seed: u64) -> (u64, Option<Vec<u8>>) {
    let inputs = begin(target);
    let inputs: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
    let mut dice = Dice::new(seed);
    let begun = Instant::now();
    let mut runs = 0;
    let goes_on = |runs: u64| match length {
        Length::Time(time) => begun.elapsed() < time,
        Length::Runs(all) => runs < all,
    };
    while goes_on(runs) {
        let input = (target.make)(&inputs, &mut dice);
        let started = Instant::now();
        let ended = catch_unwind(AssertUnwindSafe(|| (target.body)(&input)));
        runs += 1;
        let slow = matches!(length, Length::Time(_)) && started.elapsed() > LONGEST;
        if ended.is_err() || slow {
            return (runs, Some(input));
        }
    }
    (runs, None)
}

/// The pieces that a target is fuzzed in, each with its seed.
fn pieces(length: Length, seed: u64) -> Vec<(Length, u64)> {
    match length {
        Length::Time(_) => vec![(length, seed)],
        Length::Runs(all) => (0..all.div_ceil(PIECE))
            .map(|piece| (Length::Runs(PIECE.min(all - piece * PIECE)), seed ^ (piece << 32)))
            .collect(),
    }
}

fn keep(folder: &Path, kind: &str, input: &[u8]) -> std::io::Result<PathBuf> {
    std::fs::create_dir_all(folder)?;
    // The name says what the content is.
    let path = folder.join(format!("{kind}-{}", &blake3::hash(input).to_hex()[..16]));
    std::fs::write(&path, input)?;
    Ok(path)
}

fn main() -> ExitCode {
    let args = match args() {
        Ok(args) => args,
        Err(problem) => {
            eprintln!("error: {problem}");
            return ExitCode::from(2);
        }
    };
    if let Some(folder) = &args.seeds {
        return match write_seeds(folder, &args.targets) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("error: {}: {error}", folder.display());
                ExitCode::from(2)
            }
        };
    }
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus");
    let mut found = false;
    for target in args.targets {
        let pieces = pieces(args.length, args.seed).into_par_iter();
        let (runs, inputs): (Vec<u64>, Vec<Option<Vec<u8>>>) =
            pieces.map(|(length, seed)| fuzz(target, length, seed)).unzip();
        let runs: u64 = runs.into_iter().sum();
        let inputs: Vec<Vec<u8>> = inputs.into_iter().flatten().collect();
        if inputs.is_empty() {
            println!("{}: {runs} runs, nothing found", target.name);
        }
        for input in inputs {
            found = true;
            match keep(&corpus.join(target.name), "found", &input) {
                Ok(path) => println!("{}: {runs} runs, found {}", target.name, path.display()),
                Err(error) => {
                    println!("{}: {runs} runs, found {input:?} ({error})", target.name);
                }
            }
        }
    }
    if found { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
