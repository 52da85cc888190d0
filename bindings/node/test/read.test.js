// What was given before is not serialized again, and what was changed where it stands is.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';

// It is no part of what the package exports.
const index = pathToFileURL(createRequire(import.meta.url).resolve('foldback'));
const { Read } = await import(new URL('read.js', index).href);

/** How often each value is made when all are given one after the other, at one place. */
function made(...values) {
  const read = new Read();
  let count = 0;
  const make = (value) => {
    count += 1;
    return JSON.stringify(value);
  };
  for (const value of values) assert.equal(read.of('/messages/0', value, make), JSON.stringify(value));
  return count;
}

test('only what is new is made', () => {
  const message = { role: 'user', content: [{ type: 'text', text: 'a', more: [null, 1.5, true] }] };
  assert.equal(made(message, message, structuredClone(message)), 1);
  assert.equal(made('a', 'a', 'b'), 2);
  assert.equal(made(message, { ...message, role: 'assistant' }, message), 3);
  assert.equal(made({ a: 1 }, { a: undefined }, {}), 3);
  assert.equal(made([1], { 0: 1 }), 2);
});

test('what is changed where it stands is made again', () => {
  const read = new Read();
  const message = { role: 'user', content: [{ type: 'text', text: 'a' }] };
  const texts = ['a', 'b', 'b'].map((text) => {
    message.content[0].text = text;
    return read.of('/messages/0', message, (value) => JSON.stringify(value));
  });
  assert.deepEqual(texts, ['a', 'b', 'b'].map((text) => `{"role":"user","content":[{"type":"text","text":"${text}"}]}`));
});

test('what holds other objects is made each time', () => {
  for (const other of [new Uint8Array([1]), new URL('https://example.com'), new Date(0), { toJSON: () => 1 }, new (class {})()]) {
    assert.equal(made({ other }, { other }), 2);
  }
});
