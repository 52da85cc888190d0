// Released agents in a trial: each does the same task again and again in three arms, without naming its units. Every run is a unit of its
// own, every request is valid, and what is folded follows from the arm.
//
//     UNITS=20 MINI=ENVIRONMENT node trial.mjs HOME FOLDBACK PROVIDER [HOST…]
//
// HOME is a folder with the hosts' packages. With MINI, the virtual environment of mini-swe-agent, that runs, too.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CALLS, TASK, folder, provider, proxy, run, work, write } from './host.mjs';

const [installed, foldback, fake] = process.argv.slice(2);
const packages = (path) => join(installed, 'node_modules', path);
const UNITS = Number(process.env.UNITS ?? 20);
const ARMS = 'masking-10,swe-agent-last-5,none';
const node = process.execPath;

/** A host: how it is run, its environment, and files of its home. */
const HOSTS = {
  'claude-code': (url) => ({
    run: [node, packages('@anthropic-ai/claude-code/cli-wrapper.cjs'), '--print', TASK, '--allowedTools', 'Read'],
    env: { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: 'k', ANTHROPIC_MODEL: 'claude-sonnet-4-5', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' },
  }),
  codex: () => ({
    run: [packages('.bin/codex'), 'exec', '--skip-git-repo-check', '--sandbox', 'danger-full-access', TASK],
    env: { OPENAI_API_KEY: 'k' },
    setup: 'codex',
    files: { '.codex/config.toml': 'model = "gpt-5.4"\n' },
  }),
  opencode: () => ({
    run: [packages('opencode-linux-x64/bin/opencode'), 'run', '--model', 'openai/gpt-5.4', TASK],
    env: { OPENAI_API_KEY: 'k', ...Object.fromEntries(['AUTOUPDATE', 'LSP_DOWNLOAD', 'DEFAULT_PLUGINS', 'SHARE'].map((name) => [`OPENCODE_DISABLE_${name}`, '1'])) },
    setup: 'opencode',
    files: { '.config/opencode/opencode.json': JSON.stringify({ $schema: 'https://opencode.ai/config.json', autoupdate: false, share: 'disabled', snapshot: false, permission: 'allow', small_model: 'openai/gpt-5.4' }) },
  }),
  pi: () => ({
    run: [node, packages('@earendil-works/pi-coding-agent/dist/cli.js'), '--print', '--offline', '--provider', 'openai', '--model', 'gpt-5.4', TASK],
    env: { OPENAI_API_KEY: 'k' },
    setup: 'pi',
    files: { '.pi/agent/keep': '' },
  }),
  // It sends no id of a session, so the harness names the unit. Its provider ends the task with a command.
  'mini-swe-agent': (url, unit) => ({
    run: [
      join(process.env.MINI, 'bin/mini'), '--yolo', '--exit-immediately', '--task', TASK, '--model', 'openai/m', '--config', 'mini.yaml',
      '--config', `model.model_kwargs.api_base=${url}/v1`, '--config', `model.model_kwargs.extra_headers.x-foldback-unit=${unit}`,
    ],
    env: { OPENAI_API_KEY: 'k', MSWEA_CONFIGURED: 'true', MSWEA_COST_TRACKING: 'ignore_errors', MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT: '1', LITELLM_LOCAL_MODEL_COST_MAP: 'True' },
  }),
};

const only = process.argv.slice(5);
for (const [name, host] of Object.entries(HOSTS)) {
  if (only.length > 0 && !only.includes(name)) continue;
  if (name === 'mini-swe-agent' && !process.env.MINI) continue;
  const made = folder();
  const file = join(made, 'trial.jsonl');
  const { url, requests } = await provider(fake, 1_000_000);
  const how = ['--trial', ARMS, '--trial-file', file, '--no-guard'];
  const address = await proxy(foldback, url, { window: 1_000_000, maxOutput: 2_000 }, how);
  for (let unit = 0; unit < UNITS; unit += 1) {
    const home = folder();
    const { run: command, env, setup, files = {} } = host(address, `task-${unit}`);
    for (const [path, content] of Object.entries(files)) write(join(home, path), content);
    if (setup) {
      const done = spawnSync(foldback, ['setup', setup, '--url', address, '--write'], { encoding: 'utf8', env: { HOME: home } });
      assert.equal(done.status, 0, done.stderr);
    }
    await run(command[0], command.slice(1), { cwd: work(), home, env });
  }
  const lines = readFileSync(file, 'utf8').trim().split('\n').map((line) => JSON.parse(line)).slice(1);
  const units = new Map(lines.map(({ unit, arm }) => [unit, arm]));
  assert.equal(units.size, UNITS, `${units.size} units of ${UNITS} runs`);
  const arms = new Set(units.values());
  assert.deepEqual([...arms].sort(), ARMS.split(',').sort());
  for (const line of lines) {
    assert.equal(line.arm, units.get(line.unit));
    assert.deepEqual([line.refusals, line.failures], [0, 0], JSON.stringify(line));
    if (line.calls >= CALLS) assert.equal(line.folds > 0, line.arm !== 'none', JSON.stringify(line));
  }
  const refused = requests.filter(({ status, body }) => body && status !== 200);
  assert.equal(refused.length, 0, JSON.stringify(refused[0]));
  const calls = lines.reduce((sum, line) => sum + line.calls, 0);
  console.log(`${name}: ${UNITS} units in ${arms.size} arms, ${lines.length} conversations, ${calls} calls, ${requests.length} valid requests`);
}
process.exit();
