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
    copies[at].removeAttribute("href");
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

/** The rows of a table as they are shown, the head first, and which columns are words. */
function linesOf(table) {
  const [head, ...body] = [...table.rows].filter((row) => !row.hidden);
  const first = body.find((row) => row.cells.length === head.cells.length);
  const left = [...head.cells].map((_, at) => at === 0 || (first?.cells[at].classList.contains("word") ?? false));
  const line = (row) => [...row.cells].map((cell) => ({ text: cellText(cell), span: cell.colSpan }));
  return { head: line(head), body: body.map(line), left };
}

function markdownOf(table) {
  const { head, body, left } = linesOf(table);
  const escaped = (text) => text.replace(/[\\|*_`<>[\]#~]/g, "\\$&");
  const row = (cells) => `| ${cells.flatMap(({ text, span }) => [escaped(text), ...Array(span - 1).fill("")]).join(" | ")} |`;
  const rule = `| ${left.map((is) => (is ? "---" : "---:")).join(" | ")} |`;
  return [row(head), rule, ...body.map(row)].join("\n") + "\n";
}

const LATEX = {
  "\\": "\\textbackslash{}", "{": "\\{", "}": "\\}", $: "\\$", "&": "\\&", "#": "\\#", "%": "\\%", _: "\\_",
  "^": "\\textasciicircum{}", "~": "\\textasciitilde{}", "<": "\\textless{}", ">": "\\textgreater{}", "|": "\\textbar{}",
  "`": "\\textasciigrave{}", '"': "''", "[": "{[}", "]": "{]}", "*": "{*}",
  "−": "$-$", "–": "--", "≤": "$\\leq$", "≥": "$\\geq$", "×": "$\\times$", "✗": "$\\times$", "★": "$\\star$", "…": "\\ldots{}", "→": "$\\rightarrow$",
  "▲": "$\\blacktriangle$", "▼": "$\\blacktriangledown$", "△": "$\\triangle$", "▽": "$\\triangledown$",
};
const latexText = (text) => text.replace(/[\\{}$&#%_^~<>|`"[\]*−–≤≥×✗★…→▲▼△▽]/g, (sign) => LATEX[sign]);

function latexOf(table) {
  const { head, body, left } = linesOf(table);
  const cell = ({ text, span }) => (span === 1 ? latexText(text) : `\\multicolumn{${span}}{l}{${latexText(text)}}`);
  const row = (cells) => `${cells.map(cell).join(" & ")} \\\\`;
  const lines = body.flatMap((cells) => (cells.length === 1 ? ["\\midrule", row(cells)] : [row(cells)]));
  return [
    "% \\usepackage{booktabs,amssymb}", `\\begin{tabular}{${left.map((is) => (is ? "l" : "r")).join("")}}`, "\\toprule", row(head), "\\midrule",
    ...lines, "\\bottomrule", "\\end{tabular}",
  ].join("\n") + "\n";
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
    toolButton("LaTeX", "Copy this table as LaTeX, with booktabs and amssymb", () => copy(latexOf(table)))));
}
