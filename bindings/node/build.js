// Builds the native part with cargo and puts it beside `lib`. `CARGO_PROFILE` chooses another profile than `release`.
// `FOLDBACK_TARGET` is a target for which `cargo zigbuild` builds, as a release does for Linux: with the version of glibc behind
// it (`x86_64-unknown-linux-gnu.2.28`), or for musl.
import { spawnSync } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const profile = process.env.CARGO_PROFILE ?? 'release';
const target = process.env.FOLDBACK_TARGET;
const cwd = fileURLToPath(new URL('.', import.meta.url));
const told = ['--message-format', 'json-render-diagnostics'];
const build = target ? ['zigbuild', '--target', target] : ['build'];
// A library that is loaded is linked with the C library that is there.
const env = { ...process.env };
if (target?.endsWith('-musl')) env.RUSTFLAGS = `${env.RUSTFLAGS ?? ''} -Ctarget-feature=-crt-static`;
const { status, stdout, error } = spawnSync('cargo', [...build, '--package', 'foldback-node', '--profile', profile, ...told], {
  cwd,
  env,
  encoding: 'utf8',
  maxBuffer: 1 << 28,
  stdio: ['ignore', 'pipe', 'inherit'],
});
if (status !== 0) throw error ?? new Error(`cargo ended with ${status}`);
const built = stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line));
const library = built.find((message) => message.reason === 'compiler-artifact' && message.target.name === 'foldback_node');
copyFileSync(library.filenames.find((name) => /\.(so|dylib|dll)$/.test(name)), new URL('foldback.node', import.meta.url));
