// Tests of compaction: what a preset or a function makes of messages, compared with a file beside the test, and the rules by
// which a provider refuses a request.
import assert from 'node:assert';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as given from '../arguments.js';
import { FoldbackError } from '../error.js';
import { Conversation, Preset } from '../index.js';
import { native } from '../native.js';
import { FORMS, listOf, protocolOf } from '../shapes.js';

/** What the engine says, as the error of this package. */
function engine(act) {
  try {
    return act();
  } catch (wrong) {
    throw FoldbackError.of(wrong);
  }
}

function body(form, messages, protocol) {
  return form.body(listOf(form, messages, protocol), {});
}

/** Arrays and plain objects are copied, with the texts in them shared; `undefined` for what has other objects in it. */
function copy(value) {
  if (typeof value !== 'object' || value === null) return typeof value === 'function' ? undefined : { value };
  const list = Array.isArray(value);
  if (!list && ![Object.prototype, null].includes(Object.getPrototypeOf(value))) return undefined;
  const copied = list ? [] : Object.create(Object.getPrototypeOf(value));
  for (const [name, member] of Object.entries(value)) {
    const inner = copy(member);
    if (inner === undefined) return undefined;
    copied[name] = inner.value;
  }
  return { value: copied };
}

const titled = (name, title) => (title === undefined ? name : `${name} · ${title}`);

/** Acts on a value now, or when a promise of it is kept. */
const then = (value, act) => (typeof value?.then === 'function' ? value.then(act) : act(value));

export function render(messages, compaction, options = {}) {
  const { title, ...others } = given.options(options, ['title', ...given.CONVERSATION]);
  given.messages(messages);
  if (typeof compaction === 'string' || compaction instanceof Preset) {
    const conversation = new Conversation({ ...others, preset: compaction });
    conversation.fold(messages);
    return conversation.review(titled(conversation.preset.name, title));
  }
  if (typeof compaction !== 'function') throw new FoldbackError('compaction is a preset or a function');
  const { protocol, ...more } = others;
  const [extra] = Object.keys(more).filter((name) => more[name] !== undefined);
  if (extra !== undefined) throw new FoldbackError(`${extra} is for a preset, and compaction is a function`);
  const form = formOf(protocol ?? protocolOf(messages) ?? 'openai-chat');
  const before = body(form, messages, protocol);
  return then(compaction(copy(messages)?.value ?? messages), (after) => {
    if (!Array.isArray(after)) throw new FoldbackError('what compaction returns is no array of messages');
    const name = titled(compaction.name || 'compaction', title);
    return engine(() => native.review(form.protocol, name, before, body(form, after, protocol)));
  });
}

export function assertValid(messages, dialect = 'anthropic') {
  given.messages(messages);
  const form = formOf(dialect);
  let broken;
  try {
    broken = engine(() => native.violations(form.protocol, body(form, messages, dialect)));
  } catch (wrong) {
    broken = [wrong.message];
  }
  if (broken.length > 0) {
    const message = [`${dialect} would refuse these messages:`, ...broken].join('\n  ');
    throw new assert.AssertionError({ message, actual: broken, expected: [], stackStartFn: assertValid });
  }
}

function formOf(protocol) {
  given.text('dialect', protocol);
  if (Object.hasOwn(FORMS, protocol)) return FORMS[protocol];
  throw new FoldbackError(`no dialect is called ${protocol}; known are ${Object.keys(FORMS).join(', ')}`);
}

/** What is wrong with a file in which `now` should be, or nothing; with `update` it is written. */
function difference(file, now, update) {
  // Git may have given it the line ends of another system.
  const kept = existsSync(file) ? readFileSync(file, 'utf8').replaceAll('\r\n', '\n') : undefined;
  if (kept === now) return undefined;
  if (update) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, now);
    return undefined;
  }
  if (kept === undefined) return `there is no snapshot yet, so nothing holds: ${file}`;
  return native.diff(kept, now, file);
}

const fromEnvironment = () => !['', '0', undefined].includes(process.env.FOLDBACK_UPDATE);

export function matchCompaction(messages, compaction, { file, ...options } = {}) {
  const path = file instanceof URL || file?.startsWith?.('file:') ? fileURLToPath(file) : file;
  if (typeof path !== 'string') throw new FoldbackError('file is the path or the URL of the snapshot');
  return then(render(messages, compaction, options), (now) => {
    const wrong = difference(path, now, fromEnvironment());
    if (wrong === undefined) return;
    const message = `${wrong}\nWrite it with FOLDBACK_UPDATE=1.`;
    throw new assert.AssertionError({ message, stackStartFn: matchCompaction });
  });
}

/** The snapshots of each test so far, with the number of assertions before the last. */
const counted = new Map();

/** The number of a snapshot in its test. A test that runs again begins anew. */
function numberIn(test, assertions) {
  const before = counted.get(test);
  const number = before === undefined || assertions <= before.assertions ? 1 : before.number + 1;
  counted.set(test, { number, assertions });
  return number;
}

export function toMatchCompaction(messages, compaction, { name, ...options } = {}) {
  const { testPath, currentTestName, assertionCalls, isNot, snapshotState } = this;
  if (isNot) throw new FoldbackError('not.toMatchCompaction would hold for anything');
  if (!testPath || !currentTestName) throw new FoldbackError('toMatchCompaction belongs into a test');
  const number = numberIn(`${testPath} ${currentTestName}`, assertionCalls);
  const title = name ?? (number === 1 ? currentTestName : `${currentTestName} ${number}`);
  const stem = basename(testPath, extname(testPath));
  const safe = `${stem}.${title}`.replace(/[^\p{L}\p{N}_.-]+/gu, '-');
  const file = join(dirname(testPath), 'snapshots', `${safe}.snapshot.txt`);
  return then(render(messages, compaction, { ...options, title }), (now) => {
    // What `-u` sets in Jest and Vitest.
    const wrong = difference(file, now, fromEnvironment() || snapshotState?._updateSnapshot === 'all');
    const message = () => `${wrong}\nWrite it with -u.`;
    return { pass: wrong === undefined, message };
  });
}
