// Released agents record what a provider and a user are made to say, and what foldback reads in their files is that.
//
//     node record.mjs HOME FOLDBACK [AGENT ...]     (a folder with the agents' packages, the command)
//
// Every agent goes through one story, as far as it has what the story asks for. What must be read follows from what the
// provider answered and from what it was then asked: no reader of the agent's is trusted.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { provide } from './provider.mjs';

const [home, command, ...only] = process.argv.slice(2);
const [installed, foldback] = [resolve(home), resolve(command)];
const AGENTS = ['codex', 'claude-code', 'opencode', 'pi', 'kimi-code', 'qwen-code'];

/** A picture of one pixel. */
export const PICTURE = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** What is told by an agent's call of its tool for commands: `works` or `fails`. */
const COMMANDS = { works: 'echo found', fails: 'ls /nowhere' };

class Story {
  /** The answers that are to come. */
  script = [];
  /** Sessions by their names: what must be read in them. */
  sessions = new Map();
  /** Sessions that lie in files of their own still, from before a turn was taken back. */
  left = [];
  faults = [];
  count = 0;
  /** Requests that an agent wrote down, and that were compared with what arrived. */
  requests = 0;

  async begin(name) {
    const { default: start } = await import(`./${name}.mjs`);
    this.home = mkdtempSync(join(installed, 'story-'));
    if (!process.env.KEEP) process.on('exit', () => rmSync(this.home, { recursive: true, force: true }));
    this.cwd = join(this.home, 'work');
    mkdirSync(this.cwd);
    this.picture = join(this.cwd, 'picture.png');
    writeFileSync(this.picture, Buffer.from(PICTURE, 'base64'));
    this.provider = await provide((body) => this.answer(body));
    const { url } = this.provider;
    this.agent = await start({ installed, home: this.home, cwd: this.cwd, url, picture: this.picture });
  }

  answer(body) {
    this.count += 1;
    const number = this.count;
    const usage = { input: 100 + number, cached: 1_000 * number, written: this.agent.writes ? 10 + number : 0, output: 20 + number, reasoning: this.agent.reasons ? 3 : 0 };
    const kind = this.agent.kind(body);
    if (kind === 'aside') return { text: 'aside', usage, aside: true };
    if (kind === 'summary') return { text: `summary ${number}`, usage, aside: true };
    const next = this.script.shift() ?? { text: `said ${number}` };
    const calls = next.calls?.map((how, at) => ({ id: `call_${number}_${at}`, ...this.agent.call(COMMANDS[how]) }));
    return { usage, model: body.model, ...next, calls };
  }

  /** A turn: what the user says, and how it is answered up to the last answer, which says something. */
  async turn(name, { answers = [], ...how } = {}) {
    const session = this.sessions.get(name) ?? { turns: [], boundaries: 0 };
    this.sessions.set(name, session);
    const prompt = `ask ${this.count}`;
    this.script = answers;
    const from = this.provider.asked.length;
    await this.agent.turn(name, { prompt, ...how });
    assert.equal(this.script.length, 0, `${name}: ${prompt}: not everything was asked for`);
    assert.ok(this.provider.asked.length > from, `${name}: ${prompt}: nothing was asked for`);
    const said = this.provider.asked.slice(from).map(({ answer }) => answer).filter(({ aside, status, lost }) => !aside && !status && !lost);
    session.turns.push({ prompt, files: how.picture ? 1 : 0, answers: said });
  }

  async compact(name) {
    const from = this.provider.asked.length;
    await this.agent.compact(name);
    const asked = this.provider.asked.slice(from);
    assert.ok(asked.length > 0 && asked.every(({ answer }) => answer.aside), 'a compaction asks for a summary alone');
    this.sessions.get(name).boundaries += 1;
  }

  /** A turn in which the window is full after the first answer. */
  async fill(name) {
    const from = this.provider.asked.length;
    const usage = { input: this.agent.full, cached: 0, written: 0, output: 20, reasoning: 0 };
    await this.turn(name, { answers: [{ calls: ['works'], usage }, { text: 'after it' }] });
    assert.ok(this.provider.asked.slice(from).some(({ answer }) => answer.text?.startsWith('summary')), 'a full window is compacted');
    this.sessions.get(name).boundaries += 1;
  }

  async fork(name, to) {
    await this.agent.fork(name, to);
    this.sessions.set(to, structuredClone(this.sessions.get(name)));
  }

  /** The last turns are taken back. */
  async rewind(name, turns) {
    const session = this.sessions.get(name);
    const file = this.agent.file(name);
    const before = structuredClone(session);
    await this.agent.rewind(name, turns);
    if (this.agent.file(name) !== file) this.left.push([file, before]);
    session.turns.splice(-turns);
  }

  /** Compares all files. */
  read() {
    const files = [...this.sessions].map(([name, session]) => [this.agent.file(name), session, name]);
    // What a compaction took away before it was sent is in no request.
    const results = new Map(this.provider.asked.flatMap(({ results }) => results.map(([id, output]) => [id, (this.agent.result ?? String)(text(output))])));
    for (const [file, session, name] of [...files, ...this.left]) {
      const expected = {
        prompts: session.turns.map(({ prompt }) => prompt),
        files: session.turns.reduce((sum, { files }) => sum + files, 0),
        answers: session.turns.flatMap(({ answers }) => answers.map((answer) => answered(answer))),
        // Calls side by side end as they do.
        results: session.turns.flatMap(({ answers }) => answers.flatMap(({ calls = [] }) => calls.filter(({ id }) => results.has(id)).map(({ id }) => [id, results.get(id)]))).sort(),
        boundaries: session.boundaries,
        unknown: [],
      };
      const found = read(file, this.agent.session?.(name), this.agent.told);
      // No two answers have the same usage.
      const arrived = found.requests.map(([input]) => [input, wire(this.provider.asked.find(({ answer }) => answer.usage?.input === input)?.body)]);
      expected.requests = arrived.map((request) => JSON.stringify(request));
      found.requests = found.requests.map((request) => JSON.stringify(request));
      this.requests += arrived.length;
      found.results = found.results.filter(([id]) => results.has(id)).sort();
      const lines = Object.keys(expected).flatMap((what) => differing(found[what], expected[what]).map((line) => `    ${what}${line}`));
      if (lines.length > 0) this.faults.push(`  session ${name ?? 'before turns were taken back'}, ${file}`, ...lines);
    }
    return files.length + this.left.length;
  }
}

/** Where two lists differ, item by item. */
function differing(found, expected) {
  const [a, b] = [found, expected].map((list) => [list].flat().map((item) => JSON.stringify(item)));
  const places = Array.from({ length: Math.max(a.length, b.length) }, (_, at) => at);
  return places.filter((at) => a[at] !== b[at]).map((at) => `[${at}] is ${a[at]}, and was ${b[at]}`);
}

const text = (content) => (typeof content === 'string' ? content : content.map((part) => part.text ?? '').join('\n'));

const answered = ({ text = '', thinking = '', calls = [], items = [], usage, model }) => ({
  text, thinking, calls: calls.map(({ id, name, args }) => [id, name, args]), others: items.map(({ type }) => type).filter((type) => type !== 'message' && type !== 'text'),
  usage, model,
});

/** What a request of Anthropic's protocol says, message by message. */
const wire = ({ messages = [] } = {}) => messages.map(({ content }) => (typeof content === 'string' ? [['text', content]] : content.map(
  ({ type, ...block }) => ({ text: () => ['text', block.text], tool_use: () => ['call', block.id], tool_result: () => ['result', block.tool_use_id], thinking: () => ['reasoning', block.thinking] })[type]?.() ?? [type],
)));

/** The requests that the lines have, each with the input of its answer and in the words of `wire`. */
function sent(lines, messages) {
  const inputs = new Map(messages.map(({ id, answer }) => [id, answer?.usage?.uncached]));
  const said = ({ type, text, call_id, name }) => ({ text: [type, text], reasoning: [type, text], call: [type, call_id], result: [type, call_id], file: ['image'] })[type] ?? [name];
  const latest = [];
  return lines.flatMap(({ request }) => {
    if (!request) return [];
    latest.splice(request.keep, Infinity, ...request.tail.map((read) => read.flatMap(({ parts }) => parts.map(said))));
    return [[inputs.get(request.answer), [...latest]]];
  });
}

/** What foldback reads in a file, in the same words. */
function read(file, session, told = []) {
  const to = join(installed, 'read.jsonl');
  const args = ['convert', file, to, '--to', 'foldback', '--quiet', ...(session ? ['--session', session] : [])];
  const { status, stderr } = spawnSync(foldback, args, { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  const lines = readFileSync(to, 'utf8').trim().split('\n').map((line) => JSON.parse(line));
  const messages = lines.flatMap(({ message }) => (message && !message.origin ? [message] : []));
  const of = (role) => messages.filter((message) => message.role === role);
  const parts = (message, type) => message.parts.filter((part) => part.type === type && !part.synthetic && !part.ignored);
  const said = (message, type) => parts(message, type).map((part) => part.text).join('');
  const media = messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'file' ? [part] : part.media ?? [])));
  return {
    prompts: of('user').map((message) => said(message, 'text')).filter((text) => text !== ''),
    files: media.length,
    // A request that failed may leave an empty message.
    answers: of('assistant').filter(({ parts }) => parts.length > 0).map((message) => {
      const { usage = {}, model } = message.answer ?? {};
      const { uncached: input, cache_read: cached, cache_write: written, output, reasoning } = usage;
      const calls = parts(message, 'call').map(({ call_id, tool, arguments: given }) => [call_id, tool, JSON.parse(given)]);
      const others = message.parts.filter(({ type }) => !['text', 'reasoning', 'call'].includes(type)).map(({ name, type }) => name ?? type);
      return { text: said(message, 'text'), thinking: said(message, 'reasoning'), calls, others, usage: { input, cached, written, output, reasoning }, model };
    }),
    results: of('tool').flatMap((message) => parts(message, 'result').map(({ call_id, text }) => [call_id, text])),
    requests: sent(lines, messages),
    boundaries: lines.filter(({ boundary }) => boundary).length,
    unknown: lines.flatMap(({ warning }) => (warning && ![...told, 'abandoned-branch'].includes(warning.code) ? [`${warning.code}: ${warning.detail}`] : [])),
  };
}

/** What happens, step by step. A step that an agent has no way for is left out, and told. */
async function tell(name) {
  const story = new Story();
  await story.begin(name);
  const { agent } = story;
  const steps = [
    ['a turn', true, () => story.turn('a')],
    ['calls side by side, of which one fails', true, () => story.turn('a', { answers: [{ thinking: 'think', text: 'let me', calls: ['works', 'fails'] }, { calls: ['works'] }] })],
    ['another model', agent.models, () => story.turn('a', { model: agent.models[1], answers: [{ calls: ['works'] }] })],
    ['a picture', agent.pictures, () => story.turn('a', { picture: story.picture })],
    ['a tool of the provider', agent.served, () => story.turn('a', { answers: [{ items: agent.served, text: 'found' }] })],
    ['an answer that is refused', true, () => story.turn('a', { answers: [{ status: 400, error: 'planted' }], fails: true })],
    ['a turn that is broken off', agent.interrupts, () => story.turn('a', { answers: [{ text: 'half', calls: ['works'] }, { hangs: true, lost: true }], interrupted: true })],
    ['the program again', agent.again, () => agent.again()],
    ['a turn', true, () => story.turn('a', { answers: [{ calls: ['works'] }] })],
    ['a fork', agent.fork, () => story.fork('a', 'b')],
    ['a turn of the fork', agent.fork, () => story.turn('b', { answers: [{ calls: ['works'] }] })],
    ['a turn beside it', agent.fork, () => story.turn('a')],
    ['the last turn is taken back', agent.rewind, () => story.rewind('a', 1)],
    ['a turn', true, () => story.turn('a')],
    ['a compaction', agent.compact, () => story.compact('a')],
    ['a turn', true, () => story.turn('a', { answers: [{ calls: ['works'] }] })],
    ['a second compaction', agent.compact, () => story.compact('a')],
    ['a turn', true, () => story.turn('a')],
    ['a compaction by itself', agent.full, () => story.fill('a')],
    ['a turn', agent.full, () => story.turn('a')],
    ['a second session', true, () => story.turn('c')],
  ];
  const without = [];
  for (const [what, can, happens] of steps) {
    if (process.env.VERBOSE) console.log(`  ${what}`);
    if (can) await happens();
    else without.push(what);
  }
  await agent.end?.();
  const files = story.read();
  if (agent.requests) assert.ok(story.requests > 0, `${name} writes no request down`);
  if (story.faults.length > 0) {
    console.log(`${name}: what is read is not what was recorded:\n${story.faults.join('\n')}`);
    failed.push(name);
    return;
  }
  const missing = without.length > 0 ? `; without ${without.join(', ')}` : '';
  console.log(`${name}: ${story.provider.asked.length} requests in ${files} sessions are read as they were recorded${story.requests > 0 ? `, ${story.requests} word for word` : ''}${missing}`);
}

const failed = [];
for (const name of only.length > 0 ? only : AGENTS) await tell(name);
process.exit(failed.length > 0 ? 1 : 0);
