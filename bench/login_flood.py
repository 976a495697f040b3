"""
A supervisor's order during a flood of log-ins: `python -m bench.login_flood`.

Measured is the time of an order with a PIN in a running session, through a display, a real broker
and a daemon: alone, and while sixty strangers send wrong PINs at once. Every PIN is checked
with the usual cost of argon2.

Aim: strangers delay a running session by less than one further check.
"""

from __future__ import annotations

import argparse
import http.client
import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any, Final

from bench.harness import (
    child_processes,
    configuration,
    free_port,
    is_listening,
    median_and_range,
    mosquitto,
    running_daemon,
    wait_for,
)
from shoe_daemon.operators import hash_pin

_PIN: Final = "918273"
_STRANGERS: Final = 60
_ids = count()


class _Browser:
    """A browser of an operator or a stranger, with an address of its own."""

    def __init__(self, port: int, name: str, address: str) -> None:
        self._port, self._name, self._address = port, name, address
        self._headers = {
            "Content-Type": "application/json",
            "Origin": f"http://127.0.0.1:{port}",
        }

    def post(self, path: str, facts: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        line = http.client.HTTPConnection(
            "127.0.0.1", self._port, timeout=60, source_address=(self._address, 0)
        )
        line.request("POST", path, json.dumps(facts), self._headers)
        answer = line.getresponse()
        if cookie := answer.headers["set-cookie"]:
            self._headers["Cookie"] = cookie.partition(";")[0]
        body = json.loads(answer.read())
        line.close()
        return answer.status, body

    def log_in(self, pin: str) -> int:
        status, body = self.post("/orders/session", {"operator": self._name, "pin": pin})
        self._headers["X-CSRF-Token"] = body.get("csrf", "")
        return status

    def order(self) -> float:
        """Give an order with a PIN; return its seconds."""
        began = time.perf_counter()
        facts = {"id": f"bench-{next(_ids)}", "pin": _PIN}
        status, body = self.post("/orders/bench.table/new-shoe", facts)
        if status != http.HTTPStatus.OK or not body["ok"]:
            raise SystemExit(f"the order was refused: {status} {body}")
        return time.perf_counter() - began


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    names = [f"Maria {number}" for number in range(repeats)]
    alone, flooded, refused = [], [], 0
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        port = stack.enter_context(mosquitto(folder))
        stack.enter_context(running_daemon(configuration(folder / "bench", port, None)))
        display = _display(stack, folder, port, names)
        for operator in names:
            browser = _Browser(display, operator, "127.0.0.1")
            if (status := browser.log_in(_PIN)) != http.HTTPStatus.OK:
                sys.exit(f"the log-in was refused: {status}")
            alone.append(browser.order())
            strangers = [
                _Browser(display, operator, f"127.0.1.{number}") for number in range(_STRANGERS)
            ]
            with ThreadPoolExecutor(_STRANGERS) as threads:
                attempts = [threads.submit(each.log_in, "000000") for each in strangers]
                time.sleep(0.05)
                flooded.append(browser.order())
                refused += _refused(attempts)
    print(f"{repeats} repeats; an order with a PIN in a session; s, median [least to most]")
    print(f"  alone {median_and_range(alone)}")
    print(f"  while {_STRANGERS} strangers guess {median_and_range(flooded)}")
    print(f"  ratio {median_and_range([a / b for a, b in zip(flooded, alone, strict=True)])}")
    print(f"  of {repeats * _STRANGERS} guesses {refused} were refused at once (429)")


def _refused(attempts: list[Future[int]]) -> int:
    return sum(each.result() == http.HTTPStatus.TOO_MANY_REQUESTS for each in attempts)


def _display(stack: ExitStack, folder: Path, broker: int, names: list[str]) -> int:
    """Start a display that takes orders; return its port."""
    port = free_port()
    (folder / "operators.toml").write_text(
        "".join(f'[[operator]]\nname = "{each}"\npin = "{hash_pin(_PIN)}"\n' for each in names),
        encoding="utf-8",
    )
    config = folder / "display.toml"
    config.write_text(
        f'[mqtt]\nport = {broker}\n[display]\nlisten = "127.0.0.1:{port}"\n'
        '[display.orders]\noperators_file = "operators.toml"\n',
        encoding="utf-8",
    )
    start = stack.enter_context(child_processes())
    start(
        sys.executable,
        "-m",
        "shoe_daemon",
        "display",
        "--config",
        str(config),
        stderr=subprocess.DEVNULL,
    )
    wait_for(lambda: is_listening(port), "the display listens")

    def has_table() -> bool:
        line = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        line.request("GET", "/health")
        return bool(json.loads(line.getresponse().read())["tables"])

    wait_for(has_table, "the display has the table")
    return port


if __name__ == "__main__":
    main()
