"""`auto`: the signals of a table's readers decide how its rounds end."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoe_daemon.config.sections import Config, ReaderSettings, TableSettings
from shoe_daemon.config.table import round_end_of, set_up
from shoe_daemon.errors import UserError
from shoe_daemon.table.options import RoundEnd, Signal

SHOE = (Signal.SLOTS, Signal.RESULTS, Signal.FAULTS)
BUTTON = (Signal.RESULTS,)
OVERHEAD = (Signal.PLACEMENT, Signal.CLEARED)
MOUTH = (Signal.FAULTS,)
SCANNER = ()


@pytest.mark.parametrize(
    ("readers", "mode"),
    [
        ({"shoe": SHOE}, "device"),
        ({"shoe": (Signal.RESULTS, Signal.FAULTS)}, "button"),
        ({"scanner": SCANNER}, "quiet"),
        ({"scanner": SCANNER, "button": BUTTON}, "button"),
        ({"camera": MOUTH}, "quiet"),
        ({"camera": OVERHEAD}, "device"),
        ({"scanner": SCANNER, "camera": OVERHEAD}, "quiet"),
        ({"scanner": SCANNER, "camera": OVERHEAD, "button": BUTTON}, "button"),
        ({"shoe": SHOE, "camera": OVERHEAD}, "device"),
    ],
    ids=lambda each: "+".join(each) if isinstance(each, dict) else each,
)
def test_auto_follows_the_readers(readers: dict[str, tuple[Signal, ...]], mode: str) -> None:
    assert round_end_of(readers, (), ()) == mode


def test_a_checker_that_names_places_does_not_make_the_main_reader_name_them() -> None:
    readers = {"scanner": SCANNER, "camera": (Signal.SLOTS,)}
    assert round_end_of(readers, (), ("camera",)) is RoundEnd.QUIET


def test_the_tables_other_equipment_counts() -> None:
    assert round_end_of({"scanner": SCANNER}, BUTTON, ()) is RoundEnd.BUTTON
    assert round_end_of({"scanner": SCANNER}, (Signal.SLOTS,), ()) is RoundEnd.DEVICE


@pytest.mark.parametrize(
    ("chosen", "mode"), [("auto", "device"), ("button", "button"), ("rules", "rules")]
)
def test_a_configured_session_names_what_ends_its_rounds(
    tmp_path: Path, chosen: str, mode: str
) -> None:
    shoe = ReaderSettings(driver="angel-eye-ii", port="/dev/null")
    table = TableSettings(round_end=RoundEnd(chosen))
    setup = set_up(Config(site="here", table=table, reader=(shoe,)), tmp_path)
    assert setup.options.round_end == mode


CHOOSES = """\
name = "Punto y Banca"
sheet = "a test"
player_on_5 = "chooses"
[wagers]
"""


@pytest.mark.parametrize(
    ("driver", "chosen", "accepted"),
    [
        ("angel-eye-ii", "auto", True),
        ("angel-eye-ii", "button", True),
        ("angel-eye-ii", "quiet", False),
        ("angel-eye-ii", "rules", False),
        ("line-scanner", "auto", False),
        ("line-scanner", "button", False),
        ("line-scanner", "device", False),
    ],
)
def test_a_table_that_cannot_show_what_the_player_chose_is_refused(
    tmp_path: Path, driver: str, chosen: str, *, accepted: bool
) -> None:
    (tmp_path / "mine.toml").write_text(CHOOSES, encoding="utf-8")
    reader = ReaderSettings(driver=driver, port="/dev/null")
    table = TableSettings(round_end=RoundEnd(chosen), house_file="mine.toml")
    config = Config(site="here", table=table, reader=(reader,))
    if accepted:
        assert set_up(config, tmp_path).house.player_chooses
        return
    with pytest.raises(UserError) as error:
        set_up(config, tmp_path)
    assert str(error.value) == (
        "table.house_file: player_on_5 'chooses'; expected a reader that reports slots, and "
        "round_end device or button: else it is unknown what the Player chose"
    )


def test_without_readers_the_first_card_decides(tmp_path: Path) -> None:
    assert set_up(Config(site="here"), tmp_path).options.round_end is RoundEnd.AUTO
