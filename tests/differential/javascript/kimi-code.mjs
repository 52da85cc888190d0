// Runs Kimi Code's own compaction on sessions: node kimi-code.mjs FOLDER, one case a line.
//
// The package is one file with a program in it, so what is run is taken out of it: the regions of the bundle that hold the compaction,
// the count of tokens and the context that both work on. What they are given by the rest of the program stands below.
//
// A case has a window, the settings of the compaction, the words that stand around a summary, and what happens: a message is appended, or
// the loop is about to take its next step. The answer says of each step what the program does then. Summaries are numbered texts of a
// length that follows from the number.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { resolve } from "node:path";

const bundle = readFileSync(resolve(process.argv[2], "node_modules/@moonshot-ai/kimi-code/dist/main.mjs"), "utf8");

const REGIONS = [
  "llm-adapter/contract/tokens.ts",
  "features/reminder/systemReminder.ts",
  "agent/contextMemory/compaction-summary-prefix.md?raw",
  "agent/contextMemory/compactionHandoff.ts",
  "agent/contextMemory/contextMemoryService.ts",
  "agent/tokenCounting/tokenCountingOps.ts",
  "session/tokenCounting/tokenCountingAgentModel.ts",
  "session/tokenCounting/sessionTokenCountingService.ts",
  "agent/fullCompaction/strategy.ts",
  "agent/fullCompaction/compaction-instruction.md?raw",
  "agent/fullCompaction/compactionInstruction.ts",
  "agent/fullCompaction/compactionOps.ts",
  "agent/fullCompaction/fullCompactionService.ts",
];

function region(name) {
  const start = bundle.indexOf(`//#region ../../packages/agent-core-v2/src/${name}\n`);
  if (start < 0) throw new Error(`the bundle has no region ${name}`);
  return bundle.slice(start, bundle.indexOf("\n//#endregion", start));
}

// Stands for everything of the program that has no part in it.
const nothing = new Proxy(function () {}, {
  get: (_, name) => (name === "prototype" ? Object.prototype : name === Symbol.toPrimitive ? () => "" : nothing),
  apply: () => nothing,
  construct: () => ({}),
});

class Event {
  constructor(data) {
    Object.assign(this, data);
  }
}

const parts = () => ({
  __esmMin: (load) => load,
  __decorate: (_, target) => target,
  __decorateParam: () => () => {},
  AgentEvent2: Event,
  ContextApplyCompaction: class extends Event {},
  ContextSpliced: class extends Event {},
  Service: class {
    _register = (what) => what;
  },
  Disposable: class {
    _register = (what) => what;
  },
  AgentModel: class {
    handlers = new Map();
    constructor({ history, state }) {
      Object.assign(this, { history, state, agent: { agentId: "main" } });
    }
    on = (event, handler) => this.handlers.set(event, handler);
    emit = async (event) => this.handlers.get(event.constructor)?.(event);
    _state = () => this.state;
    readLegacy = () => this.history();
  },
  Emitter: class {
    fire() {}
  },
  OrderedHookSlot: class {
    async run() {}
  },
  Error2: class extends Error {},
  APIStatusError: class extends Error {},
  APIContextOverflowError: class extends Error {},
  APIEmptyResponseError: class extends Error {},
  defineState: (name, initial) => ({ name, initial, replayable: () => ({ on() { return this; } }) }),
  createUserMessage: (text) => ({ role: "user", content: [{ type: "text", text }], toolCalls: [] }),
  stripDynamicToolContext: (history) => history,
  runWithCredentialRecovery: (_, request) => request(),
  renderPrompt: (text) => text,
  isAbortError$5: () => false,
  isError2: () => false,
  unwrapErrorCause: (error) => error,
  isRetryableGenerateError: () => false,
});

const load = new Function("scope", `with (scope) {
  ${REGIONS.map(region).join("\n")}
  init_tokens(); init_systemReminder(); init_compaction_summary_prefix(); init_compactionHandoff(); init_contextMemoryService();
  init_tokenCountingOps(); init_tokenCountingAgentModel(); init_sessionTokenCountingService(); init_strategy();
  init_compaction_instruction(); init_compactionInstruction(); init_compactionOps(); init_fullCompactionService();
  return (settings, words) => {
    COMPACT_USER_MESSAGE_MAX_TOKENS$1 = settings.keep;
    COMPACT_USER_MESSAGE_HEAD_TOKENS = settings.head;
    COMPACTION_SUMMARY_PREFIX = words.prefix;
    buildCompactionElisionText = (tokens) => words.omitted.replace("{tokens}", tokens);
    buildCompactionContinuationText = () => words.goOn;
    return { estimateTokens$1, estimateTokensForMessage, AgentContextMemoryService, TokenCountingAgentModel, SessionTokenCountingService,
      AgentFullCompactionService };
  };
}`);

function program(settings, words) {
  const given = parts();
  const scope = new Proxy(given, {
    has: (_, name) => typeof name === "string" && name !== "settings" && name !== "words" && !(name in globalThis && !(name in given)),
    get: (target, name) => (name === Symbol.unscopables ? undefined : name in target ? target[name] : nothing),
  });
  return { ...load(scope)(settings, words), given };
}

async function run({ window, input, settings, words, happens }) {
  const kimi = program(settings, words);
  let history = [];
  let said = "";
  const model = new kimi.TokenCountingAgentModel({ history: () => history, state: { anchors: [], tokens: 0 } });
  kimi.given.agentSpaceOf = () => ({ use: (_, what) => what(model) });
  const states = new Map();
  const kept = {
    contributeState: () => {},
    get: (state) => (state.name === undefined ? history : states.has(state) ? states.get(state) : state.initial?.()),
    set: (state, value) => states.set(state, value),
  };
  const hooks = new Proxy({}, { get: () => ({ register: () => nothing }) });
  const dispatcher = {
    hooks,
    dispatch(event) {
      if (event instanceof kimi.given.ContextSpliced) history = event.messages;
    },
  };
  const counting = new kimi.SessionTokenCountingService({ get: () => undefined }, { subscribe: () => nothing }, {});
  const agent = { agentId: "main", agentContext: {} };
  const context = new kimi.AgentContextMemoryService(dispatcher, agent, counting, { contributeState: () => {}, get: () => history });
  const modelCapabilities = { max_context_tokens: window, ...(input > 0 && { max_input_tokens: input }) };
  const resolved = { modelCapabilities, compactionTriggerRatio: settings.ratio, reservedContextSize: settings.room };
  let written = 0;
  const compaction = new kimi.AgentFullCompactionService(
    context,
    counting,
    {
      currentCredentialProvider: () => undefined,
      start() {
        const text = `summary ${++written} ` + "x".repeat((written * 37) % 900);
        // What a provider counts for the summary is what it is counted as in the context.
        said = `${words.prefix}\n${text}`;
        const output = kimi.estimateTokensForMessage({ role: "user", content: [{ type: "text", text: said }] });
        return { trace: {}, result: Promise.resolve({ message: { content: [{ type: "text", text }] }, usage: { output } }) };
      },
    },
    { data: () => ({ modelCapabilities, modelAlias: "scripted" }), resolveModelContext: () => resolved, getSystemPrompt: () => "" },
    { list: () => [] },
    { shapeTools: () => [] },
    agent,
    { get: () => [] },
    { track2: () => {} },
    dispatcher,
    { subscribe: () => nothing },
    { hooks, registerLoopErrorHandler: () => nothing },
    kept,
    { flush: async () => {}, lineCount: () => 0, lastContextClearLine: () => undefined, journalPath: () => undefined },
  );
  const original = new Set();
  const shown = (message) => {
    const text = message.content.map((part) => part.text ?? "").join("");
    if (message.origin?.kind === "compaction_summary") return "summary";
    if (message.origin?.variant === "compaction_elision") return `…${/\d+/.exec(text)[0]}`;
    if (message.origin?.variant === "compaction_continuation") return "go on";
    return original.has(message) ? message.id : `~${text}`;
  };
  const answers = [];
  for (const what of happens) {
    if (what.role === undefined) {
      const tokens = counting.get(agent).size;
      const sizes = history.map(kimi.estimateTokensForMessage);
      const before = written;
      await compaction.beforeStep(new AbortController().signal, 1);
      answers.push({ tokens, fires: written > before, sizes, view: history.map(shown) });
      continue;
    }
    const { usage, begins, ...message } = what;
    if (begins) compaction.resetForTurn();
    history = [...history, message];
    original.add(message);
    if (usage !== undefined) await model.measured(history, [], usage);
  }
  return answers;
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(JSON.stringify(await run(JSON.parse(line))) + "\n");
}
