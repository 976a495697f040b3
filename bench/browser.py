"""A running display, its processor time and memory, and its pages in Chromium."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from playwright.sync_api import Browser, Page, sync_playwright

from bench.harness import child_processes, free_port, wait_for

__all__ = ["KIOSK", "Cost", "Show", "chromium", "cost", "is_there", "open_page", "show"]

_BROWSERS: Final = ("chromium", "google-chrome", "chromium-browser")
_TIMEOUT_S: Final = 60_000
KIOSK: Final = {"width": 1920, "height": 1080}
_TICK: Final = os.sysconf("SC_CLK_TCK")

# Script that notes when the page draws a message. A frame requested within a frame starts after
# the first one is painted.
_NOTES: Final = """
window.drawn = {kept: false, seq: 0, board: {}, roads: {}, wanted: 0, done: null};
document.addEventListener("DOMContentLoaded", function () {
  function note(kind, seq) {
    var changed = performance.now();
    if (!window.drawn.kept) {
      return;
    }
    requestAnimationFrame(function () {
      requestAnimationFrame(function () {
        window.drawn[kind][seq] = [changed, performance.now()];
      });
    });
  }
  function notify() {
    if (window.drawn.done && window.drawn.seq >= window.drawn.wanted) {
      window.drawn.done();
      window.drawn.done = null;
    }
  }
  window.until = function (seq) {
    return new Promise(function (done) {
      window.drawn.wanted = seq;
      window.drawn.done = done;
      notify();
    });
  };
  new MutationObserver(function (list) {
    list.forEach(function (each) {
      var value = Number(document.body.getAttribute(each.attributeName));
      if (each.attributeName === "data-seq") {
        window.drawn.seq = value;
        note("board", value);
        notify();
      } else {
        note("roads", value);
      }
    });
  }).observe(document.body, {attributes: true, attributeFilter: ["data-seq", "data-roads-seq"]});
});
"""


class Show(NamedTuple):
    """A running display."""

    url: str
    process: int


@contextmanager
def show(folder: Path, broker: int) -> Iterator[Show]:
    """Run `shoe-daemon display` within the block."""
    listen = f"127.0.0.1:{free_port()}"
    command = (sys.executable, "-m", "shoe_daemon", "display")
    with child_processes() as start, (folder / "display.log").open("wb") as log:
        child: subprocess.Popen[bytes] = start(
            *command, "--broker", f"127.0.0.1:{broker}", "--listen", listen, stderr=log
        )
        wait_for(lambda: is_there(f"http://{listen}/health", '"connected":true'), "the display")
        yield Show(f"http://{listen}", child.pid)


def is_there(url: str, what: str) -> bool:
    """Return whether a page contains a text."""
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:  # noqa: S310 - our own display
            return what in answer.read().decode()
    except OSError:
        return False


class Cost(NamedTuple):
    """
    Processor seconds of a process, its resident memory, and its proportional memory (PSS) in
    megabytes.
    """

    seconds: float
    resident: float
    proportional: float


def cost(process: int) -> Cost:
    """Return the processor time and memory of a process so far."""
    folder = Path(f"/proc/{process}")
    fields = (folder / "stat").read_text(encoding="ascii").rpartition(")")[2].split()
    memory = (folder / "smaps_rollup").read_text(encoding="ascii")
    resident, proportional = (
        int(found[1]) / 1024
        for name in ("Rss", "Pss")
        if (found := re.search(rf"^{name}:\s+(\d+) kB", memory, re.MULTILINE))
    )
    return Cost((int(fields[11]) + int(fields[12])) / _TICK, resident, proportional)


@contextmanager
def chromium() -> Iterator[Browser]:
    """Run Chromium without a window."""
    program = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if program is None:
        sys.exit("a browser is missing: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--disable-gpu"])
        yield browser
        browser.close()


def open_page(browser: Browser, url: str, size: dict[str, int] = KIOSK) -> Page:
    """Open a page that notes its drawings in `window.drawn.kept`."""
    viewport: Any = size
    page = browser.new_context(viewport=viewport).new_page()
    page.set_default_timeout(_TIMEOUT_S)
    page.add_init_script(_NOTES)
    page.goto(url)
    return page
