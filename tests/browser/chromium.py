"""A browser driven through a pipe: Chromium's devtools protocol with nothing but the standard library."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def find() -> str:
    """The browser's path, from $BROWSER or the usual names."""
    for name in (os.environ.get("BROWSER", ""), *NAMES):
        if name and (path := shutil.which(name)):
            return path
    sys.exit(f"no browser: install one of {', '.join(NAMES)}, or name one in $BROWSER")


class Page:
    """One page of a headless browser; collects what it logs as errors."""

    def __init__(self, url: str):
        self.errors: list[str] = []
        self._number = 0
        self._profile = tempfile.TemporaryDirectory()
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        command = [find(), "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe"]
        command += [f"--user-data-dir={self._profile.name}", "--no-first-run", "about:blank"]

        def connect() -> None:  # the protocol is on descriptors 3 and 4
            high = [os.dup(fd) for fd in (to_browser, from_browser)]
            for fd, place in zip(high, (3, 4), strict=True):
                os.dup2(fd, place)

        self._process = subprocess.Popen(
            command, close_fds=False, preexec_fn=connect, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(to_browser)
        os.close(from_browser)
        self._buffer = b""
        self._session: str | None = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.open(url)

    def open(self, url: str) -> None:
        """Go there and wait until the page says that it is ready."""
        self.call("Page.navigate", url=url)
        deadline = time.monotonic() + 60
        while not self.run("document.body !== null && document.body.dataset.ready === 'true'"):
            if time.monotonic() > deadline:
                raise TimeoutError(f"the page is not ready; errors: {self.errors}")
            time.sleep(0.1)

    def run(self, expression: str) -> Any:
        """The value of a JavaScript expression."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """One call of the protocol."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            content = os.read(self._read, 1 << 20)
            if not content:
                raise RuntimeError("the browser has closed the pipe")
            self._buffer += content
        line, _, self._buffer = self._buffer.partition(b"\0")
        event = json.loads(line)
        kind, params = event.get("method"), event.get("params", {})
        if kind == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        elif kind == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.errors.append(" ".join(str(part.get("value", part.get("description"))) for part in params["args"]))
        elif kind == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.errors.append(params["entry"]["text"])
        return event

    def close(self) -> None:
        """End the browser."""
        self._process.terminate()
        self._process.wait()
        os.close(self._write)
        os.close(self._read)
        self._profile.cleanup()
