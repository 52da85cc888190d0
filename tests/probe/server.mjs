// A server of OpenAI's chat completions around a small model, for `cargo xtask test-external probe`:
//
//     node tests/probe/server.mjs HOME MODEL.gguf     (HOME holds node_modules with node-llama-cpp)
//
// It prints its address and answers one request after the other, without sampling. A request that does not fit is refused as
// providers refuse it. `completions` with `prompt_logprobs` gives, as vLLM does, how likely the tokens of the prompt are: of the
// last ones, for all of them take minutes.

import { createServer } from 'node:http'
import { pathToFileURL } from 'node:url'

const CONTEXT = 8192
const LAST = 200
const [home, path] = process.argv.slice(2)
const { getLlama, LlamaChatSession } = await import(
  pathToFileURL(`${home}/node_modules/node-llama-cpp/dist/index.js`)
)
const llama = await getLlama({ gpu: false, build: 'never' })
const model = await llama.loadModel({ modelPath: path })
// More threads wait for each other on a busy machine.
const context = await model.createContext({ contextSize: CONTEXT, threads: Number(process.env.THREADS ?? 1) })
const sequence = context.getSequence()

async function answer(body) {
  const said = (role) =>
    body.messages.filter((one) => one.role === role).map((one) => one.content).join('\n\n')
  const most = body.max_completion_tokens ?? body.max_tokens ?? 64
  const size = model.tokenize(said('system') + said('user')).length
  if (size + most + 64 > CONTEXT) return tooLong(size + most)
  const session = new LlamaChatSession({ contextSequence: sequence, systemPrompt: said('system') })
  const { responseText, stopReason } = await session.promptWithMeta(said('user'), {
    maxTokens: most,
    temperature: 0,
  })
  session.dispose({ disposeSequence: false })
  const length = model.tokenize(responseText).length
  const choice = {
    index: 0,
    finish_reason: stopReason === 'maxTokens' ? 'length' : 'stop',
    message: { role: 'assistant', content: responseText },
  }
  const usage = { prompt_tokens: size, completion_tokens: length, total_tokens: size + length }
  return [200, { id: 'answer', object: 'chat.completion', model: 'SmolLM2-135M', choices: [choice], usage }]
}

function tooLong(size) {
  const message = `This model's maximum context length is ${CONTEXT} tokens. However, you requested ${size} tokens`
  return [400, { error: { message, type: 'invalid_request_error', code: 'context_length_exceeded' } }]
}

async function likelihoods(body) {
  const tokens = model.tokenize(body.prompt)
  if (tokens.length + 1 > CONTEXT) return tooLong(tokens.length + 1)
  await sequence.clearHistory()
  // Whatever the sampling would leave out is left in.
  const options = { temperature: 1, topK: 0, topP: 1, minP: 0 }
  const from = Math.max(0, tokens.length - 1 - LAST)
  const logprobs = tokens.map(() => null)
  const wanted = (token, at) => (at < from ? token : [token, { generateNext: { probabilities: true, options } }])
  await sequence.controlledEvaluate(tokens.slice(0, -1).map(wanted), {
    onTokenResult(at, result) {
      const token = tokens[at + 1]
      const logprob = Math.log(result.next.probabilities.get(token) ?? 0)
      const decoded_token = model.detokenize([token], false, tokens.slice(0, at + 1))
      logprobs[at + 1] = { [token]: { logprob: Math.max(logprob, -100), rank: null, decoded_token } }
      // A map of the whole vocabulary for each would fill the memory.
      result.next.probabilities = undefined
    },
  })
  const choice = { index: 0, text: '', finish_reason: 'length', prompt_logprobs: logprobs }
  const usage = { prompt_tokens: tokens.length, completion_tokens: 1, total_tokens: tokens.length + 1 }
  return [200, { id: 'likelihoods', object: 'text_completion', model: 'SmolLM2-135M', choices: [choice], usage }]
}

let turn = Promise.resolve()
const server = createServer((request, response) => {
  const pieces = []
  request.on('data', (piece) => pieces.push(piece))
  request.on('end', () => {
    const send = (status, body) => {
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify(body))
    }
    if (request.method !== 'POST') return send(200, { data: [{ id: 'SmolLM2-135M' }] })
    turn = turn
      .then(() => JSON.parse(Buffer.concat(pieces).toString()))
      .then((body) => (request.url.endsWith('/chat/completions') ? answer(body) : likelihoods(body)))
      .then(([status, body]) => send(status, body))
      .catch((error) => send(500, { error: { message: String(error) } }))
  })
})
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/v1/`))
