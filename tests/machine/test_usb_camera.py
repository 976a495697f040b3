"""
A USB camera: pulled out, replaced by another one, in use by a program; clips of it; and calibrated
by the guided run, with a shoe dealt before it.
"""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import cycle, zip_longest
from pathlib import Path
from typing import Any

import pytest

from drivers.simulators.camera.scene import Scene
from drivers.simulators.camera.settings import Settings
from shoe_daemon.game import DECK, Card, Coup
from tests.machine.conftest import CAMERA, CAMERA_SCENE
from tests.machine.filmed_table import FilmedTable, encoded
from tests.machine.guided_run import (
    calibrate,
    check_log,
    check_profile,
    picture_times,
)
from tests.machine.serial_table import (
    CONFIG,
    JOURNAL,
    JOURNAL_FILE,
    SITE,
    TABLE,
    UNIT,
    events_after,
    next_event,
    wait_for_event,
)
from tests.machine.usb_camera import Picture, Tear, UsbCamera
from tests.machine.virtual_machine import VirtualMachine

SERIAL = "CAM0001"
EVIDENCE = f"/var/lib/shoe-evidence/{SITE}.{TABLE}"
HOLD_THE_CAMERA = f"""
import cv2
camera = cv2.VideoCapture({CAMERA!r}, cv2.CAP_V4L2)
while camera.read()[0]:
    print("picture", flush=True)
"""


@pytest.fixture
def machine(camera_table: Path, machine_from: Callable[[Path], VirtualMachine]) -> VirtualMachine:
    """A machine with one table, whose camera is not plugged in yet."""
    return machine_from(camera_table)


@pytest.fixture
def frame() -> Callable[[], Picture]:
    """Returns the next picture of a dealt table."""

    def pictures() -> Iterator[Picture]:
        for shot in cycle(Scene(CAMERA_SCENE).frames()):
            if shot.image is not None:
                yield Picture(encoded(shot.image))

    seen = pictures()
    return lambda: next(seen)


def test_a_camera_is_pulled_out_and_replaced(
    machine: VirtualMachine, frame: Callable[[], Picture]
) -> None:
    port = machine.open_usb_port("camera")
    machine.check(f"systemctl start mosquitto {UNIT}")
    seq = wait_for_event(machine, 0, "reader_status", "down")
    for _ in range(3):
        with UsbCamera(port, frame, SERIAL, fps=2) as camera:
            seq = wait_for_event(machine, seq, "reader_status", "up")
            assert camera.sent
        seq = wait_for_event(machine, seq, "reader_status", "down")
    with UsbCamera(port, frame, "CAM0002", fps=2):
        machine.wait("test -e /dev/v4l/by-id/*CAM0002*index0")
        machine.check("sleep 10")  # the daemon looks for its camera every few seconds
        assert not any(b'"up"' in body for body in events_after(machine, seq).values())
    with UsbCamera(port, frame, SERIAL, fps=2):
        wait_for_event(machine, seq, "reader_status", "up")


def test_a_camera_in_use_by_another_program_is_taken_when_it_is_free(
    machine: VirtualMachine, frame: Callable[[], Picture]
) -> None:
    port = machine.open_usb_port("camera")
    with UsbCamera(port, frame, SERIAL, fps=2):
        machine.wait(f"test -e {CAMERA}")
        machine.check(
            "cat > /root/hold.py; setsid /opt/shoe-daemon/bin/python /root/hold.py "
            ">/root/held 2>&1 </dev/null &",
            typed=HOLD_THE_CAMERA,
        )
        machine.wait("grep -q picture /root/held")
        machine.check(f"systemctl start mosquitto {UNIT}")
        seq = wait_for_event(machine, 0, "reader_status", "down")
        machine.check("pkill -f hold.py")
        wait_for_event(machine, seq, "reader_status", "up")


def test_a_dispute_leaves_a_clip_of_this_camera(machine: VirtualMachine) -> None:
    port = machine.open_usb_port("camera")
    table = FilmedTable(CAMERA_SCENE)
    machine.check(f"systemctl start mosquitto {UNIT}")
    with UsbCamera(port, table.frame, SERIAL, fps=2):
        seq = wait_for_event(machine, 0, "reader_status", "up")
        # The pictures are too small to read the card. It lies there however long that takes.
        table.execute("lay P1 AS")
        seq = wait_for_event(machine, seq, "irregularity")
    wait_for_event(machine, seq, "reader_status", "down")
    events = [json.loads(body) for body in events_after(machine, 0).values()]
    order = f"shoe-daemon cmd acknowledge --config {CONFIG} --operator pit --reason seen"
    for event in events:
        if event["type"] == "irregularity":
            machine.check(f"{order} --irregularity {event['data']['id']}")
    machine.wait(f"ls {EVIDENCE} | grep -q webm")
    machine.check(f"systemctl stop {UNIT}")
    clips = machine.check(f"ls {EVIDENCE} | grep webm").split()
    assert clips
    verified = machine.check(f"shoe-daemon journal verify {JOURNAL} --refold --clips {EVIDENCE}")
    assert f"{len(clips)} are as they were recorded" in verified
    # The display may read it, and nobody else.
    assert machine.check(f"stat -c '%a %G' {EVIDENCE}/{clips[0]}").split() == [
        "640",
        "shoe-evidence",
    ]


SCENE = Settings(seed=3)
"""Its pictures are large enough to read the cards."""

SIZE, FPS = (SCENE.width, SCENE.height), 2
"""Few pictures: to decode one takes a seventh of a second."""

ROUNDS, INTERRUPTED = 3, 1
WAITS, DEALS_ON = 2, 3
"""After so many cards of the interrupted round the cable is pulled; the dealer waits until it is
plugged in again, or lays a card meanwhile."""

PROFILE = f"/etc/shoe-daemon/{TABLE}-camera.toml"
CALIBRATE = (
    f"shoe-daemon calibrate camera --source {CAMERA} --mode {SIZE[0]}x{SIZE[1]}@{FPS}:MJPG "
    f"--no-browser --out {PROFILE}"
)


OBSERVED = """
import sqlite3, sys
for (body,) in sqlite3.connect(sys.argv[1]).execute("SELECT body FROM observation ORDER BY id"):
    print(body)
"""
"""Prints the observations of a journal."""


class DealtRounds:
    """
    Rounds by the rules, dealt before the camera as fast as the daemon in the machine follows.

    What the daemon says is compared at once: a card or a result is the dealt one, or not known.
    """

    def __init__(self, machine: VirtualMachine, table: FilmedTable) -> None:
        self._machine, self._table = machine, table
        self._deck = random.Random(SCENE.seed).sample(DECK, len(DECK))
        self._coup: Coup | None = None
        self._seq = 0
        self.said: Counter[str] = Counter()

    def next_round(self) -> list[tuple[str, Card]]:
        """Return the cards of the next round with their places, in the order of dealing."""
        self._coup = coup = Coup.deal(self._deck)
        hands = zip_longest(coup.player.cards, coup.banker.cards)
        cards = [
            (f"{side}{n}", card)
            for n, pair in enumerate(hands, 1)
            for side, card in zip("PB", pair, strict=True)
            if card is not None
        ]
        del self._deck[: len(cards)]
        return cards

    def lay(self, slot: str, card: Card) -> None:
        """Lay a card."""
        self._table.execute(f"lay {slot} {card}")

    def wait_for_card(self, card: Card) -> None:
        """Wait until the daemon says that a card was dealt: this one, or one not read yet."""
        data = self.wait_for("card_dealt")
        assert data["card"] in {None, str(card)}
        self.said["cards read at once" if data["card"] else "later"] += 1

    def end(self) -> None:
        """Take the cards off, and wait for the end of the round."""
        self._table.execute("empty")
        data = self.wait_for("round_finished", "round_aborted")
        if "outcome" not in data:
            self.said["rounds aborted"] += 1
        elif data["partial"]:
            self.said["rounds partial"] += 1
        else:
            assert self._coup is not None
            assert data["outcome"] == self._coup.outcome.value
            assert data["player"]["cards"] == [*map(str, self._coup.player.cards)]
            assert data["banker"]["cards"] == [*map(str, self._coup.banker.cards)]
            self.said["rounds exact"] += 1

    def history(self) -> str:
        """Return what was observed, all events, and the last log, for a failed test's message."""
        observed = "\n".join(map(json.dumps, self.observed()))
        events = "\n".join(body.decode() for body in events_after(self._machine, 0).values())
        return f"\n{observed}\n{events}\n{self._machine.last_logged()}"

    def observed(self) -> list[dict[str, Any]]:
        """Return all observations."""
        found = self._machine.check(f"python3 - {JOURNAL_FILE}", typed=OBSERVED)
        return [json.loads(line) for line in found.splitlines()]

    def wait_for(self, *kinds: str, **data: str) -> dict[str, Any]:
        """Wait for the next event of one of these types with these data; return its data."""
        self._seq, found = next_event(self._machine, self._seq, *kinds, **data)
        return found

    @contextmanager
    def shown_on_failure(self) -> Iterator[None]:
        """Add the history to the message of a test that fails within the block."""
        try:
            yield
        except AssertionError as error:
            error.add_note(self.history())
            raise


def test_a_camera_is_calibrated_and_reads_rounds_through_faults(
    machine: VirtualMachine, tmp_path: Path, figure: Callable[[str, str], None]
) -> None:
    port = machine.open_usb_port("camera")
    table, began = FilmedTable(SCENE), time.monotonic()

    def camera() -> UsbCamera:
        return UsbCamera(port, table.frame, SERIAL, FPS, SIZE)

    with camera() as plugged:
        machine.wait(f"test -e {CAMERA}")
        machine.check(f"rm {PROFILE}")
        log = calibrate(machine, CALIBRATE, plugged, table)
        seconds = time.monotonic() - began
        check_log(log)
        check_profile(machine, PROFILE, SCENE, tmp_path)
        not_read = log.count("NOT read")
        figure("USB camera", f"calibration: {seconds:.0f} s; {not_read} of 19 cards not read")
        table.execute("empty", "lay P1 AS", "lay B1 KD", "lay P2 7H", "lay B2 10C")
        times = picture_times(machine, PROFILE, CAMERA)
        figure("USB camera", f"a picture of {SIZE[0]}x{SIZE[1]}: {times}")
    machine.check(f"sed -i 's/^\\[table\\]/[table]\\nhold_from = 0/' {CONFIG}")
    machine.check(f"systemctl start mosquitto {UNIT}")
    dealt = DealtRounds(machine, table)
    dealt.wait_for("reader_status", link="down")
    table.execute("empty")
    table.with_faults, began = True, time.monotonic()
    with dealt.shown_on_failure(), ExitStack() as plug:
        plug.enter_context(camera())
        dealt.wait_for("reader_status", link="up")
        for number in range(ROUNDS):
            for place, (slot, card) in enumerate(dealt.next_round()):
                if number == INTERRUPTED and place in {WAITS, DEALS_ON}:
                    plug.close()
                    dealt.wait_for("reader_status", link="down")
                    if place == DEALS_ON:
                        dealt.lay(slot, card)
                    plug.enter_context(camera())
                    dealt.wait_for("reader_status", link="up")
                if not (number == INTERRUPTED and place == DEALS_ON):
                    dealt.lay(slot, card)
                dealt.wait_for_card(card)
            dealt.end()
    seconds = time.monotonic() - began
    machine.check(f"systemctl stop {UNIT}")
    assert "unchanged up to event" in machine.check(
        f"shoe-daemon journal verify --refold {JOURNAL}"
    )
    assert dealt.said["rounds exact"] >= ROUNDS - 1, f"{dealt.said}{dealt.history()}"
    seen = [each.get("card") for each in dealt.observed() if each["type"] == "card"]
    assert None not in seen, f"a card was not read, or an empty place was one{dealt.history()}"
    said = ", ".join(f"{count} {what}" for what, count in dealt.said.items())
    torn = ", ".join(f"{table.torn[tear]} {tear.value}" for tear in Tear)
    figure(
        "USB camera",
        f"{ROUNDS} rounds in {seconds:.0f} s, 2 times unplugged: {said}; {table.late} pictures "
        f"late; torn: {torn}",
    )
