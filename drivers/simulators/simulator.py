"""Finds the simulator of a driver, and plays its scenario on a line at any speed."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator
from importlib import import_module
from threading import Event
from typing import Any, ClassVar, Final, Protocol

from msgspec import Struct

from drivers.registry import driver_names, find_driver
from drivers.simulators.angel_eye import COPIES, Mode, Scene, Settings, Step
from drivers.simulators.lines import Line
from drivers.simulators.shoe import Fault
from shoe_daemon.errors import UserError, describe_exception

_POLL_INTERVAL_S: Final = 0.02
_MIN_UNPLUG_S: Final = 0.05


class Simulator(Protocol):
    """A simulated reader; a driver names its own as ``module:Class`` in `simulator`."""

    about: ClassVar[str]
    """Its name for people, such as ``a Bee-Tek shoe``."""

    faults: ClassVar[tuple[Fault, ...]]
    """Faults that it can have."""

    modes: ClassVar[tuple[Mode, ...]]
    """The moments at which it can report faces; the first is the usual one."""

    ends_in_silence: ClassVar[bool]
    """True if it reports no result, so that silence ends a round."""

    repeat_options: ClassVar[tuple[str, ...]]
    """Options of the driver in seconds, within which an equal card is a repeat."""

    def __init__(self, driver: Any) -> None:  # noqa: ANN401 - the driver of its own kind
        """Simulate the reader of a driver with these options."""

    def scenes(self, settings: Settings, *, once: bool) -> Iterator[Scene]:
        """Deal scene by scene; with `once`, nothing is sent twice."""

    # A simulator may also have:
    #   scanned_decks(decks: int) -> Iterator[Scene]    scans decks, for `calibrate deck`
    #   open_line(url: str) -> Line    its own kind of line, in place of a terminal or a TCP port
    #   demo_options: dict    options of the driver in the demo


def simulator_names() -> list[str]:
    """Return the names of the drivers with a simulator that can be loaded."""
    names = []
    for name in driver_names():
        with contextlib.suppress(UserError):
            names += [name] if _load(name) is not None else []
    return names


def find_simulator(name: str) -> type[Simulator]:
    """
    Import the simulator of a driver.

    Raises:
        UserError: There is no such driver, or it has no simulator, or that cannot be loaded.
    """
    found = _load(name)
    if found is None:
        names = ", ".join(simulator_names())
        raise UserError(f"driver {name!r} has no simulator; expected one of {names}")
    return found


def _load(name: str) -> type[Simulator] | None:
    """
    Import the simulator of a driver; None if it names none.

    Raises:
        UserError: The driver or its simulator cannot be loaded.
    """
    where = find_driver(name).simulator
    if not where:
        return None
    place = f"driver {name!r}: simulator {where!r}"
    module, _, kind = where.partition(":")
    try:
        found: type[Simulator] = getattr(import_module(module), kind)
    except Exception as error:
        # A driver of another author may raise anything.
        raise UserError(f"{place} cannot be loaded: {describe_exception(error)}") from error
    for part in ("about", "faults", "modes", "scenes"):
        if not hasattr(found, part):
            raise UserError(f"{place} has no {part}")
    return found


class Pace(Struct, frozen=True):
    """
    The speed of playback.

    Attributes:
        speed: Multiple of real time; 0 as fast as the reader accepts.
        copies: Copies of each report, 1 or more.
        warm_up: First rounds, which are played as at speed 0.
    """

    speed: float = 1.0
    copies: int = COPIES
    warm_up: int = 0


def play(scenes: Iterable[Scene], line: Line, pace: Pace, stopping: Event) -> Iterator[Scene]:
    """
    Play scenes until they end or `stopping` is set; yield each scene when it is over.

    Playback starts when a reader is ready. At speed 0 it also waits whenever no reader is
    connected; at other speeds the time continues, and reports without a reader are lost.
    """
    player = _Player(line, pace, stopping)
    player.wait_for_listener()
    rounds, last = 0, None
    for scene in scenes:
        if scene.round is not None and scene.round is not last:
            rounds, last = rounds + 1, scene.round
        player.at_once = not pace.speed or rounds <= pace.warm_up != 0
        for step in scene.steps:
            player.perform(step)
            if stopping.is_set():
                return
        yield scene
    line.drain(stopping)


class _Player:
    def __init__(self, line: Line, pace: Pace, stopping: Event) -> None:
        self._line = line
        self._pace = pace
        self._stopping = stopping
        self._began: float | None = None
        self.at_once = False

    def perform(self, step: Step) -> None:
        """Perform one step at its time."""
        if step.unplugged:
            self._unplug(step)
        for at, data in step.writes(self._pace.copies):
            self._wait_until(at)
            if self.at_once and not self._line.is_open():
                self.wait_for_listener()
            self._line.send(data, self._stopping)

    def wait_for_listener(self) -> None:
        """Wait until a reader is ready."""
        while not self._line.is_ready() and not self._stopping.wait(_POLL_INTERVAL_S):
            pass

    def _unplug(self, step: Step) -> None:
        self._wait_until(step.at)
        self._line.drain(self._stopping)
        self._line.unplug()
        if self.at_once:
            self._stopping.wait(_MIN_UNPLUG_S)
        else:
            self._wait_until(step.at + step.unplugged)
        self._line.plug()

    def _wait_until(self, at: float) -> None:
        if self.at_once:
            return
        now = time.monotonic()
        if self._began is None:
            self._began = now - at / self._pace.speed
        self._stopping.wait(max(0.0, self._began + at / self._pace.speed - now))
