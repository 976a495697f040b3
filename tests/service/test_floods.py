"""Floods on a reader's line: what is kept, what is counted, and that no card is lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest
from structlog.testing import capture_logs

from bench import flood_growth
from bench.flood_growth import FLOODS, Flood
from drivers import Frame, FrameKind, create_driver
from drivers.angel_eye_ii.codec import Report
from drivers.angel_eye_ii.decoder import face_code, place_code
from shoe_daemon.game.cards import DECK, Card
from shoe_daemon.game.coup import Slot
from shoe_daemon.journal import JournalReader, JournalUnwritable
from shoe_daemon.service import floods
from shoe_daemon.table import observations as seen
from tests.chaos import journal_checks
from tests.service.daemon_process import cli, configure
from tests.service.test_processing_core import Bench, bench
from tests.service.test_state_publisher import Hall
from tests.volume import sample, volume

__all__ = ["bench"]

CARDS: tuple[seen.Observation, ...] = (
    seen.CardDrawn(card=Card("4S")),
    seen.CardDrawn(),
    seen.Disclosed(slot=Slot.P1, card=Card("4S")),
    seen.Withdrawn(),
    seen.Carried(),
    seen.Placed(slot=Slot.P1, card=Card("4S")),
)
OTHERS: tuple[seen.Observation, ...] = (
    seen.Unreadable(),
    seen.Result(outcome="player"),
    seen.TableCleared(),
    seen.Booted(),
    seen.NoMoreBets(),
    seen.Command(name="reveal"),
    seen.DeviceError(),
    seen.DeviceErrorCleared(),
    seen.Lock(locked=True),
    seen.Standby(),
    seen.Gap(),
)
_EVERY_CARD = (seen.CardDrawn, seen.Disclosed, seen.Withdrawn, seen.Carried, seen.Placed)


class Sent(NamedTuple):
    """A frame of a reader, in the order of its arrival."""

    source: str
    raw: bytes
    has_card: bool


class Kept(NamedTuple):
    """A capture, or a flood's gap, in the order of the journal."""

    source: str | None
    raw: bytes
    gap: seen.Gap | None


def journaled(journal: Path) -> list[Kept]:
    """Return the captures and the gaps of floods in their order."""
    with JournalReader(journal) as reader:
        rows = [
            (float(row.id), Kept(row.observation.source, b"", row.observation))
            for row in reader.observation_rows(1 << 40)
            if isinstance(row.observation, seen.Gap)
            and row.observation.detail is seen.GapDetail.FLOOD
        ]
        rows += [
            (each.after + 0.1 + each.id / 1e9, Kept(each.source, each.raw, None))
            for each in reader.captures(1 << 40)
        ]
    return [kept for _, kept in sorted(rows, key=lambda row: row[0])]


def account(sent: list[Sent], kept: list[Kept]) -> None:
    """Prove that every frame is in the journal, or counted and hashed by a gap at its place."""
    waiting = {
        each.source: [other for other in sent if other.source == each.source] for each in sent
    }
    places = {id(each): place for place, each in enumerate(sent)}
    for each in kept:
        queue = waiting[each.source or ""]
        if each.gap is None:
            frame = queue.pop(0)
            assert frame.raw == each.raw
            # What came before it is in the journal before it, whichever reader sent it.
            first = min(
                (places[id(left[0])] for left in waiting.values() if left), default=1 << 60
            )
            assert first > places[id(frame)]
        else:
            assert each.gap.count
            omitted = [queue.pop(0) for _ in range(each.gap.count)]
            assert not any(frame.has_card for frame in omitted), "a card was merged"
            assert each.gap.sha256 == sha256(b"".join(f.raw for f in omitted)).hexdigest()
    assert not any(waiting.values())


def frames(
    random: Random, count: int
) -> Iterator[tuple[float, str, tuple[seen.Observation, ...]]]:
    """Yield the pause before a frame, its reader and its observations."""
    pace = 0.01
    for _ in range(count):
        if random.random() < 0.01:
            pace = random.choice((0.0001, 0.01, 0.2, 2.0))
        said: list[seen.Observation] = []
        if random.random() < 0.02:
            said.append(random.choice(CARDS))
        while random.random() < 0.4:
            said.insert(0, random.choice(OTHERS))
        yield random.random() * 2 * pace, random.choice(("shoe", "shoe", "buttons")), tuple(said)


@pytest.mark.parametrize("seed", range(2, volume(3, 5)))
def test_every_frame_is_kept_or_counted_at_its_place_and_no_card_is_merged(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(seed)
    bench = Bench(configure(tmp_path / "table"))
    append, sent, batch = bench.core.journal.append, list[Sent](), list[tuple[str, Frame]]()

    def fails_sometimes(entries: object) -> object:
        if random.random() < 0.03:
            raise JournalUnwritable("the disk is full")
        return append(entries)  # type: ignore[arg-type]

    monkeypatch.setattr(bench.core.journal, "append", fails_sometimes)

    def until_written(write: object, *arguments: object) -> None:
        while True:
            try:
                write(*arguments)  # type: ignore[operator]
            except JournalUnwritable:
                continue
            return

    begin = bench.monotonic
    for number, (pause, source, said) in enumerate(frames(random, 2000)):
        bench.wall += int(pause * 1_000_000)
        bench.monotonic += pause
        raw = b"%d " % number
        sent.append(Sent(source, raw, any(isinstance(each, _EVERY_CARD) for each in said)))
        batch.append((source, Frame(raw, FrameKind.FRAME, said, bench.monotonic)))
        if random.random() < 0.2:
            until_written(bench.core.process, batch)
            batch.clear()
        if random.random() < 0.05:
            until_written(bench.core.process_deadlines)
    until_written(bench.core.process, batch)
    bench.monotonic += 2
    until_written(bench.core.process_deadlines)
    bench.close()
    kept = journaled(bench.journal)
    account(sent, kept)
    whole, cards = Counter(each.gap is None for each in kept), sum(each.has_card for each in sent)
    most = 2 * 2 * floods.MAX_SINGLE * (1 + bench.monotonic - begin + cards) + cards
    assert whole[False] > 0
    assert whole[True] < min(most, len(sent))
    journal_checks.check_replay(bench.journal, tmp_path)


CARD_BYTES: dict[str, Callable[[Card], bytes]] = {
    "angel-eye-ii": lambda card: Report(
        5, "D", bytes((place_code(Slot.P1), face_code(card)))
    ).to_bytes(),
    "bee-tek": lambda card: f"[Game]<Card:{card}>".encode(),
    "line-scanner": lambda card: f"{card}\r".encode(),
    "json-lines": lambda card: f'{{"type":"card","card":"{card}"}}\n'.encode(),
}
PORTS = {"mqtt-camera": "mqtt://127.0.0.1/cards", "keyboard": "/dev/input/scanner"}


def _config(flood: Flood) -> str:
    options = "".join(
        f"{key} = {str(value).lower() if isinstance(value, bool) else value}\n"
        for key, value in flood.options.items()
    )
    port = PORTS.get(flood.driver, "/dev/ttyS9")
    reader = f'[[reader]]\nid = "shoe"\ndriver = "{flood.driver}"\nport = "{port}"\n'
    return f"{reader}[reader.options]\n{options}"


@pytest.mark.parametrize(
    "flood", sample(FLOODS, 2), ids=lambda flood: f"{flood.driver}: {flood.says}"
)
def test_a_flood_costs_a_known_number_of_bytes_and_verifies(tmp_path: Path, flood: Flood) -> None:
    text = "" if flood.driver == "camera" else _config(flood)
    bench = Bench(configure(tmp_path / "table", text))
    decoder = create_driver(flood.driver, flood.options).decoder()
    rate = flood_growth.BYTES_PER_S // len(b"".join(flood.pieces))
    dealt, cards = list[Card](), iter(DECK)
    make_card = CARD_BYTES.get(flood.driver)
    size = bench.journal.stat().st_size
    for tick in range(60):
        data = b"".join(flood.pieces) * (rate // 10)
        if tick % 10 == 9 and make_card is not None:
            dealt.append(next(cards))
            data += make_card(dealt[-1]) + b"".join(flood.pieces)
        batch = [("shoe", each) for each in decoder.feed(data, bench.monotonic)]
        bench.core.process(batch)
        bench.core.count_rejected(batch)
        bench.pass_by(0.1)
    bench.pass_by(2)
    bench.close()
    # A second has twice ten frames, and ten more after its card.
    grown = (bench.journal.stat().st_size - size) * 600
    assert grown < 150_000_000, f"{grown / 1e6:.0f} MB in an hour"
    with JournalReader(bench.journal) as reader:
        rows = list(reader.observations())
    drawn = [each.card for each in rows if isinstance(each, seen.CardDrawn) and each.card]
    assert drawn == dealt
    gaps = [each for each in rows if isinstance(each, seen.Gap) and each.count]
    assert len(gaps) <= 6 + 1 + len(dealt)
    journal_checks.check_replay(bench.journal, tmp_path)
    answer = cli("journal", "verify", "--refold", bench.journal)
    assert answer.exit_code == 0, answer.output


def test_a_line_that_is_lost_at_the_pace_of_its_reader_is_no_flood(bench: Bench) -> None:
    for _ in range(200):
        bench.core.process([("shoe", each) for each in flood_growth.flapping(bench.monotonic)])
        bench.pass_by(0.05)
    assert not [line for line in bench.log() if line.get("detail") == "flood"]


def test_a_witness_is_never_counted_among_floods(bench: Bench) -> None:
    lines = [b'{"say":"no_clip"} %d' % number for number in range(40)]
    for line in lines:
        bench.core.process([("witness/pit", Frame(line, FrameKind.FRAME, (), bench.monotonic))])
    assert [each.raw for each in journaled(bench.journal)] == lines


def test_a_result_is_not_hidden_by_errors_and_its_round_is_partial(bench: Bench) -> None:
    bench.deal("P1:9S", "B1:2H")
    for _ in range(300):
        bench.see(seen.DeviceError())
    bench.deal("P2:KD", "B2:3C")
    for _ in range(300):
        bench.see(seen.Standby())
    bench.see(seen.Result(outcome="player"))
    types = [line["type"] for line in bench.log()]
    assert types[types.index("gap", 3) :] == [
        *("gap", "card", "card"),
        *(["standby"] * 10),
        *("gap", "result"),
    ]
    events = journal_checks.stored_events(bench.journal)
    (finished,) = [each for each in events if each["type"] == "round_finished"]
    assert finished["data"]["partial"], "an omitted frame may have been of this round"


def test_an_order_and_a_deadline_come_after_the_gap_of_what_was_before_them(
    tmp_path: Path,
) -> None:
    bench = Bench(configure(tmp_path / "table", 'house = "chickasaw"'))
    bench.deal("P1:2S", "B1:KH", "P2:5D", "B2:9C")
    for _ in range(20):
        bench.see(seen.Standby())
    bench.core.judge(seen.Command(name="hold", operator="ann", id="a"))
    for _ in range(20):
        bench.see(seen.Lock(locked=True))
    bench.pass_by(60)
    bench.close()
    types = [line["type"] for line in bench.log()]
    assert types[-4:] == ["gap", "command", "gap", "tick"]


def test_an_alarm_states_the_rate_until_the_flood_is_over(tmp_path: Path) -> None:
    hall = Hall(configure(tmp_path / "table"))
    alarms = []
    with capture_logs() as lines:
        for _ in range(300):
            hall.pass_by(0.01)
            hall.core.process(
                [("shoe", Frame(b"x", FrameKind.FRAME, (), hall.monotonic)) for _ in range(2)]
            )
            hall.bulletin.publish_devices(blocked=False)
            alarms.append(hall.publisher.last("state")["alarm"])
    assert [line["event"] for line in lines] == ["reader_flood"], "a line a minute"
    assert alarms[0] is None
    state = hall.publisher.last("state")
    assert state["detail_code"] == "reader_flood"
    assert state["detail_values"]["reader"] == "shoe"
    assert 190 <= state["detail_values"]["rate"] <= 210
    hall.pass_by(11)
    hall.bulletin.publish_devices(blocked=False)
    assert hall.publisher.last("state")["alarm"] is None
    hall.close()
