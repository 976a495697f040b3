"""Below the board stand the open irregularity, the cards that really lie there, and the pages."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from drivers.simulators.angel_eye import Mode, Settings
from drivers.simulators.shoe import Fault
from shoe_daemon.demo.notes import Told, note_rows
from shoe_daemon.demo.parts import PIN, links_of
from shoe_daemon.display.terminal.board import board
from shoe_daemon.display.terminal.screen import render_rows, text_of
from shoe_daemon.game import card_text
from tests.display.sample_table import SampleTable

SIZES = [(80, 24), (100, 30), (200, 60)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("fault", [Fault.MISREAD, Fault.OVERDRAW])
def test_every_moment_has_all_of_it(size: tuple[int, int], fault: Fault) -> None:
    table = SampleTable("punto-banco", "fr_2007")
    settings = Settings(mode=Mode.OPEN, rounds=8, seed=3, faults=(fault,), fault_rate=1)
    links, counts, misread = (
        links_of("http://127.0.0.1:40404", "http://127.0.0.1:50505/"),
        set(),
        0,
    )
    for public in table.boards(settings):
        view, dealt = table.view("table-1", "127.0.0.1:1883"), table.on_table
        notes = note_rows(Told(links, dealt, 24.0), view.state, size[0] - 2)
        counts.add(len(notes))
        rows = render_rows(board(replace(view, notes=notes), *size), *size)
        text = "\n".join(map(text_of, rows))
        assert len(rows) == size[1]
        assert all(link in text for link in links if link)
        assert f"PIN {PIN}" in text
        assert ("decided for you in 24 s" in text) == bool(public.alerts)
        if public.round and dealt:
            (lying,) = (each for each in text.split("\n") if "Really on the table" in each)
            placed = dealt.cards[: len(public.round.cards)]
            assert all(card_text(card) in lying for _, card in placed)
            seen = [card.card for card in public.round.cards]
            misread += seen != [card for _, card in placed]
    assert len(counts) == 1, "the rows stay as many"
    assert bool(misread) == (fault is Fault.MISREAD)
