// The command that the package brings along.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';

const BIN = fileURLToPath(new URL('../node_modules/.bin/foldback', import.meta.url));
const SESSIONS = process.env.FOLDBACK_SESSIONS;
const skip = SESSIONS && existsSync(SESSIONS) ? false : 'FOLDBACK_SESSIONS names no folder of sessions';
const unix = { skip: process.platform === 'win32' && 'signals and pipes of Unix' };
const shell = process.platform === 'win32';

const run = (...args) => spawnSync(BIN, args, { encoding: 'utf8', shell, maxBuffer: 1 << 26 });

test('it is installed, with all its parts', () => {
  assert.match(run('--version').stdout, /^foldback \d+\.\d+\.\d+\n$/);
  for (const name of ['compare', 'compact', 'serve', 'mcp']) assert.match(run('--help').stdout, new RegExp(`\n  ${name} `));
});

test('it compares', { skip }, () => {
  const { status, stdout } = run('compare', SESSIONS, '--preset', 'window', '--window', '40000', '--store=none');
  assert.equal(status, 0);
  assert.match(stdout, /\nwindow +/);
});

test('its exit code says what is wrong', () => {
  for (const args of [['compare', 'no-such-file'], ['presets', 'opencde'], []]) {
    const { status, stdout, stderr } = run(...args);
    assert.ok(status === 2 && stderr && !stdout, args.join(' '));
  }
});

test('a slow reader gets everything, and one may go away', { skip: skip || unix.skip }, async () => {
  const all = run('convert', SESSIONS, '-', '--to', 'openai-chat').stdout;
  assert.ok(all.length > 100_000);
  const slow = spawnSync('sh', ['-c', `"${BIN}" convert "${SESSIONS}" - --to openai-chat | (sleep 1; cat)`], { encoding: 'utf8', maxBuffer: 1 << 26 });
  assert.equal(slow.stdout, all);
  const left = spawnSync('sh', ['-c', `("${BIN}" convert "${SESSIONS}" - --to openai-chat; echo $? >&2) | head -c 10`], { encoding: 'utf8' });
  assert.equal(left.stderr, '0\n');
});

test('Ctrl-C ends it, and the proxy in order', { ...unix, timeout: 30_000 }, async () => {
  const waiting = spawn(BIN, ['inspect', '-'], { stdio: ['pipe', 'pipe', 'pipe'] });
  await new Promise((resolve) => setTimeout(resolve, 1000));
  assert.equal(waiting.exitCode, null);
  waiting.kill('SIGINT');
  assert.deepEqual(await once(waiting, 'exit'), [null, 'SIGINT']);
  const proxy = spawn(BIN, ['serve', '--preset', 'indexed', '--listen', '127.0.0.1:0'], { stdio: ['ignore', 'pipe', 'pipe'] });
  const [said] = await once(proxy.stderr, 'data');
  assert.match(String(said), /127\.0\.0\.1/);
  proxy.kill('SIGINT');
  assert.deepEqual(await once(proxy, 'exit'), [0, null]);
});
