// `ModelMessage`s of the Vercel AI SDK: every part that there is goes in, and what no fold touched comes out as it was.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compact, presets } from 'foldback';
import { LIMITS, SHAPES, listing } from './sessions.js';

const AI = { ...LIMITS, protocol: 'ai-sdk' };

/** Every preset can work in it. */
const LARGE = { window: 60_000, maxOutput: 4_000 };

/** The same messages as Anthropic's, where parts are of text and tools. */
function blocks({ role, content }) {
  if (typeof content === 'string') return { role, content };
  const block = (part) => {
    if (part.type === 'text') return { type: 'text', text: part.text };
    const { toolCallId: id, toolName: name, input, output } = part;
    return part.type === 'tool-call' ? { type: 'tool_use', id, name, input } : { type: 'tool_result', tool_use_id: id, content: output.value };
  };
  return { role: role === 'tool' ? 'user' : role, content: content.map(block) };
}

for (const { name: preset } of presets()) {
  test(`${preset} does to them what it does to Anthropic's`, () => {
    const sent = compact(SHAPES['ai-sdk'](300), { preset, ...LARGE });
    assert.deepEqual(sent.map(blocks), compact(SHAPES.anthropic(300), { preset, ...LARGE }));
    const results = sent.flatMap(({ role, content }) => (role === 'tool' ? content : []));
    assert.ok(results.every((part) => part.type === 'tool-result' && part.toolName === 'read' && part.output.type === 'text'));
  });
}

const PNG = new Uint8Array([137, 80, 78, 71]);
const PARTS = [
  { role: 'system', content: 'You read.' },
  {
    role: 'user',
    content: [
      { type: 'text', text: 'Look.', providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } } },
      { type: 'image', image: PNG },
      { type: 'image', image: new URL('https://example.com/a.png') },
      { type: 'file', data: 'aGVsbG8=', mediaType: 'application/pdf', filename: 'a.pdf' },
      { type: 'file', data: { type: 'url', url: new URL('https://example.com/a.pdf') }, mediaType: 'application/pdf' },
    ],
  },
  {
    role: 'assistant',
    content: [
      { type: 'reasoning', text: 'Hm.', providerOptions: { anthropic: { signature: 's' } } },
      { type: 'tool-call', toolCallId: 'w', toolName: 'web_search', input: { query: 'a' }, providerExecuted: true },
      { type: 'tool-result', toolCallId: 'w', toolName: 'web_search', output: { type: 'json', value: [] } },
      { type: 'tool-call', toolCallId: 'a', toolName: 'read', input: { path: 'a' } },
      { type: 'tool-call', toolCallId: 'b', toolName: 'read', input: { path: 'b' } },
      { type: 'tool-call', toolCallId: 'd', toolName: 'read', input: { path: 'd' } },
      { type: 'tool-approval-request', approvalId: 'x', toolCallId: 'd' },
    ],
  },
  {
    role: 'tool',
    content: [
      { type: 'tool-approval-response', approvalId: 'x', approved: false },
      {
        type: 'tool-result',
        toolCallId: 'a',
        toolName: 'read',
        output: { type: 'content', value: [{ type: 'text', text: listing('a') }, { type: 'image-data', data: 'aGVsbG8=', mediaType: 'image/png' }] },
      },
      { type: 'tool-result', toolCallId: 'b', toolName: 'read', output: { type: 'error-json', value: { code: 7 } } },
      { type: 'tool-result', toolCallId: 'd', toolName: 'read', output: { type: 'execution-denied', reason: 'No.' } },
    ],
  },
  { role: 'assistant', content: 'Done.' },
];

test('every part goes in, and comes back as the same object', () => {
  const sent = compact(PARTS, AI);
  assert.equal(sent.length, PARTS.length);
  assert.ok(sent.every((message, index) => message === PARTS[index]));
});

test('an edit of one result leaves the other parts of its message the same objects', () => {
  const messages = [...PARTS, ...SHAPES['ai-sdk'](150).slice(1)];
  const given = new Set(messages);
  const sent = compact(messages, { preset: 'masking-10', ...AI });
  const at = sent.findIndex(({ role }) => role === 'tool');
  const [response, cleared] = sent[at].content;
  assert.ok(!given.has(sent[at]));
  assert.equal(response, PARTS[3].content[0]);
  assert.equal(cleared.toolCallId, 'a');
  assert.notDeepEqual(cleared.output, PARTS[3].content[1].output);
  assert.equal(sent[0], PARTS[0], 'the system message');
  assert.equal(sent[at - 1], PARTS[2], 'reasoning, and what the provider ran');
});
