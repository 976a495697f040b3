"""The view shows all that the players may know, nothing else, and everything in its place."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from io import StringIO
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from msgspec.structs import replace
from rich.segment import Segment

from drivers.simulators.angel_eye import Mode, Settings
from drivers.simulators.shoe import Excess, Fault
from shoe_daemon.demo.view import draw
from shoe_daemon.demo.view_model import DemoView, RecentEvents
from shoe_daemon.display.terminal.hands import is_unread
from shoe_daemon.display.terminal.screen import Rows, Screen, render_rows, text_of
from shoe_daemon.game import SUIT_SIGNS, card_text
from shoe_daemon.game.cards import DECK, Card
from shoe_daemon.game.coup import Outcome, Slot
from shoe_daemon.table import (
    Event,
    Irregularity,
    IrregularityClosed,
    Proposal,
    ResultRevised,
    RoundStarted,
    RoundVoided,
)
from shoe_daemon.table.public_document_types import Alert, CardView, RoundView
from tests.demo.sample_table import boards, showpiece
from tests.demo.view_reader import faces, folded_down, public_cards
from tests.volume import sample, volume
from tools.make_terminal_pictures import to_svg

SIZES = [SMALL, LARGE] = [(80, 24), (120, 40)]
ALL_FAULTS = tuple(Fault)
EXCESS = "A card was drawn and is no part of this round."
EVENT = Event("1970-01-01T00:00:00Z", RoundStarted(), 1, "1.0", 1, 1, "demo", "table-1", "")


@cache
def dealt(mode: Mode = Mode.OPEN, house: str = "seven-feathers") -> tuple[DemoView, ...]:
    settings = Settings(
        mode=mode,
        rounds=35,
        seed=7,
        faults=ALL_FAULTS,
        fault_rate=0.5,
        excess=Excess.CARRIED,
        make_good=True,
    )
    return tuple(boards(settings, house))


@cache
def corrected() -> tuple[DemoView, ...]:
    settings = Settings(mode=Mode.OPEN, rounds=16, seed=3, faults=(Fault.MISREAD,), fault_rate=0.5)
    return tuple(boards(settings, policy="fr_2007"))


def held() -> DemoView:
    return first(lambda board: board.table.held and board.table.alerts, dealt())


def everything() -> Iterator[DemoView]:
    yield from dealt()
    yield from corrected()
    yield from dealt(Mode.HIDDEN)
    yield from dealt(Mode.OPEN, "chickasaw")


@cache
def drawn(size: tuple[int, int]) -> tuple[tuple[DemoView, str], ...]:
    """Draw boards of `everything` in this size, others in each, once for all tests."""
    boards = list(everything())[size is LARGE :: volume(12, 3)]
    return tuple((board, text(board, size)) for board in boards)


def first(condition: Any, boards: Iterator[DemoView] | tuple[DemoView, ...]) -> DemoView:  # noqa: ANN401
    return next(board for board in boards if condition(board))


def changed(board: DemoView, **changes: Any) -> DemoView:  # noqa: ANN401 - any field of the table
    return replace(board, table=replace(board.table, **changes))


def healthy(board: DemoView, **changes: Any) -> DemoView:  # noqa: ANN401 - any field of the health
    return replace(board, health=replace(board.health, **changes))


def waiting() -> DemoView:
    board = next(boards(Settings(rounds=1)))
    return changed(board, shoe=None, round=None, alerts=())


def rows_of(board: DemoView, size: tuple[int, int]) -> Rows:
    return render_rows(draw(board, *size), size[0])


def text(board: DemoView, size: tuple[int, int]) -> str:
    return "\n".join(map(text_of, rows_of(board, size)))


def words(board: DemoView, size: tuple[int, int]) -> str:
    """Return what stands on the board, runs of blanks and line ends as one blank."""
    return words_of(text(board, size))


def words_of(text: str) -> str:
    return re.sub(r"[\s│]+", " ", text)


def test_every_public_card_is_shown_on_its_hand_and_no_other() -> None:
    hidden = 0
    for board, text in drawn(SMALL):
        assert faces(text) == public_cards(board.table)
        cards = board.table.round.cards if board.table.round else ()
        down = sum(
            card.card is None and card.slot is not None and not is_unread(card, board.table.round)
            for card in cards
        )
        assert folded_down(text) == down
        hidden += down
    assert hidden


@pytest.mark.parametrize("lying", [False, True])
def test_every_card_is_known_by_its_rank_and_suit_when_drawn_large(*, lying: bool) -> None:
    slot = Slot.P3 if lying else Slot.P1
    pips: dict[str, set[str]] = {}
    for card in sample(DECK, 3):
        round_ = RoundView(None, (CardView(card, slot),), None, False, 1, False, None)  # noqa: FBT003
        rows = text(changed(waiting(), round=round_), LARGE).split("\n")[4:11]
        ranks = re.findall("10|[2-9AJQK]", "".join(rows).replace("next", ""))
        assert ranks == [card.rank, card.rank]
        art = "\n".join(re.sub("[^▀▄█ ]", " ", row) for row in rows)
        pips.setdefault(card.suit, set()).add(art)
    assert all(len(art) == 1 for art in pips.values()), "one pip a suit"
    assert len(set.union(*pips.values())) == len(SUIT_SIGNS), "each its own"


def test_red_suits_are_red_and_black_ones_black() -> None:
    shades: dict[str, set[str]] = {}
    for card in sample(DECK, 3):
        round_ = RoundView(None, (CardView(card, Slot.B2),), None, False, 1, False, None)  # noqa: FBT003
        rows = rows_of(changed(waiting(), round=round_), SMALL)
        ((style),) = [
            part.style for row in rows[1:] for part in row if set(part.text) & set("♥♦♣♠")
        ]
        assert style
        assert style.color is not None
        shades.setdefault(style.color.name, set()).add(card.suit)
    assert sorted(map(sorted, shades.values())) == [["C", "S"], ["D", "H"]]


@pytest.mark.parametrize("size", SIZES)
def test_nothing_moves(size: tuple[int, int]) -> None:
    width, height = size
    fixed: tuple[str, ...]
    fixed = ("P L A Y E R", "Rounds ", "Naturals ", "journal ", "Ctrl-C ends", "Board: http")
    fixed += ("mosquitto_sub ",) if height > SIZES[0][1] else ()
    places: dict[str, set[int]] = {word: set() for word in fixed}
    for _, text in drawn(size):
        rows = text.split("\n")
        assert [len(row) for row in rows] == [width] * height
        for number, row in enumerate(rows):
            for word in fixed:
                if word in row:
                    places[word].add(number)
    assert {word: len(rows) for word, rows in places.items()} == dict.fromkeys(fixed, 1)


@pytest.mark.parametrize("size", SIZES)
def test_the_sentence_totals_and_counts_are_there(size: tuple[int, int]) -> None:
    for board, picture in drawn(size):
        text, table = words_of(picture), board.table
        if table.round and table.round.number in table.held and table.round.finished:
            assert "RESULT HELD" in text
        elif table.round and table.round.draw_due:
            assert table.round.draw_due.text in text
        counts = table.counts
        assert f"Player {counts.player} " in text
        assert f"Banker {counts.banker} " in text
        assert f"Pairs: Banker {counts.banker_pair}, Player {counts.player_pair}" in text
        for alert in table.alerts[-1:]:
            assert alert.data.detail in text
            assert alert.data.kind.replace("_", " ").upper() in text


def test_no_word_of_the_wire_is_shown() -> None:
    for _, picture in drawn(LARGE):
        text = picture.replace("mosquitto_sub", "")
        assert "_" not in text
        assert "None" not in text


def proposed() -> DemoView:
    """Return a board with an open irregularity and one verified proposal."""
    proposal = Proposal(
        action="burn_card",
        authority="The house",
        section="section 9",
        text="Burn the card.",
        verified=True,
    )
    alert = _alert(7)
    alert = replace(alert, data=replace(alert.data, proposals=(proposal,)))
    return changed(waiting(), alerts=(alert,))


def misplaced() -> DemoView:
    lost = (CardView(Card("7C"), None), CardView(None, None))
    return changed(waiting(), round=RoundView(None, lost, None, False, 3, False, None))  # noqa: FBT003


STATES: dict[str, tuple[Callable[[], DemoView], tuple[str, ...]]] = {
    "waiting": (waiting, ("Waiting for the shoe", "No shoe yet")),
    "hidden": (
        lambda: first(
            lambda board: board.table.round and len(board.table.round.cards) == 4,
            dealt(Mode.HIDDEN),
        ),
        ("Face down Who draws cannot be told",),
    ),
    "a proposal": (
        proposed,
        ("▸ burn the card Burn the card.", "verified: The house ─", "the supervisor decides ─"),
    ),
    "two proposals": (
        lambda: replace(held(), orders={held().table.alerts[-1].data.id: "Supervisor: wait"}),
        (
            *("▸ keep it for the next hand", "▸ burn it and its value"),
            *("NOT VERIFIED: New Jersey and Pennsylvania", "Supervisor: wait ─"),
        ),
    ),
    "no proposal": (
        lambda: changed(waiting(), alerts=(_alert(7),)),
        ("the policy proposes nothing", EXCESS),
    ),
    "ordered": (
        lambda: first(lambda board: board.table.alerts and board.orders, dealt()),
        ("Supervisor: draw the card now ─",),
    ),
    "on hold": (lambda: changed(waiting(), on_hold=True), ("on hold",)),
    "partial": (
        lambda: first(lambda board: board.table.round and board.table.round.partial, dealt()),
        ("partial: not all of this round was seen",),
    ),
    "without a place": (misplaced, ("place unknown: 7♣ ??",)),
    "aborted": (
        lambda: first(lambda board: board.aborted and not board.table.round, dealt()),
        ("The last round came to nothing",),
    ),
    "no reader": (
        lambda: healthy(waiting(), reader_up=False, reader_detail="the line was closed"),
        ("✗ shoe /dev/pts/3 lost: the line was closed",),
    ),
    "no broker": (
        lambda: healthy(waiting(), broker_up=False, queued=12),
        ("✗ broker 127.0.0.1:1883 lost, 12 events wait for it",),
    ),
    "alarm": (
        lambda: healthy(changed(waiting(), alerts=(_alert(7),)), alarm="The disk is full."),
        ("⚠ ALARM ─", "The disk is full."),
    ),
    "last round": (
        lambda: first(
            lambda board: board.table.shoe and board.table.shoe.last_round,
            boards(Settings(mode=Mode.OPEN, shoes=1, seed=3)),
        ),
        ("last round",),
    ),
}


@pytest.mark.parametrize("state", STATES)
def test_a_state_is_told_in_both_sizes(state: str) -> None:
    make, told = STATES[state]
    board = make()
    for size in SIZES:
        text = words(board, size)
        for each in told:
            assert each in text


@pytest.mark.parametrize("size", SIZES)
class TestStates:
    def test_burning(self, size: tuple[int, int]) -> None:
        board = first(lambda board: board.burned and board.burned.remaining, dealt())
        assert board.burned is not None
        text = words(board, size)
        assert f"{card_text(board.burned.first)} was turned up" in text
        assert f"{board.burned.remaining} more to burn" in text

    def test_dealing(self, size: tuple[int, int]) -> None:
        board = first(lambda board: board.table.round is not None, dealt())
        text = words(board, size)
        assert "Dealing The first card of the Banker is due." in text
        assert text.count("next") == 1

    def test_a_natural(self, size: tuple[int, int]) -> None:
        board = first(_is_natural, dealt())
        last = board.table.last_result
        assert last is not None
        assert last.data.outcome is not None
        winner = last.data.outcome.value.upper()
        text = words(board, size)
        totals = (last.data.player.total, last.data.banker.total)
        high, low = sorted((total or 0 for total in totals), reverse=True)
        assert f"{winner} WINS {high} to {low} · natural" in text
        assert " ".join(winner) + " W I N S" in text
        assert f"The {winner.title()} has a natural {high}: nobody draws." in text

    def test_a_pair_is_named_below_its_hand(self, size: tuple[int, int]) -> None:
        board = first(lambda board: _last(board) and _last(board).banker.pair, dealt())
        width = size[0]
        rows = text(board, size).split("\n")
        (row,) = [row for row in rows if "pair" in row and "Banker" not in row]
        assert "pair" in row[width // 2 :]
        assert "pair" not in row[: width // 2] or _last(board).player.pair

    def test_an_irregularity_and_its_end(self, size: tuple[int, int]) -> None:
        board = first(lambda board: board.table.alerts, dealt())
        assert "⚠" in words(board, size)
        assert "severity" in words(board, size)
        board = first(lambda board: board.closed and not board.table.alerts, dealt())
        assert "dealt with" in words(board, size)
        board = replace(board, closed=())
        assert f"No irregularity is open, {board.caught} caught so far" in words(board, size)

    def test_several_irregularities(self, size: tuple[int, int]) -> None:
        text = words(changed(waiting(), alerts=(_alert(7), _alert(8, "A much " * 60))), size)
        assert "1 more open" in text
        assert "…" in text, "what has no room is not dropped in silence"

    def test_a_result_that_is_held_and_released(self, size: tuple[int, int]) -> None:
        text = words(held(), size)
        assert "RESULT HELD Nothing is settled before the supervisor has decided." in text
        assert "WINS" not in text
        number = held().table.held[0]
        board = first(
            lambda board: (
                board.closed
                and board.table.last_result
                and board.table.last_result.round == number
                and not board.table.held
            ),
            dealt(),
        )
        text = words(board, size)
        assert "RESULT HELD" not in text
        assert "Supervisor: keep it for the next hand" in text
        assert "dealt with" in text

    def test_a_correction_is_told_with_its_cards(self, size: tuple[int, int]) -> None:
        board = first(
            lambda board: any("not" in str(each.order) for each in board.closed), corrected()
        )
        text = words(board, size)
        assert re.search(r"Supervisor: [PB][123] is \w+[♠♥♦♣], not \w+[♠♥♦♣]", text)
        assert "By the corrected cards" in text

    def test_the_board_for_browsers(self, size: tuple[int, int]) -> None:
        text = words(waiting(), size)
        url = "http://127.0.0.1:8080"
        assert f"● Board: {url}/table/table-1 Pit: " in text
        assert f"{url}/pit" in text or "…/pit" in text
        assert "✗ board http://127.0.0.1:8080 lost" in words(
            healthy(waiting(), board_up=False), size
        )
        none = replace(waiting(), addresses=replace(waiting().addresses, board=""))
        assert "no board for a browser: pip install 'shoe-daemon[display]'" in words(none, size)


def test_beads_keep_their_rows_and_fall_off_by_columns() -> None:
    settings = Settings(mode=Mode.OPEN, shoes=1, seed=3)
    for board in list(boards(settings))[:: volume(15, 5)]:
        rows = text(board, SMALL).split("\n")[10:16]
        letters = [re.findall("[PBT]", row[:52]) for row in rows]
        shown = [
            letters[number % 6][number // 6] for number in range(sum(len(row) for row in letters))
        ]
        told = [_letter(bead.outcome) for bead in board.beads]
        assert told[len(told) - len(shown) :] == shown
        assert len(shown) == len(told) if len(told) <= 90 else len(shown) > 84


def test_a_person_may_take_a_result_back_or_change_it() -> None:
    keeper, told = (
        RecentEvents(lambda: 0.0),
        list(boards(Settings(mode=Mode.OPEN, rounds=3, seed=3))),
    )
    results = []
    for board in told:
        last = board.table.last_result
        if last is not None and last not in results:
            results.append(last)
            keeper.note(replace(EVENT, round=last.round, data=last.data))

    def letters() -> str:
        board = told[-1]
        shown = keeper.view(board.table, board.house, board.health, board.addresses).beads
        return "".join(_letter(bead.outcome) for bead in shown)

    first, second, third = list(letters())
    keeper.note(replace(EVENT, round=2, data=RoundVoided(None, results[1].data, "anna", None)))
    assert letters() == first + third
    other = replace(results[1].data, outcome=Outcome.TIE)
    keeper.note(replace(EVENT, round=2, data=ResultRevised(other, None, "anna", None)))
    assert letters() == first + "T" + third != first + second + third


def test_a_terminal_of_any_size_gets_what_it_has_room_for() -> None:
    board = changed(showpiece(), alerts=(_alert(7),))
    for width, height in [(1, 1), (20, 3), (79, 24), (80, 23), (80, 24), (99, 35), (300, 90)]:
        rows = rows_of(board, (width, height))
        assert [Segment.get_line_length(row) for row in rows] == [width] * height
    told = words(board, (60, 20))
    assert "EXCESS CARD: A card was drawn and is no part of this round." in told
    for hand, cards in public_cards(board.table).items():
        assert f"{hand.value.title()}: {' '.join(map(card_text, cards))} =" in told


class Tty(StringIO):
    def isatty(self) -> bool:
        return True


def test_only_rows_that_changed_are_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    output = Tty()
    monkeypatch.setattr(sys, "stdout", output)
    screen = Screen()

    def rows_drawn(board: DemoView, size: tuple[int, int]) -> list[int]:
        monkeypatch.setattr(Screen, "size", size)
        before = len(output.getvalue())
        screen.show(draw(board, *size))
        return [int(row) - 1 for row in re.findall(r"\x1b\[(\d+);1H", output.getvalue()[before:])]

    assert rows_drawn(showpiece(), SMALL) == list(range(24))
    assert rows_drawn(showpiece(), SMALL) == []
    assert rows_drawn(healthy(showpiece(), silence=9), SMALL) == [21]
    assert rows_drawn(showpiece(), (81, 24)) == list(range(24))


def test_what_was_dealt_with_stays_for_some_seconds() -> None:
    now = 0.0
    keeper = RecentEvents(lambda: now)
    settings = Settings(mode=Mode.OPEN, rounds=1, seed=1, faults=(Fault.OVERDRAW,), fault_rate=1)
    board = list(boards(settings))[-1]
    raised = replace(EVENT, data=_alert(1, "One too many.").data)
    closed = IrregularityClosed(action="continue", id=1, operator=None, reason=None)
    for event in (raised, replace(raised, data=closed)):
        keeper.note(event)
    view = (board.table, board.house, board.health, board.addresses)
    assert keeper.view(*view).closed
    now = 60.0
    assert not keeper.view(*view).closed


def test_the_picture_is_a_picture_and_needs_nothing_from_elsewhere() -> None:
    svg = to_svg(draw(showpiece(), 100, 38), (100, 38))
    root = ET.fromstring(svg)  # noqa: S314 - our own
    assert showpiece().house in "".join(root.itertext()).replace("\xa0", " ")
    assert not re.search(r"href|src=|url\(|@import|<(image|use|script|foreignObject)", svg)
    assert len(svg) < 300_000


def _is_natural(board: DemoView) -> bool:
    last = _last(board)
    return last is not None and bool(last.player.natural) != bool(last.banker.natural)


def _last(board: DemoView) -> Any:  # noqa: ANN401 - a result, or None
    table = board.table
    shown = table.round and table.round.finished and not table.round.partial
    return table.last_result.data if shown and table.last_result else None


def _letter(outcome: Outcome | None) -> str:
    return outcome.value[0].upper() if outcome else "?"


def _alert(identifier: int, detail: str = EXCESS) -> Alert:
    found = Irregularity(
        card=None,
        detail=detail,
        id=identifier,
        kind="excess_card",
        proposals=(),
        severity=3,
        slot=None,
    )
    return Alert(at="2026-01-01T00:00:00.000Z", data=found, round=1, shoe=1)
