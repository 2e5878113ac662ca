"""Controls headless Chromium over the pipe of the DevTools protocol. Standard library only."""
import base64
import json
import os
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome")


def find():
    """The browser's path, or None."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """One tab. Messages end with a zero byte; the browser reads descriptor 3 and writes descriptor 4."""

    def __init__(self, width=1240, height=900):
        self.width, self.height = width, height
        self.profile = tempfile.mkdtemp(prefix="plimsoll-browser-")
        to_browser, self.sending = os.pipe()
        self.receiving, from_browser = os.pipe()

        def wire():  # through high numbers: 3 and 4 may be among the pipes' own
            os.dup2(to_browser, 50), os.dup2(from_browser, 51)
            os.dup2(50, 3), os.dup2(51, 4)

        self.process = subprocess.Popen(
            [find(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars", "--force-color-profile=srgb",
             "--remote-debugging-pipe", f"--user-data-dir={self.profile}", f"--window-size={width},{height}", "about:blank"],
            preexec_fn=wire, close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser), os.close(from_browser)
        self.buffer, self.number, self.session, self.console = b"", 0, None, []
        target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def receive(self, timeout=60):
        deadline = time.monotonic() + timeout
        while b"\0" not in self.buffer:
            if time.monotonic() > deadline:
                raise TimeoutError("the browser does not answer")
            piece = os.read(self.receiving, 1 << 20)
            if not piece:
                raise EOFError("the browser has gone")
            self.buffer += piece
        message, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(message)
        kind, values = message.get("method"), message.get("params", {})
        if kind == "Runtime.exceptionThrown":
            self.console.append("exception: " + json.dumps(values["exceptionDetails"])[:600])
        elif kind == "Runtime.consoleAPICalled" and values["type"] in ("error", "warning", "assert"):
            self.console.append(values["type"] + ": " + json.dumps(values["args"])[:600])
        elif kind == "Log.entryAdded" and values["entry"]["level"] in ("error", "warning"):
            self.console.append("log: " + values["entry"]["text"])
        return message

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.sending, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {json.dumps(result['exceptionDetails'])[:800]}")
        return result["result"].get("value")

    def wait(self, expression, seconds=30):
        deadline = time.monotonic() + seconds
        while True:
            try:
                if value := self.evaluate(expression):
                    return value
            except RuntimeError:
                pass  # between two pages
            if time.monotonic() > deadline:
                raise TimeoutError(f"never true: {expression}; console: {self.console}")
            time.sleep(0.05)

    def open(self, address):
        self.console.clear()
        self.call("Page.navigate", url=address)
        self.wait("location.href !== 'about:blank' && document.readyState === 'complete'")

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def drag(self, x, y, to_x, to_y):
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, button="left", clickCount=1)
        for part in (0.3, 0.6, 1):
            self.mouse("mouseMoved", x + (to_x - x) * part, y + (to_y - y) * part, button="left", buttons=1)
        self.mouse("mouseReleased", to_x, to_y, button="left", clickCount=1)

    def key(self, name, **more):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, **more)

    def theme(self, name):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def screenshot(self, path):
        """The whole page; the window grows to it first, as what lies outside is not always painted."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        self.call("Emulation.setDeviceMetricsOverride", width=int(size["width"]), height=int(size["height"]), deviceScaleFactor=1, mobile=False)
        self.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done, 300)))")
        data = self.call("Page.captureScreenshot", format="png")["data"]
        self.call("Emulation.setDeviceMetricsOverride", width=self.width, height=self.height, deviceScaleFactor=1, mobile=False)
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
        except (EOFError, OSError, TimeoutError, RuntimeError):
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.sending), os.close(self.receiving)
        shutil.rmtree(self.profile, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
