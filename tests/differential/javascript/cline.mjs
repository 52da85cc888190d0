// Runs Cline's own compaction on sessions: node cline.mjs FOLDER, one case a line.
//
// A case has a window, a limit of the output and what happens: a message is appended, or the loop is about to send a request, which the
// provider may have refused before. The answer says of each request how it was counted and what is sent.
import { createInterface } from "node:readline";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { resolve } from "node:path";

const require = createRequire(resolve(process.argv[2], "here.js"));
const home = pathToFileURL(resolve(process.argv[2], "node_modules/@cline/core/dist/index.js"));
const { createContextCompactionPrepareTurn } = await import(home.href);

// What a compaction notes about messages is not counted here, as the preset does not count it; a text is never cut within a character.
const whole = (text) => text.replace(/[\ud800-\udbff](?![\udc00-\udfff])/g, "");
const unnoted = (message) => ({
  ...message,
  content: message.content.map((block) => ({
    ...block,
    ...(block.type === "text" ? { text: whole(block.text) } : {}),
    ...(typeof block.content === "string" ? { content: whole(block.content) } : {}),
  })),
  ...(message.metadata ? { metadata: { ...message.metadata, toJSON: () => undefined } } : {}),
});

const isResult = (block) => block.type === "tool_result";
const shown = ({ id, role, content }) => {
  const texts = content.flatMap((block) => (block.type === "text" ? [block.text] : isResult(block) ? [block.content] : []));
  if (role === "user" && !content.every(isResult)) return texts.map((text) => text.trim()).filter((text) => text);
  return [`${id}: ${texts.join("\n")}`];
};

async function run({ window, output, happens }) {
  let view = [];
  let counted;
  const logger = { log() {}, debug: (name, data) => (counted = data.requestInputTokens === undefined ? counted : data) };
  const config = { providerId: "scripted", modelId: "scripted", compaction: { enabled: true, strategy: "basic" }, logger };
  const prepare = createContextCompactionPrepareTurn(config);
  const model = { id: "scripted", provider: "scripted", info: { contextWindow: window, maxTokens: output || undefined } };
  const answers = [];
  for (const what of happens) {
    if (what.role) {
      view.push(what);
      continue;
    }
    const result = await prepare({
      agentId: "a",
      conversationId: "c",
      parentAgentId: null,
      iteration: 1,
      messages: view,
      apiMessages: view,
      abortSignal: new AbortController().signal,
      systemPrompt: "",
      tools: [],
      model,
      overflowRecovery: what.refused || undefined,
    });
    const folds = result?.messages !== undefined;
    if (folds) view = result.messages.map(unnoted);
    answers.push({ tokens: counted.requestInputTokens, fires: counted.shouldCompact, folds, view: view.flatMap(shown) });
  }
  return answers;
}

for await (const line of createInterface({ input: process.stdin })) {
  const answers = await run(JSON.parse(line));
  await new Promise((written) => process.stdout.write(JSON.stringify(answers) + "\n", written));
}
process.exit(0);
