/** Context compaction for LLM agents: the engine of foldback, for Node. */

/** Input that can't be used. */
export class FoldbackError extends Error {
  /** Where, as a JSON pointer, if it is about a message. */
  readonly path: string | undefined;
}

/** A strategy: a preset by its name or one of its aliases, or one from TOML. */
export class Preset {
  constructor(name: string);
  /** A strategy from a strategy file: its path, which ends with `.toml`, or its text. */
  static fromToml(textOrPath: string): Preset;
  readonly name: string;
  readonly description: string;
  /** The system and version whose compaction it reproduces; empty if it is nobody's. */
  readonly reproduces: string;
  /** Whether the other is made of equal values. */
  equals(other: Preset): boolean;
}

/** The presets that are built in. */
export function presets(): Preset[];

/** The form of messages: a provider's, or `ModelMessage`s of the Vercel AI SDK. */
export type Protocol = 'openai-chat' | 'openai-responses' | 'anthropic' | 'gemini' | 'ai-sdk';

export interface Options {
  /** A name (`presets()` has them), or a `Preset`. By default `opencode-1.17`. */
  preset?: string | Preset | undefined;
  /** The model's window in tokens; else that of `model` in the built-in table, else the preset's, else 200,000. */
  window?: number | undefined;
  /** The most that the model may answer, in tokens; else in the same order, else 32,000. */
  maxOutput?: number | undefined;
  model?: string | undefined;
  /** What the request holds besides. Without it, every threshold acts too late by its size. */
  system?: unknown;
  tools?: readonly unknown[] | undefined;
  /** The form of the messages, where it is not to be recognized. */
  protocol?: Protocol | undefined;
}

/**
 * The messages to send in place of `messages`, which are all of a conversation so far. Those that the strategy did not
 * touch are the same objects.
 *
 * The strategy acts as it would have acted at every call of this conversation, so the result for a conversation that has
 * grown begins like the one before, and the provider's prompt cache stays warm.
 */
export function compact<Message extends object>(messages: readonly Message[], options?: Options): Message[];

/** Tokens of a request by the strategy's own estimator. */
export interface Sizes {
  /** As it would be without any fold. */
  readonly received: number;
  /** As it is. */
  readonly sent: number;
  /** Folds in force. */
  readonly folds: number;
}

/** A conversation from call to call. */
export class Conversation<Message extends object = any> {
  constructor(options?: Options);
  readonly preset: Preset;
  /** All messages so far, as they were given. */
  readonly messages: Message[];
  system: unknown;
  tools: readonly unknown[] | undefined;
  /** Adds what the user said, what the model answered, or what tools returned. */
  append(...messages: Message[]): void;
  /**
   * Adds the model's answer from a response of the provider, or from a result of the AI SDK, with the usage that it
   * reports: many strategies decide by it. Gives what was added.
   */
  answered(response: object): Message[];
  /** The messages to send now. */
  view(): Message[];
  /** The messages to send in place of `messages`, which are all so far. */
  fold(messages: readonly Message[], beside?: Pick<Options, 'system' | 'tools'>): Message[];
  /** Folds now, whatever the thresholds are. Whether there was something to fold; see `view` for the result. */
  compact(instructions?: string): boolean;
  /** The provider refused the latest view for its size: folds once more. Whether there was something to fold. */
  overflow(): boolean;
  /** Takes the last fold back. Whether there was one. */
  undo(): boolean;
  /** Keeps a text word for word in what is sent, whatever is folded: one that some message says. Whether one does. */
  pin(text: string): boolean;
  /** Lets folds have a text again, or all that begin so. Whether one was pinned. */
  unpin(text: string): boolean;
  /** Every fold in force: what it did to which message, and why. */
  explain(): string;
  /** Tokens of the latest view. */
  readonly sizes: Sizes;
  /** Answers the model's call of the tool `recallTool`: the original of what was folded away, or what is found. */
  recall(args: string | object): string;
  /**
   * The definition of a tool with which the model reads what was folded away, as the provider wants it. For the AI SDK,
   * `foldback/ai` has the tool itself.
   */
  readonly recallTool: Record<string, unknown>;
}

/** The options of `foldback compare`. */
export interface CompareOptions {
  /** Names, paths of strategy files, or groups (`seeds`, `today`, `all`); the controls are always there. */
  presets?: string | readonly string[] | undefined;
  window?: number | undefined;
  maxOutput?: number | undefined;
  model?: string | undefined;
  prices?: string | undefined;
  estimator?: string | undefined;
  experiment?: string | undefined;
  exclude?: string | readonly string[] | undefined;
  project?: string | undefined;
  since?: string | undefined;
  redact?: boolean | undefined;
  strict?: boolean | undefined;
}

/** One request that a preset would have sent; the columns are those of `--rows`. */
export type Row = { session: string; preset: string; call: number } & Record<string, unknown>;

export interface Comparison {
  rows: Row[];
  /** What `--json` writes. */
  json: Record<string, unknown>;
  /** The tables of `--show full`. */
  text: string;
}

/** Compares presets on recorded sessions: files, or folders of them, in any format. Works on a thread of its own. */
export function compare(paths: string | readonly string[] | undefined, options?: CompareOptions): Promise<Comparison>;
