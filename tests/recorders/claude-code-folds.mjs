// Claude Code compacts in stories, for the test that compares its folds with a preset: what is recorded goes to HOME/folds/STORY.jsonl.
//
//     node claude-code-folds.mjs HOME     (a folder with its package)
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import start from './claude-code.mjs';
import { provide } from './provider.mjs';

const installed = resolve(process.argv[2]);

/** Characters of the results of the calls of an answer, side by side. */
const sizes = (count, size) => Array.from({ length: count }, (_, number) => size(number));

/**
 * The turns of each story; an answer of a turn is a list of the sizes of its results, or `over`: by how many tokens the request is too long.
 * Each turn ends with an answer that says something. `window` is what the program is told.
 */
const STORIES = {
  // One result, two or three at an answer, of any size.
  calls: { window: 100_000, turns: [sizes(60, (number) => sizes(1 + (number % 3), (call) => 2_000 + ((number * 7_919 + call * 104_729) % 9_000)))] },
  // In a window of the usual size: more results than an earlier version left standing.
  large: { window: 200_000, turns: [sizes(60, () => [27_100])] },
  // What fills the window is a prompt.
  prompts: { window: 100_000, prompt: 24_000, turns: sizes(20, (number) => [[3_000 + 10 * number]]) },
  // The window is full before there is an older answer.
  first: { window: 100_000, turns: [[sizes(8, () => 25_000), [2_000], [2_000]]] },
  // Too long by little, and by more than the newest results have.
  refused: { window: 200_000, turns: [sizes(24, (number) => ({ 10: { over: 300 }, 20: { over: 4_000 } })[number] ?? [9_000])] },
};

async function tell(name, { window, prompt = 0, turns }) {
  const home = mkdtempSync(join(installed, 'folds-'));
  const cwd = join(home, 'work');
  mkdirSync(cwd);
  let [agent, script, files] = [undefined, [], 0];
  const { url, asked } = await provide((body) => {
    const count = Math.round(JSON.stringify([body.system, body.tools, body.messages]).length / 4);
    const usage = { input: 7, cached: count, written: 0, output: 50, reasoning: 0 };
    const kind = agent.kind(body);
    if (kind !== 'turn') return { text: `<summary>${kind} ${'word '.repeat(300)}</summary>`, usage };
    const next = script.shift();
    if (!next) return { text: `Done with ${files}.`, usage };
    if (next.over) return { status: 400, error: `prompt is too long: ${count} tokens > ${count - next.over} maximum` };
    const calls = next.map((size) => {
      files += 1;
      const file = join(cwd, `${files}.txt`);
      writeFileSync(file, `line of file ${files}\n`.repeat(size).slice(0, size));
      return { id: `call_${files}`, ...agent.call(`cat ${file}`) };
    });
    return { text: files % 4 === 0 ? `said ${files}` : undefined, calls, usage };
  });
  agent = await start({ installed, home, cwd, url, window });
  for (const [number, answers] of turns.entries()) {
    script = [...answers];
    await agent.turn('one', { prompt: `Read on. ${number} ${'p'.repeat(prompt)}` });
    if (script.length > 0) throw new Error(`${name}: turn ${number} ended ${script.length} answers early`);
  }
  cpSync(agent.file('one'), join(installed, 'folds', `${name}.jsonl`));
  if (!process.env.KEEP) rmSync(home, { recursive: true });
  console.log(`${name}: ${asked.length} requests, ${asked.filter(({ body }) => agent.kind(body) === 'summary').length} of them for summaries`);
}

rmSync(join(installed, 'folds'), { recursive: true, force: true });
mkdirSync(join(installed, 'folds'));
for (const [name, story] of Object.entries(STORIES)) await tell(name, story);
process.exit();
