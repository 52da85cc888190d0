// `compact`: what comes back, what stays the same object, and what is said of bad input.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Conversation, FoldbackError, Preset, compact, presets } from 'foldback';
import { LIMITS, SHAPES, size } from './sessions.js';

const PRESETS = ['opencode-1.17', 'brutus', 'window', 'tiered', 'indexed', 'codex', 'masking-10'];

for (const [shape, make] of Object.entries(SHAPES)) {
  test(`${shape}: a short conversation comes back as the same objects`, () => {
    const messages = make(3);
    const sent = compact(messages, LIMITS);
    assert.notEqual(sent, messages);
    assert.equal(sent.length, messages.length);
    assert.ok(sent.every((message, index) => message === messages[index]));
  });

  for (const preset of PRESETS) {
    test(`${shape}: a long conversation shrinks under ${preset} and the rest is the same objects`, () => {
      const messages = make(150);
      const before = structuredClone(messages);
      const sent = compact(messages, { preset, ...LIMITS });
      assert.deepEqual(messages, before, 'what was given is not altered');
      assert.ok(size(sent) < 0.7 * size(messages));
      const given = new Set(messages);
      assert.equal(sent.at(-1), messages.at(-1));
      assert.ok(sent.filter((message) => given.has(message)).length > 1);
      const texts = new Set(messages.map((message) => JSON.stringify(message)));
      const copies = sent.filter((message) => !given.has(message) && texts.has(JSON.stringify(message)));
      assert.deepEqual(copies, [], 'what was kept word for word is no copy');
    });
  }

  test(`${shape}: from call to call the beginning stays`, () => {
    const messages = make(150);
    const preset = new Preset('opencode-1.17');
    const conversation = new Conversation({ preset, ...LIMITS });
    let [sent, changes] = [[], 0];
    for (let end = make(1).length; end <= messages.length; end += 10) {
      const now = compact(messages.slice(0, end), { preset, ...LIMITS });
      assert.deepEqual(now, conversation.fold(messages.slice(0, end)), 'followed or met in its middle, it is the same');
      changes += JSON.stringify(now.slice(0, sent.length)) === JSON.stringify(sent) ? 0 : 1;
      assert.ok(size(now) < 5 * LIMITS.window);
      sent = now;
    }
    assert.ok(changes > 0 && changes < 6);
  });
}

test('the system prompt of Chat Completions may be apart', () => {
  const messages = SHAPES['openai-chat'](150);
  const apart = compact(messages.slice(1), { system: 'You read.', ...LIMITS });
  assert.deepEqual(apart, compact(messages, LIMITS).slice(1));
});

test('system and tools count', () => {
  const messages = SHAPES.anthropic(9);
  const tools = [{ name: 'read', description: 'x '.repeat(60_000), input_schema: { type: 'object' } }];
  assert.deepEqual(compact(messages, LIMITS), messages);
  assert.notDeepEqual(compact(messages, { tools, system: 'You read.', ...LIMITS }), messages);
});

const ONE = [{ role: 'user', content: 'a' }];
const BAD = [
  [[...ONE, 7], {}, '/messages/1', ''],
  [[...ONE, { content: 'b' }], {}, '/messages/1', 'role'],
  [[{ role: 'robot', content: 'a' }], {}, '/messages/0/role', 'robot'],
  [[...ONE, { role: 'user', content: 1n }], {}, '/messages/1', 'BigInt'],
  [[...ONE, undefined], {}, '/messages/1', 'undefined'],
  [[{ type: 'item_reference', id: '1' }], {}, '/input/0', 'provider'],
  ['text', {}, undefined, 'array'],
  [ONE, { preset: 'opencde' }, undefined, 'did you mean `opencode`'],
  [ONE, { window: -1 }, undefined, 'window'],
  [ONE, { preset: 'window', window: 100 }, undefined, 'window of 100'],
  [ONE, { protocol: 'smtp' }, undefined, 'openai-chat'],
  [null, {}, undefined, 'messages is an array of messages, not null'],
  [ONE, null, undefined, 'options is an object'],
  [ONE, { windw: 3 }, undefined, 'no option is called windw; known are preset, window'],
  [ONE, { window: 2 ** 70 }, undefined, 'window is a number of tokens'],
  [ONE, { window: true }, undefined, 'window is a number of tokens'],
  [ONE, { maxOutput: '9' }, undefined, 'maxOutput is a number of tokens'],
  [ONE, { tools: 'x' }, undefined, 'tools is an array of definitions'],
  [ONE, { tools: { name: 'x' } }, undefined, 'tools is an array of definitions'],
  [ONE, { tools: ['x'] }, '/tools', 'tools is an array of definitions'],
  [ONE, { system: 7 }, undefined, 'system is a text'],
  [ONE, { model: 7 }, undefined, 'model is a text'],
  [ONE, { preset: 7 }, undefined, 'preset is a text'],
  [ONE, { protocol: 7 }, undefined, 'protocol is a text'],
];
for (const [messages, options, path, says] of BAD) {
  test(`bad input is one error with its place: ${path ?? says}`, () => {
    assert.throws(
      () => compact(messages, options),
      (error) => {
        assert.ok(error instanceof FoldbackError);
        assert.equal(error.path, path);
        return error.message.includes(says) && error.message.includes(path ?? '');
      },
    );
  });
}

const { 'ai-sdk': _, ...own } = SHAPES;
const OF_PROVIDERS = { ...own, gemini: () => [{ role: 'user', parts: [{ text: 'a' }] }] };
for (const protocol of Object.keys(OF_PROVIDERS)) {
  for (const [other, make] of Object.entries(OF_PROVIDERS).filter(([name]) => name !== protocol)) {
    test(`messages of ${other} are no messages of ${protocol}`, () => {
      assert.throws(() => compact(make(9), { protocol }), FoldbackError);
    });
  }
}

test('an error does not end like a warning', () => {
  assert.throws(() => compact([{ role: 'robot', content: 'a' }]), /there is no role `robot` in this format$/);
});

test('a strategy that asks a model is refused with what to do', () => {
  const asks = 'extends = "opencode-1.17"\n[summarizer]\nuse = "llm"\n';
  assert.throws(() => Preset.fromToml(asks), /^FoldbackError: <toml>:3:7: .*asks no model.*extractive/);
});

test('presets are equal by value', () => {
  const text = 'extends = "window"\nname = "mine"\n';
  assert.ok(new Preset('window').equals(new Preset('window')));
  assert.ok(Preset.fromToml(text).equals(Preset.fromToml(text)));
  assert.ok(!new Preset('window').equals(new Preset('tiered')));
  assert.ok(!new Preset('window').equals('window'));
});

test('nothing is nothing', () => {
  assert.deepEqual(compact([]), []);
});

test('presets and strategies from TOML', (context) => {
  const known = presets().find(({ name }) => name === 'opencode-1.17');
  assert.ok(known.reproduces && known.description);
  const text = 'extends = "opencode-1.17"\nname = "mine"\n';
  const folder = mkdtempSync(join(tmpdir(), 'foldback-'));
  context.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'mine.toml'), text);
  writeFileSync(join(folder, 'other.toml'), 'extends = "mine.toml"\nname = "other"\n');
  assert.equal(Preset.fromToml(text).name, 'mine');
  assert.equal(Preset.fromToml(join(folder, 'other.toml')).name, 'other');
  const messages = SHAPES.anthropic(150);
  assert.deepEqual(compact(messages, { preset: Preset.fromToml(text), ...LIMITS }), compact(messages, LIMITS));
  assert.throws(() => Preset.fromToml('name = 7'), FoldbackError);
  assert.throws(() => Preset.fromToml('missing.toml'), /missing\.toml/);
});
