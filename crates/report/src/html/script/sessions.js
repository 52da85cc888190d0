// The table of sessions: filtered by text, shown under the preset that is chosen. Without script it stands as it was
// written, under the first preset.

class Sessions {
  constructor(table, presets) {
    this.table = table;
    this.body = table.tBodies[0];
    this.presets = presets;
    this.rows = [...this.body.rows];
    this.texts = this.rows.map((row) => `${row.cells[0].textContent} ${row.cells[1].textContent}`.toLowerCase());
    this.build();
    if (presets.length > 0) this.lead(presets[0].name);
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
    sortsOf.get(this.table).order();
  }

  /** The links to the reader lead to this preset. */
  lead(preset) {
    const which = new URLSearchParams({ preset });
    for (const link of this.body.querySelectorAll("a[data-reader]")) link.href = `${link.dataset.reader}&${which}`;
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
}

const sessionsTable = document.querySelector("table.sessions");
if (sessionsTable) {
  const data = document.getElementById("sessions-data");
  new Sessions(sessionsTable, data ? JSON.parse(data.textContent) : []);
}
