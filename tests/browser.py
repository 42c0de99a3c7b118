"""A real Chromium, spoken to through two pipes: the DevTools protocol, JSON with a zero byte between."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE = 30.0  # seconds for one answer
OPTIONS = (
    "--headless=new",
    "--no-sandbox",  # tests may run as root in a container, where the sandbox cannot
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
# Chromium reads from descriptor 3 and writes to 4.
LAUNCH = (
    "import fcntl, os, sys; r, w = (fcntl.fcntl(int(one), fcntl.F_DUPFD, 10) for one in sys.argv[1:3]); "
    "os.dup2(r, 3); os.dup2(w, 4); os.execv(sys.argv[3], sys.argv[3:])"
)

# Text that is not hidden: at least 10 px high, 4.5 : 1 against what is behind it (3 : 1 for names of lines).
READABLE = """
(() => {
  const luminance = text => {
    const [r, g, b] = text.match(/[\\d.]+/g).map(Number).map(v => v / 255)
      .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const solid = c => c && /^rgb\\(/.test(c);
  const bad = [];
  const words = 'p, li, td, th, dt, dd, h1, h2, h3, figcaption, svg text, a, pre';
  for (const e of document.querySelectorAll(words)) {
    const box = e.getBoundingClientRect();
    if (!e.textContent.trim() || box.width === 0 || e.closest('.cell')) continue;
    const style = getComputedStyle(e);
    const inside = e.ownerSVGElement;
    const scale = inside ? inside.getBoundingClientRect().width / inside.viewBox.baseVal.width : 1;
    const size = parseFloat(style.fontSize) * scale;
    let behind = e;
    while (behind && !solid(getComputedStyle(behind).backgroundColor)) behind = behind.parentElement;
    const back = behind ? getComputedStyle(behind).backgroundColor : 'rgb(255, 255, 255)';
    const ink = luminance(inside ? style.fill : style.color), ground = luminance(back);
    const contrast = (Math.max(ink, ground) + 0.05) / (Math.min(ink, ground) + 0.05);
    const least = e.classList.contains('name') ? 3 : 4.5;
    if (size < 10 || contrast < least)
      bad.push([e.tagName, e.textContent.slice(0, 30), size.toFixed(1), contrast.toFixed(2)].join(' '));
  }
  return bad.slice(0, 10);
})()
"""


def found() -> str | None:
    """Where a Chromium is, if there is one."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One process, and any number of pages in it."""

    def __init__(self, process: subprocess.Popen[bytes], reads: int, writes: int) -> None:
        self.process, self.reads, self.writes = process, reads, writes
        self.buffer = b""
        self.number = 0
        self.events: list[dict[str, Any]] = []

    def send(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """Ask, and wait for the answer; events on the way are kept."""
        self.number += 1
        message: dict[str, Any] = {"id": self.number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self.writes, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + PATIENCE
        while True:
            said = self._next(until)
            if said is None:
                raise TimeoutError(f"Chromium did not answer {method} in {PATIENCE:g} s")
            if said.get("id") == self.number:
                if "error" in said:
                    raise RuntimeError(f"{method}: {said['error']}")
                return dict(said["result"])
            self.events.append(said)

    def wait(self, method: str, session: str) -> None:
        """Until an event has been seen."""
        until = time.monotonic() + PATIENCE
        while not any(e.get("method") == method and e.get("sessionId") == session for e in self.events):
            said = self._next(until)
            if said is None:
                raise TimeoutError(f"Chromium did not say {method} in {PATIENCE:g} s")
            self.events.append(said)

    def _next(self, until: float) -> dict[str, Any] | None:
        while b"\0" not in self.buffer:
            ready = select.select([self.reads], [], [], max(until - time.monotonic(), 0.0))[0]
            part = os.read(self.reads, 1 << 16) if ready else b""
            if not part:
                return None
            self.buffer += part
        text, self.buffer = self.buffer.split(b"\0", 1)
        return dict(json.loads(text))

    def open(self, path: Path, *, width: int = 1200, height: int = 900, dark: bool = False) -> Page:
        """A page at a width, by day or by night, loaded to the end."""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session, target)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.ask(f"{domain}.enable")
        page.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        page.ask("Emulation.setEmulatedMedia", features=[scheme])
        page.ask("Page.navigate", url=path.resolve().as_uri())
        self.wait("Page.loadEventFired", session)
        return page


class Page:
    """One tab."""

    def __init__(self, browser: Browser, session: str, target: str) -> None:
        self.browser, self.session, self.target = browser, session, target

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command."""
        return self.browser.send(method, self.session, **parameters)

    def run(self, script: str) -> Any:
        """The value of an expression."""
        told = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in told:
            raise RuntimeError(str(told["exceptionDetails"]))
        return told["result"].get("value")

    def key(self, name: str) -> None:
        """Press a key and let it go."""
        codes = {"ArrowRight": 39, "ArrowLeft": 37, "Enter": 13, "Tab": 9, "End": 35, "Home": 36}
        more = {"text": "\r"} if name == "Enter" else {}
        common = {"key": name, "code": name, "windowsVirtualKeyCode": codes[name]}
        self.ask("Input.dispatchKeyEvent", type="keyDown", **common, **more)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **common)

    def complaints(self) -> list[str]:
        """Everything on the console, and every exception."""
        kinds = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        return [
            json.dumps(event["params"])[:400]
            for event in self.browser.events
            if event.get("sessionId") == self.session and event.get("method") in kinds
        ]

    def requests(self) -> list[str]:
        """Every address that was asked for."""
        return [
            event["params"]["request"]["url"]
            for event in self.browser.events
            if event.get("sessionId") == self.session and event.get("method") == "Network.requestWillBeSent"
        ]

    def picture(self, path: Path) -> None:
        """The whole page as PNG."""
        told = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(told["data"]))

    def close(self) -> None:
        """Close the tab."""
        self.browser.send("Target.closeTarget", targetId=self.target)


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """A Chromium that ends with the block; `folder` is for its profile."""
    path = found()
    assert path is not None
    to_child, from_us = os.pipe()
    from_child, by_child = os.pipe()
    command = [sys.executable, "-c", LAUNCH, str(to_child), str(by_child), path, *OPTIONS]
    process = subprocess.Popen(
        [*command, f"--user-data-dir={folder}"],
        pass_fds=(to_child, by_child),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "HOME": str(folder)},
    )
    os.close(to_child)
    os.close(by_child)
    one = Browser(process, from_child, from_us)
    try:
        yield one
    finally:
        try:
            one.send("Browser.close")
            process.wait(10)
        except (OSError, TimeoutError, RuntimeError, subprocess.TimeoutExpired):
            process.kill()
            process.wait()
        os.close(from_us)
        os.close(from_child)
