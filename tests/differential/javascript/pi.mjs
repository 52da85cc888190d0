// Runs pi's own compaction on sessions: node pi.mjs FOLDER, one case a line.
//
// A case has settings, a window, and what happens: an entry is appended, or the loop asks whether to compact. The answer says of
// each asking what pi does then. Summaries are numbered texts of a length that follows from the number.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { join } from "node:path";

const core = join(process.argv[2], "node_modules/@earendil-works/pi-coding-agent/dist/core");
const load = (name) => import(pathToFileURL(join(core, name)).href);
const { compact, estimateProjectedContextTokens, prepareCompaction, shouldCompact } = await load("compaction/compaction.js");
const { serializeConversation } = await load("compaction/utils.js");
const { convertToLlm } = await load("messages.js");
const { buildSessionProjection } = await load("session-manager.js");

const model = { id: "scripted", provider: "scripted", maxTokens: 64_000, reasoning: false };
const FOCUS = "the names";
const usage = {
  input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2,
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
};

async function run({ settings, window, happens }) {
  const entries = [];
  let [written, numbered] = [0, 0];
  const push = (entry) => {
    entry.parentId = entries.at(-1)?.id ?? null;
    entries.push(entry);
  };
  const idOf = new Map();
  // An answer of which the summarizer sees nothing is not among them.
  const shown = (message) => message.role !== "assistant" || serializeConversation(convertToLlm([message])) !== "";
  const ids = (messages) => messages.filter(shown).map((message) => idOf.get(message));
  const answers = [];
  for (const what of happens) {
    if (what.entry) {
      push(what.entry);
      idOf.set(what.entry.message, what.entry.id);
      continue;
    }
    const tokens = estimateProjectedContextTokens(buildSessionProjection(entries), entries).tokens;
    const answer = { tokens, fires: shouldCompact(tokens, window, settings) };
    answers.push(answer);
    const preparation = answer.fires && prepareCompaction(entries, settings);
    if (!preparation) continue;
    answer.requests = [];
    const streamFn = async (_, context, { maxTokens }) => ({
      result: async () => {
        const text = JSON.stringify(context.messages);
        answer.requests.push({
          most: maxTokens ?? null, told: text.includes("Additional focus: " + FOCUS), thought: text.includes("[Assistant thinking]: "),
        });
        const summary = `summary ${++written} ` + "x".repeat((written * 37) % 900);
        return { role: "assistant", content: [{ type: "text", text: summary }], stopReason: "stop", usage };
      },
    });
    const done = await compact(preparation, model, "key", {}, FOCUS, undefined, "off", streamFn);
    answer.history = ids(preparation.messagesToSummarize);
    answer.turn = ids(preparation.turnPrefixMessages);
    if (preparation.messagesToSummarize.length > 0) answer.previous = preparation.previousSummary ?? null;
    answer.kept = done.firstKeptEntryId;
    answer.summary = done.summary;
    push({
      type: "compaction", id: `compaction-${++numbered}`, timestamp: new Date(0).toISOString(), summary: done.summary,
      firstKeptEntryId: done.firstKeptEntryId, tokensBefore: done.tokensBefore, details: done.details,
    });
    answer.view = buildSessionProjection(entries).entries.filter((entry) => entry.messages.length > 0)
      .map((entry) => entry.sourceEntry.type === "compaction" ? "summary" : entry.sourceEntry.id);
  }
  return answers;
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await run(JSON.parse(line))));
}
