// Qwen Code without a screen: one run a turn.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';

export default async function start({ installed, home, cwd, url }) {
  const program = join(installed, 'node_modules/@qwen-code/qwen-code/cli-entry.js');
  const sessions = new Map();

  async function run(args) {
    const env = { PATH: process.env.PATH, HOME: home, OPENAI_API_KEY: 'k', OPENAI_BASE_URL: `${url}/v1` };
    const child = spawn(process.execPath, [program, '--auth-type', 'openai', '--yolo', ...args], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (said += text));
    await new Promise((resolve) => child.on('close', resolve));
    return said;
  }

  const chats = () => {
    const all = readdirSync(join(home, '.qwen/projects'), { recursive: true });
    return all.filter((path) => /chats.[0-9a-f-]+\.jsonl$/.test(path)).map((path) => join(home, '.qwen/projects', path));
  };
  const resumed = (name) => (sessions.has(name) ? ['--resume', sessions.get(name)] : []);

  return {
    models: ['m', 'n'],
    reasons: true,
    /** Behind a turn, another agent is asked what is worth keeping. */
    kind({ messages }) {
      const [first, last] = [messages[0], messages.at(-1)].map((message) => JSON.stringify(message));
      if (/memory extraction/.test(first)) return 'aside';
      return /summar|snapshot/i.test(last) ? 'summary' : 'turn';
    },
    call: (command) => ({ name: 'run_shell_command', args: { command, is_background: false } }),
    async turn(name, { prompt, model = 'm' }) {
      const begun = sessions.has(name) ? resumed(name) : ['--session-id', randomUUID()];
      sessions.set(name, begun[1]);
      await run([...begun, '--model', model, '--prompt', prompt]);
    },
    /** Every turn is a program of its own. */
    again() {},
    async compact(name) {
      await run([...resumed(name), '--model', 'm', '--prompt', '/compress']);
    },
    async fork(name, to) {
      const before = new Set(chats());
      await run([...resumed(name), '--fork-session', '--model', 'm', '--prompt', '/about']);
      const [made] = chats().filter((file) => !before.has(file));
      sessions.set(to, basename(made, '.jsonl'));
    },
    file: (name) => chats().find((file) => file.includes(sessions.get(name))),
  };
}
