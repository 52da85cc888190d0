// Builds the native part with cargo and puts it beside `lib`. `CARGO_PROFILE` chooses another profile than `release`.
import { spawnSync } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const profile = process.env.CARGO_PROFILE ?? 'release';
const cwd = fileURLToPath(new URL('.', import.meta.url));
const told = ['--message-format', 'json-render-diagnostics'];
const { status, stdout, error } = spawnSync('cargo', ['build', '--package', 'foldback-node', '--profile', profile, ...told], {
  cwd,
  encoding: 'utf8',
  maxBuffer: 1 << 28,
  stdio: ['ignore', 'pipe', 'inherit'],
});
if (status !== 0) throw error ?? new Error(`cargo ended with ${status}`);
const built = stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line));
const library = built.find((message) => message.reason === 'compiler-artifact' && message.target.name === 'foldback_node');
copyFileSync(library.filenames.find((name) => /\.(so|dylib|dll)$/.test(name)), new URL('foldback.node', import.meta.url));
