// Runs DeepSeek Harness' own compaction on sessions: node dsh.mjs FOLDER, one case a line.
//
// A case has a window and what happens: a message is appended, or the loop is about to take its next step. The answer says of each
// step what the harness does then. Summaries are numbered texts of a length that follows from the number.
import { createInterface } from "node:readline";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { resolve } from "node:path";

const require = createRequire(resolve(process.argv[2], "here.js"));
const load = (name) => import(pathToFileURL(require.resolve(`@deepseek-ai/${name}`)).href);
const { Context } = await load("cordis");
const { default: LlmRuntime, LlmAdapter, createAssistantMessage, createToolResultMessage, createUserMessage } = await load("dsh-llm");
const { Session } = await load("dsh-session");
const { default: TokenMeter } = await load("dsh-token-meter");
const { default: Engine } = await load("dsh-compaction-basic");
const { default: Pruner } = await load("dsh-compaction-tool-result-pruner");

const MODEL = "scripted";
const route = { provider: MODEL, model: MODEL };

class Adapter extends LlmAdapter {
  constructor(contextWindow) {
    super();
    this.contextWindow = contextWindow;
  }
  async resolveModel(provider, model) {
    return { provider, id: model, name: model, context: { contextWindow: this.contextWindow } };
  }
}

class Scripted extends Engine {
  written = 0;
  async summarize(input) {
    this.input = input;
    const text = `summary ${++this.written} ` + "x".repeat((this.written * 37) % 900);
    return { summary: [{ type: "text", text }], ...route };
  }
}

async function run({ window, happens }) {
  const ctx = new Context();
  new LlmRuntime(ctx);
  new TokenMeter(ctx);
  ctx.llm.registerAdapter([MODEL], new Adapter(window));
  new Pruner(ctx, {});
  // One attempt a step, as the guard `repeat` has it.
  const engine = new Scripted(ctx, { auto: false, compactionRetries: 0 });
  const session = Session.create("case");
  const agent = { session, options: {} };
  const ids = new Map();
  let [step, open] = [0, false];
  session.append("turn/start", { turn: 1 });
  const begin = () => {
    if (open) return;
    open = true;
    session.append("step/start", { turn: 1, step: ++step });
    if (step === 1) session.append("request/header", { header: { config: route }, reason: "initial" });
  };
  const append = (type, data, id) => ids.set(session.append(type, data, { surfaceOp: "append" }).seq, id);
  const said = { user({ id, content }) {
    begin();
    append("user/message", createUserMessage({ content, source: { kind: "user" } }), id);
  }, assistant({ id, content, usage }) {
    begin();
    const message = createAssistantMessage({ content, source: route });
    append("assistant/message", { turn: 1, step, message, ...(usage && { usage }) }, id);
  }, tool({ id, callId, text }) {
    const message = createToolResultMessage({ callId, content: [{ type: "text", text }], isError: false });
    append("tool/result", { turn: 1, step, message }, id);
  } };
  const answers = [];
  for (const what of happens) {
    if (what.role) {
      said[what.role](what);
      continue;
    }
    if (open) session.append("step/end", { turn: 1, step });
    open = false;
    const measured = ctx.tokenMeter.measure(session);
    const answer = { tokens: measured.totalTokens, fires: measured.totalTokens >= Math.floor(window * 0.8) };
    // The text around a summary is in other words there.
    answer.sizes = measured.nodes.filter((node) => ids.get(node.seq) !== "summary").map((node) => node.tokens);
    engine.input = undefined;
    const before = session.events.length;
    try {
      await engine.compactIfNeeded(agent, "pressure", new AbortController().signal);
    } catch (error) {
      if (!/not smaller|still above/.test(error.message)) throw error;
    }
    for (const event of session.events.slice(before)) {
      if (event.surfaceOp?.op !== "replace") continue;
      if (event.type === "tool/result") ids.set(event.seq, ids.get(event.sourceEventSeqs[0]) + "+");
      else ids.set(event.seq, "summary");
    }
    answer.summarized = engine.input?.messages.length ?? 0;
    answer.view = session.surface.nodes.map((seq) => ids.get(seq));
    answers.push(answer);
  }
  return answers;
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await run(JSON.parse(line))));
}
