"""A scoreboard in a terminal, drawn from the retained documents of one table."""

import contextlib
import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from paho.mqtt import client as mqtt
from paho.mqtt.enums import CallbackAPIVersion

DOCUMENTS = ("status", "state", "roads")
MAX_BYTES = 65_536
COLUMNS, ROWS = 30, 6  # of the big road
MARKS = {"player": "P", "banker": "B", "tie": "T"}


class Table:
    """The latest documents of one table."""

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self.link = "no broker"  # why there is no connection; empty while there is one
        # By name: the document, when it arrived, and whether it is the broker's copy.
        self.latest: dict[str, tuple[dict[str, Any], float, bool]] = {}
        self.dropped = 0
        self.changed = threading.Event()

    def on_connect(
        self, client: mqtt.Client, _data: object, _flags: object, code: Any, *_: object
    ) -> None:
        # Subscribed here, and not once at the start: a lost connection takes them along.
        self.latest.clear()
        self.link = f"the broker refuses: {code}" if code.is_failure else ""
        client.subscribe([(f"{self.topic}/{name}", 1) for name in DOCUMENTS])

    def on_disconnect(self, *_: object) -> None:
        self.link = self.link or "no broker"

    def on_message(self, _client: object, _data: object, message: mqtt.MQTTMessage) -> None:
        name = message.topic.removeprefix(f"{self.topic}/")
        try:
            document = json.loads(message.payload[:MAX_BYTES] or "{}")  # no payload: cleared
            self.latest[name] = document, time.monotonic(), message.retain
        except (ValueError, RecursionError):  # no message may end this program
            self.dropped += 1
        self.changed.set()

    def board(self) -> str:
        """Return the board; the first line says `live`, or `STALE` and why."""
        (status, *_), (state, at, is_copy), (roads, *_) = (
            self.latest.get(name, ({}, 0.0, True)) for name in DOCUMENTS
        )
        try:
            stale = self.link or why_stale(status, state, time.monotonic() - at, is_copy)
            lines = rounds(state) if state else []
            if state and roads.get("session") == state["session"]:
                lines += big_road(roads["big"])
        except (AttributeError, LookupError, TypeError, ValueError):
            stale, lines = "a document is not as docs/mqtt.md says", []
        dropped = f"  ({self.dropped} messages dropped)" if self.dropped else ""
        lines.insert(0, (f"STALE: {stale}" if stale else "live") + dropped)
        # Names are text that somebody wrote: nothing in them may control the terminal.
        printable = ("".join(filter(str.isprintable, line)) for line in lines)
        return "\n".join(filter(None, printable))


def why_stale(status: dict[str, Any], state: dict[str, Any], age: float, is_copy: bool) -> str:
    """Return why the board must be greyed out; empty while the table is live."""
    if status.get("state") != "online":
        return f"the table is {status.get('state', 'unknown')}"
    if not state:
        return "the table is silent"
    if status["session"] != state["session"]:
        return "the table has started again"
    # A copy counts for less: the table may have failed together with its broker.
    if age > (state["heartbeat"] + 2 if is_copy else 3 * state["heartbeat"]):
        return "the table is silent"
    return str(state.get("alarm") or "")


def rounds(state: dict[str, Any]) -> list[str]:
    """Return round, last result, counts and alerts: as published, nothing is computed here."""
    now, last, counts = state["round"] or {"cards": []}, state["last_result"], state["counts"]
    cards = [f"{each['slot'] or '?'}:{each['card'] or '??'}" for each in now["cards"]]
    lines = [f"{state['name']}   {' '.join(cards)}"]
    if last:
        data = last["data"]
        totals = [f"{hand} {data[hand]['total']}" for hand in ("player", "banker")]
        lines += [f"round {last['round']}: {data['outcome']} ({', '.join(totals)})"]
    lines += ["  ".join(f"{name} {counts[name]}" for name in MARKS)]
    return lines + [f"ALERT {alert['data']['detail']}" for alert in state["alerts"]]


def big_road(cells: list[dict[str, Any]]) -> list[str]:
    """Return the last columns of the big road; ties on a win are marked by `/`."""
    first = max([COLUMNS - 1, *(cell["col"] for cell in cells)]) - COLUMNS + 1
    grid = [["  "] * COLUMNS for _ in range(ROWS)]
    for cell in cells:
        if cell["col"] >= first:
            mark = MARKS[cell["side"]] + ("/" if cell["ties"] else " ")
            grid[cell["row"]][cell["col"] - first] = mark
    return ["".join(row).rstrip() for row in grid]


def main() -> None:
    """Show the board until Ctrl-C."""
    try:
        setting = os.environ
        table, where = Table(setting["SHOE_TABLE"]), urlsplit(setting["SHOE_BROKER"])
        client = mqtt.Client(CallbackAPIVersion.VERSION2, protocol=mqtt.MQTTv5)
        password_file = Path(setting["SHOE_PASSWORD_FILE"])
        client.username_pw_set(setting["SHOE_USER"], password_file.read_text().split("\n")[0])
        if where.scheme == "mqtts":
            client.tls_set(setting.get("SHOE_CA_FILE") or None)
    except (KeyError, OSError) as error:
        sys.exit(f"a setting is missing or wrong: {error}: see ../table.env")
    client.on_connect, client.on_message = table.on_connect, table.on_message
    client.on_disconnect = table.on_disconnect
    client.connect_async(where.hostname or "", where.port or 1883, keepalive=10)
    client.loop_start()  # connects, and connects again, by itself
    shown, grey, clear = "", "\x1b[2m", "\x1b[0m\x1b[H\x1b[J"
    while True:
        if (now := table.board()) != shown:
            style = clear + grey * now.startswith("STALE") if sys.stdout.isatty() else ""
            print(f"{style}{now}\n", flush=True)
            shown = now
        table.changed.wait(0.5)  # silence changes the board, too
        table.changed.clear()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
