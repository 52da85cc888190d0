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

/** A host: the file of its settings and what that holds, the window that it needs, and how it is run. */
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
};

const only = process.argv.slice(5);
for (const [name, host] of Object.entries(HOSTS)) {
  if (only.length > 0 && !only.includes(name)) continue;
  const home = folder();
  const settings = join(home, host.file);
  if (host.text === undefined) write(join(settings, '../keep'), '');
  else write(settings, host.text);
  const limits = { window: host.window, maxOutput: 2_000 };
  const { url, requests } = await provider(fake, host.window + 40_000);
  const address = await proxy(foldback, url, limits);
  const setup = (...args) => {
    const done = spawnSync(foldback, ['setup', name, '--url', address, ...args], { encoding: 'utf8', env: { HOME: home } });
    assert.equal(done.status, 0, done.stderr);
  };
  const is = () => (existsSync(settings) ? readFileSync(settings, 'utf8') : undefined);

  setup('--write');
  assert.ok(is().includes(address));
  await run(host.run[0], host.run.slice(1), { cwd, home, env: host.env });
  setup('--remove');
  assert.equal(is(), host.text, 'byte for byte');
  const asked = requests.filter(({ body }) => body?.tools?.length > 0);
  const sizes = asked.map(({ body }) => JSON.stringify(body).length);
  const smaller = sizes.slice(1).filter((size, index) => size < sizes[index]).length;
  assert.ok(asked.length >= CALLS && smaller >= 5, `${asked.length} requests, ${smaller} folds`);
  console.log(`${name}: ${asked.length} requests through the proxy, smaller than the one before ${smaller} times; settings as before`);
}
process.exit();
