// Kimi Code without a screen: one run a turn.
import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export default async function start({ installed, home, cwd, url }) {
  const program = join(installed, 'node_modules/@moonshot-ai/kimi-code/dist/main.mjs');
  const settings = join(home, '.kimi-code');
  mkdirSync(settings);
  const model = (name) => `[models.${name}]\nprovider = "here"\nmodel = "${name}"\nmax_context_size = 1000000\n`;
  const provider = `[providers.here]\ntype = "openai"\nbase_url = "${url}/v1"\napi_key = "k"\n`;
  writeFileSync(join(settings, 'config.toml'), `default_model = "m"\n${provider}${model('m')}${model('n')}`);
  const sessions = new Map();

  async function run(args) {
    const child = spawn(process.execPath, [program, ...args], { cwd, env: { PATH: process.env.PATH, HOME: home }, stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (text) => (said += text));
    }
    await new Promise((resolve) => child.on('close', resolve));
    const found = [...said.matchAll(/session_[0-9a-f-]{36}/g)].at(-1);
    return { said, id: found?.[0] };
  }

  return {
    full: 990_000,
    models: ['m', 'n'],
    kind: ({ messages }) => (/compact|summar/i.test(JSON.stringify(messages.at(-1)).slice(0, 2_000)) ? 'summary' : 'turn'),
    call: (command) => ({ name: 'Bash', args: { command } }),
    async turn(name, { prompt, model = 'm' }) {
      const id = sessions.get(name);
      const ran = await run([...(id ? ['--session', id] : []), '--model', model, '--output-format', 'stream-json', '--prompt', prompt]);
      if (!id && !ran.id) throw new Error(ran.said);
      sessions.set(name, id ?? ran.id);
    },
    /** Every turn is a program of its own. */
    again() {},
    /** What it puts in front of a result is in no record. */
    result: (text) => text.replace(/^Wall time: .*\n(<system>.*<\/system>\n)?/, ''),
    async fork(name, to) {
      const { said } = await run(['fork', '--yes', sessions.get(name)]);
      const [, id] = /Forked to (session_[0-9a-f-]+)/.exec(said) ?? [];
      if (!id) throw new Error(said);
      sessions.set(to, id);
    },
    file(name) {
      const all = readdirSync(join(settings, 'sessions'), { recursive: true });
      return join(settings, 'sessions', all.find((path) => path.endsWith(join(sessions.get(name), 'agents/main/wire.jsonl'))));
    },
  };
}
