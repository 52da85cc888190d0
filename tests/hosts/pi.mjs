// The released pi with the plugin: a task of 300 calls, the view against that of the command, and a plugin that fails.
//
//     node pi.mjs HOME FOLDBACK PROVIDER     (a folder with pi's packages, the command, the fake provider)
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { TASK, folder, proves, provider, run, sorted, work, write } from './host.mjs';

const [installed, foldback, fake] = process.argv.slice(2);
const cwd = work();

/** What the provider takes beyond the window that pi is told of: it counts the spelling of a request, too. */
const MORE = 20_000;

async function task({ window, maxOutput }, preset, extension) {
  const home = folder();
  const { url, requests } = await provider(fake, window + MORE);
  const models = [{ id: 'm', contextWindow: window, maxTokens: maxOutput }];
  const here = { baseUrl: `${url}/v1`, api: 'openai-completions', apiKey: 'k', models };
  write(join(home, '.pi/agent/models.json'), { providers: { here } });
  const sessions = join(home, 'sessions');
  const args = [join(installed, 'node_modules/@earendil-works/pi-coding-agent/dist/cli.js'), '--print', '--offline'];
  if (extension) args.push('--extension', join(extension, 'extension.js'));
  args.push('--session-dir', sessions, '--provider', 'here', '--model', 'm', TASK);
  const said = await run(process.execPath, args, { cwd, home, env: { FOLDBACK_PRESET: preset } });
  const [session] = readdirSync(sessions, { recursive: true }).filter((name) => name.endsWith('.jsonl'));
  return { ...sorted(requests), kept: readFileSync(join(sessions, session), 'utf8'), said };
}

await proves({ name: 'pi', foldback, limits: { window: 28_000, maxOutput: 2_000 }, task });
