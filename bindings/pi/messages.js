// Messages of pi as `ModelMessage`s of the AI SDK, which foldback reads, and back. Each carries the one that it was made of,
// so that what no fold touched goes out as it came.
import { counted } from 'foldback/plugin';

const text = (block) => ({ type: 'text', text: block.text, of: block });

function part(block) {
  switch (block.type) {
    case 'text':
      return text(block);
    case 'image':
      return { type: 'image', image: block.data, mediaType: block.mimeType, of: block };
    case 'thinking':
      // With its signature, without which it can't be sent back.
      return { type: 'reasoning', text: block.thinking, providerOptions: { pi: { signature: block.thinkingSignature } }, of: block };
    case 'toolCall':
      return { type: 'tool-call', toolCallId: block.id, toolName: block.name, input: block.arguments, of: block };
    default:
      return { ...block, of: block };
  }
}

/** What a tool gave. */
function output({ content, isError }) {
  const texts = content.filter(({ type }) => type === 'text').map((block) => block.text);
  if (texts.length === content.length) return { type: isError ? 'error-text' : 'text', value: texts.join('\n') };
  const value = content.map((block) =>
    block.type === 'text' ? { type: 'text', text: block.text } : { type: 'media', data: block.data, mediaType: block.mimeType },
  );
  return { type: 'content', value };
}

export function toModel(message) {
  if (message.role === 'toolResult') {
    const { toolCallId, toolName } = message;
    return { role: 'tool', content: [{ type: 'tool-result', toolCallId, toolName, output: output(message) }], of: message };
  }
  const { role, content, usage } = message;
  return { role, content: typeof content === 'string' ? content : content.map(part), of: message, usage: usage && counted(usage) };
}

/** A part that is new, or was changed from a block. */
function block({ type, of, ...made }) {
  switch (type) {
    case 'text':
      return { ...of, type, text: made.text };
    case 'reasoning':
      return of ?? { type: 'thinking', thinking: made.text };
    case 'tool-call':
      return { ...of, type: 'toolCall', id: made.toolCallId, name: made.toolName, arguments: made.input };
    case 'image':
    case 'file':
      return of ?? { type: 'image', data: made.image ?? made.data, mimeType: made.mediaType };
    default:
      return of ?? { type, ...made };
  }
}

function results({ content, of }) {
  const [{ output }] = content;
  const value = output.type === 'content' ? output.value : [{ type: 'text', text: output.value }];
  const blocks = value.map((one) => (one.type === 'text' ? one : { type: 'image', data: one.data, mimeType: one.mediaType }));
  return { ...of, content: blocks };
}

/** A message that is new, or was changed from one of pi's. */
export function toPi(message, model) {
  const { role, content, of } = message;
  if (role === 'tool') return results(message);
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content.map(block);
  if (of !== undefined) return { ...of, content: blocks };
  const said = { role, content: blocks, timestamp: 0 };
  if (role !== 'assistant') return said;
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
  const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost };
  return { ...said, api: model.api, provider: model.provider, model: model.id, usage, stopReason: 'stop' };
}

/** What tells messages of one session apart, in their order. */
export const marksOf = (messages) => messages.map(({ role, timestamp, toolCallId }) => `${role} ${timestamp} ${toolCallId ?? ''}`);
