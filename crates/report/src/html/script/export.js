// Every figure as an SVG file that stands alone, every table as Markdown and as LaTeX.

/** A short button that says for a moment that it has worked. */
function toolButton(text, title, act) {
  const button = make("button", { type: "button", class: "tool", title, onclick: async () => {
    button.textContent = (await act()) === false ? "refused by the browser" : "done";
    setTimeout(() => { button.textContent = text; }, 1500);
  } }, text);
  return button;
}

// ---- figures ----

// Properties that a drawing has from the style of the page, with the value that needs no word.
const INLINED = {
  fill: "", "fill-opacity": "1", stroke: "none", "stroke-width": "", "stroke-opacity": "1", "stroke-dasharray": "none",
  "stroke-linejoin": "miter", "vector-effect": "none",
};
const INLINED_TEXT = { fill: "", "font-size": "", "font-weight": "400", "font-style": "normal" };

/** A copy of a drawing that needs no style sheet. */
function standingAlone(svg) {
  const copy = svg.cloneNode(true);
  const copies = [...copy.querySelectorAll("*")];
  [...svg.querySelectorAll("*")].forEach((element, at) => {
    copies[at].removeAttribute("class");
    if (element.tagName === "title") return;
    const style = getComputedStyle(element);
    for (const [name, usual] of Object.entries(element.tagName === "text" ? INLINED_TEXT : INLINED)) {
      const value = style.getPropertyValue(name);
      if (value !== usual && !(name.startsWith("stroke-") && style.stroke === "none")) copies[at].setAttribute(name, value);
    }
  });
  for (const name of ["class", "role", "aria-label", "style"]) copy.removeAttribute(name);
  return copy;
}

/** The drawings of a figure side by side, on white and in the colors of the light page. */
function svgOf(drawings, label) {
  document.documentElement.classList.add("light");
  const font = getComputedStyle(document.body).fontFamily;
  let [width, height] = [0, 0];
  const parts = drawings.map((svg) => {
    const part = standingAlone(svg);
    const box = svg.viewBox.baseVal;
    for (const [name, value] of Object.entries({ x: width, y: 0, width: box.width, height: box.height })) part.setAttribute(name, value);
    width += box.width;
    height = Math.max(height, box.height);
    return part;
  });
  document.documentElement.classList.remove("light");
  const whole = make("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "font-family": font },
    make("title", {}, label), make("rect", { width: "100%", height: "100%", fill: "#fff" }), ...parts);
  // What XML may not hold at all would make a file that nothing opens.
  const text = new XMLSerializer().serializeToString(whole).replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "");
  return `<?xml version="1.0" encoding="UTF-8"?>\n${text}\n`;
}

function download(name, text) {
  const address = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** A button that downloads the drawings that `find` gives, under the name that `file` gives. */
function svgButton(find, file) {
  return toolButton("SVG", "Download this figure as SVG", () => {
    const drawings = find();
    const name = file().replace(/[^\w.-]+/g, "-");
    download(`foldback-${name}.svg`, svgOf(drawings, drawings[0].getAttribute("aria-label")));
  });
}

// ---- tables ----

/** What a cell says, on one line. */
function cellText(node) {
  let out = "";
  for (const child of node.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) out += child.data;
    else if (child.tagName === "BR") out += " ";
    else if (child.tagName === "SMALL") out += ` ${cellText(child)}`;
    else if (child.tagName !== "svg") out += cellText(child);
  }
  return out.replace(/\s+/g, " ").trim();
}

/** The rows of a table as they are shown, heads and body. */
function linesOf(table) {
  const line = (row) => [...row.cells].map((cell) => ({ text: cellText(cell), span: cell.colSpan }));
  const shown = [...table.rows].filter((row) => !row.hidden);
  const isHead = (row) => row.parentElement === table.tHead;
  const body = shown.filter((row) => !isHead(row)).map(line);
  const heads = shown.filter(isHead).map(line);
  const columns = Math.max(...heads.map((cells) => cells.reduce((sum, cell) => sum + cell.span, 0)));
  const first = [...table.rows].find((row) => !isHead(row) && row.cells.length === columns);
  const left = Array.from({ length: columns }, (_, at) => at === 0 || (first?.cells[at].classList.contains("word") ?? false));
  return { heads, body, columns, left };
}

function markdownOf(table) {
  const { heads, body, columns, left } = linesOf(table);
  const escaped = (text) => text.replace(/[\\|*_`<>[\]#~]/g, "\\$&");
  const wide = (cells) => cells.flatMap((cell) => [cell.text, ...Array(cell.span - 1).fill(null)]);
  const row = (cells) => `| ${cells.join(" | ")} |`;
  // Markdown has one line of headings: a group's name goes before those of its columns.
  const spread = (cells) => {
    let group = "";
    return cells.flatMap((cell) => { group = cell.text; return Array(cell.span).fill(group); });
  };
  const names = heads.map(spread);
  const head = Array.from({ length: columns }, (_, at) => escaped(names.map((line) => line[at] ?? "").filter(Boolean).join(" ")));
  const rule = left.map((is) => (is ? "---" : "---:"));
  return [row(head), row(rule), ...body.map((cells) => row(wide(cells).map((text) => escaped(text ?? ""))))].join("\n") + "\n";
}

const LATEX = {
  "\\": "\\textbackslash{}", "{": "\\{", "}": "\\}", $: "\\$", "&": "\\&", "#": "\\#", "%": "\\%", _: "\\_",
  "^": "\\textasciicircum{}", "~": "\\textasciitilde{}", "<": "\\textless{}", ">": "\\textgreater{}", "|": "\\textbar{}",
  "`": "\\textasciigrave{}", '"': "''", "[": "{[}", "]": "{]}", "*": "{*}",
  "−": "$-$", "–": "--", "≤": "$\\leq$", "≥": "$\\geq$", "×": "$\\times$", "✗": "$\\times$", "★": "$\\star$", "…": "\\ldots{}", "→": "$\\rightarrow$",
};
const latexText = (text) => text.replace(/[\\{}$&#%_^~<>|`"[\]*−–≤≥×✗★…→]/g, (sign) => LATEX[sign]);

function latexOf(table) {
  const { heads, body, columns, left } = linesOf(table);
  const cell = ({ text, span }, at) => (span === 1 ? latexText(text) : `\\multicolumn{${span}}{${at === 0 ? "l" : "c"}}{${latexText(text)}}`);
  const row = (cells) => `${cells.map(cell).join(" & ")} \\\\`;
  const lines = ["% \\usepackage{booktabs}", `\\begin{tabular}{${left.map((is) => (is ? "l" : "r")).join("")}}`, "\\toprule"];
  for (const cells of heads) {
    lines.push(row(cells));
    let at = 1;
    for (const { span } of cells) {
      if (span > 1) lines.push(`\\cmidrule(lr){${at}-${at + span - 1}}`);
      at += span;
    }
  }
  lines.push("\\midrule");
  for (const cells of body) {
    if (cells[0].span === columns) lines.push("\\midrule");
    lines.push(row(cells));
  }
  return [...lines, "\\bottomrule", "\\end{tabular}"].join("\n") + "\n";
}

/** Copies a text; where the browser has no clipboard for pages, by way of a selection. */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = make("textarea", { class: "away" });
    area.value = text;
    const before = document.activeElement;
    document.body.append(area);
    area.select();
    const copied = document.execCommand("copy");
    area.remove();
    before?.focus();
    return copied;
  }
}

for (const figure of document.querySelectorAll("figure")) {
  figure.querySelector("figcaption")?.append(" ", svgButton(() => [...figure.querySelectorAll("svg")], () => figure.dataset.file));
}
for (const table of document.querySelectorAll(".wide > table")) {
  table.parentElement.before(make("div", { class: "tools" },
    "Copy as ",
    toolButton("Markdown", "Copy this table as Markdown", () => copy(markdownOf(table))),
    toolButton("LaTeX", "Copy this table as LaTeX, with booktabs", () => copy(latexOf(table)))));
}
