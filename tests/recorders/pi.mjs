// pi through its commands for other programs.
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export default async function start({ installed, home, cwd, url }) {
  const settings = join(home, '.pi/agent');
  mkdirSync(settings, { recursive: true });
  const models = ['m', 'n'].map((id) => ({ id, contextWindow: 1_000_000, maxTokens: 9_000, reasoning: true, input: ['text', 'image'] }));
  const here = { baseUrl: `${url}/v1`, api: 'openai-completions', apiKey: 'k', models };
  writeFileSync(join(settings, 'models.json'), JSON.stringify({ providers: { here } }));
  // Else so little would be kept whole.
  writeFileSync(join(settings, 'settings.json'), JSON.stringify({ compaction: { keepRecentTokens: 10 } }));
  const files = new Map();
  let pi;

  function begin() {
    const program = join(installed, 'node_modules/@earendil-works/pi-coding-agent/dist/cli.js');
    const child = spawn(process.execPath, [program, '--mode', 'rpc', '--offline', '--provider', 'here', '--model', 'm'], {
      cwd, env: { PATH: process.env.PATH, HOME: home }, stdio: ['pipe', 'pipe', 'ignore'],
    });
    const [waiting, looks] = [new Map(), new Set()];
    createInterface({ input: child.stdout }).on('line', (line) => {
      const told = JSON.parse(line);
      if (told.type === 'response') return waiting.get(told.id)?.(told);
      return looks.forEach((look) => look(told));
    });
    let count = 0;
    const call = (type, more = {}) => new Promise((resolve, reject) => {
      const id = `${(count += 1)}`;
      waiting.set(id, ({ success, error, data }) => (success ? resolve(data) : reject(new Error(`${type}: ${error}`))));
      child.stdin.write(`${JSON.stringify({ id, type, ...more })}\n`);
    });
    const until = (isIt) => new Promise((resolve) => {
      const look = (told) => isIt(told) && (looks.delete(look), resolve(told));
      looks.add(look);
    });
    pi = { child, call, until };
  }

  /** The session that is under way from now on. */
  async function to(name) {
    if (!files.has(name)) await pi.call('new_session');
    else if ((await pi.call('get_state')).sessionFile !== files.get(name)) await pi.call('switch_session', { sessionPath: files.get(name) });
  }

  const keep = async (name) => files.set(name, (await pi.call('get_state')).sessionFile);

  begin();
  return {
    reasons: true,
    pictures: true,
    interrupts: true,
    full: 999_000,
    /** The usage of summaries. */
    told: ['stray-usage'],
    models: ['m', 'n'],
    kind: ({ tools }) => (tools?.length > 0 ? 'turn' : 'summary'),
    call: (command) => ({ name: 'bash', args: { command } }),
    async turn(name, { prompt, model = 'm', picture, interrupted }) {
      await to(name);
      await pi.call('set_model', { provider: 'here', modelId: model });
      const images = picture ? [{ type: 'image', data: readFileSync(picture, 'base64'), mimeType: 'image/png' }] : undefined;
      const run = interrupted && pi.until(({ type }) => type === 'tool_execution_end');
      const settled = pi.until(({ type }) => type === 'agent_settled');
      await pi.call('prompt', { message: prompt, images });
      if (interrupted) {
        await run;
        await new Promise((resolve) => setTimeout(resolve, 500));
        await pi.call('abort');
      }
      await settled;
      await keep(name);
    },
    async again() {
      pi.child.kill();
      begin();
    },
    async fork(name, other) {
      await to(name);
      await pi.call('clone');
      await keep(other);
    },
    async compact(name) {
      await to(name);
      await pi.call('compact');
    },
    async rewind(name, turns) {
      await to(name);
      const { messages } = await pi.call('get_fork_messages');
      await pi.call('fork', { entryId: messages.at(-turns).entryId });
      await keep(name);
    },
    file: (name) => files.get(name),
    end: () => pi.child.kill(),
  };
}
