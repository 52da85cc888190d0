// `ModelMessage`s of the Vercel AI SDK, which the engine reads as messages of Anthropic: both keep the results of several
// calls in one message, so messages have the same numbers there.

/** Base64 or a URL, from what the SDK takes as data. */
function dataOf(data) {
  if (data instanceof URL) return data.href;
  if (data instanceof ArrayBuffer || ArrayBuffer.isView(data)) {
    const bytes = data instanceof ArrayBuffer ? [data] : [data.buffer, data.byteOffset, data.byteLength];
    return Buffer.from(...bytes).toString('base64');
  }
  // AI SDK 7 has files as `{ type, data | url | … }`.
  return typeof data === 'object' && data !== null ? dataOf(data.data ?? data.url ?? JSON.stringify(data)) : data;
}

function file(data, mediaType, title) {
  const text = dataOf(data);
  const source = /^[a-z]+:\/\//.test(text)
    ? { type: 'url', url: text }
    : { type: 'base64', media_type: mediaType, data: text };
  return mediaType.startsWith('image/') ? { type: 'image', source } : { type: 'document', source, title };
}

/** What a tool gave: a text, or blocks. */
function result(output) {
  if (output.type === 'content') {
    return output.value.map((part) => {
      const data = part.data ?? part.url;
      if (part.type === 'text') return { type: 'text', text: part.text };
      return data === undefined
        ? { type: 'text', text: JSON.stringify(part) }
        : file(data, part.mediaType ?? 'image/*', part.filename);
    });
  }
  if (output.type === 'execution-denied') return output.reason ?? 'The execution was denied.';
  return typeof output.value === 'string' ? output.value : JSON.stringify(output.value);
}

/** A part as a block. What Anthropic has no word for goes through as it is, and is never edited. */
function block(part) {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text };
    case 'reasoning':
      return { type: 'thinking', thinking: part.text, signature: JSON.stringify(part.providerOptions ?? {}) };
    case 'image':
      return file(part.image, part.mediaType ?? 'image/*');
    case 'file':
      return file(part.data, part.mediaType, part.filename);
    case 'tool-call':
      return part.providerExecuted
        ? { ...part }
        : { type: 'tool_use', id: part.toolCallId, name: part.toolName, input: part.input };
    case 'tool-result': {
      // Among the parts of an answer, where the provider ran the tool, the engine knows no results and leaves it alone.
      const { toolCallId, output } = part;
      const is_error = /error|denied/.test(output.type) || undefined;
      return { type: 'tool_result', tool_use_id: toolCallId, content: result(output), is_error };
    }
    default:
      return { ...part };
  }
}

/** What identifies a block beside its type; of others, an edit is known by its place. */
const idOf = ({ type, id, tool_use_id }) => `${type} ${id ?? tool_use_id ?? ''}`;

/** The texts of a block's content. */
const textOf = (content) =>
  typeof content === 'string' ? content : content.filter(({ type }) => type === 'text').map(({ text }) => text).join('\n');

/** A block that is new, as a part. */
function made(found, names) {
  switch (found.type) {
    case 'text':
      return { type: 'text', text: found.text };
    case 'thinking':
      return { type: 'reasoning', text: found.thinking };
    case 'tool_use':
      return { type: 'tool-call', toolCallId: found.id, toolName: found.name, input: found.input };
    case 'tool_result': {
      const output = { type: found.is_error ? 'error-text' : 'text', value: textOf(found.content ?? '') };
      const toolCallId = found.tool_use_id;
      return { type: 'tool-result', toolCallId, toolName: names.get(toolCallId) ?? '', output };
    }
    case 'image':
    case 'document': {
      const { media_type = 'application/octet-stream', data, url } = found.source;
      return { type: 'file', data: url === undefined ? data : new URL(url), mediaType: media_type };
    }
    default:
      return found;
  }
}

/** A part of which a block was edited: everything else of it stays. */
function edited(part, found) {
  const { type, ...changed } = made(found, new Map([[part.toolCallId, part.toolName]]));
  if (Array.isArray(found.content) && part.output?.type === 'content') {
    // The text was cut, the files stay.
    const files = part.output.value.filter((one) => one.type !== 'text');
    changed.output = { type: 'content', value: [{ type: 'text', text: changed.output.value }, ...files] };
  }
  return type === part.type ? { ...part, ...changed } : { type, ...changed };
}

/** The parts of blocks that were made from parts: those that nothing touched are the same objects. */
function parts(found, original) {
  const before = original.content.map((part) => ({ part, made: block(part) })).map((one) => ({ ...one, text: JSON.stringify(one.made) }));
  return found.map((one) => {
    const text = JSON.stringify(one);
    const same = before.findIndex((made) => made.text === text);
    const at = same >= 0 ? same : before.findIndex(({ made }) => idOf(made) === idOf(one));
    if (at < 0) return made(one, new Map());
    // What is in front of it was removed.
    const { part } = before.splice(0, at + 1)[at];
    return same >= 0 ? part : edited(part, one);
  });
}

/** The names of all tools that were called, by the calls' identifiers. */
function namesIn(messages) {
  const all = messages.flatMap(({ content }) => (Array.isArray(content) ? content : []));
  return new Map(all.filter(({ type }) => type === 'tool-call').map((part) => [part.toolCallId, part.toolName]));
}

/** The usage of a step as Anthropic reports it. */
export function usageBody(usage = {}) {
  const { inputTokens, outputTokens, inputTokenDetails: details = {}, cachedInputTokens } = usage;
  if (inputTokens === undefined) return { role: 'assistant', content: [] };
  const read = details.cacheReadTokens ?? cachedInputTokens ?? 0;
  const written = details.cacheWriteTokens ?? 0;
  const counts = {
    input_tokens: Math.max(inputTokens - read - written, 0),
    cache_read_input_tokens: read,
    cache_creation_input_tokens: written,
    output_tokens: outputTokens ?? 0,
  };
  return { role: 'assistant', content: [], usage: counts };
}

export class ModelMessages {
  constructor(anthropic) {
    this.anthropic = anthropic;
    this.protocol = anthropic.protocol;
    this.list = anthropic.list;
  }

  value(message) {
    if (!Array.isArray(message?.content)) return message;
    return { role: message.role === 'tool' ? 'user' : message.role, content: message.content.map(block) };
  }

  load(text, original, messages) {
    const { role, content } = JSON.parse(text);
    if (original !== undefined) {
      const whole = typeof content === 'string' || !Array.isArray(original.content);
      return [{ ...original, content: whole ? content : parts(content, original) }];
    }
    if (typeof content === 'string') return [{ role, content }];
    const names = namesIn(messages);
    const all = content.map((found) => made(found, names));
    const results = all.filter(({ type }) => type === 'tool-result');
    const others = all.filter(({ type }) => type !== 'tool-result');
    return [
      ...(results.length > 0 ? [{ role: 'tool', content: results }] : []),
      ...(others.length > 0 ? [{ role, content: others }] : []),
    ];
  }

  body(list, members) {
    return this.anthropic.body(list, members);
  }

  /** The answer of `generateText`: usage is that of its last step, which made the last message of the assistant. */
  answer(result) {
    const messages = result.responseMessages ?? result.response.messages;
    const number = Math.max(messages.map(({ role }) => role).lastIndexOf('assistant'), 0);
    return { messages, number, body: usageBody(result.steps?.at(-1)?.usage ?? result.usage) };
  }

  tool(definition) {
    return definition;
  }
}
