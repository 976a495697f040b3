"""
A table with a witness: a clip of each dispute, whose hash the journal has, and never a reason to
wait.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import msgspec
import pytest

from shoe_daemon.game.coup import Outcome
from shoe_daemon.journal import JournalReader
from shoe_daemon.journal.clips import ClipRecord, clip_records
from tests.brokers import Listener, Mosquitto
from tests.camera.fake_cameras import NetworkCamera, Visit
from tests.service.conftest import Run
from tests.service.daemon_process import QUICK, DaemonProcess, Shoe, cli, configure
from tests.volume import volume
from tests.waiting import wait_for

pytestmark = pytest.mark.mosquitto

NATURAL = ("P1:9S", "B1:2H", "P2:KD", "B2:TC")
EXCESS = "P3:5H"


@pytest.fixture
def camera() -> Iterator[NetworkCamera]:
    def behave(visit: Visit) -> None:
        visit.answer()
        visit.pictures()

    with NetworkCamera(behave) as camera:
        yield camera


def with_witness(camera: NetworkCamera) -> str:
    source = camera.url.removeprefix("camera:")
    return f'[[witness]]\nid = "pit"\nsource = "{source}"\nbefore = 1\nafter = 0\n'


def records(daemon: DaemonProcess) -> list[ClipRecord]:
    with JournalReader(daemon.journal) as reader:
        return list(clip_records(reader))


def ready(daemon: DaemonProcess, shoe: Shoe) -> None:
    daemon.wait_ready()
    shoe.wait_heard()
    wait_for(lambda: "witness_up" in daemon.log.read_text(), "pictures of the camera")


def order(daemon: DaemonProcess, verb: str, *options: object) -> bool:
    """Give an order; False if the table refuses it."""
    given = ("--config", daemon.config, "--operator", "Kim", "--reason", "seen")
    return cli("cmd", verb, *given, *options).exit_code == 0


def misdeal_and_decide(daemon: DaemonProcess, shoe: Shoe) -> None:
    """Deal a card too many, decide it, and wait for the clip's record."""
    shoe.say("S")
    shoe.draw(*NATURAL, EXCESS)
    wait_for(lambda: order(daemon, "acknowledge"), "the decision")
    wait_for(lambda: records(daemon), "the record of the clip")
    shoe.call(Outcome.PLAYER)


def test_a_dispute_leaves_a_clip_that_the_journal_proves(
    tmp_path: Path, run: Run, mosquitto: Mosquitto, shoe: Shoe, camera: NetworkCamera
) -> None:
    config = configure(tmp_path / "t", with_witness(camera), port=mosquitto.port, line=shoe.link)
    daemon = run(config, patch=QUICK)
    ready(daemon, shoe)
    misdeal_and_decide(daemon, shoe)
    assert daemon.stop() == 0
    record, *more = records(daemon)
    assert record.say == "clip"
    assert record.causes[0].kind == "excess_card"
    folder = daemon.journal.parent / "evidence"
    verify = ("journal", "verify", daemon.journal, "--refold", "--clips", folder)
    good = cli(*verify)
    assert good.exit_code == 0, good.output
    assert f"{1 + len(more)} are as they were recorded" in good.output
    assert "  not proved" not in good.output

    clip = folder / str(record.file)
    content = clip.read_bytes()
    clip.write_bytes(content[:-1000])
    changed = cli(*verify)
    assert changed.exit_code == 1
    assert "changed" in changed.output
    assert clip.name in changed.output
    clip.write_bytes(content)
    foreign = folder / "20260101-120000.000-pit-8s-0123456789abcdef.webm"
    foreign.write_bytes(content)
    stranger = cli(*verify)
    assert stranger.exit_code == 1
    assert f"{foreign.name} is not in the journal" in stranger.output
    foreign.unlink()
    clip.unlink()
    gone = cli(*verify)
    assert gone.exit_code == 0
    assert "1 are no longer there" in gone.output


def test_a_table_on_hold_has_a_clip(  # noqa: PLR0913, PLR0917 - fixtures
    tmp_path: Path,
    run: Run,
    mosquitto: Mosquitto,
    listener: Listener,
    shoe: Shoe,
    camera: NetworkCamera,
) -> None:
    config = configure(tmp_path / "t", with_witness(camera), port=mosquitto.port, line=shoe.link)
    daemon = run(config, patch=QUICK)
    ready(daemon, shoe)
    shoe.say("S")
    shoe.draw("P1:9S")
    listener.wait("event/card_dealt")
    wait_for(lambda: order(daemon, "hold"), "the hold")
    assert order(daemon, "resume")
    wait_for(lambda: records(daemon), "the record of the clip")
    assert daemon.stop() == 0
    (record,) = records(daemon)
    assert [(each.kind, each.shoe, each.round) for each in record.causes] == [("on_hold", 1, 1)]
    assert (record.say, record.cut) == ("clip", None)


def test_a_camera_that_is_gone_is_in_the_status_and_the_table_goes_on(
    tmp_path: Path, run: Run, mosquitto: Mosquitto, listener: Listener, shoe: Shoe
) -> None:
    with NetworkCamera(lambda visit: visit.wait()) as camera:
        text = with_witness(camera)
    config = configure(tmp_path / "t", text, port=mosquitto.port, line=shoe.link)
    daemon = run(config, patch=QUICK).wait_ready()
    wait_for(lambda: "witness pit: " in daemon.manager.status, "the status")
    shoe.wait_heard()
    shoe.say("S")
    shoe.draw(*NATURAL)
    shoe.call(Outcome.PLAYER)
    listener.wait("event/round_finished")
    shoe.say("S")
    shoe.draw(*NATURAL, EXCESS)
    listener.wait("event/irregularity")
    assert daemon.stop() == 0
    assert [each.say for each in records(daemon)] == ["no_clip"]


def test_without_the_packages_the_table_goes_on_and_says_so(
    tmp_path: Path, run: Run, mosquitto: Mosquitto, listener: Listener, shoe: Shoe
) -> None:
    text = '[[witness]]\nsource = "rtsp://127.0.0.1:9/1"\n'
    config = configure(tmp_path / "t", text, port=mosquitto.port, line=shoe.link)
    daemon = run(config, patch=f"import sys\nsys.modules['av'] = None\n{QUICK}").wait_ready()
    wait_for(lambda: "no clips: clips need OpenCV" in daemon.manager.status, "the status")
    shoe.wait_heard()
    shoe.say("S")
    shoe.draw(*NATURAL)
    shoe.call(Outcome.PLAYER)
    listener.wait("event/round_finished")
    assert daemon.stop() == 0


_ROUNDS = {
    "lawful": (NATURAL, Outcome.PLAYER),
    "excess card": ((*NATURAL, EXCESS), Outcome.PLAYER),
    "missing draw": (("P1:6S", "B1:2H", "P2:KD", "B2:3C"), Outcome.PLAYER),
    "unreadable": (("P1:9S", "B1:", "P2:KD", "B2:TC"), Outcome.PLAYER),
    "wrong result": (NATURAL, Outcome.BANKER),
}


def test_each_irregularity_of_many_rounds_is_in_a_clip(
    tmp_path: Path, run: Run, mosquitto: Mosquitto, shoe: Shoe, camera: NetworkCamera
) -> None:
    config = configure(tmp_path / "t", with_witness(camera), port=mosquitto.port, line=shoe.link)
    daemon = run(config, patch=QUICK)
    ready(daemon, shoe)
    rng = random.Random(14)
    with JournalReader(daemon.journal) as reader:
        for number in range(volume(6, 60)):
            kind = rng.choice(list(_ROUNDS)) if number else "excess card"
            cards, outcome = _ROUNDS[kind]
            before = reader.head().seq
            shoe.say("S")
            shoe.draw(*cards)
            shoe.call(outcome)
            wait_for(partial(settled, daemon, reader, before), f"the end of {kind}")
        assert daemon.stop() == 0
        events = [msgspec.json.decode(line) for line in reader.event_lines()]
    raised = {e["data"]["id"] for e in events if e["type"].endswith("irregularity")}
    disputed = {
        e["seq"] for e in events if e["type"] in {"round_held", "round_voided", "card_corrected"}
    }
    found = records(daemon)
    shown = {cause.seq for each in found for cause in each.causes}
    assert len(raised) >= volume(2, 24)
    assert shown >= raised | disputed
    # A loaded computer may have too few pictures of a moment: then that is said.
    clips = [each for each in found if each.say == "clip"]
    assert {each.say for each in found} <= {"clip", "no_clip"}
    assert len(clips) >= 0.5 * len(found)
    good = cli("journal", "verify", daemon.journal, "--clips", daemon.journal.parent / "evidence")
    assert good.exit_code == 0, good.output
    assert f"{len(clips)} are as they were recorded" in good.output


def settled(daemon: DaemonProcess, reader: JournalReader, before: int) -> bool:
    """Decide what is open since an event; return whether the round has ended with nothing open."""
    events = [msgspec.json.decode(each.body) for each in reader.events(before, 100)]
    raised = {each["data"]["id"] for each in events if each["type"] == "irregularity"}
    closed = {each["data"]["id"] for each in events if each["type"] == "irregularity_closed"}
    for number in raised - closed:
        order(daemon, "acknowledge", "--irregularity", number)
    ends = {"round_finished", "round_voided", "round_aborted"} & {each["type"] for each in events}
    if raised and raised == closed and not ends:
        order(daemon, "void-round")  # the missing card does not come any more
    return bool(ends) and raised == closed
