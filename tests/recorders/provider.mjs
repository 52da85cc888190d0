// A provider that says what it is told to say, in three protocols, and keeps what it was asked.
import { createServer } from 'node:http';

const event = (name, data) => `${name ? `event: ${name}\n` : ''}data: ${JSON.stringify(data)}\n\n`;

/** How each protocol spells an answer as a stream, where its requests go, and the results of tools in a request, by the ids of their calls. */
const PROTOCOLS = {
  '/responses': {
    whole({ items, text, thinking, calls = [], usage }, number, model) {
      const output = items ?? [
        ...(thinking ? [{ type: 'reasoning', id: `rs_${number}`, summary: [{ type: 'summary_text', text: thinking }], encrypted_content: 'c2ln' }] : []),
        ...(text ? [{ type: 'message', id: `msg_${number}`, role: 'assistant', status: 'completed', content: [{ type: 'output_text', text, annotations: [] }] }] : []),
        ...calls.map(({ id, name, args }) => ({ type: 'function_call', id: `fc_${id}`, call_id: id, name, arguments: JSON.stringify(args), status: 'completed' })),
      ];
      const response = { id: `resp_${number}`, object: 'response', created_at: 0, status: 'completed', model, output };
      response.usage = {
        input_tokens: usage.input + usage.cached + usage.written, input_tokens_details: { cached_tokens: usage.cached, cache_write_tokens: usage.written },
        output_tokens: usage.output + usage.reasoning, output_tokens_details: { reasoning_tokens: usage.reasoning },
        total_tokens: usage.input + usage.cached + usage.written + usage.output + usage.reasoning,
      };
      return response;
    },
    stream(answer, number, model) {
      const response = this.whole(answer, number, model);
      const events = [{ type: 'response.created', response: { ...response, output: [] } }];
      response.output.forEach((item, output_index) => {
        events.push({ type: 'response.output_item.added', output_index, item }, { type: 'response.output_item.done', output_index, item });
      });
      events.push({ type: 'response.completed', response });
      return events.map((one) => event(one.type, one)).join('');
    },
    results: ({ input = [] }) => input.filter(({ type }) => type?.endsWith('_output')).map(({ call_id, output }) => [call_id, output]),
  },
  '/messages': {
    whole({ items, text, thinking, calls = [], usage }, number, model) {
      const content = items ?? [
        ...(thinking ? [{ type: 'thinking', thinking, signature: 'c2ln' }] : []),
        ...(text ? [{ type: 'text', text }] : []),
        ...calls.map(({ id, name, args }) => ({ type: 'tool_use', id, name, input: args })),
      ];
      const told = { input_tokens: usage.input, cache_read_input_tokens: usage.cached, cache_creation_input_tokens: usage.written };
      const stop_reason = content.some(({ type }) => type === 'tool_use') ? 'tool_use' : 'end_turn';
      return { id: `msg_${number}`, type: 'message', role: 'assistant', model, content, stop_reason, stop_sequence: null, usage: { ...told, output_tokens: usage.output + usage.reasoning } };
    },
    stream(answer, number, model) {
      const { content, stop_reason, stop_sequence, usage, ...rest } = this.whole(answer, number, model);
      const begun = { ...rest, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } };
      const blocks = content.flatMap((block, index) => {
        const [empty, ...deltas] = {
          thinking: () => [{ ...block, thinking: '', signature: '' }, { type: 'thinking_delta', thinking: block.thinking }, { type: 'signature_delta', signature: block.signature }],
          text: () => [{ ...block, text: '' }, { type: 'text_delta', text: block.text }],
          tool_use: () => [{ ...block, input: {} }, { type: 'input_json_delta', partial_json: JSON.stringify(block.input) }],
          server_tool_use: () => [{ ...block, input: {} }, { type: 'input_json_delta', partial_json: JSON.stringify(block.input) }],
        }[block.type]?.() ?? [block];
        return [
          { type: 'content_block_start', index, content_block: empty },
          ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
          { type: 'content_block_stop', index },
        ];
      });
      const end = { type: 'message_delta', delta: { stop_reason, stop_sequence }, usage };
      return [{ type: 'message_start', message: begun }, ...blocks, end, { type: 'message_stop' }].map((one) => event(one.type, one)).join('');
    },
    results: ({ messages = [] }) => messages.flatMap(({ content }) => (Array.isArray(content) ? content : []))
      .filter(({ type }) => type === 'tool_result').map(({ tool_use_id, content }) => [tool_use_id, content]),
  },
  '/chat/completions': {
    whole({ text, thinking, calls = [], usage }, number, model) {
      const message = {
        role: 'assistant', content: text ?? null, ...(thinking ? { reasoning_content: thinking } : {}),
        ...(calls.length > 0 ? { tool_calls: calls.map(({ id, name, args }) => ({ id, type: 'function', function: { name, arguments: JSON.stringify(args) } })) } : {}),
      };
      const prompt_tokens = usage.input + usage.cached;
      const completion_tokens = usage.output + usage.reasoning;
      const counted = {
        prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens,
        prompt_tokens_details: { cached_tokens: usage.cached }, completion_tokens_details: { reasoning_tokens: usage.reasoning },
      };
      const choices = [{ index: 0, message, finish_reason: calls.length > 0 ? 'tool_calls' : 'stop' }];
      return { id: `chat_${number}`, object: 'chat.completion', created: 0, model, choices, usage: counted };
    },
    stream(answer, number, model) {
      const { choices: [{ message, finish_reason }], usage, ...rest } = this.whole(answer, number, model);
      const { role, content, reasoning_content, tool_calls = [] } = message;
      const chunk = (delta, reason = null) => ({ ...rest, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: reason }] });
      const all = [
        chunk({ role, content: '' }),
        ...(reasoning_content ? [chunk({ reasoning_content })] : []),
        ...(content ? [chunk({ content })] : []),
        ...tool_calls.map((call, index) => chunk({ tool_calls: [{ index, ...call }] })),
        chunk({}, finish_reason),
      ];
      return [...all, { ...chunk({}), choices: [], usage }].map((one) => event('', one)).join('') + 'data: [DONE]\n\n';
    },
    results: ({ messages = [] }) => messages.filter(({ role }) => role === 'tool').map(({ tool_call_id, content }) => [tool_call_id, content]),
  },
};

/**
 * The provider: its address, and what is asked and answered. `next` gives the answer to a request; an answer with a `status` is an error,
 * one that is `cut` breaks off in its middle, and one that `hangs` never comes.
 */
export async function provide(next) {
  const asked = [];
  const server = createServer((request, response) => {
    const pieces = [];
    request.on('data', (piece) => pieces.push(piece));
    request.on('end', () => {
      const path = new URL(request.url, 'http://localhost').pathname;
      const kind = Object.keys(PROTOCOLS).find((end) => path.endsWith(end));
      if (!kind) {
        response.writeHead(path.endsWith('/count_tokens') ? 200 : 404, { 'content-type': 'application/json' });
        return response.end('{"input_tokens": 7}');
      }
      const body = JSON.parse(Buffer.concat(pieces));
      const answer = next(body);
      asked.push({ body, answer, results: PROTOCOLS[kind].results(body) });
      if (answer.status) {
        response.writeHead(answer.status, { 'content-type': 'application/json' });
        return response.end(JSON.stringify({ type: 'error', error: { type: answer.type ?? 'invalid_request_error', message: answer.error } }));
      }
      if (answer.hangs) return undefined;
      if (!body.stream) {
        response.writeHead(200, { 'content-type': 'application/json' });
        return response.end(JSON.stringify(PROTOCOLS[kind].whole(answer, asked.length, body.model)));
      }
      const text = PROTOCOLS[kind].stream(answer, asked.length, body.model);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      if (!answer.cut) return response.end(text);
      response.write(text.slice(0, text.length / 2));
      return response.destroy();
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  server.unref();
  return { url: `http://127.0.0.1:${server.address().port}`, asked };
}
