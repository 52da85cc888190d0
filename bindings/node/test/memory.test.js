// `compact` leaves nothing behind, in a program whose event loop does not turn either.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const LOOP = `
import { compact } from 'foldback';
const filler = (i) => Array.from({ length: 150 }, (_, k) => 'line_' + i + '_' + k + ' value').join(' ');
const messages = [{ role: 'user', content: 'Fix' }];
for (let i = 0; i < 23; i++) {
  const call = { id: 'c' + i, type: 'function', function: { name: 'read', arguments: '{}' } };
  messages.push({ role: 'assistant', content: 's' + i, tool_calls: [call] });
  messages.push({ role: 'tool', tool_call_id: 'c' + i, content: filler(i) });
}
const fold = () => compact(messages, { preset: 'indexed', window: 16000, maxOutput: 1000, tools: [] });
for (let i = 0; i < 100; i++) fold();
const before = process.memoryUsage().rss;
for (let i = 0; i < 400; i++) fold();
console.log(Math.round((process.memoryUsage().rss - before) / 1e6));
`;

test('a loop without a turn of the event loop keeps no engine', () => {
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', LOOP], { cwd: dirname(fileURLToPath(import.meta.url)), encoding: 'utf8' });
  assert.match(stdout, /^-?\d+$/m, stderr);
  // An engine of these messages takes half a megabyte.
  assert.ok(Number(stdout) < 60, `${stdout} MB more after 400 folds ${stderr}`);
});
