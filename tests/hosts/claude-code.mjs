// The released Claude Code with the hooks of `foldback setup claude-code-hooks`: a task of 300 calls in which it compacts by itself,
// what it is told before and after, and a hook that fails.
//
//     node claude-code.mjs HOME FOLDBACK PROVIDER     (a folder with its package, the command, the fake provider)
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CALLS, FOLDS, TASK, folder, mark, provider, run, work, write } from './host.mjs';

const [installed, foldback, fake] = process.argv.slice(2);
const cwd = work();

/** The texts of a request. */
const text = ({ body }) => JSON.stringify(body.messages);

async function task(plant) {
  const home = folder();
  const bin = folder();
  plant(join(bin, 'foldback'));
  const settings = join(home, '.claude/settings.json');
  const before = '{\n  "permissions": { "allow": ["Read"] }\n}\n';
  write(settings, before);
  const setup = (...args) => {
    const done = spawnSync(foldback, ['setup', 'claude-code-hooks', ...args], { encoding: 'utf8', env: { HOME: home } });
    assert.equal(done.status, 0, done.stderr);
  };
  setup('--write');
  const { url, requests } = await provider(fake, 1_000_000);
  const env = {
    PATH: `${bin}:${process.env.PATH}`,
    ANTHROPIC_API_KEY: 'k',
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_MODEL: 'claude-sonnet-4-5',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    CLAUDE_CODE_AUTO_COMPACT_WINDOW: '50000',
    CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: '60',
  };
  const wrapper = join(installed, 'node_modules/@anthropic-ai/claude-code/cli-wrapper.cjs');
  const said = await run(process.execPath, [wrapper, '--print', TASK, '--allowedTools', 'Read'], { cwd, home, env });
  setup('--remove');
  assert.equal(readFileSync(settings, 'utf8'), before, 'byte for byte');
  assert.match(said, /Done\./);
  const projects = join(home, '.claude/projects');
  const names = existsSync(projects) ? readdirSync(projects, { recursive: true }) : [];
  const kept = names.filter((name) => name.endsWith('.jsonl')).map((name) => readFileSync(join(projects, name), 'utf8')).join('');
  for (let number = 1; number < CALLS; number += 1) assert.ok(kept.includes(mark(number)), `file ${number} is lost`);
  return { requests, kept };
}

const boundaries = (kept) => kept.split('"subtype":"compact_boundary"').length - 1;

const hooked = await task((path) => symlinkSync(foldback, path));
const folds = boundaries(hooked.kept);
assert.ok(folds >= FOLDS, `${folds} compactions`);
const asked = hooked.requests.filter((one) => one.body?.messages);
const before = asked.filter((one) => text(one).includes('Calls of this session referred to these by name'));
assert.ok(before.length >= folds, `${before.length} summaries of ${folds} were asked for with names`);
const told = asked.filter((one) => text(one).includes('The compaction took these out of sight'));
assert.ok(told.length >= folds && told.every((one) => /files: [^"]*src\/\d+\.rs/.test(text(one))), `${told.length} requests`);
console.log(`claude-code: ${folds} compactions, each with names before and after`);

const failed = await task((path) => {
  writeFileSync(path, '#!/bin/sh\necho planted >&2\nexit 2\n');
  chmodSync(path, 0o755);
});
assert.ok(boundaries(failed.kept) >= FOLDS, `${boundaries(failed.kept)} compactions with a hook that fails`);
console.log(`hooks that fail: ${boundaries(failed.kept)} compactions, and on to the end`);
process.exit();
