// Tables are sorted by a click on a heading, and a row leads where its link leads. Without script they stand as written.

/** What a cell says, to sort by: the number that it begins with if it is a figure, else text; null for a dash, which comes last. */
function sortKey(text) {
  const plain = text.trim().replaceAll("−", "-");
  if (plain === "" || plain === "–") return null;
  // A unit, an interval, the upper end of a range and a mark may follow: `-15% (-26 to -5)`.
  const figure = /^([-+]?)\$?(\d[\d,]*(?:\.\d+)?)([kMG]?)%?( to [\d.]+%?| \(.*\))?( !)?$/.exec(plain);
  if (!figure) return plain.toLowerCase();
  const [, sign, digits, unit] = figure;
  return Number(sign + digits.replaceAll(",", "")) * { "": 1, k: 1e3, M: 1e6, G: 1e9 }[unit];
}

function compareKeys(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), "en", { numeric: true });
}

class Sorts {
  constructor(table) {
    this.column = -1;
    this.descending = false;
    // Every group stays below its title, which is one cell.
    this.groups = [...table.tBodies].map((body) => [body, [...body.rows].filter((row) => row.cells.length > 1)]);
    this.heads = [...table.tHead.rows[0].cells];
    this.heads.forEach((head, at) => {
      const button = make("button", { type: "button", onclick: () => this.sort(at) });
      button.append(...head.childNodes);
      head.append(button);
    });
    table.classList.add("sorts");
    for (const row of table.querySelectorAll("tbody tr")) row.classList.toggle("opens", row.querySelector("a") !== null);
    table.addEventListener("click", (event) => this.click(event));
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
    const sign = this.descending ? -1 : 1;
    for (const [body, rows] of this.groups) {
      const places = rows.map((_, at) => at);
      if (this.column >= 0) {
        const keys = rows.map((row) => sortKey(row.cells[this.column].textContent));
        places.sort((a, b) => {
          if (keys[a] === null || keys[b] === null) return Number(keys[a] === null) - Number(keys[b] === null) || a - b;
          return sign * compareKeys(keys[a], keys[b]) || a - b;
        });
      }
      body.append(...places.map((at) => rows[at]));
    }
  }

  /** Anywhere in a row is as good as its link; selecting text is no click. */
  click(event) {
    if (event.target.closest("a, button") || !getSelection().isCollapsed) return;
    event.target.closest("tbody tr")?.querySelector("a")?.click();
  }
}

const sortsOf = new Map();
// A table of pairs has the presets as rows and as columns, in one order.
for (const table of document.querySelectorAll(".wide > table:not(.pairs)")) sortsOf.set(table, new Sorts(table));
