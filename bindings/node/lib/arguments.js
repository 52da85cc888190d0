// Arguments that can't be used: one error that names the argument.
import { FoldbackError } from './error.js';

function shown(given) {
  let text;
  try {
    text = typeof given === 'function' ? 'a function' : (JSON.stringify(given) ?? String(given));
  } catch {
    text = typeof given;
  }
  return text.length <= 80 ? text : `${text.slice(0, 80)}…`;
}

function refuse(name, what, given) {
  throw new FoldbackError(`${name} is ${what}, not ${shown(given)}`);
}

const isObject = (given) => typeof given === 'object' && given !== null && !Array.isArray(given);

/** A number of tokens, or nothing. */
export function tokens(name, given) {
  if (given !== undefined && (!Number.isSafeInteger(given) || given < 1)) refuse(name, 'a number of tokens', given);
}

/** A text, or nothing. */
export function text(name, given) {
  if (given !== undefined && typeof given !== 'string') refuse(name, 'a text', given);
}

/** What a conversation may be told. */
export const CONVERSATION = ['preset', 'window', 'maxOutput', 'model', 'system', 'tools', 'protocol'];

/** An object of options with these names. */
export function options(given, known) {
  if (!isObject(given)) refuse('options', 'an object', given);
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  if (unknown !== undefined) throw new FoldbackError(`no option is called ${unknown}; known are ${known.join(', ')}`);
  return given;
}

/** An array of messages. */
export function messages(given) {
  if (!Array.isArray(given)) refuse('messages', 'an array of messages', given);
}

/** A system prompt: a text, blocks, an object of an SDK, or nothing. */
export function system(given) {
  if (given === undefined || typeof given === 'string' || Array.isArray(given) || isObject(given)) return;
  refuse('system', 'a text or an array of blocks', given);
}

/** Definitions of tools, or nothing. */
export function tools(given) {
  if (given === undefined) return;
  if (!Array.isArray(given)) refuse('tools', 'an array of definitions', given);
  for (const definition of given) {
    if (isObject(definition)) continue;
    throw FoldbackError.at('/tools', `tools is an array of definitions, and ${shown(definition)} is none`);
  }
}

/** Texts; one of them alone is one. */
export function several(name, given) {
  const all = given === undefined ? [] : [given].flat();
  for (const one of all) if (typeof one !== 'string') refuse(name, 'a text or an array of texts', one);
  return all;
}
