// What DeepSeek Harness sends is its surface: events of the log, of which a new one can take the place of neighbours.
import { deriveEventMessage } from '@deepseek-ai/dsh-session';

const isMessage = (event) => event.surfaceOp !== undefined && deriveEventMessage(event) !== null;

/** The events that are sent, and all that there are since something else than `own` replaced any: from its number on. */
export function eventsOf(session, own) {
  let [sent, all, since] = [[], [], 0];
  for (const event of session.events.filter(isMessage)) {
    const { seq, surfaceOp } = event;
    if (surfaceOp === 'append') {
      sent.push(event);
      all.push(event);
      continue;
    }
    const [start, end] = [surfaceOp.start, surfaceOp.end].map((edge) => sent.findIndex((one) => one.seq === edge));
    sent.splice(start, end - start + 1, event);
    if (!own.has(seq)) [all, since] = [[...sent], seq];
  }
  return { sent, all, since };
}

/** Messages in place of as many events: the first of them in place of all that are too many. */
function* singly({ from, to, messages }) {
  if (messages.some(({ isResult }) => isResult)) throw new Error('a result can only take the place of itself');
  const first = to - messages.length + 1;
  yield { from, to: first, message: messages[0] };
  for (const [index, message] of messages.slice(1).entries()) yield { from: first + index, to: first + index + 1, message };
}

/**
 * What is to be replaced in a surface, given by what its events stand for, so that it is `messages`: each has its `id`, and
 * `isResult`, as only itself may take the place of a result. Neighbours of what goes away without a trace are put anew.
 */
export function replacements(surface, messages) {
  const places = new Map(surface.map((id, place) => [id, place]));
  const parts = [];
  let [next, made] = [0, []];
  const until = (place) => {
    if (place > next || made.length > 0) parts.push({ from: next, to: place, messages: made });
    made = [];
  };
  for (const message of messages) {
    const place = places.get(message.id) ?? -1;
    if (place < next) {
      made.push(message);
      continue;
    }
    until(place);
    parts.push({ from: place, to: place + 1, messages: [message], isThere: true });
    next = place + 1;
  }
  until(surface.length);
  /** Parts from one to another become one. */
  const merge = (one, other) => {
    const [from, to] = [Math.min(one, other), Math.max(one, other)];
    const messages = parts.slice(from, to + 1).flatMap((part) => part.messages);
    parts.splice(from, to + 1 - from, { from: parts[from].from, to: parts[to].to, messages });
  };
  const room = ({ from, to, messages }) => to - from - messages.length;
  const nearest = (index, isFit) => {
    const found = parts.flatMap((part, place) => (place !== index && isFit(part, place) ? [place] : []));
    return found.sort((one, other) => Math.abs(one - index) - Math.abs(other - index))[0];
  };
  let index;
  while ((index = parts.findIndex((part) => room(part) < 0)) >= 0) {
    const other = nearest(index, (part) => room(part) > 0);
    if (other === undefined) throw new Error('there are more messages than before');
    merge(index, other);
  }
  while ((index = parts.findIndex(({ messages }) => messages.length === 0)) >= 0) {
    const isBeside = ({ messages }, place) => Math.abs(place - index) === 1 && messages.every(({ isResult }) => !isResult);
    const beside = nearest(index, isBeside);
    if (beside === undefined) throw new Error('nothing can take the place of what goes away');
    merge(index, beside);
  }
  return parts.flatMap((part) => {
    const { from, to, isThere } = part;
    return isThere ? [{ from, to, isThere, message: part.messages[0] }] : [...singly(part)];
  });
}
