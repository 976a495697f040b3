"""
The scoreboards for integrators, each run as its page says: the program of docs/mqtt.md, and
those of examples/. What a reader installs first is installed once, into build/examples.
"""

from __future__ import annotations

import contextlib
import fcntl
import html
import http
import http.client
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from shoe_daemon.mqtt.topics import DEFAULT_PREFIX
from tests.brokers import free_port
from tests.browser.chrome import Watched, browse, watch
from tests.mqtt.make_examples import PAGE
from tests.mqtt.sample_broker import SampleBroker
from tests.waiting import PATIENCE, wait_for

__all__ = [
    "EXAMPLES",
    "PROJECT",
    "ROOT",
    "SITE",
    "TABLE",
    "Board",
    "Shown",
    "TerminalBoard",
    "showing",
]

PROJECT: Final = Path(__file__).parents[2]
CACHE: Final = PROJECT / "build/examples"
SITE, TABLE = "casino", "table-7"
ROOT = f"{DEFAULT_PREFIX}/{SITE}/{TABLE}"
EXAMPLES = ("python-scoreboard", "node-scoreboard", "node-red")

(PROGRAM,) = re.findall(
    r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE
)
"""The program of docs/mqtt.md."""

_INSTALLATION = re.compile(r"^.*(?:-m venv|pip install|npm ci).*\n", re.MULTILINE)
_NO_REGISTRY = re.compile("ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ENETUNREACH|ETIMEDOUT")
# A request that hangs is sent again; npm alone would wait for it for five minutes.
_NPM_PATIENCE: Final = {"npm_config_fetch_timeout": "20000", "npm_config_fetch_retries": "4"}
_NPM_LIMIT_S: Final = 200


class Shown(NamedTuple):
    """A board as people see it: greyed out or not, and its text."""

    stale: bool
    text: str


class Board:
    """
    A scoreboard in a process of its own; the program of docs/mqtt.md, of which each line is a
    picture.

    Attributes:
        output: What it has written.
    """

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.output = ""
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.output += line

    def shown(self) -> Shown | None:
        """Return what is shown now; None before the first picture."""
        lines = self.output.splitlines()
        return Shown(lines[-1].startswith("STALE"), lines[-1]) if lines else None

    def wait(self, condition: Callable[[Shown], bool], what: str) -> None:
        """Wait until a picture is shown for which this holds."""
        wait_for(lambda: self._shows(condition), what)

    def _shows(self, condition: Callable[[Shown], bool]) -> bool:
        assert self.process.poll() is None, self.output
        shown = self.shown()
        return shown is not None and condition(shown)

    def wait_fresh(self, text: str) -> None:
        self.wait(lambda shown: not shown.stale and text in shown.text, f"{text}, fresh")

    def wait_stale(self, text: str) -> None:
        self.wait(lambda shown: shown.stale and text in shown.text, f"{text}, stale")


class TerminalBoard(Board):
    """python-scoreboard: an empty line ends a picture."""

    def shown(self) -> Shown | None:
        pictures = self.output.split("\n\n")[:-1]
        return Shown(pictures[-1].startswith("STALE"), pictures[-1]) if pictures else None


class PageBoard(Board):
    """node-red: the server writes the page."""

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        super().__init__(process)
        self._port = port

    def _get(self, path: str) -> str | None:
        """Return a page; None if there is none yet."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE)
        with contextlib.suppress(OSError), contextlib.closing(connection):
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.read().decode() if answer.status == http.HTTPStatus.OK else None
        return None

    def shown(self) -> Shown | None:
        text = self._get("/scoreboard")
        if text is None:
            return None
        _, _, body = text.partition("<body")
        return Shown('class="stale"' in body.partition(">")[0], html.unescape(body))


class BrowserBoard(PageBoard):
    """node-scoreboard: a browser draws the page."""

    def __init__(self, process: subprocess.Popen[str], port: int, watched: Watched) -> None:
        super().__init__(process, port)
        self._page = watched.page

    def shown(self) -> Shown | None:
        address = f"http://127.0.0.1:{self._port}/"
        if self._page.url != address:
            if self._get("/") is None:
                return None
            self._page.goto(address)
        look = "() => [document.body.className, document.body.innerText]"
        css, text = self._page.evaluate(look)
        return Shown(css == "stale", text)


@contextmanager
def showing(
    name: str, broker: SampleBroker, folder: Path, *, ca: Path | str | None = None
) -> Iterator[Board]:
    """
    Run a scoreboard as its page says, with the account of displays.

    Args:
        name: Of `EXAMPLES`; empty for the program of docs/mqtt.md.
        broker: Whose sample it logs in at.
        folder: For a copy of the example.
        ca: The authority by which it verifies the broker, empty for those of the system; None for
            a connection without TLS.
    """
    port, password = free_port(), broker.password_file("board")
    if not name:
        where = ("127.0.0.1", str(broker.port), ROOT, "board", str(password))
        command, cwd = [sys.executable, "-c", PROGRAM, *where], folder
    else:
        plain, encrypted = (
            f"mqtt://127.0.0.1:{broker.port}",
            f"mqtts://127.0.0.1:{broker.tls_port}",
        )
        settings = {
            "SHOE_BROKER": plain if ca is None else encrypted,
            "SHOE_CA_FILE": ca or "",
            "SHOE_PASSWORD_FILE": password,
            "SHOE_PAGE_PORT": port,
        }
        cwd = _copied(name, folder, settings)
        command = ["bash", "-ec", _INSTALLATION.sub("", _commands(name))]
    with ExitStack() as stack:
        watched = None
        if name == "node-scoreboard":
            watched = stack.enter_context(watch(stack.enter_context(browse())))
        process = stack.enter_context(
            subprocess.Popen(
                command, cwd=cwd, stdout=subprocess.PIPE, text=True, start_new_session=True
            )
        )
        stack.callback(os.killpg, process.pid, signal.SIGKILL)
        if watched:
            yield BrowserBoard(process, port, watched)
        elif name == "node-red":
            yield PageBoard(process, port)
        else:
            yield TerminalBoard(process) if name else Board(process)


def _commands(name: str) -> str:
    """Return the commands of an example's page."""
    text = (PROJECT / "examples" / name / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert isinstance(block, str)
    return block


def _copied(name: str, folder: Path, settings: Mapping[str, object]) -> Path:
    """Copy an example as a reader has it, installed and with settings of its own."""
    source, target = PROJECT / "examples" / name, folder / "examples" / name
    target.mkdir(parents=True)
    for file in source.iterdir():
        if file.is_file():
            shutil.copy(file, target)
    if (source / "package.json").exists():
        (target / "node_modules").symlink_to(_installed(name))
    else:
        (target / ".venv").symlink_to(sys.prefix)
    text = (PROJECT / "examples/table.env").read_text(encoding="utf-8")
    for key, value in settings.items():
        text, count = re.subn(rf"^{key}=.*$", f"{key}={value}", text, flags=re.MULTILINE)
        assert count == 1, key
    (folder / "examples/table.env").write_text(text, encoding="utf-8")
    return folder


def _installed(name: str) -> Path:
    """Run an example's `npm ci`, once for each lock; return the packages."""
    if missing := [each for each in ("node", "npm") if shutil.which(each) is None]:
        pytest.skip(f"{' and '.join(missing)} is missing: apt-get install nodejs npm")
    source = PROJECT / "examples" / name
    lock = (source / "package-lock.json").read_bytes()
    folder = CACHE / f"{name}-{sha256(lock).hexdigest()[:12]}"
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{name}.lock").open("w") as one_at_a_time:
        fcntl.flock(one_at_a_time, fcntl.LOCK_EX)
        if not (folder / "installed").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            for file in ("package.json", "package-lock.json", ".npmrc"):
                shutil.copy(source / file, folder)
            _npm_ci(name, folder)
            (folder / "installed").touch()
    return folder / "node_modules"


def _npm_ci(name: str, folder: Path) -> None:
    """Install into a folder; skip the test, and the later ones of this run, without a registry."""
    refused = CACHE / f"{name}.refused"
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    if refused.exists() and refused.read_text("utf-8").startswith(f"{run}\n"):
        pytest.skip(refused.read_text("utf-8").removeprefix(f"{run}\n"))
    (command,) = re.findall(r"^npm ci.*$", _commands(name), re.MULTILINE)
    try:
        done = subprocess.run(
            command.split(),
            cwd=folder,
            env=os.environ | _NPM_PATIENCE,
            capture_output=True,
            text=True,
            check=False,
            timeout=_NPM_LIMIT_S,
        )
    except subprocess.TimeoutExpired:
        reason = f"no registry of npm: nothing within {_NPM_LIMIT_S} s"
    else:
        if not done.returncode:
            return
        assert _NO_REGISTRY.search(done.stderr), done.stderr
        reason = f"no registry of npm: {done.stderr.splitlines()[0]}"
    refused.write_text(f"{run}\n{reason}", "utf-8")
    pytest.skip(reason)
