// The forms of messages: which one an array is of, its JSON text as the engine reads it, and objects of what comes back.
import { FoldbackError } from './error.js';
import { ModelMessages } from './model-messages.js';

/** Messages as a provider is sent them. */
class Form {
  constructor(protocol, list = 'messages', system = 'system') {
    /** What the engine reads. */
    this.protocol = protocol;
    /** The array of messages in the body of a request, and the system prompt. */
    this.list = list;
    this.system = system;
  }

  /** A message as the engine reads it. */
  value(message) {
    return message;
  }

  /** The messages of what is new, or was changed from `original`. */
  load(text) {
    return [JSON.parse(text)];
  }

  /** The body of a request. */
  body(list, { model, system, tools }) {
    const members = [];
    for (const [name, value] of [['model', model], [this.system, system], ['tools', tools]]) {
      if (value !== undefined) members.push(`"${name}":${dump(value, `/${name}`)}`);
    }
    return `{${[...members, `"${this.list}":${list}`].join()}}`;
  }

  /** The messages of a response, which of them is the answer, and what the provider said of it. */
  answer(response) {
    const messages = {
      anthropic: () => [{ role: 'assistant', content: response.content }],
      'openai-responses': () => response.output,
      gemini: () => [response.candidates[0].content],
      'openai-chat': () => [response.choices[0].message],
    }[this.protocol]();
    return { messages, number: 0, body: response };
  }

  /** The definition of a tool, from that of Anthropic or Chat Completions. */
  tool(definition) {
    if (this.protocol === 'openai-responses') return { type: 'function', ...definition.function };
    return this.protocol === 'gemini' ? definition.function : definition;
  }
}

export const FORMS = {
  'openai-chat': new Form('openai-chat'),
  'openai-responses': new Form('openai-responses', 'input', 'instructions'),
  anthropic: new Form('anthropic'),
  gemini: new Form('gemini', 'contents', 'systemInstruction'),
};
FORMS['ai-sdk'] = new ModelMessages(FORMS.anthropic);

/** JSON text, as an SDK would send it. */
export function dump(value, path) {
  let text;
  try {
    text = JSON.stringify(value);
  } catch (wrong) {
    throw FoldbackError.at(path, `is no JSON: ${wrong.message}`);
  }
  if (text === undefined) throw FoldbackError.at(path, `is no JSON: ${typeof value}`);
  return text;
}

/** The messages as the list of a request, each checked where the protocol is known. */
export function listOf(form, messages, protocol) {
  const pathOf = (index) => `/${form.list}/${index}`;
  if (protocol !== undefined) messages.forEach((message, index) => check(message, pathOf(index), protocol));
  return dumpAll(messages.map((message) => form.value(message)), pathOf);
}

/** JSON text of an array, at once: one element after the other takes twice as long. What can't be written is said of its element. */
function dumpAll(values, pathOf) {
  try {
    if (!values.some((value) => ['undefined', 'function', 'symbol'].includes(typeof value))) return JSON.stringify(values);
  } catch {
    // Which of them it is shows below.
  }
  return `[${values.map((value, index) => dump(value, pathOf(index))).join()}]`;
}

// What only one protocol has: types of items, and types of the blocks of a message.
const ITEMS = ['function_call', 'function_call_output', 'reasoning', 'message', 'item_reference', 'compaction'];
const BLOCKS = {
  'openai-responses': ['input_text', 'output_text', 'input_image', 'input_file'],
  'ai-sdk': ['tool-call', 'tool-result', 'reasoning', 'tool-approval-request', 'tool-approval-response'],
  anthropic: ['tool_use', 'tool_result', 'thinking', 'redacted_thinking', 'document', 'server_tool_use'],
  'openai-chat': ['image_url', 'input_audio', 'refusal'],
};

// What a message of one provider has and no other provider's. The engine would keep it as something unknown.
const OWN_BLOCKS = {
  tool_use: 'anthropic',
  tool_result: 'anthropic',
  server_tool_use: 'anthropic',
  input_text: 'openai-responses',
  output_text: 'openai-responses',
  image_url: 'openai-chat',
};

/** The only provider that a message can be of. */
function providerOf(message) {
  if (Array.isArray(message?.parts)) return 'gemini';
  if (message?.tool_calls?.length > 0) return 'openai-chat';
  if (['function_call', 'function_call_output'].includes(message?.type)) return 'openai-responses';
  const blocks = Array.isArray(message?.content) ? message.content : [];
  const own = blocks.find((block) => Object.hasOwn(OWN_BLOCKS, block?.type));
  return own && OWN_BLOCKS[own.type];
}

/** Refuses a message that is of another provider than the option `protocol` says. */
export function check(message, path, protocol) {
  const found = providerOf(message);
  if (found !== undefined && FORMS[protocol].constructor === Form && found !== protocol) {
    throw FoldbackError.at(path, `is a message of ${found}, and protocol is ${protocol}; leave it out, and the form is recognized`);
  }
}

/** The protocol of a block: the types `image` and `file` are of several. */
function protocolOfBlock(block) {
  if (block?.type === 'image') return 'source' in block ? 'anthropic' : 'ai-sdk';
  if (block?.type === 'file') return 'mediaType' in block ? 'ai-sdk' : 'openai-chat';
  return Object.keys(BLOCKS).find((protocol) => BLOCKS[protocol].includes(block?.type));
}

/** The protocol that messages are of; `undefined` where they could be of any, as plain texts are. */
export function protocolOf(messages, system) {
  for (const message of messages) {
    const { role, type, content } = message ?? {};
    if (Array.isArray(message?.parts)) return 'gemini';
    if ((role === undefined && type !== undefined) || ITEMS.includes(type)) return 'openai-responses';
    const known = Array.isArray(content) ? content.map(protocolOfBlock).find(Boolean) : undefined;
    if (known !== undefined) return known;
    if (message?.tool_calls || ['tool', 'function', 'developer'].includes(role)) return 'openai-chat';
  }
  return Array.isArray(system) ? 'anthropic' : undefined;
}

/** The protocol that a response of a provider is of. */
export function protocolOfResponse(response) {
  const members = { choices: 'openai-chat', output: 'openai-responses', content: 'anthropic', candidates: 'gemini' };
  const known = response?.response?.messages ? 'ai-sdk' : members[Object.keys(members).find((name) => response?.[name])];
  if (known === undefined) throw new FoldbackError('the response is of no known protocol');
  return known;
}

/** The messages that a response adds to the conversation, and what it says of the answer among them. */
export function answerIn(response, form) {
  try {
    const answer = form.answer(response);
    if (Array.isArray(answer.messages) && answer.messages.every(Boolean)) return answer;
  } catch (wrong) {
    if (!(wrong instanceof TypeError)) throw wrong;
  }
  throw new FoldbackError('there is no message in the response');
}
