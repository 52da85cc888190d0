// `compact`, `Conversation`, which does the same from call to call, presets, and `compare`.
import * as given from './arguments.js';
import { FoldbackError } from './error.js';
import { native } from './native.js';
import { FORMS, answerIn, dump, listOf, protocolOf, protocolOfResponse } from './shapes.js';

export { FoldbackError };

/** What the engine says, as the error of this package. Its code is a JSON pointer where it is about a message. */
function engine(act) {
  try {
    return act();
  } catch (wrong) {
    throw FoldbackError.of(wrong);
  }
}

/** Presets by their names. An object of the engine is freed no sooner than at the next turn of the event loop, so a loop without one makes none. */
const PRESETS = new Map();

function presetOf(name) {
  if (!PRESETS.has(name)) PRESETS.set(name, engine(() => new native.Preset(name)));
  return PRESETS.get(name);
}

export class Preset {
  constructor(name) {
    if (!(name instanceof native.Preset)) given.text('preset', name ?? null);
    this.native = name instanceof native.Preset ? name : presetOf(name);
  }

  static fromToml(textOrPath) {
    given.text('textOrPath', textOrPath ?? null);
    return new Preset(engine(() => native.Preset.fromToml(textOrPath)));
  }

  get name() {
    return this.native.name;
  }

  get description() {
    return this.native.description;
  }

  get reproduces() {
    return this.native.reproduces;
  }

  equals(other) {
    return other instanceof Preset && this.native.equals(other.native);
  }
}

export function presets() {
  return engine(() => native.presets()).map((preset) => new Preset(preset));
}

export function compact(messages, options) {
  return new Conversation(options, ONCE).fold(messages);
}

/** Says that a conversation folds once. */
const ONCE = Symbol('once');

/** An engine that folds once: it is made for that, and gone with it. */
class Once {
  constructor(...settings) {
    // What is wrong with them is said where there is nothing to fold, too.
    native.check(...settings);
    this.settings = settings;
  }

  fold(body) {
    return native.compact(...this.settings, body);
  }
}

export class Conversation {
  #limits;
  #protocol;
  #known;
  #form;
  #engine;
  #kind;

  constructor(options = {}, once = undefined) {
    given.options(options, given.CONVERSATION);
    const { preset = 'opencode-1.17', window, maxOutput, model, system, tools, protocol } = options;
    given.tokens('window', window);
    given.tokens('maxOutput', maxOutput);
    given.text('model', model);
    given.text('protocol', protocol);
    given.system(system);
    given.tools(tools);
    if (protocol !== undefined && !Object.hasOwn(FORMS, protocol)) {
      throw new FoldbackError(`no protocol is called ${protocol}; known are ${Object.keys(FORMS).join(', ')}`);
    }
    this.preset = preset instanceof Preset ? preset : new Preset(preset);
    this.messages = [];
    this.system = system;
    this.tools = tools;
    this.#limits = [window, maxOutput, model];
    this.#kind = once === ONCE ? Once : native.Engine;
    this.#protocol = protocol;
    // What is wrong with the limits is said now, not at the first message. What all protocols have in common is read as
    // Chat Completions until it is known.
    this.#known = protocol !== undefined;
    this.#form = FORMS[protocol ?? 'openai-chat'];
    this.#engine = this.#begun();
  }

  append(...messages) {
    this.messages.push(...messages);
  }

  answered(response) {
    if (!this.#known) this.#become(protocolOfResponse(response));
    const { messages, number, body } = answerIn(response, this.#form);
    this.usage(this.messages.length + number, body);
    this.messages.push(...messages);
    return messages;
  }

  /** What the provider said of the answer that is or will be the message with this number: a response's body. */
  usage(number, body) {
    engine(() => this.#engine.answered(number + this.#offset(this.system), dump(body, '')));
  }

  view() {
    return this.fold(this.messages);
  }

  fold(messages, { system = this.system, tools = this.tools } = {}) {
    given.messages(messages);
    given.system(system);
    given.tools(tools);
    if (messages.length === 0) return [];
    if (!this.#known) this.#become(protocolOf(messages, system));
    const form = this.#form;
    const offset = this.#offset(system);
    // All of them each time: it takes less than to find out which of them changed where they stand.
    let list = listOf(form, messages, this.#protocol);
    if (offset > 0) {
      const opening = dump({ role: 'system', content: system }, '/system');
      list = `[${[opening, list.slice(1, -1)].filter(Boolean).join()}]`;
    }
    const body = form.body(list, { model: this.#limits[2], system: offset > 0 ? undefined : system, tools });
    const sent = [];
    for (const { number, count, text } of engine(() => this.#engine.fold(body))) {
      if (text !== undefined) {
        const original = number === undefined || number < offset ? undefined : messages[number - offset];
        sent.push(...form.load(text, original, messages));
        continue;
      }
      for (let at = Math.max(number - offset, 0); at < number - offset + count; at++) sent.push(messages[at]);
    }
    return sent;
  }

  compact(instructions) {
    given.text('instructions', instructions);
    return engine(() => this.#engine.compact(instructions));
  }

  overflow() {
    return engine(() => this.#engine.overflow());
  }

  undo() {
    return this.#engine.undo();
  }

  pin(text) {
    given.text('text', text);
    return this.#engine.pin(text);
  }

  unpin(text) {
    given.text('text', text);
    return this.#engine.unpin(text);
  }

  explain() {
    return this.#engine.explain();
  }

  /** What `foldback snapshot` writes; for `foldback/testing`. */
  review(title) {
    return this.#engine.review(title);
  }

  get sizes() {
    return this.#engine.sizes();
  }

  recall(args) {
    return this.#engine.recall(typeof args === 'string' ? args : dump(args, ''));
  }

  get recallTool() {
    return this.#form.tool(JSON.parse(this.#engine.recallTool()));
  }

  #become(protocol) {
    if (protocol === undefined) return;
    const before = this.#form;
    this.#form = FORMS[protocol];
    this.#known = true;
    if (this.#form.protocol !== before.protocol) this.#engine = this.#begun();
  }

  #begun() {
    return engine(() => new this.#kind(this.preset.native, this.#form.protocol, ...this.#limits));
  }

  /** Chat Completions have the system prompt as a message. */
  #offset(system) {
    return system !== undefined && this.#form.protocol === 'openai-chat' ? 1 : 0;
  }
}

/** The options of `foldback compare`, by their names here. */
const OPTIONS = {
  window: '--window',
  maxOutput: '--max-output',
  model: '--model',
  prices: '--prices',
  estimator: '--estimator',
  experiment: '--experiment',
  project: '--project',
  since: '--since',
};

export async function compare(paths, options = {}) {
  given.options(options, [...Object.keys(OPTIONS), 'presets', 'exclude', 'redact', 'strict']);
  given.tokens('window', options.window);
  given.tokens('maxOutput', options.maxOutput);
  const args = [];
  const presets = given.several('presets', options.presets).join();
  if (presets) args.push(`--preset=${presets}`);
  for (const [name, option] of Object.entries(OPTIONS)) {
    if (options[name] !== undefined) args.push(`${option}=${options[name]}`);
  }
  args.push(...given.several('exclude', options.exclude).map((text) => `--exclude=${text}`));
  for (const name of ['redact', 'strict']) if (options[name]) args.push(`--${name}`);
  try {
    const { rows, json, text } = await native.compare([...args, '--', ...given.several('paths', paths)]);
    return { rows: rows.split('\n').filter(Boolean).map((row) => JSON.parse(row)), json: JSON.parse(json), text };
  } catch (wrong) {
    throw FoldbackError.of(wrong);
  }
}
