// The provider for clients in other languages: node serve.mjs. Each line that is read is an answer to come; its address is the line that is written.
import { createInterface } from 'node:readline';
import { provide } from './provider.mjs';

const answers = [];
const { url } = await provide(() => answers.shift() ?? { status: 400, error: 'nothing is to come' });
console.log(url);
// Ends with what started it.
for await (const line of createInterface({ input: process.stdin })) answers.push(JSON.parse(line));
