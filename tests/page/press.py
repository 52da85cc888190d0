"""Uses the page of a comparison as a person does, in an installed Chromium: keys and clicks, nothing called from
within. `press.py foldback` compares the sessions that ship and then unfolds, sorts, filters, opens another session,
searches, downloads and copies. It also looks at the page in both color schemes, on a wide screen and on a narrow one.
"""

import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

from browser import CONTROL, SHIFT, Browser, program

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
COLUMN = "[...document.querySelectorAll('.sessions tbody tr:not([hidden])')].map(row => row.cells[%d].textContent)"
# What is wider than the room that it has, and drawn text that leaves its drawing. An ellipsis is meant.
CUT = """[...document.querySelectorAll('body *')].filter(element => {
    const box = element.getBoundingClientRect(), style = getComputedStyle(element), svg = element.closest('svg');
    if (box.width === 0 || element.closest('.away') || style.textOverflow === 'ellipsis') return false;
    if (svg !== null && svg !== element) {
        const edge = svg.getBoundingClientRect();
        return element.tagName === 'text' && (box.left < edge.left - 1 || box.right > edge.right + 1 || box.bottom > edge.bottom + 1);
    }
    return box.left < -1 || box.right > innerWidth + 1 || (style.display !== 'inline' && element.scrollWidth > element.clientWidth + 1);
}).map(element => `${element.tagName} ${element.id} ${element.getAttribute('class')} ${element.textContent.slice(0, 60)}`)"""
# Text that has too little contrast with what lies behind it, as WCAG measures it; what can't be pressed may have less.
PALE = """(() => {
    const parts = color => color.match(/[\\d.]+/g).map(Number);
    const light = color => { const [r, g, b] = parts(color).map(part => part / 255)
        .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
    const behind = element => { while (element) { const color = getComputedStyle(element).backgroundColor;
        if (parts(color)[3] !== 0) return color; element = element.parentElement; }
        return getComputedStyle(document.body).backgroundColor; };
    const has = element => [...element.childNodes].some(node => node.nodeType === Node.TEXT_NODE && node.data.trim() !== '');
    return [...new Set([...document.querySelectorAll('body *')].filter(element => {
        if (!has(element) || element.getClientRects().length === 0 || element.matches(':disabled, option, script')) return false;
        const style = getComputedStyle(element);
        const tones = [light(element.closest('svg') ? style.fill : style.color), light(behind(element))].sort((a, b) => a - b);
        return (tones[1] + 0.05) / (tones[0] + 0.05) < 4.5;
    }).map(element => `${element.tagName} ${element.getAttribute('class')} ${element.textContent.slice(0, 60)}`))];
})()"""
# By section, the classes of what is drawn and of what the legend explains.
LEGENDS = """[['#trade', '.scatter .marker, .scatter .stair, .scatter .cross', '.m, .k'], ['#reader', '.rd-chart path', '.k']]
    .map(([section, drawn, told]) => {
        const all = (selector) => [...document.querySelectorAll(`${section} :is(${selector})`)];
        const name = (element) => [...element.classList].find(name => !['marker', 'k', 'm'].includes(name));
        const sorted = (names) => [...new Set(names)].filter(name => !['grid', 'rd-cursor'].includes(name)).sort();
        return [section, sorted(all(drawn).map(name)), sorted(all(told).map(name))];
    })"""
# A file name that would be markup, if anything took it for that.
HOSTILE = "<img src=x onerror=document.title='owned'>\"'$&_%#{}~^|`*.json"


def check(what, said, expected):
    if said != expected:
        raise AssertionError(f"{what}: {said!r} instead of {expected!r}")
    print(f"ok: {what}")


def report(foldback, folder):
    """A report of four of the sessions that ship and one with a hostile name; two sessions are in it, all beside it."""
    sessions = os.path.join(ROOT, "tests", "four-sessions")
    hostile = os.path.join(folder, HOSTILE)
    with open(os.path.join(sessions, "journal-opencode.json"), encoding="utf-8") as file:
        text = file.read()
    with open(hostile, "w", encoding="utf-8") as file:
        # Another session than that which it is a copy of.
        file.write(text.replace("journal", "gazette"))
    page = os.path.join(folder, "the report.html")
    options = ["--html", page, "--reader", "2,all", "--store", os.path.join(folder, "store")]
    command = [foldback, "compare", sessions, hostile, *options]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
    return page


def unfold(page, section):
    page.click(f"details:has(> #{section}) > summary")


def looks(path):
    """Light and dark, wide and narrow, with all unfolded."""
    for dark in (False, True):
        scheme = "dark" if dark else "light"
        with Browser(1400, 900, dark) as page:
            page.open(path)
            for what in (".verdict", ".scatter"):
                bottom = page.value(f"document.querySelector('{what}').getBoundingClientRect().bottom")
                check(f"the first screen holds {what}", 0 < bottom <= 900, True)
            check("the reader alone is unfolded", page.value("[...document.querySelectorAll('details[open] > section')].map(section => section.id)"), ["session"])
            page.value("document.querySelectorAll('details').forEach(fold => { fold.open = true; })")
            page.wait("document.querySelector('.rd-row') !== null")
            for width in (1400, 420):
                page.size(width, 900)
                check(f"nothing is cut, {scheme}, {width} pixels", page.value(CUT), [])
                check(f"nothing is pale, {scheme}, {width} pixels", page.value(PALE), [])
            for section, drawn, told in page.value(LEGENDS):
                check(f"the legend of {section} explains what is there", told, drawn)
            names = page.value("[...document.querySelectorAll('figure')].map(figure => figure.dataset.file)")
            check("figures have short names of their own", (len(set(names)), max(map(len, names)) < 40), (len(names), True))
            check("nothing went wrong", page.errors, [])


def shown_first(page):
    """What the reader opens on."""
    page.wait("document.querySelector('.rd-row') !== null")
    shown = page.value("[document.getElementById('rd-preset').selectedOptions[0].textContent.split(' ')[0], document.getElementById('rd-session').value]")
    check("it opens on the preset of the verdict, on the first session", shown, [page.value("document.getElementById('reader').dataset.preset"), "0"])


def keys(page):
    """The reader is open, and keys walk in it before anything was clicked."""
    page.wait("document.querySelector('.rd-row') !== null")
    call = "Number(document.querySelector('.rd-move input').value)"
    for key, what in [("f", "firing"), ("m", "forgotten need")]:
        page.press("M", SHIFT)
        page.press("M", SHIFT)
        before = page.value(call)
        page.press(key)
        check(f"{key} goes to the next {what}", page.value(call) > before, True)
    check("and the reader is in sight", page.value("(box => box.top < innerHeight / 2 && box.bottom > innerHeight / 2)(document.getElementById('reader').getBoundingClientRect())"), True)
    at = page.value(call)
    page.press("k")
    check("k goes back", page.value(call), at - 1)
    page.press("j")
    check("and j on", page.value(call), at)
    page.value("scrollTo(0, 0)")
    page.press("ArrowRight")
    check("a key that scrolls is left alone elsewhere", page.value(call), at)


def links(page):
    """A mark of a drawing and a row of the table lead to the call in the reader."""
    preset = "document.getElementById('rd-preset').selectedOptions[0].textContent.split(' ')[0]"
    call = "Number(document.querySelector('.rd-move input').value)"
    worst = "document.querySelector('.rd-missed') !== null && document.querySelectorAll('.rd-missed li').length > 0"
    for what in ("#trade .names a:nth-of-type(2) text", "#presets tbody tr:nth-child(2) td:nth-child(3)", "#trade .scatter a:last-of-type .marker"):
        page.value("history.replaceState(null, '', '#'); scrollTo(0, 0)")
        link = f"document.querySelector({what!r}).closest('a, tr')"
        wanted = page.value(f"new URLSearchParams(({link}.querySelector('a') ?? {link}).getAttribute('href').slice(1))" + ".toString()")
        page.click(what)
        wanted = dict(part.split("=", 1) for part in wanted.split("&"))
        wanted = [wanted["session"], wanted["preset"].replace("%2B", "+"), wanted["call"]]
        page.wait(f"'{' '.join(wanted)}' === [document.getElementById('rd-session').value, {preset}, {call}].join(' ')")
        print(f"ok: {what} leads to its preset and call")
        check("where something was forgotten", page.value(worst), True)
    page.value("history.replaceState(null, '', '#'); scrollTo(0, 0)")


def presets(page):
    """The table to decide by is sorted by each of its columns."""
    cells = "[...document.querySelectorAll('#presets tbody tr')].map(row => row.cells[%d].textContent)"
    heads = page.value("document.querySelectorAll('#presets thead th').length")
    number = lambda text: float(text.split(" ")[0].replace("−", "-").strip("+$%"))
    # Words as people sort them: `3 requests` before `21 requests`.
    words = lambda text: (0, number(text), text) if text[:1].isdigit() else (1, 0, text)
    for column in range(heads):
        listed = page.value(cells % column)
        keyed = sorted(listed, key=words if column in (0, heads - 1) else number)
        # What says nothing comes last.
        keyed = [text for text in keyed if text] + [text for text in keyed if not text]
        page.click(f"#presets thead th:nth-child({column + 1}) button")
        check(f"column {column} of the presets is sorted", page.value(cells % column), keyed)
        check("and says so alone", page.value("[...document.querySelectorAll('#presets [aria-sort]')].map(head => head.cellIndex)"), [column])
        page.press("Enter")
        page.press("Enter")


def cautions(page):
    """The head of the page leads to what is folded away at its end."""
    page.click("header a[href='#cautions']")
    page.wait("location.hash === '#cautions'")
    check("a link unfolds where it leads", page.value("document.querySelector('#cautions li').getClientRects().length > 0"), True)


def table(page):
    """Sorting, filtering, another preset: by mouse and by keys."""
    unfold(page, "sessions")
    listed = page.value(COLUMN % 2)
    page.click(".sessions thead th:nth-child(3) button")
    check("a click sorts", page.value(COLUMN % 2), sorted(listed, key=int))
    check("and says so", page.value("document.querySelector('[aria-sort]').ariaSort"), "ascending")
    page.press("Enter")
    check("a key turns it around", page.value(COLUMN % 2), sorted(listed, key=int, reverse=True))
    page.press("Enter")
    check("and back", page.value(COLUMN % 2), listed)
    page.click("#sessions-filter")
    page.type("claude")
    check("the filter", page.value(COLUMN % 1), ["claude-code"])
    check("is counted", page.value("document.querySelector('[for=sessions-filter]:is(output)').textContent"), f"1 of {len(listed)} sessions")
    for _ in "claude":
        page.press("Backspace")
    check("without it, all", page.value(COLUMN % 2), listed)
    before = page.value(COLUMN % 5)
    page.press("Tab", SHIFT)
    page.press("ArrowDown")
    check("another preset has other bills", page.value(COLUMN % 5) != before, True)


def reader(page):
    """A session of the page, its search, and the counts, which are those of the table."""
    unfold(page, "session")
    row = "document.querySelector('.sessions a[data-reader^=\"#\"]').closest('tr')"
    calls = page.value(f"{row}.cells[2].textContent")
    page.click(".sessions tbody tr:has(a[data-reader^='#']) td:nth-child(3)")
    page.wait("location.hash.startsWith('#session=')")
    page.wait("document.activeElement.className === 'rd-list'")
    check("a click on a row opens the reader", page.value("document.getElementById('reader').getBoundingClientRect().top < 200"), True)
    check("under the same preset", page.value("document.getElementById('rd-preset').selectedOptions[0].textContent.startsWith(document.getElementById('sessions-under').textContent)"), True)
    together = page.value("document.querySelector('.rd-all').textContent")
    check("which counts as the table does", f" {calls} calls:" in together, True)
    page.press("/")
    page.type("test")
    found = page.value("document.querySelector('.rd-found').textContent")
    hits = int(found.split()[0])
    check("the search finds", hits > 1, True)
    page.press("Enter")
    check("enter goes to the first hit", page.value("document.querySelector('.rd-found').textContent"), f"hit 1 of {hits}")
    check("and marks it", page.value("document.querySelector('.rd-picked mark').textContent.toLowerCase()"), "test")
    page.press("Enter", SHIFT)
    check("shift and enter go around", page.value("document.querySelector('.rd-found').textContent"), f"hit {hits} of {hits}")
    page.click(".rd-search button:last-of-type")
    check("a click goes on", page.value("document.querySelector('.rd-found').textContent"), f"hit 1 of {hits}")


def beside(page):
    """A session that the page does not hold."""
    page.click(".sessions a:not([data-reader^='#'])[data-reader]")
    page.wait("location.pathname.includes('-sessions/') && document.readyState === 'complete'")
    check("another session opens beside the page", page.value("document.getElementById('reader-app').hidden"), False)
    page.press("/")
    page.type("e")
    check("and is searched", page.value("document.querySelector('.rd-found').textContent.endsWith('hits')"), True)
    page.click("nav a")
    page.wait("location.hash === '#sessions' && document.readyState === 'complete'")
    check("and leads back", page.value("document.querySelector('.sessions').getClientRects().length > 0"), True)


def figures(page):
    """Downloads of figures."""
    page.click("#trade .tool")
    file = page.downloaded("foldback-scatter.svg")
    root = ElementTree.fromstring(file)
    check("a figure downloads as SVG", root.tag, "{http://www.w3.org/2000/svg}svg")
    check("with both its drawings", len(root.findall("{*}svg")), 2)
    check("that needs no style sheet", ("class=" in file, "var(" in file, "stroke=" in file), (False, False, True))
    check("on white", 'fill="#fff"' in file, True)
    dark = page.value("getComputedStyle(document.body).color")
    check("and the page stays dark", dark, "rgb(228, 231, 234)")


def tables(page):
    """Tables as text, pasted back."""
    copied = {}
    for number, kind in enumerate(["Markdown", "LaTeX"]):
        page.click(f"#sessions .tools .tool:nth-of-type({number + 1})")
        page.wait(f"document.querySelectorAll('#sessions .tools .tool')[{number}].textContent === 'done'")
        page.value("document.body.append(Object.assign(document.createElement('textarea'), {id: 'paste'}))")
        page.click("#paste")
        page.press("v", CONTROL, ["paste"])
        copied[kind] = page.value("document.getElementById('paste').value")
        page.value("document.getElementById('paste').remove()")
    lines = copied["Markdown"].splitlines()
    check("a table copies as Markdown", lines[1].startswith("| --- | --- | ---: |"), True)
    check("with every row as wide", {line.replace("\\|", "").count("|") for line in lines}, {9})
    latex = copied["LaTeX"]
    check("and as LaTeX", ("\\toprule" in latex, "\\bottomrule" in latex, latex.count("\\begin{tabular}")), (True, True, 1))
    check("with what is special escaped", "\\textless{}img src=x" in latex and "'\\$\\&\\_\\%\\#\\{\\}\\textasciitilde{}" in latex, True)


def main():
    if program() is None:
        sys.exit("no Chromium is installed")
    with tempfile.TemporaryDirectory() as folder, Browser(dark=True) as page:
        path = report(os.path.abspath(sys.argv[1]), folder)
        page.open(path)
        shown_first(page)
        keys(page)
        links(page)
        presets(page)
        page.open(path)
        cautions(page)
        table(page)
        reader(page)
        beside(page)
        figures(page)
        tables(page)
        check("nothing hostile ran", page.value("document.title.includes('owned')"), False)
        check("nothing went wrong", page.errors, [])
        looks(path)


if __name__ == "__main__":
    main()
