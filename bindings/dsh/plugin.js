// foldback in DeepSeek Harness: the compaction of its sessions, in which a preset decides before each step what is sent. The
// log stays whole.
//
// Where anything fails here, and where folding isn't enough, the compaction that this is built on goes on.
import { BasicCompactionEngine } from '@deepseek-ai/dsh-compaction-basic';
import { deriveEventMessage } from '@deepseek-ai/dsh-session';
import { Followed } from 'foldback/plugin';
import { toEvent, toModel } from './messages.js';
import { eventsOf, replacements } from './surface.js';

export default class Foldback extends BasicCompactionEngine {
  constructor(ctx, { preset, ...own } = {}) {
    super(ctx, own);
    this.preset = preset;
    /** By session: the conversation, and what the events that were made here stand for. */
    this.known = new WeakMap();
  }

  async compactIfNeeded(agent, trigger, signal) {
    if (trigger === 'pressure') {
      try {
        if (await this.fold(agent.session, signal)) return null;
      } catch (wrong) {
        this.known.delete(agent.session);
        this.ctx.logger.error(`foldback: nothing is folded: ${wrong.message}`);
      }
    }
    return super.compactIfNeeded(agent, trigger, signal);
  }

  /** Whether what is sent fits now. */
  async fold(session, signal) {
    const header = session.requestHeader();
    if (header === undefined) return true;
    const { provider, model, maxTokens } = header.config;
    const { context, defaultMaxTokens } = await this.ctx.llm.resolveModelInfo(provider, model, signal);
    const limits = { window: context?.contextWindow, maxOutput: maxTokens ?? defaultMaxTokens };

    if (!this.known.has(session)) this.known.set(session, { followed: new Followed(this.preset), own: new Map() });
    const { followed, own } = this.known.get(session);
    const { sent, all, since } = eventsOf(session, own);
    const names = new Map();
    const given = all.map((event) => {
      const message = toModel(event, names);
      return event.seq < since ? { ...message, usage: undefined } : message;
    });
    const marks = all.map(({ seq }) => seq);
    const tools = header.tools?.map((tool) => ({ type: 'function', function: tool }));
    const kept = followed.fold(given, marks, limits, { system: header.system, tools });
    this.replace(session, sent, kept, { given: new Set(given), own, provider, model });
    if (followed.isNew) this.ctx.logger.info(`foldback: ${followed.told}`);
    return followed.fits;
  }

  /** Has a session send messages in place of the events that it sends. */
  replace(session, sent, messages, { given, own, provider, model }) {
    const wanted = messages.map((message) => {
      const event = toEvent(message, given.has(message), { ...sent.at(-1)?.data, provider, model });
      const { role, content } = deriveEventMessage({ type: event[0], data: event[1] });
      const text = JSON.stringify([role, content]);
      return { id: message.of?.seq ?? text, isResult: message.role === 'tool', event, text };
    });
    const surface = sent.map(({ seq }) => own.get(seq)?.id ?? seq);
    const isAsItIs = ({ from, isThere, message: { text } }) => {
      if (!isThere) return false;
      const { role, content } = deriveEventMessage(sent[from]);
      return JSON.stringify([role, content]) === text;
    };
    for (const one of replacements(surface, wanted).filter((one) => !isAsItIs(one))) {
      const gone = sent.slice(one.from, one.to);
      const [start, end] = [gone[0].seq, gone.at(-1).seq];
      const { nodes } = session.surface;
      const shadowedSeqs = nodes.slice(nodes.indexOf(start), nodes.indexOf(end) + 1);
      const tokens = gone.map((event) => this.ctx.tokenMeter.estimateMessage(deriveEventMessage(event)));
      const shadowedTokenCount = tokens.reduce((all, some) => all + some, 0);
      // The meter takes what goes away from the event before.
      session.append('compaction/prune', { shadowedRange: { start, end }, shadowedSeqs, shadowedTokenCount });
      const made = session.append(...one.message.event, { surfaceOp: { op: 'replace', start, end }, sourceEventSeqs: shadowedSeqs });
      own.set(made.seq, { id: one.message.id });
    }
  }
}
