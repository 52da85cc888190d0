// Records sessions with pi's own session manager and reads them with it: node pi-recorder.mjs FOLDER, one case a line.
//
// A case is a list of steps, each the name of what is recorded and how. Entries are named by their number in the branch that is under
// way. The answer has the text of every file that was written, with what pi itself reads in it.
import { createInterface } from "node:readline";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { pathToFileURL } from "node:url";
import { join } from "node:path";

const modules = join(process.argv[2], "node_modules/@earendil-works");
const load = (name) => import(pathToFileURL(join(modules, name)).href);
const { SessionManager, buildSessionProjection } = await load("pi-coding-agent/dist/core/session-manager.js");
const { bashExecutionToText } = await load("pi-coding-agent/dist/core/messages.js");
const { getUsageCostBreakdown } = await load("pi-coding-agent/dist/core/usage-totals.js");
const { getCurrentSystemMessage } = await load("pi-ai/dist/utils/transcript.js");
const { contentText, getSystemMessageText, renderSystemMessageUpdate } = await load("pi-ai/dist/utils/text.js");

const zero = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
const usage = (given) => given && { ...given, totalTokens: 0, cost: zero };

// Records one step.
function record(manager, kind, how) {
  const branch = manager.getBranch();
  const at = (number) => branch[Math.min(number, branch.length - 1)]?.id;
  const timestamp = Date.now();
  switch (kind) {
    case "user":
    case "system":
    case "bashExecution":
    case "custom":
      return manager.appendMessage({ role: kind, timestamp, ...how });
    case "toolResult":
      return manager.appendMessage({ role: kind, timestamp, ...how, usage: usage(how.usage) });
    case "assistant":
      return manager.appendMessage({
        role: kind, api: "a", provider: "p", model: "m", stopReason: "stop", timestamp, ...how, usage: usage(how.usage),
      });
    case "custom_message": return manager.appendCustomMessageEntry("x", how.content, true);
    case "custom_entry": return manager.appendCustomEntry("x", how);
    case "model": return manager.appendModelChange("p", how);
    case "thinking": return manager.appendThinkingLevelChange(how);
    case "name": return manager.appendSessionInfo(how);
    case "label": return branch.length > 0 && manager.appendLabelChange(at(how.at), how.label);
    case "usage": return manager.appendUsage("cache_warm", "p", "m", usage(how));
    case "compaction":
      return branch.length > 0 && manager.appendCompaction(how.summary, at(how.kept), how.before, undefined, how.hook, usage(how.usage));
    case "branch_summary": return manager.branchWithSummary(at(how.at) ?? null, how.summary, undefined, how.hook, usage(how.usage));
    case "branch": return branch.length > 0 && manager.branch(at(how));
    case "restart": return manager.resetLeaf();
    case "new_file": return branch.length > 0 && manager.createBranchedSession(at(how));
    case "edit": {
      // What may be edited is the recorder's to say.
      try { manager.appendContextEdit(at(how.at), how.replacement) } catch (error) {
        if (!/editable|not found/.test(error.message)) throw error;
      }
      return;
    }
  }
  throw new Error(`no step ${kind}`);
}

// The pieces of a content.
function pieces(role, content) {
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
  return blocks.map((block) => {
    switch (block.type) {
      case "text": return `${role} text:${block.text}`;
      case "thinking": return `${role} reasoning:${block.thinking}`;
      case "toolCall": return `${role} call:${block.id} ${block.name} ${JSON.stringify(block.arguments)}`;
      case "image": return `${role} file:${block.data}`;
    }
    throw new Error(`no block ${block.type}`);
  });
}

// A message as pieces of what the model is told.
function told(message, first) {
  switch (message.role) {
    case "custom": return pieces("user", message.content);
    case "bashExecution": return message.excludeFromContext ? [] : [`user text:${bashExecutionToText(message)}`];
    case "branchSummary":
    case "compactionSummary": return [`user text:${message.summary}`];
    case "system": return first ? [] : [`system text:${renderSystemMessageUpdate(message)}`].filter((piece) => piece !== "system text:");
    case "toolResult": {
      const images = pieces("tool", message.content).filter((piece) => piece.startsWith("tool file:"));
      return [`tool result:${message.toolCallId} ${message.toolName} ${message.isError}:${contentText(message.content)}`, ...images];
    }
  }
  return pieces(message.role, message.content);
}

// What pi reads in a file.
function read(file) {
  const manager = SessionManager.open(file);
  const branch = manager.getBranch();
  // The whole branch as if nothing had ever been compacted.
  let parentId = null;
  const chain = branch.filter((entry) => entry.type !== "compaction").map((entry) => {
    const linked = { ...entry, parentId };
    parentId = entry.id;
    return linked;
  });
  const messages = buildSessionProjection(chain).messages;
  const begins = messages.findIndex((message) => message.role !== "system");
  const leading = messages.slice(0, begins < 0 ? messages.length : begins);
  const opening = getCurrentSystemMessage(leading);
  const answers = messages.filter((message) => message.role === "assistant");
  const { messages: context } = manager.buildSessionContext();
  return {
    id: manager.getSessionId(),
    system: opening ? getSystemMessageText(opening) : "",
    tools: (opening?.toolsAdded ?? []).map((tool) => tool.name),
    log: messages.map((message) => told(message, leading.includes(message))).filter((told) => told.length > 0),
    usage: answers.map(({ usage = zero }) => [usage.input, usage.cacheRead, usage.cacheWrite, usage.cacheWrite1h ?? 0, usage.output, usage.reasoning ?? 0]),
    spent: getUsageCostBreakdown(branch).reduce((sum, { tokens }) => sum + tokens, 0),
    compactions: branch.filter((entry) => entry.type === "compaction").map((entry) => entry.tokensBefore),
    // A compaction repeats the prompt, which the session has once.
    context: context.filter((message) => message.role !== "system").map((message) => told(message)).filter((told) => told.length > 0),
  };
}

function run({ steps, forks }) {
  const folder = mkdtempSync(join(tmpdir(), "pi-"));
  try {
    let manager = SessionManager.create("/work", folder);
    for (const [kind, how] of steps) record(manager, kind, how);
    // A session without an answer is in no file yet.
    if (forks && existsSync(manager.getSessionFile())) {
      manager = SessionManager.forkFrom(manager.getSessionFile(), "/elsewhere", folder);
      for (const [kind, how] of forks) record(manager, kind, how);
    }
    const files = readdirSync(folder).sort().map((name) => join(folder, name));
    return files.map((file) => ({ text: readFileSync(file, "utf8"), read: read(file) }));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(run(JSON.parse(line))));
}
