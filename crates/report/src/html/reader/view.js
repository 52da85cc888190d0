
// The reader itself: what is on the screen follows from session, preset and call, and so does the address.

const ROW = 62;
const CHART = { height: 150, left: 46, right: 8, top: 10, bottom: 30 };
// Pixels beside a mark at which it is meant.
const BESIDE = 4;

class Reader {
  constructor(root, app) {
    this.root = root;
    this.app = app;
    this.blocks = [...root.querySelectorAll('script[id^="walk-"]')];
    this.walks = new Map();
    this.selected = null;
    this.build();
    app.hidden = false;
    if (!this.visit()) this.open(0, root.dataset.preset);
    addEventListener("resize", () => this.draw());
    document.addEventListener("keydown", (event) => this.key(event));
  }

  // ---- the parts of the page ----

  build() {
    const button = (label, title, key, act) =>
      make("button", { type: "button", title, "aria-keyshortcuts": key, onclick: act }, label);
    this.session = make("select", { id: "rd-session", onchange: () => this.open(Number(this.session.value)) });
    this.blocks.forEach((block, index) => {
      // The path stands first in the block; the rest is read when the session is chosen.
      const path = JSON.parse(/"path":("(?:[^"\\]|\\.)*")/.exec(block.textContent)[1]);
      // A list cuts what is too long at its end, which is what tells sessions apart.
      this.session.append(make("option", { value: index, title: path }, path.length > 40 ? `…${path.slice(-39)}` : path));
    });
    this.preset = make("select", { id: "rd-preset", onchange: () => this.choose(Number(this.preset.value)) });
    this.chart = make("div", { class: "rd-chart" });
    this.drawn = make("span");
    this.range = make("input", {
      type: "range", min: 0, value: 0, "aria-label": "Call", oninput: () => this.go(Number(this.range.value)),
    });
    this.firing = button("Next firing", "next firing (f), the one before (F)", "f", () => this.jump("firedCalls"));
    this.missing = button("Next forgotten", "next call that needed something its view no longer had (m), the one before (M)", "m", () => this.jump("missedCalls"));
    this.query = make("input", {
      type: "search", id: "rd-query", autocomplete: "off", "aria-keyshortcuts": "/",
      title: "Looks in what this page has of each message, which is its beginning, and in what compactions wrote",
      oninput: () => this.search(),
      onkeydown: (event) => {
        if (event.key !== "Enter") return;
        event.preventDefault();
        this.hit(event.shiftKey ? -1 : 1);
      },
    });
    this.found = make("output", { for: "rd-query", class: "rd-found" });
    this.hitButtons = [button("Previous hit", "the hit before (shift and enter in the field)", null, () => this.hit(-1)),
      button("Next hit", "the next hit (enter in the field)", null, () => this.hit(1))];
    this.now = make("p", { class: "rd-now", "aria-live": "polite" });
    this.strip = make("canvas", { class: "rd-strip", height: 12, "aria-hidden": "true", onclick: (event) => this.pick(event) });
    this.legend = make("p", { class: "rd-legend" });
    this.spacer = make("div", { class: "rd-rows", role: "list", "aria-label": "Messages of the session up to this call" });
    this.list = make("div", { class: "rd-list", tabindex: 0, role: "group", "aria-label": "Messages, scrollable", onscroll: () => this.rows() }, this.spacer);
    this.side = make("div", { class: "rd-side" });
    const label = (text, control) => make("label", { for: control.id }, make("span", {}, text), control);
    this.app.append(
      make("p", { class: "small" },
        "What each request would have shown of the messages before it. Keys: ",
        make("kbd", {}, "←"), " ", make("kbd", {}, "→"), " or ", make("kbd", {}, "k"), " ", make("kbd", {}, "j"),
        " one call back and on, ", make("kbd", {}, "Home"), " ", make("kbd", {}, "End"), " the first and the last, ",
        make("kbd", {}, "f"), " next firing, ", make("kbd", {}, "m"),
        " next call that needed something forgotten; with shift, the one before; ",
        make("kbd", {}, "/"), " search; ",
        make("kbd", {}, "↑"), " ", make("kbd", {}, "↓"), " in the list, a message. Calls and messages count from 0."),
      make("div", { class: "rd-bar" }, label("Session", this.session), label("Preset", this.preset)),
      make("div", { class: "rd-bar rd-search" }, label("Search", this.query), ...this.hitButtons, this.found),
      this.chart,
      make("p", { class: "key" }, svgButton(() => [...this.chart.children], () => `session-${this.track.preset}`), " Tokens of each request ", this.drawn),
      make("div", { class: "rd-bar rd-move" },
        button("◀", "one call back (k)", "k", () => this.go(this.view.call - 1)),
        this.range,
        button("▶", "one call on (j)", "j", () => this.go(this.view.call + 1)),
        this.firing, this.missing),
      this.now,
      make("div", { class: "rd-columns" },
        make("div", { class: "rd-left" }, this.legend, this.strip, this.list),
        this.side));
  }

  // ---- where the reader is ----

  open(index, preset, call) {
    if (!this.walks.has(index)) this.walks.set(index, readWalk(this.blocks[index]));
    this.index = index;
    this.walk = this.walks.get(index);
    this.session.value = index;
    this.preset.replaceChildren(...this.walk.tracks.map((track, at) => {
      const forgot = track.forgotten.length / 2;
      const note = track.firings.length === 0 ? "nothing fired" : `${plural(track.firings.length, "firing")}, ${track.sealed ? "at most " : ""}${number(forgot)} forgotten`;
      return make("option", { value: at }, `${track.preset} (${note})`);
    }));
    // The same preset as before where the session has it, else one that has something to show.
    const named = this.walk.tracks.findIndex((track) => track.preset === (preset ?? this.track?.preset));
    const busy = this.walk.tracks.findIndex((track) => track.forgotten.length > 0);
    this.choose(named >= 0 ? named : Math.max(busy, 0), call);
  }

  choose(at, call) {
    const stay = this.view && this.view.walk === this.walk ? this.view.call : undefined;
    this.track = this.walk.tracks[at];
    this.preset.value = at;
    this.view = new View(this.walk, this.track);
    this.selected = null;
    this.range.max = this.walk.calls - 1;
    this.firing.disabled = this.track.firedCalls.length === 0;
    this.missing.disabled = this.track.missedCalls.length === 0;
    this.search();
    this.go(call ?? stay ?? this.track.missedCalls[0] ?? this.walk.calls - 1);
  }

  go(call, message) {
    const last = this.walk.calls - 1;
    this.view.go(Math.max(0, Math.min(last, Number.isFinite(call) ? call : last)));
    this.selected = message ?? null;
    this.range.value = this.view.call;
    this.range.setAttribute("aria-valuetext", `call ${this.view.call} of ${last}`);
    this.writeAddress();
    this.draw();
    this.told();
    this.spacer.style.height = `${this.view.length * ROW}px`;
    this.scrollTo(message ?? this.firstOfInterest());
  }

  jump(calls, back) {
    const call = nextOf(this.track[calls], this.view.call, back);
    if (call !== undefined) this.go(call);
  }

  // ---- the search ----

  search() {
    this.wanted = this.query.value.trim().toLowerCase();
    this.hits = hitsOf(this.walk, this.track, this.wanted);
    this.at = -1;
    this.tellHits();
    if (this.view.call >= 0) this.rows();
  }

  tellHits() {
    const count = this.hits.length;
    for (const button of this.hitButtons) button.disabled = count === 0;
    this.found.textContent = this.wanted === "" ? "" : this.at < 0 ? plural(count, "hit") : `hit ${number(this.at + 1)} of ${number(count)}`;
  }

  /** To the next hit, or the one before; around at the ends. */
  hit(step) {
    const count = this.hits.length;
    if (count === 0) return;
    this.at = this.at < 0 && step < 0 ? count - 1 : (this.at + step + count) % count;
    const { message, call } = this.hits[this.at];
    if (message === undefined) {
      this.go(call);
    } else {
      // The call before which it stood, where this one is earlier.
      const first = this.walk.answers.findIndex((answer) => answer > message);
      const here = message < this.view.length;
      this.go(here ? this.view.call : first < 0 ? this.walk.calls - 1 : first, message);
    }
    this.tellHits();
  }

  /** A text with what is searched for marked in it. */
  marked(text) {
    return cutAt(text, this.wanted).map((piece, at) => (at % 2 ? make("mark", {}, piece) : piece));
  }

  /** The same on one line that shows the first hit. */
  line(text) {
    const [before, ...rest] = cutAt(text, this.wanted);
    if (rest.length === 0 || before.length < 60) return this.marked(text);
    return this.marked(`…${before.slice(-30)}${rest.join("")}`);
  }

  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.target.closest?.('select, textarea, input:not([type="range"])')) return;
    const box = this.app.getBoundingClientRect();
    // Folded away, it takes no keys.
    if (box.height === 0) return;
    const middle = innerHeight / 2;
    const inside = this.root.contains(event.target);
    const inSight = box.top < middle && box.bottom > middle;
    if (event.target === this.list && ["ArrowUp", "ArrowDown"].includes(event.key)) {
      event.preventDefault();
      const from = this.selected ?? this.view.length;
      const to = from + (event.key === "ArrowUp" ? -1 : 1);
      this.go(this.view.call, Math.max(0, Math.min(this.view.length - 1, to)));
      return;
    }
    const slider = event.target === this.range;
    const go = (call) => () => this.go(call);
    // Letters walk from anywhere on the page; keys that scroll belong to the reader only where it is.
    const letters = {
      k: go(this.view.call - 1),
      j: go(this.view.call + 1),
      f: () => this.jump("firedCalls"),
      F: () => this.jump("firedCalls", true),
      m: () => this.jump("missedCalls"),
      M: () => this.jump("missedCalls", true),
      "/": () => this.query.focus(),
    };
    const scrolling = {
      ArrowLeft: go(this.view.call - 1),
      ArrowRight: go(this.view.call + 1),
      Home: go(0),
      End: go(this.walk.calls - 1),
    };
    const here = !slider && (inside || (inSight && document.activeElement === document.body));
    const walk = letters[event.key] ?? (here ? scrolling[event.key] : undefined);
    if (!walk) return;
    event.preventDefault();
    if (!inside && !inSight) this.root.scrollIntoView();
    walk();
  }

  /** Goes where the address says, and shows the reader. */
  visit() {
    if (!this.readAddress()) return false;
    this.root.scrollIntoView();
    this.list.focus({ preventScroll: true });
    return true;
  }

  // `#session=0&preset=opencode&call=12&message=40` leads here from anywhere.
  readAddress() {
    const address = new URLSearchParams(location.hash.slice(1));
    if (!address.has("session")) return false;
    const index = Number(address.get("session"));
    if (!(index in this.blocks)) return false;
    const whole = (name) => (/^\d+$/.test(address.get(name) ?? "") ? Number(address.get(name)) : undefined);
    this.open(index, address.get("preset") ?? undefined, whole("call"));
    const message = whole("message");
    if (message !== undefined && message < this.view.length) this.go(this.view.call, message);
    return true;
  }

  /** The call of the nearest mark that is at most so many calls away, else the call itself. */
  markNear(call, reach = 0) {
    const away = (other) => Math.abs(other - call);
    const near = [...this.track.firedCalls, ...this.track.missedCalls].filter((other) => away(other) <= reach);
    return near.sort((a, b) => away(a) - away(b))[0] ?? call;
  }

  writeAddress() {
    // Only once somebody has walked: opening a report does not change its address.
    if (!this.started) {
      this.started = true;
      return;
    }
    const address = new URLSearchParams({ session: this.index, preset: this.track.preset, call: this.view.call });
    if (this.selected !== null) address.set("message", this.selected);
    try {
      history.replaceState(null, "", `#${address}`);
    } catch {
      // A browser may refuse to rewrite the address of a file; walking goes on without it.
    }
  }

  // ---- the saw-tooth ----

  draw() {
    const { walk, track, view } = this;
    const width = Math.max(280, this.chart.clientWidth || 280);
    const { height, left, right, top, bottom } = CHART;
    const peak = Math.max(1, ...walk.plain, ...track.tokens);
    const x = (call) => left + (walk.calls > 1 ? call / (walk.calls - 1) : 0) * (width - left - right);
    const y = (tokens) => height - bottom - (tokens / peak) * (height - top - bottom);
    const line = (values) => values.map((value, call) => `${call ? "L" : "M"}${x(call).toFixed(1)} ${y(value).toFixed(1)}`).join("");
    const foot = height - bottom;
    const marks = (calls, shape) => calls.map((call) => `M${x(call).toFixed(1)} ${foot + 2}${shape}`).join("");
    const of = (fold) => track.firedCalls.filter((call) => track.firedAt.get(call).some((fired) => fired.fold === fold));
    const svg = make("svg", {
      viewBox: `0 0 ${width} ${height}`, role: "img",
      "aria-label": `Size of the requests under ${track.preset}, call ${view.call} marked`,
      onpointerdown: (event) => { svg.setPointerCapture(event.pointerId); this.point(event, width); },
      onpointermove: (event) => { if (event.buttons) this.point(event, width); },
    });
    for (const share of [0, 0.5, 1]) {
      const tokens = Math.round(peak * share);
      svg.append(make("path", { class: "grid", d: `M${left} ${y(tokens)}H${width - right}` }),
        make("text", { x: left - 4, y: y(tokens) + 3, "text-anchor": "end" }, tokens < 1000 ? tokens : `${Math.round(tokens / 1000)}k`));
    }
    const parts = [
      ["plain", "without compaction", line(walk.plain)],
      ["ceiling", "window", track.window && track.window <= peak ? `M${left} ${y(track.window)}H${width - right}` : ""],
      ["size", "sent", line(track.tokens)],
      ["prune", "pruning", marks(of(false), "v7")],
      ["fold", "fold", marks(of(true), "l4 8h-8z")],
      ["over", "needed something forgotten", track.missedCalls.map((call) => `M${x(call).toFixed(1)} ${foot + 12}v5`).join("")],
    ].filter(([, , path]) => path !== "");
    this.drawn.replaceChildren(...parts.map(([name, meaning]) => make("span", { class: `k ${name}` }, meaning)));
    svg.append(
      ...parts.map(([name, , path]) => make("path", { class: name, d: path })),
      make("path", { class: "rd-cursor", d: `M${x(view.call)} ${top - 6}V${height - 12}` }),
      make("text", { x: Math.min(Math.max(x(view.call), left + 14), width - 28), y: height - 3, "text-anchor": "middle", class: "rd-at" }, `call ${view.call}`));
    this.chart.replaceChildren(svg);
  }

  point(event, width) {
    const box = this.chart.getBoundingClientRect();
    const { left, right } = CHART;
    const at = ((event.clientX - box.left) / box.width) * width;
    const calls = (this.walk.calls - 1) / (width - left - right);
    const call = Math.round((at - left) * calls);
    this.go(event.type === "pointerdown" ? this.markNear(call, BESIDE * calls) : call);
  }

  // ---- what this call is told about ----

  told() {
    const { walk, track, view } = this;
    const tokens = track.tokens[view.call];
    const plain = walk.plain[view.call];
    const share = plain > 0 ? Math.round((tokens / plain) * 100) : 100;
    this.now.replaceChildren(
      make("strong", {}, `Call ${view.call} of ${walk.calls - 1}`), `, turn ${walk.turns[view.call]}: `,
      make("strong", {}, `${number(tokens)} tokens`),
      share === 100 ? ", as without compaction" : `, ${share}% of ${number(plain)} without compaction`,
      track.overflows.includes(view.call) ? make("strong", { class: "bad" }, "; refused as too large") : "", ".",
      make("span", { class: "rd-all" }, ` All ${plural(walk.calls, "call")}: ${totals(walk, track)}.`),
      ...track.broken.filter(([call]) => call === view.call).map(([, text]) => make("p", { class: "bad" }, text)));
    const counts = view.counts();
    const tags = [...STATES.map(({ name, sign }, at) => [name, sign, counts[at]]), ["new", "+", view.length - view.fresh]];
    this.legend.replaceChildren(...tags.filter(([, , count]) => count > 0).map(([name, sign, count]) =>
      make("span", { class: `rd-tag rd-${name}` }, `${sign} ${number(count)} ${name}`)));
    this.stripe();
    this.side.replaceChildren(...[this.pickedBox(), this.firedBox(), this.missedBox(), this.writtenBox(), this.worstBox()].filter(Boolean));
  }

  box(title, ...content) {
    return make("section", {}, make("h3", {}, title), ...content);
  }

  firedBox() {
    const fired = this.track.firedAt.get(this.view.call) ?? [];
    if (fired.length === 0) {
      if (this.track.firings.length > 0) return null;
      const why = this.track.idle.map((text) => make("li", {}, text));
      return this.box("Nothing fired in this session", make("ul", {}, ...why));
    }
    const changed = new Map();
    for (const message of this.view.changed) {
      const name = STATES[this.view.states[message]].name;
      changed.set(name, (changed.get(name) ?? 0) + 1);
    }
    const items = fired.map((one) => make("li", {},
      one.behind ? "After the last call: " : "", make("strong", {}, one.stage), ` at ${one.moment}, ${number(one.before)} → ${number(one.after)} by its own count`,
      one.reason ? `; ${one.reason}` : "", one.degraded ? `; degraded: ${one.degraded}` : ""));
    const sums = [...changed].map(([name, count]) => `${number(count)} ${name}`).join(", ");
    return this.box("Fired before this call", make("ul", {}, ...items), sums ? make("p", {}, `Messages changed: ${sums}.`) : null);
  }

  missedBox() {
    const missed = (this.track.missed.get(this.view.call) ?? []).toSorted(bySeverity);
    if (missed.length === 0) return this.box("Needed and no longer in the view", make("p", { class: "small" }, "Nothing at this call."));
    return this.box(`Needed and no longer in the view: ${missed.length}`, make("ul", { class: "rd-missed" }, ...missed.map((one) => this.sentence(one))));
  }

  sentence(missed) {
    const link = (text, title, act) => make("button", {
      type: "button", class: "rd-link", title,
      // The button goes away with the call that it stands at; the keys go on from the list.
      onclick: () => { act(); this.list.focus({ preventScroll: true }); },
    }, text);
    const call = link(`call ${missed.call}`, "go to this call", () => this.go(missed.call));
    const what = make("code", {}, missed.text);
    const stage = firedBefore(this.track, missed.left);
    const head = missed.kind === "edit"
      ? [call, " edits ", missed.file ? make("code", {}, missed.file) : "a file", "; ", what, " left the view at "]
      : [call, " names ", what, ` (${missed.kind}), which left the view at `];
    return make("li", {}, ...head,
      link(`call ${missed.left}`, "go to the call where it left", () => this.go(missed.left, missed.source ?? missed.seen)),
      stage ? ` (${stage})` : "", `; last seen ${plural(missed.distance, "call")} ago in `,
      link(`message ${missed.seen}`, "show the message", () => this.go(missed.call, missed.seen)),
      missed.source === null ? "" : make("span", {}, "; to read again: ",
        link(`message ${missed.source}`, "show the message", () => this.go(missed.call, missed.source)),
        `, ${plural(missed.tokens, "token")}`));
  }

  writtenBox() {
    const written = this.view.standing.map((at) => this.track.written[at]).filter(([, , , text]) => text !== "");
    if (written.length === 0) return null;
    return this.box("Written by compactions, in this view", ...written.map(([kind, call, tokens, text]) =>
      make("details", { open: (["summary", "note"].includes(kind) && written.length < 4) || cutAt(text, this.wanted).length > 1 },
        make("summary", {}, `${kind} `, make("small", {}, `since call ${call}, ${plural(tokens, "token")}`)), make("pre", { tabindex: 0 }, ...this.marked(text)))));
  }

  worstBox() {
    const worst = worstOf(this.track, 10);
    if (worst.length === 0) return null;
    const unless = this.track.sealed ? ", unless its sealed summaries hold it" : "";
    return this.box(`The worst of what this preset forgot here${unless}`, make("ol", { class: "rd-missed" }, ...worst.map((one) => this.sentence(one))));
  }

  pickedBox() {
    const message = this.selected;
    if (message === null || message >= this.walk.roles.length) return null;
    const { walk, view } = this;
    const shown = view.shown[message];
    return this.box(`Message ${message}`,
      make("p", {}, `${ROLES[walk.roles[message]]}${walk.names[message] ? ` · ${walk.names[message]}` : ""}, ${plural(walk.tokens[message], "token")} as recorded, ${number(message < view.length ? view.tokens[message] : 0)} in this request; `,
        make("strong", {}, message < view.length ? STATES[view.states[message]].name : message >= walk.answers.at(-1) ? "behind the last request" : "not there yet"), "."),
      make("blockquote", {}, ...this.marked(walk.texts[message] || "(no text)")),
      shown >= 0 ? make("p", {}, "Shown instead: ", make("code", {}, this.track.shown[shown] || "(nothing)")) : null);
  }

  // ---- the messages ----

  /** Where to look first: what changed, else what was missed, else what is new. */
  firstOfInterest() {
    const changed = [...this.view.changed].filter((message) => message < this.view.length);
    if (changed.length > 0) return Math.max(...changed);
    return this.view.length - 1;
  }

  scrollTo(message) {
    const top = message * ROW;
    const { scrollTop, clientHeight } = this.list;
    if (top < scrollTop || top + ROW > scrollTop + clientHeight) {
      this.list.scrollTop = Math.max(0, top - clientHeight + 2 * ROW);
    }
    this.rows();
  }

  /** Only the rows in sight are there. */
  rows() {
    const { walk, view } = this;
    const first = Math.max(0, Math.floor(this.list.scrollTop / ROW) - 5);
    const last = Math.min(view.length, Math.ceil((this.list.scrollTop + (this.list.clientHeight || 600)) / ROW) + 5);
    const rows = [];
    for (let message = first; message < last; message += 1) {
      const state = STATES[view.states[message]];
      const fresh = message >= view.fresh;
      const changed = view.changed.has(message);
      const shown = view.shown[message];
      const before = walk.tokens[message];
      const now = view.tokens[message];
      const row = make("div", {
        class: `rd-row rd-${state.name}${fresh ? " rd-new" : ""}${message === this.selected ? " rd-picked" : ""}`,
        role: "listitem", "aria-setsize": view.length, "aria-posinset": message + 1,
      }, make("button", { type: "button", tabindex: -1, onclick: () => this.go(view.call, message) },
        make("span", { class: "rd-head" },
          make("span", { class: "rd-state" }, `${state.sign} ${state.name}`),
          fresh ? make("span", { class: "rd-mark" }, "+ new") : null,
          changed ? make("span", { class: "rd-mark" }, "changed now") : null,
          make("span", { class: "rd-who" }, `${message} ${ROLES[walk.roles[message]]}${walk.names[message] ? ` · ${walk.names[message]}` : ""}`),
          make("span", { class: "rd-size" }, now === before ? number(before) : `${number(before)} → ${number(now)}`)),
        make("span", { class: "rd-text" }, ...this.line(shown >= 0 && this.track.shown[shown] && cutAt(walk.texts[message], this.wanted).length === 1 ? this.track.shown[shown] : walk.texts[message] || "(no text)"))));
      row.style.top = `${message * ROW}px`;
      rows.push(row);
    }
    this.spacer.replaceChildren(...rows);
  }

  /** One stroke per message: the whole view at a glance. */
  stripe() {
    const canvas = this.strip;
    const width = canvas.clientWidth || 300;
    canvas.width = width;
    const context = canvas.getContext("2d");
    const style = getComputedStyle(this.app);
    const colors = STATES.map((state) => style.getPropertyValue(`--rd-${state.name}`).trim());
    const each = width / Math.max(1, this.view.length);
    for (let message = 0; message < this.view.length; message += 1) {
      context.fillStyle = colors[this.view.states[message]];
      context.fillRect(message * each, 0, Math.max(1, each - (each > 3 ? 1 : 0)), canvas.height);
    }
  }

  pick(event) {
    const box = this.strip.getBoundingClientRect();
    const message = Math.floor(((event.clientX - box.left) / box.width) * this.view.length);
    this.go(this.view.call, Math.max(0, Math.min(this.view.length - 1, message)));
  }
}

/** A reader is built when it is first seen, so that it knows how wide it is. */
function offerReader(root) {
  const fold = root.closest("details");
  let reader = null;
  const show = () => { reader ??= new Reader(root, document.getElementById("reader-app")); };
  const visit = () => {
    if (!location.hash.startsWith("#session=")) return;
    if (fold) fold.open = true;
    if (reader) reader.visit();
    else show();
  };
  visit();
  if (!fold || fold.open) show();
  fold?.addEventListener("toggle", show);
  addEventListener("hashchange", visit);
  document.addEventListener("click", (event) => {
    // A link to where the address is already changes nothing that a browser would tell of.
    const link = event.target.closest?.('a[href^="#session="]');
    if (link?.hash === location.hash) visit();
  });
}

const readerRoot = document.getElementById("reader");
if (readerRoot) offerReader(readerRoot);
