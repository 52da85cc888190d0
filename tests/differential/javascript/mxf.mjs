// Runs MXF's own microcompactor, recovery and structured summary on sessions: node mxf.mjs FOLDER, one case a line.
//
// A case has the messages of a history, the numbers of messages before the calls that are looked at, with how many messages the preset
// would keep there, and a threshold. The answer says of each call what the services make of the history up to there.
//
// The files are those of the repository. What they need besides one another only writes logs and tells observers, and is left out.
import { createInterface } from "node:readline";
import { createRequire } from "node:module";
import { join } from "node:path";

const [folder] = process.argv.slice(2);
const { build } = createRequire(join(folder, "package.json"))("esbuild");
const packages = join(folder, "source/packages");

const stubs = {
  Logger: "export class Logger { debug() {} info() {} warn() {} error() {} }",
  EventBus: "export const EventBus = { client: { emit() {} } };",
  EventNames: "export const Events = { Compaction: {} };",
  EventPayloadSchema: "export const createReactiveCompactionTriggeredPayload = () => ({});",
};
const resolve = {
  name: "packages",
  setup(build) {
    build.onResolve({ filter: /\/(Logger|EventBus|EventNames|EventPayloadSchema)(\.js)?$/ }, ({ path }) =>
      ({ path: path.match(/(\w+)(\.js)?$/)[1], namespace: "stub" }));
    build.onResolve({ filter: /^@mxf-dev\/core\// }, ({ path }) =>
      ({ path: join(packages, "core/src", `${path.slice("@mxf-dev/core/".length)}.ts`) }));
    build.onLoad({ filter: /.*/, namespace: "stub" }, ({ path }) => ({ contents: stubs[path] }));
  },
};
const entry = `
  export { ToolResultMicrocompactor } from "./sdk/src/services/ToolResultMicrocompactor.ts";
  export { ReactiveCompactionService } from "./sdk/src/services/ReactiveCompactionService.ts";
  export { clearTokenEstimateCache, estimateTokens } from "./core/src/utils/TokenEstimator.ts";
`;
const bundled = await build({
  stdin: { contents: entry, resolveDir: packages },
  bundle: true, format: "esm", platform: "node", write: false, logLevel: "error", plugins: [resolve],
});
const code = Buffer.from(bundled.outputFiles[0].text).toString("base64");
const mxf = await import(`data:text/javascript;base64,${code}`);
const microcompactor = mxf.ToolResultMicrocompactor.getInstance();
const reactive = mxf.ReactiveCompactionService.getInstance();

// The estimator keeps counts by the first hundred characters of a text. Without them it counts every text.
let cached = true;
const set = Map.prototype.set;
Map.prototype.set = function (key, value) {
  return !cached && typeof key === "string" && key.startsWith("gpt-4:") ? this : set.call(this, key, value);
};

// A cut may fall into a character; JSON has no half of one.
const halves = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
const whole = (text) => text.replace(halves, "");

async function look(history, threshold, keeps) {
  const micro = microcompactor.compact(history, threshold);
  const first = await reactive.compact(micro.messages, "agent", "channel", 1, 413);
  const second = await reactive.compact(first.messages, "agent", "channel", 2, 413);
  const third = await reactive.compact(second.messages, "agent", "channel", 3, 413);
  const changed = (messages) => messages.flatMap((message, at) => message.content === history[at].content ? [] : [[at, message.content]]);
  const kept = reactive.applyStructuredSummary(first.messages, keeps)[0];
  const summary = kept?.metadata?.compactionSummary ? kept.content : null;
  return {
    micro: changed(micro.messages),
    tokens: [micro.tokensBefore, first.tokensBefore, first.tokensAfter, second.tokensBefore],
    stripped: changed(first.messages),
    success: [first.success, second.success, third.success],
    kept: second.messages.length - (second.messages[0]?.metadata?.compactionSummary ? 1 : 0),
    summary: summary && whole(summary),
    halves: summary ? (summary.match(halves) ?? []).length : 0,
  };
}

async function run({ messages, looks, threshold }) {
  const history = messages.map((message, at) => ({ ...message, id: `m${at}`, timestamp: 0 }));
  const answers = [];
  for (const counts of [false, true]) {
    cached = counts;
    mxf.clearTokenEstimateCache();
    for (const [at, [length, keeps]] of looks.entries()) {
      const answer = await look(history.slice(0, length), threshold, keeps);
      if (!counts) answers.push(answer);
      // As it is shipped, counts of other texts decide.
      else answers[at].cached = [answer.micro.length > 0, ...answer.success];
    }
  }
  return answers;
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await run(JSON.parse(line))));
}
