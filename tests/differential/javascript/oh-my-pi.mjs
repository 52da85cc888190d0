// Runs oh-my-pi's own pruning, shaking and compaction on sessions, in Bun: bun oh-my-pi.mjs FOLDER, one case a line.
//
// A case has a window, settings, and what happens: an entry is appended, or the loop asks what is to be done. The answer says of each asking
// what is done then. Summaries are numbered texts of a length that follows from the number.
import { createInterface } from "node:readline";
import { join } from "node:path";

const source = join(process.argv[2], "node_modules/@oh-my-pi/pi-agent-core/src");
const omp = await import(join(source, "compaction.ts"));
const { Tokenizer } = await import(join(source, "tokenizer.ts"));

// A model of Anthropic's without a tokenizer of its own.
const model = (contextWindow) => ({ id: "claude-scripted", provider: "scripted", api: "scripted", contextWindow, maxTokens: 64_000, input: ["text"] });
const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } };

async function run({ window, keep, protect, minimum, happens }) {
  const [entries, tokenizer, answers] = [[], new Tokenizer(model(window)), []];
  const settings = { ...omp.DEFAULT_COMPACTION_SETTINGS, remoteEnabled: false, keepRecentTokens: keep };
  const names = new Map();
  let written = 0;
  const compaction = () => entries.findLast((entry) => entry.type === "compaction");
  // What the next request holds: the summary, and what is behind the cut.
  const sent = () => {
    const last = compaction();
    const from = last ? entries.findIndex((entry) => entry.id === last.firstKeptEntryId) : 0;
    return entries.slice(from).filter((entry) => entry.type === "message");
  };
  const estimate = () => {
    const summary = compaction()?.summary;
    return tokenizer.countMessages(sent().map((entry) => entry.message), { excludeEncryptedReasoning: true })
      + (summary === undefined ? 0 : tokenizer.countMessage({ role: "compactionSummary", summary, timestamp: 0 }));
  };
  for (const what of happens) {
    if (what.message) {
      entries.push({ type: "message", id: what.id, parentId: entries.at(-1)?.id ?? null, timestamp: "2026-01-01T00:00:00.000Z", message: what.message });
      names.set(what.message, what.id);
      continue;
    }
    const last = entries.findLast((entry) => entry.message?.role === "assistant").message;
    const keepBoundaryId = compaction()?.firstKeptEntryId;
    const answer = { stale: 0 };
    answers.push(answer);
    if (!last.content.some((block) => block.type === "toolCall") && entries.at(-1).message === last) {
      const { protectedTools } = omp.DEFAULT_PRUNE_CONFIG;
      const stale = { supersedeKey: omp.readToolSupersedeKey, pruneUseless: true, protectedTools, keepBoundaryId, idleFlushMs: 90 * 60_000, now: 0 };
      answer.stale = omp.pruneSupersededToolResults(entries, tokenizer, stale).tokensSaved;
      const old = { ...omp.DEFAULT_PRUNE_CONFIG, keepBoundaryId, cacheWarmSuffixTokens: 8_000 };
      if (omp.pruneToolOutputs(entries, tokenizer, old).prunedCount > 0) throw new Error("what is old went");
    }
    const billed = omp.calculateContextTokens(last.usage);
    const tokens = omp.compactionContextTokens(billed, estimate());
    answer.tokens = tokens;
    answer.fires = omp.shouldCompact(tokens, window, settings);
    if (answer.fires) {
      const before = estimate();
      const shake = { ...omp.DEFAULT_SHAKE_CONFIG, protectTokens: protect, minSavings: minimum, keepBoundaryId };
      const regions = omp.collectShakeRegions(entries, tokenizer, shake);
      const items = regions.map((region) => ({ region, replacement: `[shaken ~${region.tokens} tokens]` }));
      const freed = items.reduce((sum, { region, replacement }) => sum + region.tokens - tokenizer.countTokens(replacement), 0);
      omp.applyShakeRegions(items);
      const enough = Math.floor(omp.resolveThresholdTokens(window, settings) * 0.8);
      answer.left = omp.compactionContextTokens(Math.max(0, billed - answer.stale), before) - Math.max(0, freed) - enough;
      answer.enough = answer.left <= 0;
      const preparation = answer.enough ? undefined : omp.prepareCompaction(entries, settings, model(window), tokenizer);
      if (preparation) {
        const requests = [];
        const completeImpl = async (_, context, { maxTokens }) => {
          const said = JSON.stringify(context.messages);
          // The third request is for display.
          const text = `summary ${maxTokens > 512 ? ++written : 0} ` + "x".repeat((written * 37) % 900);
          if (maxTokens > 512) requests.push({ most: maxTokens, told: said.includes("Additional focus: the names"), thought: said.includes("a thought of mine") });
          return { role: "assistant", content: [{ type: "text", text }], stopReason: "stop", usage, timestamp: 0 };
        };
        const done = await omp.compact(preparation, model(10_000_000), "key", "the names", undefined, { completeImpl });
        // An answer of which the summarizer sees nothing is not among them.
        const shown = (message) => message.role !== "assistant"
          || omp.serializeConversationForSummary(omp.defaultConvertToLlm([message]), "anthropic") !== "";
        const ids = (messages) => messages.filter(shown).map((message) => names.get(message));
        answer.requests = requests;
        answer.history = ids(preparation.messagesToSummarize);
        answer.turn = ids(preparation.turnPrefixMessages);
        answer.previous = preparation.previousSummary ?? null;
        answer.kept = done.firstKeptEntryId;
        answer.summary = done.summary;
        entries.push({
          type: "compaction", id: `compaction-${written}`, parentId: entries.at(-1).id, timestamp: "2026-01-01T00:00:00.000Z",
          summary: done.summary, firstKeptEntryId: done.firstKeptEntryId, tokensBefore: done.tokensBefore, details: done.details,
        });
      }
    }
    const texts = ({ content }) => typeof content === "string" ? [content] : content.flatMap((block) => block.type === "text" ? [block.text] : []);
    answer.view = sent().map((entry) => [entry.id, Buffer.byteLength(texts(entry.message).join("\n"))]);
  }
  return answers;
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await run(JSON.parse(line))));
}
