// Codex through its server for editors, which has every way that its screen has.
import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export default async function start({ installed, home, cwd, url, provider: said = 'here', window }) {
  const codex = join(home, '.codex');
  mkdirSync(codex);
  const provider = `name = "${said}"\nbase_url = "${url}/v1"\nwire_api = "responses"\nrequest_max_retries = 0\nstream_max_retries = 0\n`;
  const settings = 'model = "gpt-5.4"\nmodel_provider = "here"\napproval_policy = "never"\nsandbox_mode = "danger-full-access"\n';
  const limit = window ? `model_context_window = ${window}\n` : '';
  writeFileSync(join(codex, 'config.toml'), `${settings}${limit}\n[model_providers.here]\n${provider}`);
  const threads = new Map();
  let server;

  function serve() {
    const child = spawn(join(installed, 'node_modules/.bin/codex'), ['app-server'], {
      cwd, env: { PATH: process.env.PATH, HOME: home, CODEX_HOME: codex }, stdio: ['pipe', 'pipe', 'ignore'],
    });
    const [waiting, notified] = [new Map(), new Set()];
    createInterface({ input: child.stdout }).on('line', (line) => {
      const message = JSON.parse(line);
      const answer = message.method === undefined && waiting.get(message.id);
      if (answer) return answer(message);
      return notified.forEach((look) => look(message));
    });
    let count = 0;
    const say = (message) => child.stdin.write(`${JSON.stringify(message)}\n`);
    const call = (method, params) => new Promise((resolve, reject) => {
      const id = (count += 1);
      waiting.set(id, ({ error, result }) => (error ? reject(new Error(`${method}: ${JSON.stringify(error)}`)) : resolve(result)));
      say({ id, method, params });
    });
    const until = (isIt) => new Promise((resolve) => {
      const look = ({ method, params }) => isIt(method, params) && (notified.delete(look), resolve(params));
      notified.add(look);
    });
    return { child, call, say, until };
  }

  async function begin() {
    server = serve();
    await server.call('initialize', { clientInfo: { name: 'story', version: '1' }, capabilities: { experimentalApi: true } });
    server.say({ method: 'initialized' });
  }

  const is = (name, wanted) => (method, params) => method === wanted && params.threadId === threads.get(name).id;

  await begin();
  return {
    reasons: true,
    writes: true,
    pictures: true,
    models: ['gpt-5.4', 'gpt-5.4-mini'],
    interrupts: true,
    served: [{ type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'x' } }, { type: 'message', id: 'msg_ws', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'found', annotations: [] }] }],
    full: 300_000,
    kind: ({ input }) => (JSON.stringify(input.at(-1)).includes('CONTEXT CHECKPOINT COMPACTION') ? 'summary' : 'turn'),
    call: (cmd) => ({ name: 'exec_command', args: { cmd } }),
    async turn(name, { prompt, model, picture, interrupted }) {
      if (!threads.has(name)) threads.set(name, { ...(await server.call('thread/start', { cwd })).thread, turns: [] });
      const input = [{ type: 'text', text: prompt, text_elements: [] }, ...(picture ? [{ type: 'localImage', path: picture }] : [])];
      const thread = threads.get(name);
      const done = server.until(is(name, 'turn/completed'));
      const isRun = (method, params) => is(name, 'item/completed')(method, params) && params.item.type === 'commandExecution';
      const run = interrupted && server.until(isRun);
      const { turn } = await server.call('turn/start', { threadId: thread.id, input, model: model ?? 'gpt-5.4' });
      thread.turns.push(turn.id);
      if (interrupted) {
        await run;
        await new Promise((resolve) => setTimeout(resolve, 500));
        await server.call('turn/interrupt', { threadId: thread.id, turnId: turn.id });
      }
      await done;
    },
    async again() {
      server.child.kill();
      await begin();
      for (const { id } of threads.values()) await server.call('thread/resume', { threadId: id });
    },
    async fork(name, to) {
      const { thread } = await server.call('thread/fork', { threadId: threads.get(name).id });
      threads.set(to, { ...thread, turns: [...threads.get(name).turns] });
    },
    async compact(name) {
      const done = server.until(is(name, 'turn/completed'));
      await server.call('thread/compact/start', { threadId: threads.get(name).id });
      await done;
    },
    async rewind(name, turns) {
      const thread = threads.get(name);
      const [beforeTurnId] = thread.turns.splice(-turns);
      await server.call('thread/revert', { threadId: thread.id, beforeTurnId });
    },
    /** The newest rollout of a thread: a turn that was taken back begins another. */
    file(name) {
      const all = readdirSync(join(codex, 'sessions'), { recursive: true });
      const own = all.filter((path) => path.endsWith('.jsonl') && path.includes(`-${threads.get(name).id}`));
      return join(codex, 'sessions', own.sort((a, b) => a.length - b.length || (a < b ? -1 : 1)).at(-1));
    },
    end: () => server.child.kill(),
  };
}
