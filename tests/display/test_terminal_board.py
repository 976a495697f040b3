"""The board in a terminal shows the published state, at any size, whatever is published."""

from __future__ import annotations

import json
import random
from functools import cache
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from rich.segment import Segment

from drivers.simulators.angel_eye import Mode, Settings
from drivers.simulators.shoe import Fault
from shoe_daemon.display.terminal.appearance import LETTERS, Symbols, chinese, plain
from shoe_daemon.display.terminal.board import TableView, board, lost_readers
from shoe_daemon.display.terminal.hands import is_unread
from shoe_daemon.display.terminal.screen import Rows, render_rows
from shoe_daemon.display.terminal.screen import text_of as text_of_row
from shoe_daemon.floor.messages import InvalidMessage, TopicParts, decode
from shoe_daemon.floor.table import Freshness, Link
from shoe_daemon.game.coup import Slot
from shoe_daemon.game.roads import LeadingTies, Tail
from shoe_daemon.mqtt import documents
from shoe_daemon.mqtt.documents import History, RoadsNow, State
from shoe_daemon.table import observations
from shoe_daemon.table.events import ReaderStatus
from tests.display.road_reader import NAMES, expected, read_road
from tests.display.sample_table import SampleTable
from tests.display.view_reader import faces, folded_down, public_cards
from tests.table.dealer import Dealer
from tests.volume import sample, volume

SIZES = [(80, 24), (80, 33), (100, 30), (132, 43), (200, 50)]
SIGNS = plain(LETTERS)


@cache
def moments(
    mode: Mode = Mode.OPEN, rounds: int = 40, house: str = "seven-feathers"
) -> tuple[TableView, ...]:
    settings = Settings(mode=mode, rounds=rounds, seed=7, faults=tuple(Fault), fault_rate=0.2)
    table = SampleTable(house, "us_nj_pa")
    return tuple(table.view("table-1", "broker:1883") for _ in table.boards(settings))


def changed(seen: TableView, **state: Any) -> TableView:  # noqa: ANN401 - any field of the state
    assert seen.state is not None
    return replace(seen, state=replace(seen.state, **state))


def text_of(seen: TableView, size: tuple[int, int] = (80, 24)) -> str:
    return "\n".join(map(text_of_row, rows_of(seen, size)))


def rows_of(seen: TableView, size: tuple[int, int], symbols: Symbols = LETTERS) -> Rows:
    return render_rows(board(seen, *size, symbols), *size)


@pytest.mark.parametrize("size", sample(SIZES, 2))
def test_every_road_is_drawn_cell_by_cell(size: tuple[int, int]) -> None:
    for seen in moments()[::60]:
        rows = rows_of(seen, size, SIGNS)
        assert seen.roads is not None
        for name in NAMES:
            read = read_road(rows, name, SIGNS)
            cells = expected(seen.roads, LeadingTies.MERGE, SIGNS, name, read.pitch)
            assert read.cells == {at: sign for at, sign in cells.items() if at[0] >= read.hidden}


@pytest.mark.parametrize("mode", list(Mode))
def test_every_public_card_is_shown_and_no_other(mode: Mode) -> None:
    hidden = 0
    for seen in sample(moments(mode, 15), 3):
        assert seen.state is not None
        text = text_of(seen)
        assert faces(text) == public_cards(seen.state)
        cards = seen.state.round.cards if seen.state.round else ()
        down = sum(
            card.card is None and card.slot is not None and not is_unread(card, seen.state.round)
            for card in cards
        )
        assert folded_down(text) == down
        hidden += down
    assert bool(hidden) == (mode is Mode.HIDDEN)


def seen_of(dealer: Dealer) -> TableView:
    """Return what a terminal sees of a table dealt by hand."""
    told: dict[str, Any] = {"session": "s1", "alarm": None, "heartbeat": 10, "published": ""}
    state = msgspec.json.decode(documents.state(dealer.table.public(), **told), type=State)
    which: dict[str, Any] = {"seq": state.seq, "session": "s1"}
    past = documents.history(dealer.table.history(), **which)
    options = documents.RoadOptions(leading_ties=LeadingTies.MERGE, tail=Tail.FLAT)
    roads = documents.road_map(dealer.table.results(), options, shoe=1, **which)
    return TableView(
        name="table",
        broker="broker:1883",
        fresh=Freshness("live"),
        state=state,
        roads=msgspec.json.decode(roads, type=RoadsNow),
        history=msgspec.json.decode(past, type=History),
    )


@pytest.mark.parametrize("size", [*SIZES, (40, 12)])
def test_a_card_that_nobody_could_read_is_no_card_that_lies_face_down(
    size: tuple[int, int],
) -> None:
    dealer = Dealer()
    dealer.deal("P1 6S, B1 --")
    before = text_of(seen_of(dealer), size)
    dealer.say(observations.Unreadable(slot=Slot.P2))
    after = text_of(seen_of(dealer), size)
    assert "?" not in before
    assert "?" in after
    assert folded_down(after) == folded_down(before)


def test_an_aborted_and_a_held_round_have_their_lines() -> None:
    dealer = Dealer()
    dealer.deal("P1 6S, B1 2H")
    dealer.say(observations.Booted())
    dealer.order("hold")
    dealer.deal("P1 9S, B1 2H, P2 KD, B2 3C")
    dealer.result("player")
    text = text_of(seen_of(dealer), (200, 50))
    assert "   1  aborted: the reader was reset" in text
    assert "   2  the result waits for a decision" in text


@pytest.mark.parametrize("size", sample(SIZES, 2))
def test_what_is_due_the_counts_and_the_next_round_are_there(size: tuple[int, int]) -> None:
    for seen in moments()[:: volume(60, 20)]:
        text = text_of(seen, size)
        state = seen.state
        assert state is not None
        if state.round and state.round.draw_due and not state.round.finished:
            assert state.round.draw_due.text in text
        counts = state.counts
        pairs = (f"pairs B {counts.banker_pair}, P", f"Pairs: Banker {counts.banker_pair}, P")
        assert any(each in text for each in pairs)
        assert "Next round" in text
        lost = "".join(f"{each} · " for each in lost_readers(seen))
        assert f"● live · {lost}broker:1883 · Ctrl-C ends"[:30] in text


@pytest.mark.parametrize("size", sample(SIZES, 2))
@pytest.mark.parametrize("state", ["stale", "stopping", "offline", "no_broker"])
def test_what_is_not_fresh_is_grey_and_says_since_when(size: tuple[int, int], state: Any) -> None:  # noqa: ANN401
    seen = replace(
        moments()[-1],
        fresh=Freshness(state, "2026-11-21T09:30:00Z"),
        since="10:30:00, 45 s",
        link=Link(connected=state != "no_broker", detail="refused"),
    )
    text = text_of(seen, size)
    assert "since 10:30:00, 45 s" in text
    assert "live" not in text
    assert "Next round" not in text
    banner = next(y for y, row in enumerate(text.split("\n")) if "since" in row)
    for y, row in enumerate(rows_of(seen, size)[: size[1] - 1]):
        for sign, style, _ in row:
            assert style
            colours = [each.triplet for each in (style.color, style.bgcolor) if each]
            if y not in {banner, banner + 1}:
                assert all(each and len(set(each)) == 1 for each in colours), (y, sign, style)


def test_states_of_the_table_are_told() -> None:
    seen = moments()[-1]
    assert "on hold" in text_of(changed(seen, on_hold=True))
    assert "seat 3 draws" in text_of(changed(seen, curator=3))
    assert "bets open" in text_of(changed(seen, betting="open"))
    assert "No shoe" in text_of(changed(seen, shoe=None, round=None))
    assert "Waiting for the shoe" in text_of(changed(seen, shoe=None, round=None))
    assert "No more bets" in text_of(changed(seen, round=None, betting="closed"))
    held = next(each for each in moments() if each.state and each.state.held)
    assert "RESULT HELD" in text_of(held)
    assert "No roads yet" in text_of(replace(seen, roads=None))
    assert "ALARM" in text_of(changed(seen, alarm="The disk is full."))
    assert "Banker 25-5000 · Tie 5-500" in text_of(
        changed(seen, limits={"banker": "25-5000", "tie": "5-500"}, name="T"), (100, 30)
    )


def test_a_reader_that_reads_nothing_is_named_in_the_last_row() -> None:
    seen = moments()[-1]
    assert seen.state is not None
    assert "reader" not in text_of(seen).split("\n")[-1]
    ready = ReaderStatus(source="camera", link="up", state="ok")
    for lost, said in (
        (ReaderStatus(source="shoe", link="down", state="ok"), "reader shoe disconnected"),
        (ReaderStatus(source="shoe", link="up", state="fault"), "reader shoe reports a fault"),
        (ReaderStatus(source="shoe", link="up", state="locked"), "reader shoe is locked"),
    ):
        last_row = text_of(changed(seen, readers=(ready, lost))).split("\n")[-1]
        assert last_row.strip().startswith(f"● live · {said} · ")
        assert "camera" not in last_row
        assert said in text_of(changed(seen, readers=(ready, lost)), (60, 20))


def test_side_wagers_that_won_are_told_with_their_odds() -> None:
    told = 0
    for seen in moments(house="curator")[:: volume(9, 3)]:
        last = seen.state.last_result if seen.state else None
        won = [
            each.pays
            for each in (last.data.wagers if last else ())
            if each.result == "win" and each.wager not in {"player", "banker", "tie"}
        ]
        text = text_of(seen, (100, 30))
        if won and "WINS" in text and "W I N S" in text:
            assert all(pays and pays in text for pays in won)
            told += 1
    assert told


def test_a_terminal_of_any_size_gets_what_it_has_room_for() -> None:
    seen = moments()[-1]
    for width, height in [(1, 1), (20, 3), (79, 24), (80, 23), (80, 24), (99, 31), (300, 90)]:
        for signs in (LETTERS, chinese()):
            rows = rows_of(seen, (width, height), signs)
            assert [Segment.get_line_length(row) for row in rows] == [width] * height
    text = text_of(replace(seen, fresh=Freshness("offline")), (60, 20))
    assert text.startswith("THE TABLE IS OFFLINE")


def test_whatever_passes_as_a_document_can_be_drawn() -> None:
    table = SampleTable("seven-feathers", "us_nj_pa")
    list(table.boards(Settings(mode=Mode.OPEN, rounds=9, seed=3)))
    payloads = {kind: json.loads(text) for kind, text in table.documents().items()}
    chance, drawn = random.Random(1), 0
    for _ in range(volume(40, 150)):
        kind = chance.choice(["state", "roads", "history"])
        hostile = _spoilt(payloads[kind], chance)
        try:
            document = decode(TopicParts("demo", "table-1", kind), json.dumps(hostile).encode())
        except InvalidMessage:
            continue
        seen = table.view("table-1", "broker:1883")
        forms = {"roads": RoadsNow, "history": History}
        body = msgspec.json.decode(document.json, type=forms[kind]) if kind in forms else None
        seen = replace(seen, **{kind: body or document.body})
        for size in ((80, 24), (200, 50), (40, 10)):
            rows = rows_of(seen, size)
            assert [Segment.get_line_length(row) for row in rows] == [size[0]] * size[1]
            assert all(text_of_row(row).isprintable() for row in rows)
        drawn += 1
    assert drawn > volume(5, 25)


def _spoilt(value: Any, chance: random.Random) -> Any:  # noqa: ANN401 - any JSON
    """Return a copy in which one leaf, or a few, is something else."""
    if isinstance(value, dict) and value:
        key = chance.choice(sorted(value))
        return {**value, key: _spoilt(value[key], chance)}
    if isinstance(value, list) and value:
        place = chance.randrange(len(value))
        return [*value[:place], _spoilt(value[place], chance), *value[place + 1 :]]
    return chance.choice(
        [None, -1, 0, 9, 10, 10**6, 2**63 - 1, 10**400, "", "x" * 300, "\x1b[2J", "莊" * 90, True]
    )
