// The table of sessions: sorted by a click on a heading, filtered by text, shown under the preset that is chosen.
// Without script it stands as it was written, under the first preset.

/** What a cell says, to sort by: a number where it is one, else text; null for a dash, which comes last. */
function sortKey(text) {
  const plain = text.trim().replace("−", "-").replace(/[,$%]/g, "");
  if (plain === "" || plain === "–") return null;
  const value = Number(plain);
  return Number.isNaN(value) ? plain.toLowerCase() : value;
}

function compareKeys(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), "en", { numeric: true });
}

class Sessions {
  constructor(table, presets) {
    this.table = table;
    this.body = table.tBodies[0];
    this.presets = presets;
    this.rows = [...this.body.rows];
    this.texts = this.rows.map((row) => `${row.cells[0].textContent} ${row.cells[1].textContent}`.toLowerCase());
    this.heads = [...table.tHead.rows[0].cells];
    this.column = -1;
    this.descending = false;
    for (const row of this.rows) row.classList.toggle("opens", row.querySelector("a") !== null);
    this.heads.forEach((head, at) => {
      const button = make("button", { type: "button", onclick: () => this.sort(at) });
      button.append(...head.childNodes);
      head.append(button);
    });
    table.classList.add("sorts");
    this.build();
    if (presets.length > 0) this.lead(presets[0].name);
    this.body.addEventListener("click", (event) => this.click(event));
    this.told();
  }

  build() {
    this.filter = make("input", { type: "search", id: "sessions-filter", placeholder: "path or format", autocomplete: "off", oninput: () => this.choose() });
    this.count = make("output", { for: "sessions-filter" });
    const tools = make("div", { class: "bar-tools" }, make("label", {}, "Filter ", this.filter), this.count);
    if (this.presets.length > 0) {
      this.preset = make("select", { id: "sessions-preset", onchange: () => this.show(Number(this.preset.value)) },
        ...this.presets.map((preset, at) => make("option", { value: at }, `${preset.name} (acted in ${number(preset.acted)})`)));
      tools.prepend(make("label", {}, "Under ", this.preset));
    }
    this.table.closest(".wide").before(tools);
  }

  /** The cells of another preset; the order stays that of the column. */
  show(at) {
    const { name, rows } = this.presets[at];
    this.rows.forEach((row, session) => {
      const [flag, ...cells] = rows[session] ?? ["zero"];
      [...row.querySelectorAll(".under")].forEach((cell, place) => {
        cell.textContent = cells[place] ?? "–";
        cell.className = `under ${flag}`;
      });
    });
    this.lead(name);
    document.getElementById("sessions-under").textContent = name;
    if (this.column >= 0) this.order();
  }

  /** The links to the reader lead to this preset. */
  lead(preset) {
    const which = new URLSearchParams({ preset });
    for (const link of this.body.querySelectorAll("a[data-reader]")) link.href = `${link.dataset.reader}&${which}`;
  }

  /** Up, down, and as listed. */
  sort(column) {
    if (this.column !== column) [this.column, this.descending] = [column, false];
    else if (!this.descending) this.descending = true;
    else [this.column, this.descending] = [-1, false];
    this.heads.forEach((head, at) => {
      if (at === this.column) head.setAttribute("aria-sort", this.descending ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    this.order();
  }

  order() {
    const places = this.rows.map((_, at) => at);
    if (this.column >= 0) {
      const keys = this.rows.map((row) => sortKey(row.cells[this.column].textContent));
      const sign = this.descending ? -1 : 1;
      places.sort((a, b) => {
        if (keys[a] === null || keys[b] === null) return Number(keys[a] === null) - Number(keys[b] === null) || a - b;
        return sign * compareKeys(keys[a], keys[b]) || a - b;
      });
    }
    this.body.append(...places.map((at) => this.rows[at]));
  }

  choose() {
    const words = this.filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    this.rows.forEach((row, at) => {
      row.hidden = !words.every((word) => this.texts[at].includes(word));
    });
    this.told();
  }

  told() {
    const shown = this.rows.filter((row) => !row.hidden).length;
    this.count.textContent = shown === this.rows.length ? plural(shown, "session") : `${number(shown)} of ${plural(this.rows.length, "session")}`;
  }

  /** Anywhere in a row is as good as its link; selecting text is no click. */
  click(event) {
    if (event.target.closest("a") || !getSelection().isCollapsed) return;
    event.target.closest("tr")?.querySelector("a")?.click();
  }
}

const sessionsTable = document.querySelector("table.sessions");
if (sessionsTable) {
  const data = document.getElementById("sessions-data");
  new Sessions(sessionsTable, data ? JSON.parse(data.textContent) : []);
}
