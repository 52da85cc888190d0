// `compare`: the rows of the command.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { FoldbackError, compare } from 'foldback';

const SESSIONS = process.env.FOLDBACK_SESSIONS;
const skip = SESSIONS && existsSync(SESSIONS) ? false : 'FOLDBACK_SESSIONS names no folder of sessions';

test('rows for every session, preset and call', { skip }, async () => {
  const compared = compare(SESSIONS, { presets: ['opencode-1.17', 'window'], window: 60_000, maxOutput: 4_000 });
  let ticks = 0;
  const timer = setInterval(() => (ticks += 1), 1);
  const { rows, json, text } = await compared;
  clearInterval(timer);
  assert.ok(ticks > 0, 'other work goes on meanwhile');
  assert.ok(rows.length > 100 && rows.every((row) => row.session && row.preset));
  assert.ok(rows.some(({ preset, call }) => preset.startsWith('opencode-1.17') && call === 0));
  assert.ok(text.includes('opencode-1.17') && typeof json === 'object');
});

test('what is wrong is said', async () => {
  await assert.rejects(compare('no-such-folder', { preset: 'none' }), /no option is called preset; known are window/);
  await assert.rejects(compare('no-such-folder'), (error) => error instanceof FoldbackError && /no-such-folder/.test(error.message));
  await assert.rejects(compare('.', { presets: 'opencde' }), /did you mean `opencode`/);
});
