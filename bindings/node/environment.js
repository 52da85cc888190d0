// Packs the package and that of this platform, installs them in a clean folder and runs the tests there.
//
// `--check` only says whether the registry of packages is reached; `--quick` leaves the adapter and the types out, which
// need packages from there.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packBoth } from './pack.js';

const here = fileURLToPath(new URL('.', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'foldback-'));
const QUIET = ['--silent', '--no-audit', '--no-fund', '--no-package-lock', '--ignore-scripts'];

function run(command, args, options = {}) {
  const { status, error, stdout } = spawnSync(command, args, { cwd: folder, stdio: 'inherit', encoding: 'utf8', ...options });
  if (status !== 0) throw error ?? new Error(`${command} ${args.join(' ')} ended with ${status}`);
  return stdout;
}

/** The package installed in the folder, and its tests. */
function tests(quick) {
  // The crates are those that the workspace's tests have built.
  const env = { CARGO_PROFILE: 'dev', ...process.env, FOLDBACK_SESSIONS: join(here, '../../examples/sessions/refunds-pydantic-ai.json') };
  run('node', ['build.js'], { cwd: here, env });
  const [main, native] = packBoth(folder);
  const { dependencies } = JSON.parse(readFileSync(join(here, 'test/package.json'), 'utf8'));
  const packed = { foldback: `file:${main}`, [`foldback-${process.platform}-${process.arch}`]: `file:${native}` };
  const needed = quick ? packed : { ...dependencies, ...packed };
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module', dependencies: needed }));
  run('npm', ['install', ...QUIET, ...(quick ? ['--offline', '--omit=peer'] : [])]);
  cpSync(join(here, 'test'), join(folder, 'test'), { recursive: true, filter: (path) => !path.endsWith('package.json') });
  const files = readdirSync(join(here, 'test')).filter((name) => name.endsWith('.test.js'));
  run('node', ['--test', ...files.map((name) => join('test', name))], { env });
  if (!quick) {
    const strict = ['--noEmit', '--strict', '--types', 'node', '--target', 'es2022', '--module', 'nodenext'];
    run('npx', ['tsc', ...strict, 'test/types.ts']);
  }
}

try {
  if (process.argv.includes('--check')) run('npm', ['view', 'ai', 'version', '--fetch-retries=0', '--fetch-timeout=10000']);
  else tests(process.argv.includes('--quick'));
} finally {
  rmSync(folder, { recursive: true });
}
