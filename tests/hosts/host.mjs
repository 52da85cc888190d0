// What the tests of hosts share: the provider with a tap before it, the files of the task, and what the command makes of a log.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** A trial needs many short runs. */
const IN_TRIAL = process.argv[1].endsWith('trial.mjs');
export const CALLS = Number(process.env.CALLS ?? (IN_TRIAL ? 14 : 300));
/** Fewer calls, for a quick look, have fewer folds; with less than 100 a host has nothing to compact by itself, as in a trial. */
export const FOLDS = CALLS < 300 ? 1 : 5;
assert.ok(CALLS >= 100 || IN_TRIAL, `${CALLS} calls are too few`);
export const TASK = 'Read all files of this folder, one after the other, and say that you are done.';

/** Longest time for a run. */
const MOST = 900_000;

const closing = [];
process.on('exit', () => closing.reverse().forEach((close) => close()));

/** A folder that is gone in the end. */
export function folder() {
  const made = mkdtempSync(join(tmpdir(), 'foldback-host-'));
  closing.push(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

export function write(path, content) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
}

/** What makes the text of a file its own. */
export const mark = (number) => `mark-${number * 7_919}-`;

/** The folder of the task, with its files. */
export function work(length = 60) {
  const made = folder();
  for (let number = 1; number < CALLS; number += 1) {
    const lines = Array.from({ length }, (_, line) => `let value_${line} = "${mark(number)}${line}";\n`);
    write(join(made, `src/${number}.rs`), lines.join(''));
  }
  return made;
}

/** The fake provider, and what arrives at it; it says so many lines with each call. */
export async function provider(program, window, lines = 0) {
  const child = spawn(program, [`${CALLS}`, `${window}`, `${lines}`], { stdio: ['ignore', 'pipe', 'inherit'] });
  closing.push(() => child.kill());
  const upstream = await new Promise((resolve) => child.stdout.once('data', (text) => resolve(`${text}`.trim())));
  const requests = [];
  const server = createServer((asked, answer) => {
    const pieces = [];
    asked.on('data', (piece) => pieces.push(piece));
    asked.on('end', () => {
      const body = Buffer.concat(pieces);
      // Four bytes of a request are a token to the provider.
      const noted = { path: asked.url, body: body.length > 0 ? JSON.parse(body) : undefined, tokens: Math.ceil(body.length / 4) };
      requests.push(noted);
      const headers = { ...asked.headers, host: new URL(upstream).host };
      const passed = request(upstream + asked.url, { method: asked.method, headers }, (given) => {
        noted.status = given.statusCode;
        answer.writeHead(given.statusCode, given.headers);
        given.pipe(answer);
      });
      passed.on('error', () => answer.destroy());
      passed.end(body);
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  server.unref();
  return { url: `http://127.0.0.1:${server.address().port}`, requests };
}

/** Runs a host to its end. */
export async function run(program, args, { cwd, home, env = {} }) {
  const bare = { PATH: `${dirname(process.execPath)}:${process.env.PATH}`, HOME: home, ...env };
  const child = spawn(program, args, { cwd, env: bare, stdio: ['ignore', 'pipe', 'pipe'] });
  closing.push(() => child.kill());
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (said += text));
  const late = setTimeout(() => child.kill('SIGKILL'), MOST);
  const code = await new Promise((resolve) => child.on('close', resolve));
  clearTimeout(late);
  assert.equal(code, 0, `${program} ${args.join(' ')}\n${said}`);
  return said;
}

/** A folder of packages with a plugin and the package that it needs; `change` changes the text of one of its files. */
export function plugin(name, change = {}) {
  const modules = join(folder(), 'node_modules');
  const from = join(ROOT, 'bindings', name);
  const to = join(modules, `foldback-${name}`);
  cpSync(from, to, { recursive: true });
  for (const file of ['lib', 'package.json', 'foldback.node']) {
    cpSync(join(ROOT, 'bindings/node', file), join(modules, 'foldback', file), { recursive: true });
  }
  for (const [file, make] of Object.entries(change)) {
    const before = readFileSync(join(to, file), 'utf8');
    const after = make(before);
    assert.notEqual(after, before, file);
    writeFileSync(join(to, file), after);
  }
  return to;
}

/** What `foldback compact --when live` makes of the messages of a request: of those of a log that goes on with an answer. */
export function compacted(foldback, { messages, tools, model }, preset, { window, maxOutput }) {
  const made = folder();
  const [log, view] = [join(made, 'log.json'), join(made, 'view.json')];
  write(log, { model, messages: [...messages, { role: 'assistant', content: 'Done.' }], tools });
  const limits = ['--window', `${window}`, '--max-output', `${maxOutput}`];
  const args = ['compact', log, '--from', 'openai-chat', '--when', 'live', '--preset', preset, ...limits, '-o', view];
  const { status, stderr } = spawnSync(foldback, args, { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  const written = JSON.parse(readFileSync(view, 'utf8'));
  return (written.messages ?? written).slice(0, -1);
}

/** Messages of Chat Completions, however their texts are spelled. */
export function plain(messages) {
  const text = (content) => {
    if (content === null || content === undefined || content === '') return '';
    return typeof content === 'string' ? content : content.map((part) => part.text ?? JSON.stringify(part)).join('\n');
  };
  return messages.map(({ role, content, tool_calls, tool_call_id }) => {
    const calls = (tool_calls ?? []).map(({ id, function: { name, arguments: given } }) => [id, name, JSON.parse(given)]);
    return { role, text: text(content), calls, of: tool_call_id ?? '' };
  });
}

/** How many times the beginning of a conversation changed from request to request. */
export function folds(requests) {
  const all = requests.map(({ body }) => plain(body.messages).map((message) => JSON.stringify(message)));
  const begins = (one, next) => one.every((message, index) => message === next[index]);
  return all.slice(1).filter((next, index) => !begins(all[index], next)).length;
}

/** The proxy before a provider; its address. */
export async function proxy(foldback, upstream, { window, maxOutput }, how = ['--preset', 'tiered']) {
  const limits = ['--window', `${window}`, '--max-output', `${maxOutput}`];
  const args = ['serve', ...how, '--listen', '127.0.0.1:0', '--upstream', upstream, ...limits];
  const child = spawn(foldback, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  closing.push(() => child.kill());
  let said = '';
  const found = new Promise((resolve) =>
    child.stderr.on('data', (text) => {
      said += text;
      const address = /http:\/\/127\.0\.0\.1:\d+/.exec(said);
      if (address) resolve(address[0]);
    }),
  );
  return found;
}

/** Requests of a task, and those for summaries, which are asked for without tools, or with the words that none may be called. */
export function sorted(requests) {
  const asksForMore = ({ body }) => body?.tools?.length > 0 && !/do not call any tool/i.test(JSON.stringify(body.messages.at(-1)));
  return {
    requests: requests.filter(asksForMore),
    summaries: requests.filter((one) => one.body?.messages && !asksForMore(one)),
    refused: requests.filter(({ status }) => status !== 200),
  };
}

/** One hides messages behind a summary, the other clears results. */
export const PRESETS = ['tiered', 'swe-agent-last-5'];

/** A plugin that fails from about a quarter of the calls on: it reads all messages at each call. */
const fails = (text) => {
  const most = CALLS ** 2 / 18;
  return text.replace(/export function toModel.*/, `let read = 0;\n$&\n  if ((read += 1) > ${most}) throw new Error('planted');`);
};

/**
 * What a plugin is to do. `task(limits, preset, plugin, fails)` has the host do the task, within the limits that it is
 * told of; it gives the requests, what the host keeps of the session, and what it said. `logged` gives the log
 * before a call, where it is not the request of a run without folds.
 */
export async function proves({ name, foldback, limits, presets = PRESETS, task, logged = (body) => body }) {
  /** What the host keeps has every file that was read. */
  const isWhole = ({ kept, said }) => {
    assert.match(said, /Done\./);
    for (let number = 1; number < CALLS; number += 1) assert.ok(kept.includes(mark(number)), `file ${number} is lost`);
  };
  const [preset] = presets;
  const log = await task({ window: 4_000_000, maxOutput: limits.maxOutput }, preset);
  isWhole(log);
  assert.equal(log.requests.length, CALLS);

  for (const preset of presets) {
    const folded = await task(limits, preset, plugin(name));
    isWhole(folded);
    assert.deepEqual([folded.requests.length, folded.refused.length], [CALLS, 0], folded.said);
    assert.ok(folds(folded.requests) >= FOLDS, `${folds(folded.requests)} folds`);
    for (const call of [CALLS / 3, CALLS / 2, CALLS - 1].map(Math.floor)) {
      const expected = compacted(foldback, logged(log.requests[call].body, folded.kept, call), preset, limits);
      assert.deepEqual(plain(folded.requests[call].body.messages), plain(expected), `request ${call}`);
    }
    assert.equal(folded.summaries.length, log.summaries.length, 'the host does not compact');
    console.log(`${preset}: ${folds(folded.requests)} folds in ${CALLS} calls, and ${name} sends what the command does`);
  }

  const failed = await task({ window: 60_000, maxOutput: limits.maxOutput }, preset, plugin(name, { 'messages.js': fails }), true);
  isWhole(failed);
  assert.match(failed.said, /planted/);
  const own = failed.summaries.length - log.summaries.length;
  assert.ok(own > 0, `${name} compacts by itself`);
  console.log(`a plugin that fails: ${name} made ${own} summaries of its own and went on to the end`);
  // The provider would be waited for.
  process.exit();
}
