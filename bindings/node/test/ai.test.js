// The Vercel AI SDK: `prepareStep` in real runs with a scripted model, under both versions of the SDK that it works with.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS, SHAPES, listing, size } from './sessions.js';

const packages = { 'AI SDK 6': ['ai', 'MockLanguageModelV3'], 'AI SDK 7': ['ai7', 'MockLanguageModelV4'] };
/** A module, or nothing where its package is not installed. */
async function installed(name) {
  try {
    return await import(name);
  } catch (wrong) {
    if (wrong.code === 'ERR_MODULE_NOT_FOUND') return undefined;
    throw wrong;
  }
}

const { compaction } = (await installed('foldback/ai')) ?? {};
const skip = compaction ? false : 'the package `ai` is not installed: the quick part of the tests leaves the adapters out';

const CALLS = 200;

/** A model that calls its tool so many times; `seen` are the prompts that it was given. */
function scripted(Model, simulate, total) {
  const seen = [];
  const usage = () => ({
    inputTokens: { total, noCache: total, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 10, text: 10, reasoning: 0 },
  });
  const next = (prompt) => {
    const call = seen.push(prompt) - 1;
    const last = call === CALLS;
    const part = { type: 'tool-call', toolCallId: `c${call}`, toolName: 'read', input: JSON.stringify({ path: `${call}` }) };
    return { part: last ? { type: 'text', text: 'Done.' } : part, finishReason: { unified: last ? 'stop' : 'tool-calls', raw: undefined } };
  };
  const doGenerate = async ({ prompt }) => {
    const { part, finishReason } = next(prompt);
    return { content: [part], finishReason, usage: usage(), warnings: [] };
  };
  const doStream = async ({ prompt }) => {
    const { part, finishReason } = next(prompt);
    const { text } = part;
    const parts = text ? [{ type: 'text-start', id: '0' }, { type: 'text-delta', id: '0', delta: text }, { type: 'text-end', id: '0' }] : [part];
    return { stream: simulate({ chunks: [...parts, { type: 'finish', finishReason, usage: usage() }] }) };
  };
  return { model: new Model({ doGenerate, doStream }), seen };
}

for (const [sdk, [name, mock]] of Object.entries(packages)) {
  const ai = await installed(name);
  const unknown = skip || (ai ? false : `the package \`${name}\` is not installed`);
  const parts = async () => ({ ...ai, ...(await import(`${name}/test`)), compaction });

  async function run(act, total, options = {}) {
    const { generateText, streamText, stepCountIs, tool, jsonSchema, simulateReadableStream, ...other } = await parts();
    const { model, seen } = scripted(other[mock], simulateReadableStream, total);
    const inputSchema = jsonSchema({ type: 'object', properties: { path: { type: 'string' } } });
    const tools = { read: tool({ description: 'Reads.', inputSchema, execute: ({ path }) => listing(path) }) };
    const prepareStep = compaction({ ...LIMITS, tools, ...options });
    const given = { model, tools, prepareStep, prompt: 'Read all files.', stopWhen: stepCountIs(CALLS + 9) };
    const result = await (act === 'generate' ? generateText(given) : streamText({ ...given, onError: ({ error }) => assert.fail(error) }));
    return { text: await result.text, steps: await result.steps, seen, prepareStep };
  }

  for (const act of ['generate', 'stream']) {
    test(`${sdk}: a run in a small window (${act})`, { skip: unknown }, async () => {
      const { text, steps, seen, prepareStep } = await run(act, undefined);
      assert.equal(text, 'Done.');
      assert.equal(seen.length, CALLS + 1);
      assert.equal(steps.length, CALLS + 1);
      assert.ok(Math.max(...seen.map(size)) < 160_000 && seen.at(-1).length < 150);
      const { received, sent, folds } = prepareStep.conversation.sizes;
      assert.ok(folds > 0 && sent < LIMITS.window && received > 1.5 * LIMITS.window, 'the conversation knows all of the run');
      // What was folded away is there for the model.
      assert.match(await prepareStep.recall.execute({ reference: 'c3' }), /fn of_3_7\(\)/);
      // The beginning of a request stays that of the request before, but for folds.
      const texts = seen.map((prompt) => prompt.map((message) => JSON.stringify(message)));
      const changes = texts.slice(1).filter((now, at) => texts[at].some((message, index) => message !== now[index]));
      assert.ok(changes.length <= folds + 4, `${changes.length} changes`);
    });
  }

  test(`${sdk}: reported usage decides`, { skip: unknown }, async () => {
    const [told, estimated] = [await run('generate', 29_000), await run('generate', 10)];
    assert.ok(told.seen[2].length <= estimated.seen[2].length && size(told.seen[20]) < size(estimated.seen[20]));
  });
}

test('all messages at every step, or those sent and what is new: it is the same', { skip }, async () => {
  const messages = SHAPES['ai-sdk'](150);
  const [whole, further] = [compaction(LIMITS), compaction(LIMITS)];
  const [stepsOfWhole, stepsOfFurther] = [[], []];
  let sent = [];
  for (let end = 1; end <= messages.length; end += 2) {
    const all = await whole({ messages: messages.slice(0, end), steps: stepsOfWhole });
    const rest = messages.slice(Math.max(end - 2, 0), end);
    const more = await further({ messages: [...sent, ...rest], steps: stepsOfFurther });
    assert.deepEqual(more, all);
    sent = more.messages;
  }
  assert.ok(sent.length < messages.length);
  // Another run under the same adapter is followed from its beginning.
  const { messages: other } = await whole({ messages: messages.slice(0, 3), steps: [] });
  assert.deepEqual(other, messages.slice(0, 3));
});
