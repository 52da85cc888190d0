// What the types say, as `tsc --strict` checks it; nothing of it is run.
import { generateText, streamText, stepCountIs, type LanguageModel, type ModelMessage, type ToolSet } from 'ai';
import { Conversation, FoldbackError, Preset, compact, compare, presets, type Options, type Row } from 'foldback';
import { compaction } from 'foldback/ai';
import { assertValid, matchCompaction, render } from 'foldback/testing';
import 'foldback/testing/jest';
import 'foldback/testing/vitest';
import { expect as jest } from '@jest/globals';
import { expect as vitest } from 'vitest';

interface Message {
  role: 'user' | 'assistant';
  content: string;
}

declare const model: LanguageModel;
declare const tools: ToolSet;

const options: Options = { preset: Preset.fromToml('extends = "window"'), window: 200_000, protocol: 'anthropic' };
const sent: Message[] = compact([{ role: 'user', content: 'a' }] satisfies Message[], options);

const conversation = new Conversation<ModelMessage>({ window: 200_000 });
conversation.append({ role: 'user', content: 'a' });
const view: ModelMessage[] = conversation.view();
const folds: number = conversation.sizes.folds;
const names: string[] = presets().map(({ name }) => name);

const prepareStep = compaction({ preset: 'opencode-1.17', window: 200_000, tools });
const all = { ...tools, recall: prepareStep.recall };
await generateText({ model, tools: all, messages: view, prepareStep, stopWhen: stepCountIs(9) });
streamText({ model, tools, prompt: 'a', prepareStep });

const rows: Row[] = (await compare('sessions', { presets: ['window'], window: 60_000 })).rows;
const path = (error: unknown): string | undefined => (error instanceof FoldbackError ? error.path : undefined);

const text: string = render(view, 'window', { window: 60_000, title: 'a' });
const later: Promise<string> = render(view, async (messages) => messages);
matchCompaction(view, (messages) => messages, { file: new URL('a.txt', import.meta.url) });
assertValid(view, 'ai-sdk');
vitest(view).toMatchCompaction('window', { window: 60_000, name: 'a' });
jest(view).toMatchCompaction(async (messages) => messages);

// @ts-expect-error a file is needed
matchCompaction(view, 'window', {});
// @ts-expect-error there is no such dialect
assertValid(view, 'smtp');
// @ts-expect-error there is no such protocol
compact([], { protocol: 'smtp' });
// @ts-expect-error a window is a number
new Conversation({ window: '200k' });
// @ts-expect-error a string is no list of messages
compact('text');

export { sent, folds, text, later, names, rows, path };
