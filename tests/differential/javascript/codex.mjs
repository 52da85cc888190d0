// The released Codex, with a provider that says what it is told to say: what it sends of what the user said, and where it compacts.
//
//     node codex.mjs HOME      (the folder that @openai/codex is installed in)
//
// Reads one case a line: `remote` (whether the provider compacts), `window`, and `turns`: what the user says, the tokens that are used after the
// first answer, and whether that answer runs a command. Answers with the requests of each turn: "summary", or the user's messages in it.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import start from '../../recorders/codex.mjs';
import { provide } from '../../recorders/provider.mjs';

const [installed] = process.argv.slice(2);
const SUMMARY = 'the summary';
const usage = (input) => ({ input, cached: 0, written: 0, output: 0, reasoning: 0 });
const started = new Map();

async function agent(remote, window) {
  const key = `${remote} ${window}`;
  if (started.has(key)) return started.get(key);
  const home = mkdtempSync(join(tmpdir(), 'codex-'));
  const cwd = join(home, 'work');
  mkdirSync(cwd);
  const made = { script: [] };
  const isSummary = (body) => body.input.at(-1).type === 'compaction_trigger' || made.codex.kind(body) === 'summary';
  made.provider = await provide((body) => {
    if (!isSummary(body)) return made.script.shift();
    const items = remote ? [{ type: 'compaction', id: 'cmp_1', encrypted_content: 'c2VhbGVk' }] : undefined;
    return { text: SUMMARY, items, usage: usage(50), aside: true };
  });
  // Codex leaves compaction to a provider of this name.
  made.codex = await start({ installed, home, cwd, url: made.provider.url, provider: remote ? 'OpenAI' : 'here', window });
  made.end = () => {
    made.codex.end();
    rmSync(home, { recursive: true, force: true });
  };
  started.set(key, made);
  return made;
}

/** What the user said, as a request holds it: without what Codex says in the user's name. */
const said = ({ input }) => input
  .filter(({ type, role }) => type === 'message' && role === 'user')
  .map(({ content }) => content.map(({ text }) => text).join(''))
  .filter((text) => !text.startsWith('<environment_context>') && !text.endsWith(`\n${SUMMARY}`));

let number = 0;
for await (const line of createInterface({ input: process.stdin })) {
  const { remote, window, turns } = JSON.parse(line);
  const { codex, provider, script } = await agent(remote, window);
  number += 1;
  const requests = [];
  for (const { prompt, used, runs } of turns) {
    const call = { id: `call_${number}_${requests.length}`, ...codex.call('echo found') };
    script.push(...(runs ? [{ calls: [call], usage: usage(used) }, { text: 'said', usage: usage(10) }] : [{ text: 'said', usage: usage(used) }]));
    const from = provider.asked.length;
    await codex.turn(`case ${number}`, { prompt });
    requests.push(provider.asked.slice(from).map(({ body, answer }) => (answer.aside ? 'summary' : said(body))));
  }
  console.log(JSON.stringify(requests));
}
for (const { end } of started.values()) end();
