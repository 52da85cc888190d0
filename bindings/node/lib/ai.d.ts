import type { ModelMessage, Tool, ToolSet } from 'ai';
import type { Conversation, Options } from './index.js';

/** A `prepareStep`, with the conversation that it folds. */
export interface Compaction {
  (step: { messages: ModelMessage[]; steps: readonly { usage: object }[] }): Promise<{ messages: ModelMessage[] }>;
  /** What was folded and why, sizes, and the moments. */
  readonly conversation: Conversation<ModelMessage>;
  /** A tool with which the model reads what was folded away. */
  readonly recall: Tool<any, string>;
}

/**
 * A `prepareStep` for `generateText`, `streamText` and agents, which folds what each step shows of the messages.
 *
 * `tools` are those of the call, so that they count.
 */
export function compaction(options?: Omit<Options, 'tools' | 'protocol'> & { tools?: ToolSet | undefined }): Compaction;
