// A server of OpenAI's chat completions around a small model, for `cargo xtask test-external probe`:
//
//     node tests/probe/server.mjs HOME MODEL.gguf     (HOME holds node_modules with node-llama-cpp)
//
// It prints its address and answers one request after the other, without sampling. A request that does not fit is refused as
// providers refuse it.

import { createServer } from 'node:http'
import { pathToFileURL } from 'node:url'

const CONTEXT = 8192
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
  if (size + most + 64 > CONTEXT) {
    const message = `This model's maximum context length is ${CONTEXT} tokens. However, you requested ${size + most} tokens`
    return [400, { error: { message, type: 'invalid_request_error', code: 'context_length_exceeded' } }]
  }
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
      .then(() => answer(JSON.parse(Buffer.concat(pieces).toString())))
      .then(([status, body]) => send(status, body))
      .catch((error) => send(500, { error: { message: String(error) } }))
  })
})
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/v1/`))
