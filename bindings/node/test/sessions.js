// Conversations in every shape, made of calls of one tool.
export const LIMITS = { window: 30_000, maxOutput: 4_000 };

const range = (count) => Array.from({ length: count }, (_, index) => index);

export const listing = (call) => range(60).map((line) => `fn of_${call}_${line}() -> u32 { ${line} }\n`).join('');

const user = { role: 'user', content: 'Read all files.' };

function chat(calls) {
  const one = (call) => {
    const used = { id: `c${call}`, type: 'function', function: { name: 'read', arguments: `{"path": "${call}"}` } };
    return [
      { role: 'assistant', content: null, tool_calls: [used] },
      { role: 'tool', tool_call_id: `c${call}`, content: listing(call) },
    ];
  };
  return [{ role: 'system', content: 'You read.' }, { ...user }, ...range(calls).flatMap(one)];
}

function anthropic(calls) {
  const one = (call) => {
    const used = { type: 'tool_use', id: `c${call}`, name: 'read', input: { path: `${call}` } };
    const result = { type: 'tool_result', tool_use_id: `c${call}`, content: listing(call) };
    return [
      { role: 'assistant', content: [{ type: 'text', text: 'Next.' }, used] },
      { role: 'user', content: [result] },
    ];
  };
  return [{ ...user }, ...range(calls).flatMap(one)];
}

function responses(calls) {
  const one = (call) => [
    { type: 'function_call', call_id: `c${call}`, name: 'read', arguments: `{"path": "${call}"}` },
    { type: 'function_call_output', call_id: `c${call}`, output: listing(call) },
  ];
  return [{ ...user }, ...range(calls).flatMap(one)];
}

function modelMessages(calls) {
  const one = (call) => {
    const named = { toolCallId: `c${call}`, toolName: 'read' };
    const output = { type: 'text', value: listing(call) };
    return [
      { role: 'assistant', content: [{ type: 'text', text: 'Next.' }, { type: 'tool-call', ...named, input: { path: `${call}` } }] },
      { role: 'tool', content: [{ type: 'tool-result', ...named, output }] },
    ];
  };
  return [{ ...user }, ...range(calls).flatMap(one)];
}

export const SHAPES = { 'openai-chat': chat, anthropic, 'openai-responses': responses, 'ai-sdk': modelMessages };

export const size = (messages) => JSON.stringify(messages).length;
