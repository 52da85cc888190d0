"""A Chromium that is driven over its pipe (DevTools protocol): real key presses and clicks, nothing to install."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"]
# Seconds after which an answer or a state of the page no longer comes.
PATIENCE = 60

KEYS = {
    "Backspace": ("Backspace", 8, ""),
    "Enter": ("Enter", 13, "\r"),
    "Tab": ("Tab", 9, ""),
    "Escape": ("Escape", 27, ""),
    "ArrowRight": ("ArrowRight", 39, ""),
    "ArrowDown": ("ArrowDown", 40, ""),
    " ": ("Space", 32, " "),
}
SHIFT = 8
CONTROL = 2


def program():
    """The path of an installed Chromium, or None."""
    return next((found for found in map(shutil.which, NAMES) if found), None)


class Browser:
    """One tab."""

    def __init__(self, width=1400, height=1000, dark=False):
        self.profile = tempfile.mkdtemp(prefix="foldback-page-")
        self.downloads = os.path.join(self.profile, "downloads")
        # Chromium reads commands from descriptor 3 and writes answers to 4.
        commands, self.out = os.pipe()
        self.into, answers = os.pipe()
        for end in (commands, answers):
            os.set_inheritable(end, True)
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars"]
        arguments = [program(), *options, f"--user-data-dir={self.profile}", "--remote-debugging-pipe", "about:blank"]
        pipes = f'exec "$@" 3<&{commands} 4>&{answers}'
        self.process = subprocess.Popen(
            ["sh", "-c", pipes, "sh", *arguments],
            pass_fds=(commands, answers),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands)
        os.close(answers)
        self.number, self.buffer, self.session = 0, b"", None
        self.errors = []
        target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=self.downloads, browser=True)
        self.size(width, height)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=scheme)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        os.close(self.out)
        os.close(self.into)
        shutil.rmtree(self.profile, ignore_errors=True)

    # ---- the protocol ----

    def read(self, until):
        """The next message."""
        while b"\0" not in self.buffer:
            if not select.select([self.into], [], [], max(0, until - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            more = os.read(self.into, 1 << 20)
            if not more:
                raise EOFError("the browser is gone")
            self.buffer += more
        message, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(message)
        if message.get("method") == "Runtime.exceptionThrown":
            self.errors.append(message["params"]["exceptionDetails"])
        if message.get("method") == "Log.entryAdded" and message["params"]["entry"]["level"] == "error":
            self.errors.append(message["params"]["entry"])
        return message

    def call(self, method, browser=False, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session and not browser:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + PATIENCE
        while True:
            answer = self.read(until)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    # ---- the page ----

    def open(self, path, fragment=""):
        self.call("Page.navigate", url=f"file://{os.path.abspath(path)}{fragment}")
        self.wait("document.readyState === 'complete'")

    def size(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']['exception'].get('description')}")
        return result["result"].get("value")

    def wait(self, expression):
        until = time.monotonic() + PATIENCE
        while True:
            try:
                if self.value(expression):
                    return
            except RuntimeError:
                # A page that is just being left has nothing to say.
                pass
            if time.monotonic() > until:
                raise TimeoutError(expression)
            time.sleep(0.02)

    def click(self, selector):
        """Presses and releases the mouse over the middle of an element that is in sight."""
        quoted = json.dumps(selector)
        place = self.value(
            f"(() => {{ const found = document.querySelector({quoted}); found.scrollIntoView({{block: 'center'}});"
            " const box = found.getClientRects()[0]; return [box.x + box.width / 2, box.y + box.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1)

    def press(self, key, modifiers=0, commands=()):
        code, number, text = KEYS.get(key, (f"Key{key.upper()}", ord(key.upper()[0]), key))
        shared = {"key": key, "code": code, "windowsVirtualKeyCode": number, "modifiers": modifiers}
        text = "" if modifiers & CONTROL else text
        down = {"type": "keyDown" if text else "rawKeyDown", "text": text, "commands": list(commands)}
        self.call("Input.dispatchKeyEvent", **shared, **down)
        self.call("Input.dispatchKeyEvent", **shared, type="keyUp")

    def type(self, text):
        for key in text:
            self.press(key)

    def downloaded(self, name):
        """The text of a file that was downloaded, once it is whole."""
        path = os.path.join(self.downloads, name)
        until = time.monotonic() + PATIENCE
        while not os.path.exists(path):
            if time.monotonic() > until:
                raise TimeoutError(f"{name} is not downloaded")
            self.value("1")
            time.sleep(0.02)
        with open(path, encoding="utf-8") as file:
            return file.read()

    def picture(self, path, whole=True):
        image = self.call("Page.captureScreenshot", captureBeyondViewport=whole, format="png")
        with open(path, "wb") as file:
            file.write(base64.b64decode(image["data"]))
