// Records sessions with Gemini CLI's own chat and reads them with its own loader: node gemini-cli-recorder.mjs FOLDER, one case a line.
//
// A case is a list of steps. The answer has the text of the file, and what was recorded: the messages that were sent, in order, those
// that the client wrote among them marked, without what was taken back; the usage of the answers; and what the loader has at the end.
import { createInterface } from "node:readline";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { pathToFileURL } from "node:url";
import { join } from "node:path";

// The package logs to the console; standard output is for the answers.
for (const level of ["log", "debug", "info", "warn", "error"]) console[level] = () => {};

const source = join(process.argv[2], "node_modules/@google/gemini-cli-core/dist/src");
const load = (name) => import(pathToFileURL(join(source, name)).href);
const { makeFakeConfig } = await load("test-utils/config.js");
const { GeminiChat, INTERRUPTED_RESPONSE_PLACEHOLDER } = await load("core/geminiChat.js");
const { loadConversationRecord } = await load("services/chatRecordingService.js");
const { ChatCompressionService } = await load("context/chatCompressionService.js");
const { convertSessionToClientHistory } = await load("utils/sessionUtils.js");
const { getInitialChatHistory } = await load("utils/environmentContext.js");
const { BINARY_INJECTION_KEY } = await load("utils/generateContentResponseUtilities.js");
const { tokenLimit } = await load("core/tokenLimits.js");

const model = "gemini-2.5-pro";
const zero = { input: 0, cached: 0, output: 0, thoughts: 0, tool: 0 };

class Driver {
  constructor(folder) {
    this.answers = [];
    this.number = 0;
    this.log = new Map();
    this.usage = new Map();
    this.boundaries = [];
    const config = makeFakeConfig({ targetDir: folder, cwd: folder, model, sessionId: "session", usageStatisticsEnabled: false, telemetry: { enabled: false } });
    const generator = {
      generateContentStream: async () => this.stream(this.answers.shift()),
      countTokens: async () => ({ totalTokens: 10 }),
    };
    Object.assign(config, {
      getContentGenerator: () => generator,
      getBaseLlmClient: () => ({
        generateContent: async () => ({ candidates: [{ content: { parts: [{ text: `<state_snapshot>${this.number}</state_snapshot>` }] } }] }),
      }),
      getMaxAttempts: () => 1,
      getHookSystem: () => undefined,
      getCompressionThreshold: async () => 1 / tokenLimit(model),
      getSystemInstructionMemory: () => "",
    });
    config.storage.getProjectTempDir = () => folder;
    this.config = config;
    this.context = new Proxy(config, {
      get: (target, name) => name === "config" ? config : name === "promptId" ? "session" : name === "toolRegistry" ? { getTool: () => undefined } : Reflect.get(target, name),
    });
  }

  async *stream(answer) {
    if (answer.fails) throw Object.assign(new Error("refused"), answer.fails === "abort" ? { name: "AbortError" } : { status: 400 });
    const parts = [
      ...(answer.thought ? [{ text: answer.thought, thought: true }] : []),
      ...(answer.text ? [{ text: answer.text }] : []),
      ...answer.calls.map(({ id, args }) => ({ functionCall: { id, name: "f", args } })),
    ];
    yield {
      candidates: [{ content: { role: "model", parts }, finishReason: "STOP" }],
      functionCalls: answer.calls.map(({ id, args }) => ({ id, name: "f", args })),
      usageMetadata: answer.usage,
    };
  }

  async start(history, resumed) {
    this.chat = new GeminiChat(this.context, "", [], await getInitialChatHistory(this.config, history), resumed);
    await this.chat.initialize(resumed, "main");
    this.file = this.chat.getChatRecordingService().getConversationFilePath();
    this.look(undefined);
  }

  // Takes down what is new since the last look. What is gone stays in the log, if it was sent and nobody took it back.
  look(how) {
    // The context stands in front of every chat, and is written anew with each.
    const isNew = (message) => !isContext(message) || this.log.size === 0;
    const messages = this.chat.getChatRecordingService().getConversation().messages.filter((message) => this.log.has(message.id) || isNew(message));
    const ids = new Set(messages.map(({ id }) => id));
    const sent = [...this.log.values()].some(({ message }) => message.type === "gemini" && message.model);
    if ((how === "summary" || how === "replace") && !sent) {
      // Nothing of it ever reached the model: the chat begins here.
      for (const id of this.log.keys()) if (!ids.has(id)) this.log.delete(id);
      how = undefined;
    }
    if (how === "back") {
      // What lies behind goes along, though the client may have lost it before.
      let behind = false;
      for (const id of this.log.keys()) {
        behind ||= this.present.has(id) && !ids.has(id);
        if (behind && !ids.has(id)) this.log.delete(id);
      }
    } else if (how) {
      const before = new Set(this.log.keys());
      const gone = [...before].filter((id) => !ids.has(id) && !this.hidden.has(id) && !isContext(this.log.get(id).message));
      if (gone.length > 0) {
        this.boundaries.push(how);
        for (const id of gone) this.hidden.add(id);
      }
    }
    for (const message of messages) {
      const known = this.log.get(message.id);
      // The first form is what was sent; calls and tokens come later.
      if (!known) {
        const entry = how === "summary" || how === "replace" || isPlaceholder(message);
        this.log.set(message.id, { entry, history: this.boundaries.length, message: structuredClone(message) });
      }
      else {
        known.message.tokens ??= message.tokens;
        known.message.toolCalls ??= structuredClone(message.toolCalls);
      }
    }
    this.present = ids;
  }

  hidden = new Set();
  present = new Set();

  async say(message, prompt) {
    const stream = await this.chat.sendMessageStream({ model }, message, prompt, new AbortController().signal, "main");
    for await (const _ of stream) { /* recorded as it comes */ }
  }

  async ask({ text, rounds }) {
    const prompt = `prompt ${this.number}`;
    let message = [{ text }];
    for (const round of rounds) {
      this.answers = [round];
      try {
        await this.say(message, prompt);
      } catch {
        this.look("back");
        return;
      }
      this.look(undefined);
      if (round.calls.length === 0) return;
      const done = round.calls.map(({ id, args, status, result, file }) => {
        const response = status === "success" ? { output: result } : { error: result };
        const parts = [{ functionResponse: { id, name: "f", response } }];
        if (file) parts[0].functionResponse.response[BINARY_INJECTION_KEY] = [{ inlineData: { mimeType: "image/png", data: file } }];
        return { status, request: { callId: id, name: "f", args }, response: { responseParts: parts } };
      });
      this.chat.recordCompletedToolCalls(model, done);
      this.look(undefined);
      if (round.cancelled) return;
      message = done.flatMap(({ response }) => response.responseParts);
    }
  }

  async step(kind, how) {
    this.number += 1;
    const recording = this.chat.getChatRecordingService();
    const resumed = () => ({ conversation: recording.getConversation(), filePath: recording.getConversationFilePath() });
    switch (kind) {
      case "ask": return this.ask(how);
      case "compress": {
        // A summary of what is small would be refused.
        this.chat.lastPromptTokenCount = 900_000;
        const { newHistory } = await new ChatCompressionService().compress(this.chat, "prompt", true, model, this.config, false);
if (newHistory) {
          await this.restart(newHistory, resumed(), "summary");
        }
        return;
      }
      // A saved chat in its place, as /chat resume and /restore do.
      case "replace":
        this.chat.setHistory(how);
        return this.look("replace");
      case "rewind": {
        const users = recording.getConversation().messages.filter(({ type, content }) => type === "user" && content[0]?.text?.startsWith("ask"));
        const to = users[how % Math.max(users.length, 1)];
        if (!to) return;
        const { messages } = recording.rewindTo(to.id);
        this.look("back");
        this.chat.setHistory(convertSessionToClientHistory(messages));
        return this.look(undefined);
      }
      // The program ends and goes on with the file.
      case "resume": {
        const conversation = await loadConversationRecord(this.file);
        return this.restart(convertSessionToClientHistory(conversation.messages), { conversation, filePath: this.file }, undefined);
      }
      case "mask": {
        const masked = (part) => part.functionResponse ? { functionResponse: { ...part.functionResponse, response: { output: "masked" } } } : part;
        this.chat.setHistory(this.chat.getHistory().map((content) => ({ ...content, parts: content.parts.map(masked) })));
        return this.look("replace");
      }
      case "note": return recording.saveSummary(how);
      case "directories": return recording.recordDirectories([how]);
    }
    throw new Error(`no step ${kind}`);
  }

  async restart(history, resumed, how) {
    this.chat = new GeminiChat(this.context, "", [], await getInitialChatHistory(this.config, history), resumed);
    await this.chat.initialize(resumed, "main");
    this.look(how);
  }
}

const isContext = ({ content }) => /^\s*<(session|hook)_context>/.test(list(content)[0]?.text ?? "");
// What the client says for an answer that did not come.
const isPlaceholder = ({ content }) => list(content)[0]?.text === INTERRUPTED_RESPONSE_PLACEHOLDER;
const list = (content) => (Array.isArray(content) ? content : [{ text: content }]).map((part) => typeof part === "string" ? { text: part } : part);

// Messages as pieces of what the model is told, each result a message of its own. What a list of calls has is not told again.
function told(all) {
  const messages = all.filter((message) => !isContext(message));
  const answered = new Set();
  const listed = new Set(messages.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id }) => id)));
  return messages.flatMap((message) => {
    const { type, content, thoughts = [], toolCalls = [] } = message;
    const role = type === "gemini" ? "assistant" : "user";
    const said = thoughts.map(({ subject, description }) => `assistant reasoning:${subject ? `**${subject}**\n` : ""}${description}`);
    const results = [];
    // The client puts a result into a chat twice where a file goes on.
    const isFirst = ({ id }) => !answered.has(id) && answered.add(id);
    const result = ({ id, name, response }, failed) => isFirst({ id }) && results.push([`tool result:${name} ${failed}:${response.output ?? response.error}`]);
    const calls = [];
    for (const part of list(content)) {
      if (part.thought) { if (thoughts.length === 0) said.push(`${role} reasoning:${part.text}`); }
      else if (part.text) said.push(`${role} text:${part.text}`);
      else if (part.inlineData) said.push(`${role} file:${part.inlineData.data}`);
      else if (part.functionCall && !listed.has(part.functionCall.id)) calls.push(`assistant call:f ${JSON.stringify(part.functionCall.args)}`);
      else if (part.functionResponse && !listed.has(part.functionResponse.id)) result(part.functionResponse, "error" in part.functionResponse.response);
    }
    for (const call of toolCalls) {
      calls.push(`assistant call:${call.name} ${JSON.stringify(call.args)}`);
      const given = call.result?.find((part) => part.functionResponse?.id === call.id);
      if (given) result(given.functionResponse, call.status !== "success");
    }
    return [...(type === "gemini" ? [] : results), [...said, ...calls], ...(type === "gemini" ? results : [])].filter((told) => told.length > 0);
  });
}

async function run({ steps }) {
  const folder = mkdtempSync(join(tmpdir(), "gemini-"));
  try {
    const driver = new Driver(folder);
    await driver.start([], undefined);
    for (const [kind, how] of steps) await driver.step(kind, how);
    const now = await loadConversationRecord(driver.file);
    const own = driver.chat.getChatRecordingService().getConversation();
    // The turn of a result is there twice where a session went on twice.
    const ids = ({ messages }) => [...new Set(messages.map(({ id }) => id))].join();
    if (ids(now) !== ids(own)) throw new Error("the loader has other messages than the recorder");
    const log = [...driver.log.values()];
    const counts = ({ tokens = zero }) => [(tokens.input - tokens.cached) + tokens.tool, tokens.cached, tokens.output, tokens.thoughts];
    const answers = log.filter(({ entry, message }) => !entry && message.type === "gemini" && message.model);
    return [{
      text: readFileSync(driver.file, "utf8"),
      read: {
        log: told(log.filter(({ entry }) => !entry).map(({ message }) => message)),
        entries: [undefined, ...driver.boundaries].flatMap((_, at) => told(log.filter(({ entry, history }) => entry && history === at).map(({ message }) => message))),
        usage: answers.map(({ message }) => counts({ ...message, tokens: message.tokens ?? undefined })),
        boundaries: driver.boundaries,
        // Files of results are not taken along where a session goes on.
        now: told(now.messages).map((told) => told.join("\n")).filter((told) => !told.startsWith("user file:")).sort(),
      },
    }];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await run(JSON.parse(line)))}\n`);
}
process.exit(0);
