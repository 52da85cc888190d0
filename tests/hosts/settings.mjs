// Released agents compact where the value that `foldback recommend --for AGENT --write` wrote says, and not there without it; taken
// out, the settings are what they were.
//
//     node settings.mjs HOME FOLDBACK PROVIDER [AGENT ...]     (a folder with the agents' packages, the command, the fake provider)
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CALLS, TASK, folder, provider, run, work, write } from './host.mjs';

const [installed, foldback, fake, ...only] = process.argv.slice(2);
const packages = (path) => join(installed, 'node_modules', path);
const node = process.execPath;
const cwd = work(120);

/**
 * An agent: the file of its settings, what else it reads (`files`, by the provider's address), how it is run, the window that
 * `recommend` is told of, and `at`: the size of a request from which it compacts under the values of its file.
 */
const AGENTS = {
  'claude-code': {
    file: '.claude/settings.json',
    files: () => ({ '.claude/settings.json': '{\n  "permissions": { "allow": ["Read"] }\n}\n' }),
    run: [node, packages('@anthropic-ai/claude-code/cli-wrapper.cjs'), '--print', TASK, '--allowedTools', 'Read'],
    env: (url) => ({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: 'k', ANTHROPIC_MODEL: 'claude-sonnet-4-5', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' }),
    at: (text) => JSON.parse(text).autoCompactWindow - 33_000,
  },
  codex: {
    file: '.codex/config.toml',
    files: (url) => ({
      '.codex/config.toml': `# mine\nmodel = "gpt-5.4"\nmodel_provider = "here"\n\n[model_providers.here]\nname = "here"\nbase_url = "${url}/v1"\nwire_api = "responses"\n`,
    }),
    run: [packages('.bin/codex'), 'exec', '--skip-git-repo-check', '--sandbox', 'danger-full-access', TASK],
    limits: ['--window', '272000', '--max-output', '8000'],
    at: (text) => Number(/^model_auto_compact_token_limit = (\d+)$/m.exec(text)[1]),
  },
  opencode: {
    file: '.config/opencode/opencode.json',
    files: (url) => ({
      '.config/opencode/opencode.json': JSON.stringify({
        $schema: 'https://opencode.ai/config.json', autoupdate: false, share: 'disabled', snapshot: false, permission: 'allow', small_model: 'here/m',
        provider: { here: { npm: '@ai-sdk/openai-compatible', options: { baseURL: `${url}/v1`, apiKey: 'k' }, models: { m: { limit: { context: 200_000, input: 190_000, output: 8_000 } } } } },
      }),
    }),
    run: [packages('opencode-linux-x64/bin/opencode'), 'run', '--model', 'here/m', TASK],
    env: () => Object.fromEntries(['AUTOUPDATE', 'MODELS_FETCH', 'LSP_DOWNLOAD', 'DEFAULT_PLUGINS', 'SHARE'].map((name) => [`OPENCODE_DISABLE_${name}`, '1'])),
    limits: ['--models', '{corpus}/models.toml', '--model', 'gpt-5.4'],
    at: (text) => 190_000 - JSON.parse(text).compaction.reserved,
  },
  pi: {
    file: '.pi/agent/settings.json',
    files: (url) => ({
      '.pi/agent/models.json': JSON.stringify({ providers: { here: { baseUrl: `${url}/v1`, api: 'openai-completions', apiKey: 'k', models: [{ id: 'm', contextWindow: 200_000, maxTokens: 8_000 }] } } }),
    }),
    run: [node, packages('@earendil-works/pi-coding-agent/dist/cli.js'), '--print', '--offline', '--provider', 'here', '--model', 'm', TASK],
    at: (text) => 200_000 - JSON.parse(text).compaction.reserveTokens,
  },
  'gemini-cli': {
    file: '.gemini/settings.json',
    files: () => ({
      '.gemini/settings.json': JSON.stringify({ security: { auth: { selectedType: 'gemini-api-key' } }, privacy: { usageStatisticsEnabled: false }, general: { enableAutoUpdate: false } }, undefined, 2),
    }),
    run: [node, packages('@google/gemini-cli/bundle/gemini.js'), '--yolo', '--model', 'gemini-2.5-pro', '--prompt', TASK],
    env: (url) => ({ GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: 'k', GEMINI_CLI_TRUST_WORKSPACE: 'true' }),
    limits: ['--window', '1048576', '--max-output', '8000'],
    lines: 4,
    turns: [[], ['--resume', 'latest']],
    at: (text) => 1_048_576 * JSON.parse(text).model.compressionThreshold,
  },
  'qwen-code': {
    file: '.qwen/settings.json',
    files: () => ({ '.qwen/settings.json': JSON.stringify({ model: { generationConfig: { contextWindowSize: 200_000 } }, $version: 4 }, undefined, 2) }),
    run: [node, packages('@qwen-code/qwen-code/cli-entry.js'), '--auth-type', 'openai', '--yolo', '--model', 'm', '--prompt', TASK],
    env: (url) => ({ OPENAI_API_KEY: 'k', OPENAI_BASE_URL: `${url}/v1` }),
    at: (text) => 200_000 * JSON.parse(text).context.autoCompactThreshold,
  },
  'kimi-code': {
    file: '.kimi-code/config.toml',
    files: (url) => ({
      '.kimi-code/config.toml': `default_model = "m"\n[providers.here]\ntype = "openai"\nbase_url = "${url}/v1"\napi_key = "k"\n[models.m]\nprovider = "here"\nmodel = "m"\nmax_context_size = 220000\n`,
    }),
    run: [node, packages('@moonshot-ai/kimi-code/dist/main.mjs'), '--output-format', 'stream-json', '--prompt', TASK],
    at: (text) => 220_000 * Number(/^loop_control.compaction_trigger_ratio = ([\d.]+)$/m.exec(text)[1]),
  },
};

/** Sessions in which nothing is needed again, so what compacts earlier costs less. */
function sessions() {
  const made = folder();
  const lines = (line) => Array.from({ length: 50 }, line).join('\n');
  for (let session = 0; session < 24; session += 1) {
    const messages = [];
    for (let call = 0; call < 140; call += 1) {
      if (call % 20 === 0) messages.push({ role: 'user', content: `Go on with ${call}.` });
      const [id, path] = [`c_${call}`, `src/${session}/${call}.rs`];
      const tool_calls = [{ id, type: 'function', function: { name: 'read', arguments: JSON.stringify({ path }) } }];
      messages.push({ role: 'assistant', content: lines(() => `I think about part ${call} of the work, and what it says about all of the others.`), tool_calls });
      messages.push({ role: 'tool', tool_call_id: id, content: lines(() => `This line of part ${call} says something that no later step of the work will need.`) });
      if (call % 20 === 19) messages.push({ role: 'assistant', content: 'Done.' });
    }
    write(join(made, `sessions/${session}.json`), { model: 'gpt-5.4', messages, tools: [] });
  }
  write(join(made, 'models.toml'), 'as_of = "2026-11-28"\nsource = "test"\n[[model]]\nid = "gpt-5.4"\ncontext = 200000\ninput = 190000\noutput = 8000\nprice = { input = 2.5, cache_read = 0.25, output = 15.0 }\n');
  return made;
}

const corpus = sessions();
/** What asks for a summary says so in its newest message; the first two requests tell the agent's rules. */
const asksForSummary = ({ body }, index) => {
  const newest = (body?.messages ?? body?.input ?? body?.contents ?? []).at(-1);
  return index > 1 && /summar|state_snapshot/i.test(JSON.stringify(newest ?? ''));
};

/** The size of the largest request before the agent asked for a summary; none where it never did. */
async function compacted(agent, home, { url, requests }) {
  for (const more of agent.turns ?? [[]]) await run(agent.run[0], [...agent.run.slice(1), ...more], { cwd, home, env: agent.env?.(url) });
  const sizes = requests.splice(0);
  const first = sizes.findIndex(asksForSummary);
  const largest = Math.max(...sizes.slice(0, first < 0 ? sizes.length : first).map(({ tokens }) => tokens));
  return { at: first < 0 ? undefined : largest, largest };
}

for (const [name, agent] of Object.entries(AGENTS)) {
  if (only.length > 0 && !only.includes(name)) continue;
  const home = folder();
  const settings = join(home, agent.file);
  const is = () => (existsSync(settings) ? readFileSync(settings, 'utf8') : undefined);
  const tapped = await provider(fake, 2_000_000, agent.lines);
  for (const [path, text] of Object.entries(agent.files(tapped.url))) write(join(home, path), text);
  const before = is();
  const recommend = (...args) => {
    const done = spawnSync(foldback, ['recommend', '--for', name, ...args], { encoding: 'utf8', env: { HOME: home } });
    assert.equal(done.status, 0, done.stderr);
    return done.stdout;
  };
  const without = await compacted(agent, home, tapped);
  assert.equal(without.at, undefined, `${name} compacts by itself`);
  assert.equal(is(), before, `${name} rewrites its settings`);
  const limits = agent.limits ?? ['--window', '200000', '--max-output', '8000'];
  const said = recommend(join(corpus, 'sessions'), '--store=none', ...limits.map((one) => one.replace('{corpus}', corpus)), '--write');
  assert.match(said, /written, and taken out with --remove/);
  const at = agent.at(is());
  assert.ok(at < 0.9 * without.largest, `${name} sends ${without.largest} tokens without the value, which is ${at}`);
  const set = await compacted(agent, home, tapped);
  assert.ok(set.at > 0.9 * at && set.at < 1.1 * at, `${name} compacts at ${set.at} instead of ${at}`);
  recommend('--remove');
  assert.equal(is(), before, 'byte for byte');
  console.log(`${name}: compacts at ${set.at} tokens where ${at} is set, and goes on to ${without.largest} where nothing is; settings as before`);
}
process.exit();
