// What a session was at each call under a preset. Reads the rows that data.rs writes.

const ROLES = { s: "system", u: "user", a: "assistant", t: "tool" };
// By number of the state; the sign stands beside the word, so that neither color nor word is needed alone.
const STATES = [
  { name: "kept", sign: "●" },
  { name: "truncated", sign: "✂" },
  { name: "cleared", sign: "□" },
  { name: "summarized", sign: "Σ" },
  { name: "dropped", sign: "✕" },
];

/** A session with the presets that were replayed on it. */
function readWalk(element) {
  const walk = JSON.parse(element.textContent);
  walk.calls = walk.answers.length;
  for (const track of walk.tracks) {
    track.missed = new Map();
    for (let at = 0; at < track.forgotten.length; at += 2) {
      const [call, kind, text, file, distance, seen, source, tokens] = walk.needs[track.forgotten[at]];
      const missed = { call, kind, text, file, distance, seen, source, tokens, left: track.forgotten[at + 1] };
      if (!track.missed.has(call)) track.missed.set(call, []);
      track.missed.get(call).push(missed);
    }
    track.firedAt = new Map();
    for (const [call, moment, stage, fold, reason, degraded, before, after] of track.firings) {
      // What fired when the session was over stands at its last call, and says so.
      const at = Math.min(call, walk.calls - 1);
      if (!track.firedAt.has(at)) track.firedAt.set(at, []);
      track.firedAt.get(at).push({ moment, stage, fold: fold === 1, reason, degraded, before, after, behind: call > at });
    }
    track.missedCalls = [...track.missed.keys()].sort((a, b) => a - b);
    track.firedCalls = [...track.firedAt.keys()].sort((a, b) => a - b);
  }
  return walk;
}

/** The messages as one request shows them; moves to another call by the changes in between. */
class View {
  constructor(walk, track) {
    this.walk = walk;
    this.track = track;
    this.reset();
  }

  reset() {
    this.call = -1;
    this.next = 0;
    this.states = new Uint8Array(this.walk.roles.length);
    this.tokens = this.walk.tokens.slice();
    this.shown = new Int32Array(this.walk.roles.length).fill(-1);
    this.changed = new Set();
    this.standing = [];
  }

  go(call) {
    if (call < this.call) this.reset();
    const steps = this.track.steps;
    this.changed.clear();
    while (this.next < steps.length && steps[this.next][0] <= call) {
      const [at, changes, standing] = steps[this.next];
      for (let i = 0; i < changes.length; i += 4) {
        const message = changes[i];
        this.states[message] = changes[i + 1];
        this.tokens[message] = changes[i + 2];
        this.shown[message] = changes[i + 3];
        if (at === call) this.changed.add(message);
      }
      this.standing = standing;
      this.next += 1;
    }
    this.call = call;
    this.length = this.walk.answers[call];
    this.fresh = call > 0 ? this.walk.answers[call - 1] : 0;
  }

  /** How many messages stand in each state. */
  counts() {
    const counts = STATES.map(() => 0);
    for (let message = 0; message < this.length; message += 1) counts[this.states[message]] += 1;
    return counts;
  }
}

/** What all requests of a session hold together under a preset: the input that the table of sessions has. */
function totals(walk, track) {
  const sum = (values) => values.reduce((all, value) => all + value, 0);
  const [sent, plain] = [sum(track.tokens), sum(walk.plain)];
  const share = plain > 0 ? `, ${((100 * sent) / plain).toFixed(1)}% of that without compaction` : "";
  return `${plural(sent, "token")} sent${share}`;
}

/** Where a text stands in a session under a preset: in what is here of its messages, and in what compactions wrote. */
function hitsOf(walk, track, wanted) {
  if (wanted === "") return [];
  const has = (text) => text.toLowerCase().includes(wanted);
  const messages = walk.texts.flatMap((text, message) => (has(text) || has(walk.names[message]) ? [{ message }] : []));
  const written = track.written.flatMap(([, call, , text], at) => (has(text) ? [{ written: at, call }] : []));
  return [...messages, ...written];
}

/** A text cut into what is found and what stands between, by turns; the first piece stands before. */
function cutAt(text, wanted) {
  const lower = text.toLowerCase();
  const pieces = [];
  let from = 0;
  // Where small letters are longer than capitals, places do not agree, and nothing is marked.
  while (wanted !== "" && lower.length === text.length) {
    const at = lower.indexOf(wanted, from);
    if (at < 0) break;
    pieces.push(text.slice(from, at), text.slice(at, at + wanted.length));
    from = at + wanted.length;
  }
  return [...pieces, text.slice(from)];
}

/** The first of the sorted calls behind `call`, or before it; undefined where there is none. */
function nextOf(calls, call, back) {
  return back ? calls.findLast((other) => other < call) : calls.find((other) => other > call);
}

/** The stages that fired before a call, for "left the view at call 140 (opencode.prune)". */
function firedBefore(track, call) {
  const fired = track.firedAt.get(call);
  return fired ? fired[fired.length - 1].stage : null;
}

/** Edits first, then what is dear to read again. */
function bySeverity(a, b) {
  const edit = (missed) => (missed.kind === "edit" ? 0 : 1);
  return edit(a) - edit(b) || b.tokens - a.tokens || b.distance - a.distance || a.call - b.call;
}

/** The worst needs of a track that were not met, each lost result once. */
function worstOf(track, top) {
  const all = [...track.missed.values()].flat().sort(bySeverity);
  const told = new Set();
  const out = [];
  for (const missed of all) {
    const key = missed.source === null ? `text ${missed.text}` : `message ${missed.source}`;
    if (told.has(key)) continue;
    told.add(key);
    out.push(missed);
    if (out.length === top) break;
  }
  return out;
}
