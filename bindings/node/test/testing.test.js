// `foldback/testing`: by itself with `node:test`, and in projects of Vitest and Jest that have nothing but the package.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { FoldbackError } from 'foldback';
import { assertValid, matchCompaction, render } from 'foldback/testing';
import { LIMITS, SHAPES } from './sessions.js';

const here = dirname(fileURLToPath(import.meta.url));
const keeps = (last) => {
  const mine = (messages) => [messages[0], ...messages.slice(last)];
  return mine;
};

/** A folder beside the tests, where their packages are found. */
function folder(t) {
  const made = mkdtempSync(join(here, 'project-'));
  t.after(() => rmSync(made, { recursive: true }));
  return made;
}

for (const [shape, make] of Object.entries(SHAPES)) {
  test(`${shape} is rendered, and its rules are known`, () => {
    const messages = make(20);
    const text = render(messages, (all) => [all[0], ...all.slice(3)], { title: 'cut' });
    assert.match(text, /^# compaction · cut\n/);
    assert.match(text, /\n## Hidden\n/);
    assert.match(render(messages, 'window', LIMITS), /^# window\nwindow of 30000 tokens, 4000 for the answer\n/);
    assertValid(messages, shape);
    assert.throws(() => assertValid([...messages.slice(0, -1), messages[0]], shape), /AssertionError.*\n.*call-unanswered: /);
  });
}

test('a file is written where that is asked for, and compared', async (t) => {
  const file = join(folder(t), 'snapshots', 'a.snapshot.txt');
  const messages = SHAPES.anthropic(9);
  assert.throws(() => matchCompaction(messages, keeps(-4), { file }), /there is no snapshot yet/);
  assert.equal(existsSync(file), false);
  process.env.FOLDBACK_UPDATE = '1';
  t.after(() => delete process.env.FOLDBACK_UPDATE);
  matchCompaction(messages, keeps(-4), { file });
  delete process.env.FOLDBACK_UPDATE;
  matchCompaction(messages, keeps(-4), { file });
  await matchCompaction(messages, async function mine(all) {
    return keeps(-4)(all);
  }, { file });
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll('\n', '\r\n'));
  matchCompaction(messages, keeps(-4), { file });
  assert.throws(() => matchCompaction(messages, keeps(-3), { file }), /\n-    call read c8: /);
  assert.deepEqual(messages, SHAPES.anthropic(9));
});

test('what can not be rendered is said', () => {
  const rows = [
    [() => render([], 7), /a preset or a function/],
    [() => render([], (all) => all, { window: 9_000 }), /window is for a preset/],
    [() => render([], () => undefined), /no array of messages/],
    [() => assertValid([], 'smtp'), /no dialect is called smtp/],
    [() => matchCompaction([], 'window'), /file is the path/],
  ];
  for (const [act, why] of rows) assert.throws(act, (wrong) => wrong instanceof FoldbackError && why.test(wrong.message));
  assert.throws(() => assertValid([{ role: 'user', content: 7 }]), /AssertionError.*\n.*\/messages\/0\/content/);
  assert.throws(() => assertValid(SHAPES['openai-chat'](1)), /is a message of openai-chat/);
});

/** Whether a package is there; the quick part of the tests leaves the runners out. */
function program(name, path) {
  try {
    return join(dirname(createRequire(import.meta.url).resolve(`${name}/package.json`)), path);
  } catch {
    return undefined;
  }
}

const RUNNERS = {
  Vitest: {
    program: program('vitest', 'vitest.mjs'),
    arguments: ['run'],
    header: "import { expect, test } from 'vitest';",
    files: { 'vitest.config.js': "export default { test: { setupFiles: ['foldback/testing/vitest'] } };" },
  },
  Jest: {
    program: program('jest', 'bin/jest.js'),
    arguments: [],
    header: "import { expect, test } from '@jest/globals';",
    files: { 'jest.config.js': "export default { setupFilesAfterEnv: ['foldback/testing/jest'], transform: {} };" },
  },
};

const PROJECT = `
import { assertValid } from 'foldback/testing';
import { SHAPES } from '../sessions.js';

const messages = SHAPES.anthropic(9);
const mine = (all) => [all[0], ...all.slice(KEPT)];

test('a preset', () => {
  expect(messages).toMatchCompaction('PRESET', { window: 12_000, maxOutput: 2_000 });
});
test('mine: a/b', async () => {
  expect(messages).toMatchCompaction(mine);
  await expect(messages).toMatchCompaction(async (all) => mine(all));
  expect(messages).toMatchCompaction(mine, { name: 'the same' });
});
test('valid', () => assertValid(mine(messages)));
`;

for (const [name, runner] of Object.entries(RUNNERS)) {
  test(`${name}: a snapshot is made, fails and is updated`, { skip: runner.program ? false : `${name} is not installed` }, (t) => {
    const project = folder(t);
    const snapshots = join(project, 'snapshots');
    for (const [file, text] of Object.entries({ ...runner.files, 'package.json': '{ "type": "module" }' })) {
      writeFileSync(join(project, file), text);
    }
    const run = (args, { preset = 'swe-agent-last-5', kept = -4 } = {}) => {
      const text = PROJECT.replace('PRESET', preset).replace('KEPT', kept);
      writeFileSync(join(project, 'mine.test.js'), `${runner.header}\n${text}`);
      const env = { PATH: process.env.PATH, HOME: project, NO_COLOR: '1', CI: '1', NODE_OPTIONS: '--experimental-vm-modules --no-warnings' };
      const ran = spawnSync('node', [runner.program, ...runner.arguments, ...args], { cwd: project, encoding: 'utf8', env });
      return { code: ran.status, said: ran.stdout + ran.stderr };
    };

    const missing = run([]);
    assert.equal(missing.code, 1, missing.said);
    assert.match(missing.said, /there is no snapshot yet/);
    assert.match(missing.said, /2 failed/);
    assert.equal(existsSync(snapshots), false, 'a check writes nothing');

    const written = run(['-u']);
    assert.equal(written.code, 0, written.said);
    const names = ['mine.test.a-preset.snapshot.txt', 'mine.test.mine-a-b-2.snapshot.txt', 'mine.test.mine-a-b.snapshot.txt', 'mine.test.the-same.snapshot.txt'];
    assert.deepEqual(readdirSync(snapshots).sort(), names);
    const again = run([]);
    assert.equal(again.code, 0, again.said);

    const changed = run([], { preset: 'none' });
    assert.equal(changed.code, 1, changed.said);
    assert.match(changed.said, /1 failed/);
    assert.match(changed.said, /-    result read c1 \(cleared\)/);
    assert.match(changed.said, /Write it with -u/);

    const lossy = run([], { kept: -3 });
    assert.equal(lossy.code, 1, lossy.said);
    assert.match(lossy.said, /2 failed/);
    assert.match(lossy.said, /-    call read c8: /);
    assert.match(lossy.said, /message 1: result-without-call: /);

    assert.equal(run(['-u'], { preset: 'none' }).code, 0);
    assert.equal(run([], { preset: 'none' }).code, 0);
  });
}
