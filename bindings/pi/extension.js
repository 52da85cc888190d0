// foldback in pi: before each request, a preset decides what of the conversation is sent. pi's session stays whole.
//
// Where anything fails here, pi sends what it would have sent, and its own compaction goes on.
import { convertToLlm } from '@earendil-works/pi-coding-agent';
import { Conversation, Preset } from 'foldback';
import { marksOf, toModel, toPi, usageOf } from './messages.js';

const PRESET = 'indexed';

export default function foldback(pi) {
  pi.registerFlag('foldback', { type: 'string', description: 'preset of foldback, or a strategy file; else FOLDBACK_PRESET' });
  let followed;

  /** The preset that was asked for. */
  const preset = () => {
    const asked = pi.getFlag('foldback') || process.env.FOLDBACK_PRESET || PRESET;
    return asked.endsWith('.toml') ? Preset.fromToml(asked) : new Preset(asked);
  };

  /** The conversation that messages go on with, else a new one. */
  const conversationOf = (marks, { contextWindow, maxTokens }) => {
    const goesOn =
      followed !== undefined &&
      followed.window === contextWindow &&
      followed.maxOutput === maxTokens &&
      followed.marks.every((mark, index) => mark === marks[index]);
    if (!goesOn) {
      const limits = { window: contextWindow || undefined, maxOutput: maxTokens || undefined };
      const conversation = new Conversation({ preset: preset(), protocol: 'ai-sdk', ...limits });
      followed = { conversation, window: contextWindow, maxOutput: maxTokens, marks: [] };
    }
    return followed.conversation;
  };

  const tools = () => {
    const active = new Set(pi.getActiveTools());
    const declared = pi.getAllTools().filter(({ name }) => active.has(name));
    return declared.map(({ name, description, parameters }) => ({ name, description, input_schema: parameters }));
  };

  /** What is to be sent in place of messages; nothing where that is all of them, as they are. */
  const fold = (messages, ctx) => {
    const given = convertToLlm(messages).filter(({ role, stopReason }) => role !== 'system' && !['error', 'aborted'].includes(stopReason));
    const marks = marksOf(given);
    const conversation = conversationOf(marks, ctx.model ?? {});
    given.forEach((message, index) => {
      const usage = index >= followed.marks.length ? usageOf(message) : undefined;
      if (usage !== undefined) conversation.usage(index, usage);
    });
    const before = conversation.sizes.folds;
    const all = given.map(toModel);
    const sent = conversation.fold(all, { system: ctx.getSystemPrompt(), tools: tools() });
    followed.marks = marks;
    const { received, sent: left, folds } = conversation.sizes;
    if (folds > before) {
      ctx.ui.notify(`foldback (${conversation.preset.name}): ${left.toLocaleString('en')} of ${received.toLocaleString('en')} tokens`, 'info');
    }
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
    const { conversation, window, maxOutput } = followed;
    if (event.reason === 'manual' && conversation.compact(event.customInstructions)) {
      ctx.ui.notify('foldback folded the conversation in place of pi', 'info');
      return { cancel: true };
    }
    // As long as what is sent fits, the preset decides when to fold.
    const fits = event.reason === 'threshold' && conversation.sizes.sent + maxOutput <= window;
    return fits ? { cancel: true } : undefined;
  });

  pi.registerCommand('foldback', {
    description: 'what foldback folded of this conversation, and why',
    handler: async (_, ctx) => ctx.ui.notify(followed?.conversation.explain() || 'nothing is folded', 'info'),
  });
}
