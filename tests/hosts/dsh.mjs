// The released DeepSeek Harness with the plugin: a task of 300 calls, the view against that of the command, and a plugin that
// fails.
//
//     node dsh.mjs HOME FOLDBACK PROVIDER     (a folder with its packages, the command, the fake provider)
import { cpSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { PRESETS, TASK, folder, proves, provider, run, sorted, work, write } from './host.mjs';

const [installed, foldback, fake] = process.argv.slice(2);
const cwd = work();

/** What the provider takes beyond the window that the host is told of: it counts the spelling of a request, too. */
const MORE = 40_000;

/** It says nothing of what it logs. */
const LOGS = `export const apply = (ctx) => ctx.logger.exporter({ export: ({ args }) => console.error(...args) });`;

async function task({ window, maxOutput }, preset, plugin) {
  const home = folder();
  const { url, requests } = await provider(fake, window + MORE);
  const dsh = join(home, '.dsh');
  const bundles = ['@deepseek-ai/dsh-base', '@deepseek-ai/dsh-headless'];
  if (plugin) {
    bundles.push('foldback-dsh');
    cpSync(dirname(plugin), join(dsh, 'profiles/headless/node_modules'), { recursive: true });
  }
  write(join(dsh, 'profiles/headless/package.json'), { private: true, dsh: { profile: { bundles } } });
  const models = [{ id: 'm', contextWindow: window, maxTokens: maxOutput }];
  const here = { api: 'openai-completions', baseURL: `${url}/v1`, apiKeyEnv: 'KEY', models };
  const sessions = join(home, 'sessions');
  const logs = join(home, 'logs.mjs');
  write(logs, LOGS);
  const patch = [
    { id: 'llm-pi-ai', config: { providers: { here } } },
    { id: 'session-persistence-jsonl', config: { root: sessions, compression: 'none' } },
    { id: 'agent-default-model', config: { provider: 'here', model: 'm' } },
    { insert: [{ id: 'logs', name: logs }] },
  ];
  write(join(dsh, 'cordis.patch.yml'), patch);
  const program = join(installed, 'node_modules/@deepseek-ai/dsh/lib/bin.js');
  const env = { KEY: 'k', DSH_PERMISSION_MODE: 'danger-full-access', FOLDBACK_PRESET: preset };
  const said = await run(process.execPath, [program, '--profile', 'headless', TASK], { cwd, home, env });
  const [session] = readdirSync(sessions, { recursive: true }).filter((name) => name.endsWith('.jsonl'));
  return { ...sorted(requests), kept: readFileSync(join(sessions, session), 'utf8'), said };
}

/** The log before a call: what it says of its sandbox is said anew after a fold, and its provider adds `strict` to tools. */
function logged({ messages: [system], tools, model }, kept, call) {
  const events = kept.trim().split('\n').map((line) => JSON.parse(line)).filter(({ surfaceOp }) => surfaceOp === 'append');
  const messages = events.map(({ data }) => {
    const { role, content } = data.message ?? data;
    const [block] = content;
    const text = (blocks) => blocks.map((one) => one.text).join('');
    if (block.type === 'tool-result') return { role: 'tool', tool_call_id: block.toolCallId, content: text(block.content) };
    if (block.type === 'text') return { role, content: text(content) };
    const calls = content.map(({ id, name, arguments: given }) => ({ id, type: 'function', function: { name, arguments: given } }));
    return { role, content: null, tool_calls: calls };
  });
  const answers = messages.flatMap(({ role }, index) => (role === 'assistant' ? [index] : []));
  const declared = tools.map(({ type, function: { strict, ...tool } }) => ({ type, function: tool }));
  return { model, messages: [system, ...messages.slice(0, answers[call])], tools: declared };
}

/** One puts a message where nothing goes away, the other drops calls without a trace: neighbours take their places. */
const presets = [...PRESETS, 'indexed'];
/** It takes an answer for refused that was counted with more than the window. */
const limits = { window: 32_000, maxOutput: 2_000 };
await proves({ name: 'dsh', foldback, limits, presets, task, logged });
