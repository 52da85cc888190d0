// Released hosts as `foldback setup` sets them up: each does a task through the proxy, and its settings are then what they were.
//
//     node setup.mjs HOME FOLDBACK PROVIDER     (a folder with the hosts' packages, the command, the fake provider)
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CALLS, TASK, folder, provider, proxy, run, work, write } from './host.mjs';

const [installed, foldback, fake] = process.argv.slice(2);
const packages = (path) => join(installed, 'node_modules', path);
const cwd = work();
const node = process.execPath;

/**
 * A host: the file of its settings and what that holds, the window that it needs, and how it is run. What has no such file takes the
 * variables that `setup` names, and `files` that its user writes, by the proxy's address.
 */
const HOSTS = {
  'claude-code': {
    file: '.claude/settings.json',
    text: '{\n  "permissions": { "allow": ["Read"] }\n}\n',
    window: 60_000,
    run: [node, packages('@anthropic-ai/claude-code/cli-wrapper.cjs'), '--print', TASK, '--allowedTools', 'Read'],
    env: { ANTHROPIC_API_KEY: 'k', ANTHROPIC_MODEL: 'claude-sonnet-4-5', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' },
  },
  codex: {
    file: '.codex/config.toml',
    text: '# mine\nmodel = "gpt-5.4"\n\n[projects."/nowhere"]\ntrust_level = "trusted"\n',
    window: 40_000,
    run: [packages('.bin/codex'), 'exec', '--skip-git-repo-check', '--sandbox', 'danger-full-access', TASK],
    env: { OPENAI_API_KEY: 'k' },
  },
  opencode: {
    file: '.config/opencode/opencode.json',
    // Without the first member, OpenCode writes it in front of all others.
    text: JSON.stringify({ $schema: 'https://opencode.ai/config.json', autoupdate: false, share: 'disabled', snapshot: false, permission: 'allow', small_model: 'openai/gpt-5.4' }),
    window: 40_000,
    run: [packages('opencode-linux-x64/bin/opencode'), 'run', '--model', 'openai/gpt-5.4', TASK],
    env: {
      OPENAI_API_KEY: 'k',
      ...Object.fromEntries(['AUTOUPDATE', 'LSP_DOWNLOAD', 'DEFAULT_PLUGINS', 'SHARE'].map((name) => [`OPENCODE_DISABLE_${name}`, '1'])),
    },
  },
  pi: {
    file: '.pi/agent/models.json',
    text: undefined,
    window: 24_000,
    run: [node, packages('@earendil-works/pi-coding-agent/dist/cli.js'), '--print', '--offline', '--provider', 'openai', '--model', 'gpt-5.4', TASK],
    env: { OPENAI_API_KEY: 'k' },
  },
  'qwen-code': {
    window: 50_000,
    run: [node, packages('@qwen-code/qwen-code/cli-entry.js'), '--auth-type', 'openai', '--yolo', '--model', 'm', '--prompt', TASK],
    env: { OPENAI_API_KEY: 'k' },
  },
  'kimi-code': {
    window: 50_000,
    files: (url) => ({
      '.kimi-code/config.toml': `default_model = "m"\n[providers.here]\ntype = "openai"\nbase_url = "${url}/v1"\napi_key = "k"\n[models.m]\nprovider = "here"\nmodel = "m"\nmax_context_size = 1000000\n`,
    }),
    run: [node, packages('@moonshot-ai/kimi-code/dist/main.mjs'), '--output-format', 'stream-json', '--prompt', TASK],
  },
  'gemini-cli': {
    window: 50_000,
    files: () => ({
      '.gemini/settings.json': { security: { auth: { selectedType: 'gemini-api-key' } }, privacy: { usageStatisticsEnabled: false }, general: { enableAutoUpdate: false } },
    }),
    run: [node, packages('@google/gemini-cli/bundle/gemini.js'), '--yolo', '--model', 'gemini-2.5-pro', '--prompt', TASK],
    env: { GEMINI_API_KEY: 'k', GEMINI_CLI_TRUST_WORKSPACE: 'true' },
  },
  cline: {
    window: 30_000,
    run: [packages('@cline/cli-linux-x64/bin/cline'), '--json', TASK],
  },
};

const only = process.argv.slice(5);
for (const [name, host] of Object.entries(HOSTS)) {
  if (only.length > 0 && !only.includes(name)) continue;
  const home = folder();
  const settings = host.file && join(home, host.file);
  if (settings && host.text === undefined) write(join(settings, '../keep'), '');
  else if (settings) write(settings, host.text);
  const limits = { window: host.window, maxOutput: 2_000 };
  const { url, requests } = await provider(fake, host.window + 40_000);
  const address = await proxy(foldback, url, limits);
  const setup = (...args) => {
    const done = spawnSync(foldback, ['setup', name, '--url', address, ...args], { encoding: 'utf8', env: { HOME: home } });
    assert.equal(done.status, 0, done.stderr);
    return done.stdout;
  };
  const is = () => (existsSync(settings) ? readFileSync(settings, 'utf8') : undefined);

  const said = setup(...(settings ? ['--write'] : []));
  assert.ok((settings ? is() : said).includes(address), said);
  for (const [path, text] of Object.entries(host.files?.(address) ?? {})) write(join(home, path), text);
  const typed = /cline auth .*/.exec(said)?.[0].replace('KEY', 'k').replace('MODEL', 'gpt-5.4').split(' ').slice(1);
  if (typed) await run(host.run[0], typed, { cwd, home });
  const variables = Object.fromEntries([...said.matchAll(/export (\w+)=(.*)/g)].map(([, name, value]) => [name, value]));
  await run(host.run[0], host.run.slice(1), { cwd, home, env: { ...variables, ...host.env } });
  if (settings) {
    setup('--remove');
    assert.equal(is(), host.text, 'byte for byte');
  }
  const asked = requests.filter(({ body }) => body?.tools?.length > 0);
  const sizes = asked.map(({ body }) => JSON.stringify(body).length);
  const smaller = sizes.slice(1).filter((size, index) => size < sizes[index]).length;
  assert.ok(asked.length >= CALLS && smaller >= 5, `${asked.length} requests, ${smaller} folds`);
  console.log(`${name}: ${asked.length} requests through the proxy, smaller than the one before ${smaller} times${settings ? '; settings as before' : ''}`);
}
process.exit();
