// Messages of DeepSeek Harness as `ModelMessage`s of the AI SDK, which foldback reads, and back. Each carries the event that
// it was made of, so that what no fold touched stays as it is.
import { createAssistantMessage, createUserMessage } from '@deepseek-ai/dsh-llm';
import { deriveEventMessage } from '@deepseek-ai/dsh-session';
import { counted } from 'foldback/plugin';

function input(text) {
  try {
    return JSON.parse(text || '{}');
  } catch {
    return text;
  }
}

function part(of) {
  switch (of.type) {
    case 'text':
    case 'reasoning':
      return { type: of.type, text: of.text, of };
    case 'tool-call':
      return { type: 'tool-call', toolCallId: of.id, toolName: of.name, input: input(of.arguments), of };
    case 'image':
      return { type: 'image', image: of.attachment.id, mediaType: of.attachment.mediaType, of };
    default:
      return { ...of, of };
  }
}

/** What a tool gave. */
function output({ content, isError }) {
  const texts = content.filter(({ type }) => type === 'text').map(({ text }) => text);
  if (texts.length === content.length) return { type: isError ? 'error-text' : 'text', value: texts.join('\n') };
  return { type: 'content', value: content.map(part) };
}

/** What the provider counted for an answer. */
function usageOf({ usage }) {
  if (usage === undefined) return undefined;
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = usage;
  return counted({ input: inputTokens, output: outputTokens, cacheRead: cacheReadTokens, cacheWrite: cacheWriteTokens });
}

/** The message of an event; `names` has the tools of the calls so far. */
export function toModel(event, names) {
  const { role, content } = deriveEventMessage(event);
  const [result] = content;
  if (result?.type === 'tool-result') {
    const named = { toolCallId: result.toolCallId, toolName: names.get(result.toolCallId) ?? 'unknown' };
    return { role: 'tool', content: [{ type: 'tool-result', ...named, output: output(result) }], of: event };
  }
  for (const block of content) if (block.type === 'tool-call') names.set(block.id, block.name);
  return { role, content: content.map(part), of: event, usage: usageOf(event.data) };
}

/** A block that is new, or was changed. */
function block({ type, of, text, input }) {
  if (type === 'tool-call') return { ...of, arguments: JSON.stringify(input) };
  return text === undefined ? of : { ...of, type, text };
}

/** The content of a message that is new, or was changed. */
function contentOf({ content, of }) {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  const [{ type, output }] = content;
  if (type !== 'tool-result') return content.map(block);
  const [result] = deriveEventMessage(of).content;
  const parts = output.type === 'content' ? output.value.map(block) : [{ type: 'text', text: output.value }];
  return [{ ...result, content: parts }];
}

/** The type and the data of an event for a message, where it takes the place of others. */
export function toEvent(message, isUntouched, { turn, step, provider, model }) {
  const { role, of } = message;
  if (of === undefined) {
    const content = contentOf(message);
    if (role === 'user') return ['user/message', createUserMessage({ content, source: { kind: 'plugin', plugin: 'foldback' } })];
    return ['assistant/message', { turn, step, message: createAssistantMessage({ content, source: { provider, model } }) }];
  }
  // What was counted stands at the answer itself.
  const { usage, ...data } = of.data;
  if (isUntouched) return [of.type, data];
  const content = contentOf(message);
  return [of.type, of.type === 'user/message' ? { ...data, content } : { ...data, message: { ...data.message, content } }];
}
