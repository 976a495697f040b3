"""
A table in a hostile hall: a shoe in its own process, a broker, a daemon, and a subscriber.

The faults are done to it by `test_kills` and `faults`; `prove` runs all checks at the end.
"""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from drivers.simulators.angel_eye import Mode, Scenario, Settings, scenario
from shoe_daemon.journal import JournalReader
from tests.brokers import Listener, Mosquitto, Relay
from tests.chaos import journal_checks
from tests.service.daemon_process import (
    ROOT,
    SITE,
    TABLE,
    DaemonProcess,
    configure,
    simulated_shoe,
)
from tests.waiting import PATIENCE, wait_for

SPEED = 150
"""Multiple of a real table's speed: a restart of the daemon costs two rounds."""


class Recorder(Listener):
    """A listener that reconnects at once, to miss few republished messages."""

    def __init__(self, port: int) -> None:
        super().__init__(port)
        self._client.reconnect_delay_set(0.05, 0.05)  # type: ignore[arg-type]  # paho takes it


class Hall:
    """
    A shoe, a broker, a daemon, and a subscriber that keeps all messages.

    Args:
        folder: For all files.
        broker: A running broker.
        listener: Its subscriber.
        mode: How the shoe discloses its cards.
        seed: Chooses the cards and the times of faults.
        patch: Python that runs in the daemon's process before it.
        relay: The daemon's line to the broker; None for a direct one.
        options: More of the section ``[table]``, and further sections.
        keepalive: Seconds until a silent broker is noticed; None for the default.
        environment: More variables for the daemon.
    """

    def __init__(  # noqa: PLR0913 - the parts of a hall
        self,
        folder: Path,
        broker: Mosquitto,
        listener: Recorder,
        mode: Mode,
        *,
        seed: int,
        patch: str = "",
        relay: Relay | None = None,
        options: str = "",
        keepalive: int | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.broker = broker
        self.listener = listener
        self.mode = mode
        self.seed = seed
        self.chance = random.Random(f"{seed} {mode}")
        self.link = folder / "shoe"
        self.folder = folder / "table"
        self.relay = relay
        # No operator is there to acknowledge a held result.
        config = configure(
            self.folder,
            f"hold_from = 0\n{options}",
            port=broker.port if relay is None else relay.port,
            line=self.link,
            keepalive=keepalive,
        )
        self.daemon = DaemonProcess(config, patch=patch, environment=environment)
        self.journal = self.daemon.journal
        self.retained = b""

    @contextmanager
    def dealing(self) -> Iterator[Self]:
        """Deal within the block, then wait for the end; starts the daemon."""
        options = ("--mode", self.mode, "--seed", self.seed, "--speed", SPEED)
        with simulated_shoe(self.link, *options) as shoe, self.daemon:
            self.daemon.start().wait_ready()
            yield self
            self.wait(0.5)
            self.daemon.wait_ready()
            # On a slow machine no daemon may have lived long enough to see a round.
            wait_for(self._has_seen_a_round, "a whole round")
            shoe.send_signal(signal.SIGTERM)
            shoe.wait(PATIENCE)
            self._settle()

    def wait(self, most: float) -> None:
        """Wait for a random time up to `most` seconds."""
        time.sleep(self.chance.uniform(0, most))

    def kill_daemon(self) -> None:
        """Kill the daemon, restart it, and usually wait until it is ready."""
        self.daemon.kill()
        self.daemon.start()
        if self.chance.random() < 0.8:
            self.daemon.wait_ready()

    def kill_broker(self) -> None:
        """Kill the broker, restart it, and wait for all clients."""
        self.broker.kill()
        self.wait(0.2)
        self.start_broker()

    def start_broker(self) -> None:
        """Start a broker that was killed, and wait for all clients."""
        before = self.broker.log.stat().st_size
        self.broker.start()
        wait_for(lambda: self._are_back(before), "daemon and subscriber")

    def _are_back(self, before: int) -> bool:
        said = self.broker.log.read_bytes()[before:]
        return f" as shoe-{SITE}-{TABLE}-".encode() in said and b" as listener " in said

    def _settle(self) -> None:
        """Wait for the last messages, and stop the daemon."""
        self.daemon.wait_ready()
        wait_for(self._has_published_the_end, "the end of the line")
        assert self.daemon.stop() == 0
        wait_for(self._is_offline, "offline")
        # Before the checks: the message expires, and they may take longer on a slow machine.
        self.retained = self._retained_state()

    def _has_seen_a_round(self) -> bool:
        finished = (
            e for e in journal_checks.stored_events(self.journal) if e["type"] == "round_finished"
        )
        return not all(each["data"]["partial"] for each in finished)

    def _has_published_the_end(self) -> bool:
        states = self.listener.of("/state")
        if not states:
            return False
        state = states[-1].json
        with JournalReader(self.journal) as reader:
            head = reader.head().seq
        return state["seq"] == head and [each["link"] for each in state["readers"]] == ["down"]

    def _is_offline(self) -> bool:
        return bool(self.listener.of("/status")[-1].json["state"] == "offline")

    def dealt(self) -> Scenario:
        """Return what the simulator has dealt, and one round more."""
        rounds = self.link.with_suffix(".sim").read_text().count(" round ")
        return scenario(Settings(mode=self.mode, seed=self.seed, rounds=rounds + 1))

    def prove(self, what: str, began: float) -> None:
        """Run all checks, and print their figures."""
        dealt = self.dealt()
        journal_checks.check_chain(self.journal)
        journal_checks.check_nothing_is_doubled(self.journal, dealt)
        figures = journal_checks.check_rounds(journal_checks.stored_events(self.journal), dealt)
        received = journal_checks.check_received(self.journal, self.listener.messages)
        journal_checks.check_replay(self.journal, self.folder)
        journal_checks.check_state(self.journal, self.retained)
        print(  # noqa: T201 - `make chaos` shows it
            f"\n{self.mode.value} mode, {what} in {time.monotonic() - began:.0f} s: "
            f"{figures.dealt} rounds dealt, {figures.rounds} finished and right, "
            f"{figures.partial} partial, {figures.aborted} aborted, the rest not seen; "
            f"{figures.events} events, {len(received)} of them at the subscriber; "
            f"irregularities: {figures.irregularities or 'none'}"
        )
        assert figures.rounds

    def _retained_state(self) -> bytes:
        with Listener(self.broker.port, f"{ROOT}state", name="late") as late:
            return late.wait("/state")[-1].payload
