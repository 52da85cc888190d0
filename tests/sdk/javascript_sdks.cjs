// The official JavaScript SDKs of Anthropic and OpenAI through the proxy, unchanged: tasks of 100 calls, streamed and
// not, with tools and errors. Takes the folder that they are installed in, and the programs of the proxy and of the provider.

const { spawn } = require("node:child_process");
const assert = require("node:assert/strict");
const readline = require("node:readline");
const { createRequire } = require("node:module");
const path = require("node:path");
const installed = createRequire(path.resolve(process.argv[2], "package.json"));
const Anthropic = installed("@anthropic-ai/sdk").default;
const OpenAI = installed("openai").default;

const SCHEMA = { type: "object", properties: { path: { type: "string" } }, required: ["path"] };
const CALLS = 100;

const content = (path) =>
  Array.from({ length: 25 }, (_, line) => `function of_${path}_${line}() { return ${line}; }\n`).join("");

async function anthropicTask(client, stream) {
  const messages = [{ role: "user", content: "Read all files." }];
  const tools = [{ name: "read", input_schema: SCHEMA }];
  for (let call = 1; call <= CALLS; call++) {
    const asked = { model: "m", max_tokens: 500, tools, messages };
    const answer = stream
      ? await client.messages.stream(asked).finalMessage()
      : await client.messages.create(asked);
    messages.push({ role: "assistant", content: answer.content });
    const uses = answer.content.filter((block) => block.type === "tool_use");
    if (uses.length === 0) return assert.equal(answer.content[0].text, "Done."), call;
    const result = (use) => ({ type: "tool_result", tool_use_id: use.id, content: content(use.input.path) });
    messages.push({ role: "user", content: uses.map(result) });
  }
}

async function chatTask(client, stream) {
  const messages = [{ role: "user", content: "Read all files." }];
  const tools = [{ type: "function", function: { name: "read", parameters: SCHEMA } }];
  for (let call = 1; call <= CALLS; call++) {
    const asked = { model: "m", tools, messages };
    const answer = stream
      ? await client.chat.completions.stream(asked).finalChatCompletion()
      : await client.chat.completions.create(asked);
    const { content: said, tool_calls: uses } = answer.choices[0].message;
    if (!uses?.length) return assert.equal(said, "Done."), call;
    messages.push({ role: "assistant", content: said, tool_calls: uses });
    for (const use of uses) {
      messages.push({ role: "tool", tool_call_id: use.id, content: content(use.function.arguments) });
    }
  }
}

async function responsesTask(client, stream) {
  const input = [{ role: "user", content: "Read all files." }];
  const tools = [{ type: "function", name: "read", parameters: SCHEMA, strict: false }];
  for (let call = 1; call <= CALLS; call++) {
    const asked = { model: "m", tools, input, store: false };
    const answer = stream
      ? await client.responses.stream(asked).finalResponse()
      : await client.responses.create(asked);
    const uses = answer.output.filter((item) => item.type === "function_call");
    if (uses.length === 0) return assert.equal(answer.output[0].content[0].text, "Done."), call;
    for (const { call_id, name, arguments: given } of uses) {
      input.push({ type: "function_call", call_id, name, arguments: given });
      input.push({ type: "function_call_output", call_id, output: content(given) });
    }
  }
}

const first = (stream) =>
  new Promise((resolve) => readline.createInterface({ input: stream }).once("line", resolve));

async function main(foldback, agent) {
  const provider = spawn(agent, { stdio: ["ignore", "pipe", "inherit"] });
  const upstream = await first(provider.stdout);
  const args = ["serve", "--listen", "127.0.0.1:0", "--upstream", upstream];
  args.push("--preset", "tiered", "--window", "16k", "--max-output", "1k");
  const proxy = spawn(foldback, args, { stdio: ["ignore", "ignore", "pipe"] });
  const ended = new Promise((resolve) => proxy.once("exit", resolve));
  try {
    const url = "http://" + (await first(proxy.stderr)).split("http://")[1].split(";")[0];
    const claude = new Anthropic({ baseURL: url, apiKey: "k", maxRetries: 0 });
    const gpt = new OpenAI({ baseURL: url + "/v1", apiKey: "k", maxRetries: 0 });
    const tasks = [[anthropicTask, claude], [chatTask, gpt], [responsesTask, gpt]];
    for (const [task, client] of tasks) {
      for (const stream of [false, true]) assert.equal(await task(client, stream), CALLS, task.name);
    }
    const messages = [{ role: "user", content: "refuse me" }];
    await assert.rejects(claude.messages.create({ model: "m", max_tokens: 5, messages }), /planted refusal/);
    await assert.rejects(gpt.chat.completions.create({ model: "m", messages }), /planted refusal/);
    await assert.rejects(gpt.responses.create({ model: "m", input: "refuse me" }), /planted refusal/);
    const metrics = await (await fetch(url + "/metrics")).text();
    const count = (outcome) =>
      metrics.split("\n").filter((line) => line.includes(`outcome="${outcome}"`))
        .reduce((sum, line) => sum + Number(line.split(" ").pop()), 0);
    assert.equal(count("folded") + count("unchanged") + count("recovered"), 6 * CALLS + 3, metrics);
    assert.ok(count("folded") > CALLS && count("fault") === 0 && count("passed") === 0, metrics);
    console.log(`${6 * CALLS + 3} requests followed, ${count("folded")} folded, ${count("recovered")} recovered`);
  } finally {
    proxy.kill();
    provider.kill();
  }
  assert.equal(await ended, 0);
}

main(...process.argv.slice(3)).catch((error) => {
  console.error(error);
  process.exit(1);
});
