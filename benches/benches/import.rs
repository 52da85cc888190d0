//! Reading a file of every format: a generated session of 2,202 messages written in that format, and
//! the largest recorded file where recordings are there.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use foldback_benches::{corpus, shape};
use foldback_formats::{FORMATS, View};
use std::hint::black_box;

fn read(c: &mut Criterion, group: &str, files: Vec<(&'static str, String, Vec<u8>)>) {
    let mut group = c.benchmark_group(group);
    group.sample_size(20);
    for (format, name, bytes) in files {
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        group.bench_with_input(BenchmarkId::new(format, name), &bytes, |b, bytes| {
            b.iter(|| foldback_formats::read(black_box(bytes), Some(format)));
        });
    }
    group.finish();
}

fn generated(c: &mut Criterion) {
    let session = shape::session(shape::messages(1_000));
    let files = FORMATS
        .iter()
        .filter_map(|format| {
            let text = match format.write(&View::recorded(&session, &[]))? {
                Ok(written) => written.text,
                Err(error) => panic!("{}: {error}", format.id),
            };
            let read = foldback_formats::read(text.as_bytes(), Some(format.id));
            let messages = match read {
                Ok(sessions) => {
                    sessions.iter().map(|session| session.messages.len()).sum::<usize>()
                }
                Err(error) => panic!("{}: {error}", format.id),
            };
            Some((format.id, messages.to_string(), text.into_bytes()))
        })
        .collect();
    read(c, "import", files);
}

fn recorded(c: &mut Criterion) {
    let files = corpus::largest()
        .into_iter()
        .map(|recording| (recording.format, recording.name, recording.bytes))
        .collect();
    read(c, "import-recorded", files);
}

criterion_group!(benches, generated, recorded);
criterion_main!(benches);
