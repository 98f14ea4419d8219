"""A headless Chromium, driven through its pipe (--remote-debugging-pipe)."""

import base64
import json
import os
import select
import subprocess
import tempfile
import time

KEPT_OUT = 3, 4  # the descriptors that Chromium reads commands from and writes answers to


class Browser:
    """One page of a fresh profile. `console` and `asked` hold what it said and asked for."""

    def __init__(self, program, width=1280, height=900):
        self.folder = tempfile.TemporaryDirectory()
        to_read, self.to = os.pipe()
        self.back, to_write = os.pipe()
        self.process = subprocess.Popen(
            [
                "bash",
                "-c",
                f'exec "$0" "$@" 3<&{to_read} 4>&{to_write}',
                program,
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--remote-debugging-pipe",
                f"--user-data-dir={self.folder.name}",
                f"--window-size={width},{height}",
                "about:blank",
            ],
            pass_fds=(to_read, to_write),
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        self.number, self.rest, self.answers, self.session = 0, b"", {}, None
        self.console, self.asked = [], []
        targets = self.send("Target.getTargets")["targetInfos"]
        page = next(one for one in targets if one["type"] == "page")
        attached = self.send("Target.attachToTarget", targetId=page["targetId"], flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")

    def close(self):
        try:
            self.send("Browser.close")
        except (BrokenPipeError, EOFError):
            pass
        self.process.wait(timeout=30)
        os.close(self.to)
        os.close(self.back)
        self.folder.cleanup()

    # ---- the pipe --------------------------------------------------------------------------

    def send(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session is not None:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        own, end = self.number, time.monotonic() + 60
        while own not in self.answers:
            self.receive(end - time.monotonic())
        answer = self.answers.pop(own)
        assert "error" not in answer, (method, answer)
        return answer["result"]

    def receive(self, seconds):
        """Takes what comes within so long."""
        ready, _, _ = select.select([self.back], [], [], max(seconds, 0))
        assert ready or seconds < 5, "the browser does not answer"
        if not ready:
            return
        data = os.read(self.back, 1 << 20)
        if not data:
            raise EOFError
        *messages, self.rest = (self.rest + data).split(b"\0")
        for message in map(json.loads, messages):
            if "id" in message:
                self.answers[message["id"]] = message
            else:
                self.note(message["method"], message["params"])

    def note(self, method, parameters):
        if method == "Runtime.exceptionThrown":
            self.console.append(parameters["exceptionDetails"])
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning"):
            self.console.append(parameters)
        elif method == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.console.append(parameters["entry"])
        elif method == "Network.requestWillBeSent":
            self.asked.append(parameters["request"]["url"])

    # ---- the page --------------------------------------------------------------------------

    def open(self, address):
        self.send("Page.navigate", url="about:blank")
        self.send("Page.navigate", url=address)

    def run(self, script):
        """The value of SCRIPT, an expression; of a promise what it comes to."""
        answer = self.send(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, script, seconds=60):
        """Until SCRIPT is true; how long that took."""
        begin = time.monotonic()
        while not self.run(script):
            assert time.monotonic() - begin < seconds, script
            self.receive(0.02)
        return time.monotonic() - begin

    def size(self, width, height):
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 500,
        )

    def dark(self, dark):
        value = "dark" if dark else "light"
        self.send(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": value}],
        )

    def picture(self, file):
        shot = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        with open(file, "wb") as out:
            out.write(base64.b64decode(shot["data"]))
