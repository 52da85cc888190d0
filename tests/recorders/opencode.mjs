// OpenCode through its server, which its screen uses, too.
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

export default async function start({ installed, home, cwd, url }) {
  const models = Object.fromEntries(['m', 'n'].map((name) => [name, { limit: { context: 4_000_000, output: 9_000 }, reasoning: true, attachment: true, modalities: { input: ['text', 'image'], output: ['text'] } }]));
  const here = { npm: '@ai-sdk/openai-compatible', options: { baseURL: `${url}/v1`, apiKey: 'k' }, models };
  const settings = join(home, '.config/opencode');
  mkdirSync(settings, { recursive: true });
  const quiet = { autoupdate: false, share: 'disabled', snapshot: false, permission: 'allow', model: 'here/m', small_model: 'here/m' };
  writeFileSync(join(settings, 'opencode.json'), JSON.stringify({ ...quiet, provider: { here } }));
  const off = ['AUTOUPDATE', 'MODELS_FETCH', 'LSP_DOWNLOAD', 'DEFAULT_PLUGINS', 'SHARE'];
  const env = { PATH: process.env.PATH, HOME: home, ...Object.fromEntries(off.map((name) => [`OPENCODE_DISABLE_${name}`, '1'])) };
  const sessions = new Map();
  let child;
  let address;

  async function begin() {
    child = spawn(join(installed, 'node_modules/opencode-linux-x64/bin/opencode'), ['serve', '--port', '0'], { cwd, env, stdio: ['ignore', 'pipe', 'ignore'] });
    address = await new Promise((resolve) => {
      let said = '';
      child.stdout.on('data', (text) => {
        said += text;
        const found = /http:\/\/127\.0\.0\.1:\d+/.exec(said);
        if (found) resolve(found[0]);
      });
    });
  }

  async function ask(path, body = {}) {
    const answer = await fetch(`${address}${path}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  }

  const messages = async (id) => (await fetch(`${address}/session/${id}/message`)).json();

  await begin();
  return {
    reasons: true,
    pictures: true,
    interrupts: true,
    models: ['m', 'n'],
    full: 4_000_000,
    kind({ messages, tools }) {
      if (JSON.stringify(messages.slice(0, 2)).includes('title')) return tools?.length > 0 ? 'turn' : 'aside';
      return tools?.length > 0 ? 'turn' : 'summary';
    },
    call: (command) => ({ name: 'bash', args: { command, description: 'look' } }),
    async turn(name, { prompt, model = 'm', picture, interrupted }) {
      if (!sessions.has(name)) sessions.set(name, (await ask('/session')).id);
      const id = sessions.get(name);
      const parts = [{ type: 'text', text: prompt }];
      if (picture) parts.push({ type: 'file', mime: 'image/png', filename: 'picture.png', url: `data:image/png;base64,${readFileSync(picture, 'base64')}` });
      const done = ask(`/session/${id}/message`, { model: { providerID: 'here', modelID: model }, parts });
      if (interrupted) {
        await new Promise((resolve) => setTimeout(resolve, 3_000));
        await ask(`/session/${id}/abort`);
      }
      await done;
    },
    async again() {
      child.kill();
      await begin();
    },
    async fork(name, to) {
      sessions.set(to, (await ask(`/session/${sessions.get(name)}/fork`)).id);
    },
    compact: (name) => ask(`/session/${sessions.get(name)}/summarize`, { providerID: 'here', modelID: 'm' }),
    async rewind(name, turns) {
      const id = sessions.get(name);
      const prompts = (await messages(id)).filter(({ info }) => info.role === 'user');
      await ask(`/session/${id}/revert`, { messageID: prompts.at(-turns).info.id });
    },
    file: () => join(home, '.local/share/opencode/opencode.db'),
    session: (name) => sessions.get(name),
    /** What stands beside the store is read when OpenCode has put it there. */
    end() {
      child.kill();
      const store = new DatabaseSync(this.file());
      store.exec('PRAGMA wal_checkpoint(TRUNCATE)');
      store.close();
    },
  };
}
