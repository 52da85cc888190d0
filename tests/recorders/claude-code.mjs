// Claude Code without a screen: one run a turn, as its kit for programs runs it.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

export default async function start({ installed, home, cwd, url, window = 150_000 }) {
  // Its wrapper in JavaScript passes no signals on.
  const program = join(installed, 'node_modules/@anthropic-ai/claude-code-linux-x64/claude');
  const env = { PATH: process.env.PATH, HOME: home, ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: url, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', CLAUDE_CODE_MAX_RETRIES: '0', CLAUDE_CODE_AUTO_COMPACT_WINDOW: `${window}` };
  const sessions = new Map();

  function run(name, content, { model = 'claude-sonnet-4-5', interrupted, ends = true } = {}) {
    const session = sessions.get(name);
    const which = session ? ['--resume', session.id, ...session.more] : ['--session-id', randomUUID()];
    const args = ['--print', '--verbose', '--input-format', 'stream-json', '--output-format', 'stream-json', '--model', model, '--allowedTools', 'Bash', ...which];
    const child = spawn(program, args, { cwd, env, stdio: ['pipe', 'pipe', 'ignore'] });
    child.stdin.end(`${JSON.stringify({ type: 'user', message: { role: 'user', content }, parent_tool_use_id: null })}\n`);
    return new Promise((resolve) => {
      let said = '';
      child.stdout.on('data', (text) => {
        said += text;
        if (interrupted && said.includes('"tool_result"')) setTimeout(() => child.kill('SIGINT'), 500);
      });
      child.on('close', () => {
        const lines = said.trim().split('\n').filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));
        const id = lines.find(({ session_id }) => session_id)?.session_id;
        if (!id) throw new Error(`claude-code said: ${said}`);
        const answers = lines.filter(({ type, message }) => type === 'assistant' && message.model !== '<synthetic>');
        const turns = [...(session?.turns ?? []), ...(ends ? [answers.at(-1)?.uuid] : [])];
        sessions.set(name, { id, turns, more: [] });
        resolve();
      });
    });
  }

  return {
    writes: true,
    requests: true,
    pictures: true,
    interrupts: true,
    full: 300_000,
    models: ['claude-sonnet-4-5', 'claude-opus-4-5'],
    served: [
      { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'x' } },
      { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [{ type: 'web_search_result', url: 'https://example.org', title: 't', encrypted_content: 'c2ln' }] },
      { type: 'text', text: 'found' },
    ],
    kind({ tools, messages }) {
      if (JSON.stringify(messages.at(-1)).includes('Do NOT call any tools')) return 'summary';
      return tools?.length > 0 ? 'turn' : 'aside';
    },
    call: (command) => ({ name: 'Bash', args: { command, description: 'look' } }),
    turn: (name, { prompt, model, picture, interrupted }) => {
      const image = picture && { type: 'image', source: { type: 'base64', media_type: 'image/png', data: readFileSync(picture, 'base64') } };
      return run(name, [...(image ? [image] : []), { type: 'text', text: prompt }], { model, interrupted });
    },
    async fork(name, to) {
      const { id, turns } = sessions.get(name);
      sessions.set(to, { id, turns: [...turns], more: ['--fork-session'] });
    },
    /** Every turn is a program of its own. */
    again() {},
    compact: (name) => run(name, '/compact', { ends: false }),
    /** The client puts reminders into results; they have lines of their own. */
    result: (text) => text.replace(/\n*<system-reminder>[\s\S]*?<\/system-reminder>/g, ''),
    async rewind(name, turns) {
      const session = sessions.get(name);
      session.turns.splice(-turns);
      session.more = ['--resume-session-at', session.turns.at(-1)];
    },
    file(name) {
      const projects = join(home, '.claude/projects');
      const all = readdirSync(projects, { recursive: true });
      return join(projects, all.find((path) => path.endsWith(`${sessions.get(name).id}.jsonl`)));
    },
  };
}
