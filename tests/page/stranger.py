"""A page that would use somebody's proxy, in an installed Chromium: `stranger.py foldback`. It lies on another port and on
another name of this machine, and sends what pages may send without leave. Nothing of it reaches the provider.
"""

import http.server
import re
import subprocess
import sys
import threading
import urllib.request

from browser import Browser

BODY = '{"model":"m","messages":[{"role":"user","content":"Hi."}]}'
# Each sends something to `at` and is over when it was answered or refused.
WAYS = {
    "a text": "fetch(at + '/v1/messages', {method: 'POST', mode: 'no-cors', body: BODY, headers: {'content-type': 'text/plain'}})",
    "a text with cookies": "fetch(at + '/v1/chat/completions', {method: 'POST', mode: 'no-cors', credentials: 'include', body: BODY})",
    "a request that asks for leave": "fetch(at + '/v1/messages', {method: 'POST', body: BODY, headers: {'x-api-key': 'k'}})",
    "a read": "fetch(at + '/v1/models', {mode: 'no-cors'})",
    "the page": "fetch(at + '/', {mode: 'no-cors'})",
    "the counters": "fetch(at + '/metrics')",
    "a beacon": "navigator.sendBeacon(at + '/v1/messages', BODY)",
    "a picture": "new Promise(done => { const it = new Image(); it.onerror = it.onload = done; it.src = at + '/v1/files/f' })",
    "a script": "new Promise(done => { const it = document.createElement('script'); it.onerror = it.onload = done; it.src = at + '/v1/x'; document.head.append(it) })",
    "a frame": "new Promise(done => { const it = document.createElement('iframe'); it.onload = done; it.src = at + '/'; document.body.append(it) })",
    "a form": """new Promise(done => {
        const frame = document.createElement('iframe'), form = document.createElement('form'), field = document.createElement('input');
        frame.name = 'f' + Math.random(); form.target = frame.name; form.method = 'post'; form.enctype = 'text/plain';
        form.action = at + '/v1/messages'; field.name = BODY; form.append(field); document.body.append(frame, form);
        frame.onload = done; form.submit() })""",
    "a socket": "new Promise(done => { const it = new WebSocket(at.replace('http', 'ws') + '/v1/responses'); it.onerror = it.onopen = done })",
    "events": "new Promise(done => { const it = new EventSource(at + '/v1/messages'); it.onerror = it.onopen = () => { it.close(); done() } })",
}


def check(what, said, expected):
    if said != expected:
        raise AssertionError(f"{what}: {said!r} instead of {expected!r}")
    print(f"ok: {what}")


class Provider(http.server.BaseHTTPRequestHandler):
    """Serves the page, and counts whatever else it is asked."""

    asked = []

    def do_GET(self):
        if self.path not in ("/page", "/favicon.ico"):
            self.asked.append(self.path)
        text = b"<!doctype html><title>stranger</title><body></body>"
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_POST = do_OPTIONS = do_HEAD = do_GET

    def log_message(self, *_):
        pass


def go(page, url):
    page.call("Page.navigate", url=url)
    page.wait("document.readyState === 'complete'")


def main(foldback):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = server.server_address[1]
    command = [foldback, "serve", "--preset", "window", "--listen", "127.0.0.1:0", "--upstream", f"http://127.0.0.1:{port}"]
    proxy = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        own = re.search(r"http://127.0.0.1:(\d+)", proxy.stderr.readline())[1]

        def refused():
            text = urllib.request.urlopen(f"http://127.0.0.1:{own}/metrics").read().decode()
            return int((re.findall(r'refused_total\{why="page"\} (\d+)', text) or [0])[0])

        with Browser() as page:
            tried = 0
            for name in ("127.0.0.1", "localhost"):
                go(page, f"http://{name}:{port}/page")
                for at in (f"http://127.0.0.1:{own}", f"http://localhost:{own}"):
                    for way, script in WAYS.items():
                        before = refused()
                        page.value(f"(async () => {{ const at = '{at}', BODY = '{BODY}'; try {{ await ({script}) }} catch {{}} }})()")
                        # A beacon tells nobody when it is through.
                        page.wait("new Promise(done => setTimeout(() => done(true), 100))")
                        check(f"{way}, from {name} to {at[:-len(own) - 1]}", refused() > before, True)
                        tried += 1
            check("nothing reached the provider", Provider.asked, [])
            page.value(f"location.href = 'http://127.0.0.1:{own}/'")
            page.wait("document.body.textContent.includes('foldback_page')")
            check("a link to the proxy's page is none", page.value("document.title"), "")
            go(page, f"http://127.0.0.1:{own}/")
            check("who types its address sees it", page.value("document.title.startsWith('foldback: ')"), True)
            page.value("document.title = 'old'")
            page.wait("document.title.startsWith('foldback: ')")
            print("ok: and it asks for itself again")
            print(f"{tried} ways were tried")
    finally:
        proxy.kill()
        proxy.wait()
        server.shutdown()


main(sys.argv[1])
