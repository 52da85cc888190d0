// For the Vercel AI SDK: a `prepareStep` that folds what each step shows of the messages.
import { asSchema, jsonSchema, tool } from 'ai';
import { Conversation } from './index.js';
import { usageBody } from './model-messages.js';

/** The definitions of tools, as the engine counts them. */
async function definitions(tools) {
  const made = Object.entries(tools).map(async ([name, { description, inputSchema }]) => {
    const input_schema = inputSchema === undefined ? {} : await asSchema(inputSchema).jsonSchema;
    return { name, description, input_schema };
  });
  return Promise.all(made);
}

const begins = (messages, first) => first.every((message, index) => message === messages[index]);

export function compaction({ tools, ...options } = {}) {
  const conversation = new Conversation({ ...options, protocol: 'ai-sdk' });
  // The SDK has one array of steps for each run. AI SDK 6 gives all messages at every step; 7 goes on from those that the
  // step before sent.
  const runs = new WeakMap();
  const prepareStep = async ({ messages, steps }) => {
    const run = runs.get(steps);
    const goesOn = run !== undefined && begins(messages, run.sent);
    const all = goesOn ? [...run.all, ...messages.slice(run.sent.length)] : messages;
    // The answer to the step before is the first message after those of that step.
    if (run !== undefined && steps.length > 0) conversation.usage(run.all.length, usageBody(steps.at(-1).usage));
    const sent = conversation.fold(all, { tools: tools && (await definitions(tools)) });
    runs.set(steps, { all, sent });
    return { messages: sent };
  };
  const { description, input_schema } = conversation.recallTool;
  const execute = (input) => conversation.recall(input);
  const recall = tool({ description, inputSchema: jsonSchema(input_schema), execute });
  return Object.assign(prepareStep, { conversation, recall });
}
