// `Conversation`: what it keeps from call to call, what it says of it, and what it gives back.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Conversation, FoldbackError, compact } from 'foldback';
import { LIMITS, SHAPES } from './sessions.js';

const RESPONSES = {
  'openai-chat': {
    choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Done.' } }],
    usage: { prompt_tokens: 29_000, completion_tokens: 10, total_tokens: 29_010 },
  },
  anthropic: {
    type: 'message',
    role: 'assistant',
    content: [{ type: 'text', text: 'Done.' }],
    usage: { input_tokens: 29_000, output_tokens: 10 },
  },
  'openai-responses': {
    object: 'response',
    output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Done.', annotations: [] }] }],
    usage: { input_tokens: 29_000, output_tokens: 10, total_tokens: 29_010 },
  },
  'ai-sdk': {
    response: { messages: [{ role: 'assistant', content: [{ type: 'text', text: 'Done.' }] }] },
    usage: { inputTokens: 29_000, inputTokenDetails: { cacheReadTokens: 9_000 }, outputTokens: 10 },
  },
};

for (const [shape, make] of Object.entries(SHAPES)) {
  test(`${shape}: it is what compact gives for all messages`, () => {
    const conversation = new Conversation(LIMITS);
    const messages = make(150);
    const first = make(0).length;
    conversation.append(...messages.slice(0, first));
    for (let at = first; at < messages.length; at += 2) {
      conversation.view();
      conversation.append(...messages.slice(at, at + 2));
    }
    const view = conversation.view();
    assert.deepEqual(view, compact(messages, LIMITS));
    assert.equal(view.at(-1), messages.at(-1));
    const { received, sent, folds } = conversation.sizes;
    assert.ok(sent < 30_000 && 30_000 < received && folds > 0);
    assert.match(conversation.explain(), /opencode[^]*because/);
    assert.ok(conversation.undo());
    assert.equal(conversation.sizes.folds, folds - 1);
  });

  test(`${shape}: pinned texts stay`, () => {
    const conversation = new Conversation({ ...LIMITS, preset: 'window' });
    const messages = make(150);
    // The form of the messages is known once a tool was called.
    const first = make(1).length;
    conversation.append({ role: 'user', content: '<pin>Never touch main.</pin> And: ship it.' }, ...messages.slice(0, first));
    conversation.view();
    assert.ok(conversation.pin('ship it.') && !conversation.pin('nobody said this'));
    conversation.append(...messages.slice(first));
    const sent = JSON.stringify(conversation.view());
    assert.ok(conversation.sizes.folds > 0);
    for (const text of ['Never touch main.', 'ship it.']) assert.equal(sent.split(text).length, 2);
    assert.ok(conversation.unpin('ship') && !conversation.unpin('ship'));
  });

  for (const system of [undefined, 'You read.']) {
    test(`${shape}: reported usage decides, with ${system ?? 'no system prompt'}`, () => {
      const conversation = new Conversation({ system, ...LIMITS });
      for (let turn = 0; turn < 5; turn += 1) {
        conversation.append({ role: 'user', content: 'One. '.repeat(900) });
        conversation.view();
        const added = conversation.answered(RESPONSES[shape]);
        assert.ok(added.length > 0 && conversation.messages.at(-1) === added.at(-1));
      }
      conversation.append({ role: 'user', content: 'Go on.' });
      assert.notDeepEqual(conversation.view(), conversation.messages);
      assert.ok(conversation.sizes.folds >= 1);
    });
  }

  for (const act of ['compact', 'overflow']) {
    test(`${shape}: ${act} folds below the threshold`, () => {
      const conversation = new Conversation(LIMITS);
      assert.equal(conversation[act](), false, 'there is nothing yet');
      const messages = make(40);
      conversation.append(...messages);
      assert.deepEqual(conversation.view(), messages);
      assert.equal(conversation[act](), true);
      assert.ok(conversation.view().length < messages.length);
    });
  }

  test(`${shape}: blank lines that go leave the conversation and its folds`, () => {
    // Only the refusal folds.
    const conversation = new Conversation({ ...LIMITS, preset: 'tiered', window: 400_000 });
    const messages = [...make(40), { role: 'user', content: 'Why?\n\n\n' }];
    conversation.fold(messages);
    assert.equal(conversation.overflow(), true);
    const { folds } = conversation.sizes;
    // The message whose blanks are gone is the client's present one.
    const asked = { role: 'user', content: 'Why?' };
    const next = [asked, { role: 'assistant', content: 'So.' }, { role: 'user', content: 'And?\n\n\n' }];
    messages.splice(-1, 1, ...next);
    const view = conversation.fold(messages);
    assert.ok(folds > 0 && conversation.sizes.folds === folds);
    assert.ok(view.length < messages.length && view.at(-3) === asked);
    assert.deepEqual(view.slice(-3), next);
  });

  test(`${shape}: what was folded away can be read again`, () => {
    const conversation = new Conversation(LIMITS);
    conversation.append(...make(150));
    assert.ok(!JSON.stringify(conversation.view()).includes('fn of_3_7()'));
    assert.match(conversation.recall({ reference: 'c3' }), /fn of_3_7\(\)/);
    assert.match(conversation.recall('{"query": "of_3_7"}'), /of_3_7/);
    const tool = conversation.recallTool;
    assert.equal((tool.function ?? tool).name, 'recall');
  });
}

test('a list that branches off is followed from its beginning', () => {
  const conversation = new Conversation(LIMITS);
  const messages = SHAPES.anthropic(150);
  conversation.fold(messages);
  const fork = [...messages.slice(0, 41), { role: 'assistant', content: 'Stop.' }];
  assert.deepEqual(conversation.fold(fork), fork);
  assert.equal(conversation.sizes.folds, 0);
});

test('ai-sdk: what a plugin keeps beside a message is never read', () => {
  let read = 0;
  const beside = { get all() { return (read += 1); } };
  const conversation = new Conversation({ ...LIMITS, protocol: 'ai-sdk' });
  for (let at = 0; at < 2; at += 1) {
    const messages = SHAPES['ai-sdk'](150).map((message) =>
      typeof message.content === 'string' ? message : { ...message, content: message.content.map((part) => ({ ...part, of: beside })), of: beside },
    );
    assert.ok(conversation.fold(messages).length > 0);
  }
  assert.ok(conversation.sizes.folds > 0);
  assert.equal(read, 0);
});

test('what is no response is an error', () => {
  const conversation = new Conversation(LIMITS);
  for (const response of [{}, { choices: [] }, { choices: null, error: 'x' }, undefined]) {
    assert.throws(() => conversation.answered(response), FoldbackError);
  }
  assert.deepEqual(conversation.messages, []);
});
