// What the plugins of hosts share (`bindings/pi` and the others): a conversation that the host gives anew, and whole, each
// time. No part of what the package promises.
import { Conversation, Preset } from './index.js';

const PRESET = 'indexed';

function presetOf(asked) {
  const named = asked || process.env.FOLDBACK_PRESET || PRESET;
  return named.endsWith('.toml') ? Preset.fromToml(named) : new Preset(named);
}

/** What a provider counted for an answer, in the form of Anthropic's response; nothing where it counted nothing. */
export function counted({ input, output, cacheRead = 0, cacheWrite = 0 }) {
  if (!input && !cacheRead) return undefined;
  const usage = {
    input_tokens: input,
    cache_read_input_tokens: cacheRead,
    cache_creation_input_tokens: cacheWrite,
    output_tokens: output,
  };
  return { role: 'assistant', content: [], usage };
}

/** A tool as a request declares it. */
export const declared = ({ name, description, parameters }) => ({ name, description, input_schema: parameters });

/** A conversation as a host gives it, for as long as it goes on. */
export class Followed {
  #asked;
  #marks = [];
  #limits;

  /** By a preset's name or a strategy file; else by `FOLDBACK_PRESET`. */
  constructor(asked) {
    this.#asked = asked;
  }

  /**
   * What to send in place of `messages`, in the form of the AI SDK; one of them has `usage` if it is an answer that was counted.
   * `marks` tell them apart: where those of before are gone, or the limits are others, a new conversation begins.
   */
  fold(messages, marks, limits, beside) {
    const { window, maxOutput } = limits;
    const isSame = this.#limits?.window === window && this.#limits?.maxOutput === maxOutput;
    if (!isSame || this.#marks.some((mark, index) => mark !== marks[index])) {
      const known = { window: window || undefined, maxOutput: maxOutput || undefined };
      this.conversation = new Conversation({ preset: presetOf(this.#asked), protocol: 'ai-sdk', ...known });
      this.#marks = [];
      this.#limits = limits;
    }
    messages.forEach(({ usage }, index) => {
      if (usage !== undefined && index >= this.#marks.length) this.conversation.usage(index, usage);
    });
    const before = this.conversation.sizes.folds;
    const sent = this.conversation.fold(messages, beside);
    this.#marks = marks;
    this.isNew = this.conversation.sizes.folds > before;
    return sent;
  }

  /** Whether what is sent leaves room for an answer. */
  get fits() {
    const { window, maxOutput } = this.#limits;
    return !window || this.conversation.sizes.sent + (maxOutput ?? 0) <= window;
  }

  /** What is said of a fold. */
  get told() {
    const { preset, sizes } = this.conversation;
    return `${preset.name}: ${sizes.sent.toLocaleString('en')} of ${sizes.received.toLocaleString('en')} tokens are sent`;
  }
}
