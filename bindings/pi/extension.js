// foldback in pi: before each request, a preset decides what of the conversation is sent. pi's session stays whole.
//
// Where anything fails here, pi sends what it would have sent, and its own compaction goes on.
import { convertToLlm } from '@earendil-works/pi-coding-agent';
import { Followed, declared } from 'foldback/plugin';
import { marksOf, toModel, toPi } from './messages.js';

export default function foldback(pi) {
  pi.registerFlag('foldback', { type: 'string', description: 'preset of foldback, or a strategy file; else FOLDBACK_PRESET' });
  let followed;

  const tools = () => {
    const active = new Set(pi.getActiveTools());
    return pi.getAllTools().filter(({ name }) => active.has(name)).map(declared);
  };

  /** What is to be sent in place of messages; nothing where that is all of them, as they are. */
  const fold = (messages, ctx) => {
    const given = convertToLlm(messages).filter(({ role, stopReason }) => role !== 'system' && !['error', 'aborted'].includes(stopReason));
    const all = given.map(toModel);
    const { contextWindow: window, maxTokens: maxOutput } = ctx.model ?? {};
    followed ??= new Followed(pi.getFlag('foldback'));
    const sent = followed.fold(all, marksOf(given), { window, maxOutput }, { system: ctx.getSystemPrompt(), tools: tools() });
    if (followed.isNew) ctx.ui.notify(`foldback: ${followed.told}`, 'info');
    const untouched = new Set(all);
    const isAll = sent.length === all.length && sent.every((message) => untouched.has(message));
    return isAll ? undefined : sent.map((message) => (untouched.has(message) ? message.of : toPi(message, ctx.model)));
  };

  pi.on('context', (event, ctx) => {
    try {
      const messages = fold(event.messages, ctx);
      return messages && { messages };
    } catch (wrong) {
      followed = undefined;
      throw wrong;
    }
  });

  pi.on('session_before_compact', (event, ctx) => {
    if (followed === undefined || event.reason === 'overflow') return undefined;
    if (event.reason === 'manual' && followed.conversation.compact(event.customInstructions)) {
      ctx.ui.notify('foldback folded the conversation in place of pi', 'info');
      return { cancel: true };
    }
    // As long as what is sent fits, the preset decides when to fold.
    return event.reason === 'threshold' && followed.fits ? { cancel: true } : undefined;
  });

  pi.registerCommand('foldback', {
    description: 'what foldback folded of this conversation, and why',
    handler: async (_, ctx) => ctx.ui.notify(followed?.conversation.explain() || 'nothing is folded', 'info'),
  });
}
