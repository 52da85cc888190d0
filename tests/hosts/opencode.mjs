// The released OpenCode with the plugin: a task of 300 calls, the view against that of the command, and a plugin that fails.
//
//     node opencode.mjs HOME FOLDBACK PROVIDER     (a folder with OpenCode's package, the command, the fake provider)
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { TASK, folder, proves, provider, run, sorted, work, write } from './host.mjs';

const [installed, foldback, fake] = process.argv.slice(2);
const cwd = work();

/** What the provider takes beyond the window that OpenCode is told of: it counts the spelling of a request, too. */
const MORE = 40_000;

async function task({ window, maxOutput }, preset, plugin, fails = false) {
  const home = folder();
  const { url, requests } = await provider(fake, window + MORE);
  const here = {
    npm: '@ai-sdk/openai-compatible',
    options: { baseURL: `${url}/v1`, apiKey: 'k' },
    models: { m: { limit: { context: window, output: maxOutput } } },
  };
  const quiet = { autoupdate: false, share: 'disabled', snapshot: false, permission: 'allow', small_model: 'here/m' };
  const plugins = plugin ? [[`file://${join(plugin, 'plugin.js')}`, { preset }]] : [];
  // By the provider's count, its own compaction would come first where the preset's threshold is near the window.
  const compaction = { auto: fails };
  write(join(home, '.config/opencode/opencode.json'), { ...quiet, compaction, plugin: plugins, provider: { here } });
  const off = ['AUTOUPDATE', 'MODELS_FETCH', 'LSP_DOWNLOAD', 'DEFAULT_PLUGINS', 'SHARE'];
  const env = Object.fromEntries(off.map((name) => [`OPENCODE_DISABLE_${name}`, '1']));
  const program = join(installed, 'node_modules/opencode-linux-x64/bin/opencode');
  const said = await run(program, ['run', '--print-logs', '--model', 'here/m', TASK], { cwd, home, env });
  // As its page shows it.
  if (plugin && !fails) assert.match(said, /level=INFO .* message="\S+: [\d,]+ of [\d,]+ tokens are sent"/);
  const [session] = /ses_\w+/.exec(said) ?? [];
  // It does not wait for a pipe to take all of it.
  const kept = join(home, 'session.json');
  await run('sh', ['-c', `"$0" export "$1" > "$2"`, program, session, kept], { cwd, home, env });
  return { ...sorted(requests), kept: readFileSync(kept, 'utf8'), said };
}

await proves({ name: 'opencode', foldback, limits: { window: 28_000, maxOutput: 2_000 }, task });
