// Messages of OpenCode as `ModelMessage`s of the AI SDK, which foldback reads, and back. OpenCode has the results of an
// answer's calls in the answer. Each message carries what it was made of, so that what no fold touched goes out as it came.
import { counted } from 'foldback/plugin';

const INTERRUPTED = '[Tool execution was interrupted]';
const CLEARED = '[Old tool result content cleared]';

/** What a call gave, as OpenCode would send it. */
function output(state) {
  if (state.status === 'completed') return { type: 'text', value: state.time.compacted ? CLEARED : state.output };
  return { type: 'error-text', value: state.status === 'error' ? state.error : INTERRUPTED };
}

function part(of) {
  switch (of.type) {
    case 'text':
      return of.ignored || of.text === '' ? [] : [{ type: 'text', text: of.text, of }];
    case 'reasoning':
      return [{ type: 'reasoning', text: of.text, providerOptions: of.metadata, of }];
    case 'tool':
      return [{ type: 'tool-call', toolCallId: of.callID, toolName: of.tool, input: of.state.input, of }];
    case 'file':
      return [{ type: 'file', data: of.url, mediaType: of.mime, filename: of.filename, of }];
    case 'compaction':
      return [{ type: 'text', text: 'What did we do so far?', of }];
    case 'subtask':
      return [{ type: 'text', text: 'The following tool was executed by the user', of }];
    default:
      return [];
  }
}

/** What the provider counted for an answer. */
function usageOf({ role, tokens }) {
  if (role !== 'assistant' || !tokens?.input) return undefined;
  const { input, output, reasoning, cache } = tokens;
  return counted({ input, output: output + reasoning, cacheRead: cache.read, cacheWrite: cache.write });
}

export function toModel(message) {
  const { info, parts } = message;
  const content = parts.flatMap(part);
  // OpenCode leaves out what failed or says nothing.
  const failed = info.error !== undefined && (info.error.name !== 'MessageAbortedError' || content.length === 0);
  if (content.length === 0 || failed) return [];
  const results = parts.filter(({ type }) => type === 'tool').map((of) => {
    const named = { toolCallId: of.callID, toolName: of.tool };
    return { role: 'tool', content: [{ type: 'tool-result', ...named, output: output(of.state), of }], of: message };
  });
  return [{ role: info.role, content, of: message, usage: usageOf(info) }, ...results];
}

/** What tells messages apart, in their order. */
export const marksOf = (all) => all.map(({ role, of, content }) => `${role} ${of.info.id} ${content[0].toolCallId ?? ''} ${content.length}`);

/** A part of OpenCode's that was changed. */
function changed({ of, text, output: given }) {
  if (of.type !== 'tool' || given === undefined) return text === undefined ? of : { ...of, type: 'text', text };
  const { state } = of;
  const { compacted, ...time } = state.time ?? {};
  if (state.status === 'completed') return { ...of, state: { ...state, time, output: given.value } };
  return { ...of, state: { ...state, status: 'error', time: { start: 0, end: 0, ...time }, error: given.value } };
}

/** A message that is new. */
function made({ role, content }, number, { info }) {
  const { sessionID } = info;
  const id = `foldback-${number}`;
  const texts = typeof content === 'string' ? [content] : content.filter(({ type }) => type === 'text').map(({ text }) => text);
  const parts = texts.map((text, index) => ({ id: `${id}-${index}`, sessionID, messageID: id, type: 'text', text, synthetic: true }));
  return { info: { ...info, id, role, time: { created: 0, completed: 0 } }, parts };
}

/** The messages to go on with; `untouched` are those that are as they were. */
export function fromModel(sent, untouched, messages) {
  const all = new Map();
  sent.forEach((message, number) => {
    if (message.of === undefined) {
      const alike = messages.find(({ info }) => info.role === message.role) ?? messages[0];
      all.set(message, made(message, number, alike));
    } else {
      const edits = all.get(message.of) ?? new Map();
      if (!untouched.has(message)) for (const one of message.content) if (one.of) edits.set(one.of, changed(one));
      all.set(message.of, edits);
    }
  });
  return [...all].map(([message, edits]) => {
    if (!(edits instanceof Map)) return edits;
    return edits.size === 0 ? message : { ...message, parts: message.parts.map((part) => edits.get(part) ?? part) };
  });
}
