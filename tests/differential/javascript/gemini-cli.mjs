// Runs Gemini CLI's own chat compression on sessions: node gemini-cli.mjs FOLDER, one case a line.
//
// A case has a model, the tokens at which it compresses, and what happens: a content is appended, or a request is about to be sent. The
// answer says of each request what the client did. Summaries are numbered texts; `texts` of the case says what the model answers.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { join } from "node:path";

// The package logs to the console; standard output is for the answers.
for (const level of ["log", "debug", "info"]) console[level] = () => {};

const source = join(process.argv[2], "node_modules/@google/gemini-cli-core/dist/src");
const load = (name) => import(pathToFileURL(join(source, name)).href);
const { GeminiClient } = await load("core/client.js");
const { GeminiChat } = await load("core/geminiChat.js");
const { ChatCompressionService } = await load("context/chatCompressionService.js");
const masking = await load("context/toolOutputMaskingService.js");
const { CompressionStatus } = await load("core/turn.js");
const { Config } = await load("config/config.js");
const { uiTelemetryService } = await load("telemetry/uiTelemetry.js");
const { estimateTokenCountSync } = await load("utils/tokenCalculation.js");
const { tokenLimit } = await load("core/tokenLimits.js");

// The names of the files that results are written to; the test has one name for all.
const file = /(?:read_a_file_of_it|run_shell_command)_(1|c\d{6}_)\.txt/g;
const nameless = (_, number) => `${"x".repeat(17)}_${number === "1" ? "1" : "c000000_"}.txt`;
Math.random = () => 0.5;

// The same hash as the test's: FNV-1a over the bytes of the text, and its length.
function digest(value) {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const bytes = Buffer.from(text.replace(file, nameless));
  let hash = 0x811c9dc5;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return [bytes.length, hash];
}

function configOf({ model, trigger, texts, folder }, asked) {
  const client = {
    generateContent: async ({ contents }) => {
      asked.push(contents);
      return { candidates: [{ content: { parts: [{ text: texts[(asked.length - 1) % texts.length] }] } }] };
    },
  };
  const config = {
    model,
    truncateToolOutputThreshold: 40_000,
    getModel: () => "gemini-2.5-pro",
    isContextManagementEnabled: () => false,
    getHookSystem: () => undefined,
    getCompressionThreshold: async () => trigger / tokenLimit(model),
    getTruncateToolOutputThreshold: Config.prototype.getTruncateToolOutputThreshold,
    // One number for all files, so that their names have one length.
    getNextCompressionTruncationId: () => 1,
    contextManagement: {
      tools: {
        outputMasking: {
          protectionThresholdTokens: masking.DEFAULT_TOOL_PROTECTION_THRESHOLD,
          minPrunableThresholdTokens: masking.DEFAULT_MIN_PRUNABLE_TOKENS_THRESHOLD,
          protectLatestTurn: masking.DEFAULT_PROTECT_LATEST_TURN,
        },
      },
    },
    ensureExperimentsLoaded: async () => {},
    getToolOutputMaskingConfig: Config.prototype.getToolOutputMaskingConfig,
    storage: { getProjectTempDir: () => folder },
    getBaseLlmClient: () => client,
    getContentGenerator: () => ({ countTokens: async () => { throw new Error("not counted") } }),
    getIncludeDirectoryTree: () => false,
    getSessionMemory: () => "",
    getApprovedPlanPath: () => undefined,
    getActiveModel: () => model,
    getUsageStatisticsEnabled: () => false,
    getTelemetryEnabled: () => false,
    getTelemetryLogPromptsEnabled: () => false,
    getSessionId: () => "session",
    getContentGeneratorConfig: () => ({}),
    getExperiments: () => undefined,
    isInteractive: () => false,
  };
  // The prompts are made from a context that holds it.
  return Object.assign(config, { config });
}

function chatOf(config, history) {
  let turns = history.map((content) => ({ id: "id", content }));
  return Object.assign(Object.create(GeminiChat.prototype), {
    context: { config },
    lastPromptTokenCount: 0,
    chatRecordingService: {
      recordSyntheticMessage: () => "id",
      updateMessagesFromHistory: () => {},
      getConversation: () => undefined,
      getConversationFilePath: () => undefined,
    },
    agentHistory: {
      get: () => turns,
      set: (next) => { turns = next },
      push: (turn) => turns.push(turn),
      flatMap: (made) => turns.flatMap(made),
    },
  });
}

async function run(what) {
  const asked = [];
  const config = configOf(what, asked);
  const client = Object.assign(Object.create(GeminiClient.prototype), {
    context: { config },
    compressionService: new ChatCompressionService(),
    toolOutputMaskingService: new masking.ToolOutputMaskingService(),
    hasFailedCompressionAttempt: false,
    currentSequenceModel: what.model,
    chat: chatOf(config, []),
    // Without the session's context, which the preset leaves to the frame.
    startChat: async (history) => {
      client.hasFailedCompressionAttempt = false;
      return chatOf(config, history);
    },
  });
  const history = () => client.chat.getHistory(true);
  const answers = [];
  for (const { content } of what.happens) {
    if (content) {
      client.chat.addHistory(content);
      continue;
    }
    const estimate = estimateTokenCountSync(history().flatMap((content) => content.parts ?? []));
    const count = Math.floor((estimate * what.factor) / 100) + what.frame;
    client.chat.lastPromptTokenCount = count;
    uiTelemetryService.setLastPromptTokenCount(count);
    const before = asked.length;
    const info = await client.tryCompressChat("prompt", false);
    const answer = { count, status: CompressionStatus[info.compressionStatus] };
    if (/COMPRESSED|TRUNCATED/.test(answer.status)) answer.history = digest(history());
    let masked = false;
    const setHistory = client.chat.setHistory;
    client.chat.setHistory = (history) => {
      masked = true;
      setHistory.call(client.chat, history);
    };
    await client.tryMaskToolOutputs(client.getHistory());
    delete client.chat.setHistory;
    if (masked) answer.masked = digest(history());
    answer.after = info.newTokenCount;
    answer.split = history().some(({ parts }) => parts.some((part) => {
      const output = part.functionResponse?.response.output;
      return output !== undefined && !output.isWellFormed();
    }));
    if (asked.length > before) {
      const given = asked[before].slice(0, -1);
      const snapshot = given[0].parts[0].text?.includes("<state_snapshot>") ?? false;
      answer.previous = snapshot ? digest(given[0].parts[0].text) : null;
      // The reply to the earlier summary may be in one content with an answer.
      const [, reply, ...rest] = given;
      const behind = () => [{ ...reply, parts: reply.parts.slice(1) }, ...rest].filter(({ parts }) => parts.length > 0);
      answer.given = digest(snapshot ? behind() : given);
      answer.second = digest(asked[before + 1].at(-2).parts[0].text);
    }
    answers.push(answer);
  }
  answers.push({ history: digest(history()) });
  return answers;
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await run(JSON.parse(line)))}\n`);
}
