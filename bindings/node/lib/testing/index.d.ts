import type { Options, Preset, Protocol } from '../index.js';

/** A preset, or a function that takes all messages and gives those to send. */
export type Compaction<Message extends object = any> =
  | string
  | Preset
  | ((messages: Message[]) => readonly object[] | Promise<readonly object[]>);

/** Those of `compact` for a preset; a function has only `protocol`. */
export type RenderOptions = Omit<Options, 'preset'> & {
  /** Stands in the first line. */
  title?: string | undefined;
};

/** A promise where the function gives one. */
type Done<C, T> = C extends (messages: any) => Promise<unknown> ? Promise<T> : T;

/**
 * What a preset or a function makes of messages, as lines for review. Nothing in it differs from run to run: messages and
 * calls are numbered, ids and times in texts have one word each.
 */
export function render<C extends Compaction>(messages: object[], compaction: C, options?: RenderOptions): Done<C, string>;

/**
 * Throws an `AssertionError` where a provider would refuse a request of these messages, with every rule that they break and
 * its place. What can't be seen from the messages is not checked, such as whether a signature is genuine.
 */
export function assertValid(messages: readonly object[], dialect?: Protocol): void;

/**
 * Throws an `AssertionError` where `render` gives something else than the file says, for `node:test` and others. With
 * `FOLDBACK_UPDATE=1` in the environment the file is written.
 */
export function matchCompaction<C extends Compaction>(
  messages: object[],
  compaction: C,
  options: RenderOptions & { file: string | URL },
): Done<C, void>;

/** Options of `toMatchCompaction`. */
export type MatchOptions = Omit<RenderOptions, 'title'> & {
  /** In the name of the file, in place of the test's. */
  name?: string | undefined;
};

/**
 * The matcher for `expect.extend` of Vitest and Jest; `foldback/testing/vitest` and `foldback/testing/jest` extend it. The
 * file is `snapshots/MODULE.TEST.snapshot.txt` beside the test; `-u` writes it.
 */
export function toMatchCompaction(
  this: any,
  messages: object[],
  compaction: Compaction,
  options?: MatchOptions,
): { pass: boolean; message: () => string } | Promise<{ pass: boolean; message: () => string }>;

export interface CompactionMatchers<R = unknown> {
  /** What a preset or a function makes of messages is what the file beside the test says. Await it for an async function. */
  toMatchCompaction(compaction: Compaction, options?: MatchOptions): R;
}
