"""
The operators file: privileged commands need a PIN, which is stored nowhere, and guessing
is throttled.
"""

# ruff: noqa: RUF001 - names that look like others

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from argon2 import PasswordHasher

from shoe_daemon.errors import UserError
from shoe_daemon.operators import AuthenticationError, Operators, hash_pin
from shoe_daemon.service import commands
from tests.commands.command_table import Pit
from tests.commands.conftest import OpenPit
from tests.waiting import wait_for

PIN = "4711-geheim"
CHEAP = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)

FILE = f"""\
[[operator]]
name = "Maria"
pin = "{CHEAP.hash(PIN)}"

[[operator]]
name = "Kim"
roles = ["dealer"]

[[operator]]
name = "Ana"
"""


@pytest.fixture
def guarded(tables: OpenPit, tmp_path: Path) -> Pit:
    (tmp_path / "operators.toml").write_text(FILE)
    return tables('[orders]\noperators_file = "operators.toml"')


@pytest.mark.mosquitto
def test_orders_of_consequence_take_a_pin(guarded: Pit) -> None:
    assert guarded.order("new-shoe")["refused"] == "this order takes the operator's PIN"
    assert guarded.order("new-shoe", pin="0000")["refused"] == "wrong PIN"
    assert guarded.order("new-shoe", pin=PIN)["ok"]
    assert [order.claimed for order in guarded.journaled()] == [True, True, False]
    assert [order.name for order in guarded.journaled() if order.refused is None] == ["new_shoe"]
    # Other orders need none, and may have one.
    assert guarded.order("hold")["ok"]
    assert guarded.order("resume", pin=PIN)["ok"]
    assert guarded.order("hold", pin="wrong")["refused"] == "wrong PIN"
    assert [order.claimed for order in guarded.journaled()][3:] == [True, False, True]
    assert guarded.order("no-more-bets", operator="Kim")["ok"]
    # A replay changes nothing, and needs no operator of the file.
    answer = guarded.order("replay", operator="display", from_seq=1)
    assert (answer["ok"], answer["replayed"]) == (True, guarded.seq)
    assert 0 < answer["replayed_public"] <= answer["replayed"]


@pytest.mark.mosquitto
def test_not_everybody_may_and_a_preview_takes_no_pin(guarded: Pit) -> None:
    assert guarded.order("new-shoe", dry_run=True)["preview"]["events"]
    assert guarded.order("new-shoe", dry_run=True, pin=PIN)["ok"]
    assert guarded.journaled() == []
    for fields, why in (
        ({"pin": "0000"}, "wrong PIN"),
        ({"operator": "Eve"}, "operator 'Eve' is not among those of this table"),
        ({"operator": "Kim"}, "this order takes a supervisor"),
        ({"operator": "Ana", "pin": "1234"}, "this operator has no PIN"),
    ):
        answer = guarded.order("new-shoe", dry_run=True, **fields)
        assert (answer["refused"], answer["preview"]) == (why, None)
        assert guarded.order("new-shoe", **fields)["refused"] == why
        order = guarded.journaled()[-1]
        assert (order.refused, order.claimed) == (why, True)
        assert order.operator == fields.get("operator", "Maria")


@pytest.mark.mosquitto
def test_what_a_dealer_may_not_decide_alone(guarded: Pit) -> None:
    """Over the broker: an irregularity that holds, a supervisor's hold, another dealer."""
    guarded.draw("P1:9S", "B1:2H", "P2:KD", "B2:3C")
    guarded.shoe.draw("P3:4C")
    wait_for(lambda: guarded.of("alert/active")[-1].json["alerts"], "a card too many")
    supervisor, pin = "this order takes a supervisor", "this order takes the operator's PIN"
    assert guarded.order("hold")["ok"]
    for verb, fields in (
        ("acknowledge", {}),
        ("resume", {}),
        ("dealer", {"dealer": "Somebody Else"}),
        ("dealer", {"dealer": "Maria"}),
    ):
        assert guarded.order(verb, operator="Kim", **fields)["refused"] == supervisor
        assert guarded.order(verb, operator="Kim", dry_run=True, **fields)["refused"] == supervisor
    assert guarded.order("acknowledge")["refused"] == pin
    preview = guarded.order("acknowledge", dry_run=True)["preview"]
    assert (preview["needs_pin"], preview["needs_reason"]) == (True, False)
    assert not guarded.order("no-more-bets", dry_run=True)["preview"]["needs_pin"]
    assert guarded.order("acknowledge", pin=PIN)["ok"]
    assert guarded.order("dealer", operator="Kim", dealer="Kim")["ok"]
    assert guarded.order("void-round", pin=PIN)["refused"] == "this order takes a reason"
    assert guarded.order("void-round", pin=PIN, reason="a card too many")["ok"]


@pytest.mark.mosquitto
def test_the_pin_is_written_down_nowhere(capfd: pytest.CaptureFixture[str], guarded: Pit) -> None:
    guarded.order("new-shoe", pin=PIN)
    guarded.order("void-round", pin=PIN)
    guarded.order("new-shoe", pin=f"{PIN}!")
    guarded.order("nonsense", pin=PIN)
    guarded.order("hold", pin=PIN, card="ZZ")
    guarded.send("hold", json.dumps({"id": PIN + "/", "pin": [PIN]}).encode())
    assert guarded.order("hold")["ok"]
    said = [m.payload for m in guarded.heard if "/cmd/" not in m.topic]
    assert not any(PIN.encode() in payload for payload in said)
    guarded.stop()
    # Closed, it is one file again.
    beside = f"{guarded.journal.name}?*"
    assert not list(guarded.journal.parent.glob(beside))
    assert PIN.encode() not in guarded.journal.read_bytes()
    told = capfd.readouterr()
    assert "void_round" in told.out + told.err
    assert PIN not in told.out + told.err


@pytest.mark.mosquitto
def test_orders_keep_their_order_while_pins_are_checked(guarded: Pit) -> None:
    for number in range(5):
        order = {"id": f"p{number}", "operator": "Maria", "pin": PIN}
        guarded.send("resume", json.dumps(order).encode())
        order = {"id": f"n{number}", "operator": "Maria"}
        guarded.send("resume", json.dumps(order).encode())
    guarded.wait("reply/n4")
    expected = [f"{kind}{number}" for number in range(5) for kind in "pn"]
    assert [order.id for order in guarded.journaled()] == expected


@pytest.mark.mosquitto
def test_without_a_usable_file_orders_are_refused_until_it_is_mended(
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tables: OpenPit,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(commands, "_READ_AGAIN_S", 0.05)
    file = tmp_path / "operators.toml"
    file.write_text(FILE.replace("supervisor", "boss").replace("dealer", "boss"))
    pit = tables('[orders]\noperators_file = "operators.toml"')
    pit.draw("P1:9S")
    for verb, fields in (("new-shoe", {"pin": PIN}), ("hold", {}), ("hold", {"operator": "Eve"})):
        assert pit.order(verb, **fields)["refused"] == (
            "no order is accepted: the table's operators file cannot be used, its log says why"
        )
    # The table is read on, and no board turns grey by it.
    pit.draw("B1:2H")
    assert all(each.json["alarm"] is None for each in pit.of("state"))
    assert [order.refused is None for order in pit.journaled()] == [False] * 3
    mended = tmp_path / "mended.toml"
    mended.write_text(FILE)
    mended.chmod(0o600)
    mended.replace(file)
    wait_for(lambda: pit.daemon._commands.alerts == [], "the mended file")  # noqa: SLF001
    assert pit.order("new-shoe", pin=PIN)["ok"]
    assert pit.order("new-shoe", operator="Eve", pin=PIN)["refused"].startswith("operator 'Eve'")
    pit.stop()
    log = "".join(capfd.readouterr())
    assert log.count("operators_file_alert") == 1
    assert log.count("operators_file_good") == 1
    assert "Traceback" not in log


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def load(
    folder: Path, name: str = "o.toml", clock: Callable[[], float] = time.monotonic
) -> Operators:
    operators = Operators(name, folder, monotonic=clock)
    operators.load()
    return operators


def operators(tmp_path: Path, clock: Clock) -> Operators:
    (tmp_path / "operators.toml").write_text(FILE)
    return load(tmp_path, "operators.toml", clock)


def test_six_wrong_pins_a_minute_and_the_right_one_waits_for_a_minute_at_most(
    tmp_path: Path,
) -> None:
    clock = Clock()
    maria_and_kim = operators(tmp_path, clock)

    def give(pin: str | None, *, preview: bool = False) -> str | None:
        try:
            maria_and_kim.authenticate("Maria", pin, privileged=True, preview=preview)
        except AuthenticationError as error:
            return str(error)
        return None

    for number in range(6):
        clock.now += 5
        assert give("0", preview=number == 0) == "wrong PIN"
        assert give(None, preview=True) is None
    assert give(PIN) == "too many wrong PINs: wait 35 s"
    # Others are not held up.
    assert not maria_and_kim.authenticate("Kim", None, privileged=False)
    clock.now += 35
    assert give(PIN) is None
    # The right one gives no guesses to somebody else.
    assert give("1") == "wrong PIN"
    assert give(PIN) == "too many wrong PINs: wait 5 s"


def test_a_hash_can_be_used(tmp_path: Path) -> None:
    (tmp_path / "o.toml").write_text(f'[[operator]]\nname = "Maria"\npin = "{hash_pin(PIN)}"\n')
    assert load(tmp_path).authenticate("Maria", PIN, privileged=True)


@pytest.mark.parametrize("pin", ["", "123", "1" * 65])
def test_a_pin_has_a_length(pin: str) -> None:
    with pytest.raises(UserError, match="a PIN has 6 to 64 characters"):
        hash_pin(pin)


_MARIA_O = '[[operator]]\nname = "Maria O"\n'


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "operator: missing"),
        ("operator = []", "operator"),
        ('[[operator]]\nroles = ["dealer"]', "name: missing"),
        ('[[operator]]\nname = "x"\nroles = ["boss"]', "expected one of"),
        ('[[operator]]\nname = "x"\ncolour = "red"', "colour: unknown key"),
        ('[[operator]]\nname = "x"\npin = "1234"', "operator.0.pin: no argon2 hash"),
        ('[[operator]]\nname = "x"\n[[operator]]\nname = "x"', "'x' is there twice"),
        ("what?", "expected operators in TOML"),
        *(
            (f'{_MARIA_O}[[operator]]\nname = "{each}"', "looks like 'Maria O'")
            for each in ("maria o", "ＭariaＯ", "Maria  O", "Maria 0")
        ),
        ('[[operator]]\nname = "AHA"\n[[operator]]\nname = "АНА"', "looks like 'AHA'"),
        ('[[operator]]\nname = "Mаria"', "mixes Latin and Cyrillic letters"),
        ('[[operator]]\nname = "Mαria"', "mixes Latin and Greek letters"),
        ('[[operator]]\nname = "Maria "', "expected no space around it"),
        ('[[operator]]\nname = "Ma\u200bria"', "no invisible character"),
        ('[[operator]]\nname = "\u202eairaM"', "no invisible character"),
        *(
            (f'[[operator]]\nname = "Ma{each}ria"', "no invisible character")
            for each in "\u034f\u115f\u2800\u3164\ufe0f\uffa0"
        ),
        ('[[operator]]\nname = "Ivo"\n[[operator]]\nname = "lvo"', "looks like 'Ivo'"),
        ('[[operator]]\nname = "Dina"\n[[operator]]\nname = "D\u0131na"', "looks like 'Dina'"),
    ],
)
def test_a_wrong_file_is_told_in_one_line(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "o.toml").write_text(text)
    with pytest.raises(UserError) as told:
        load(tmp_path)
    assert why in str(told.value)
    assert str(told.value).startswith(str(tmp_path / "o.toml"))
    assert "\n" not in str(told.value)
    assert "1234" not in str(told.value)


def test_names_of_any_alphabet_may_stand_together(tmp_path: Path) -> None:
    names = (
        "Maria",
        "Мария",
        "Μαρία",
        "José",
        "Jose",
        "陳大文",
        "陈大文",
        "陳 Jimmy",
        "佐藤さん",
        "이민",
    )
    (tmp_path / "o.toml").write_text("".join(f'[[operator]]\nname = "{each}"\n' for each in names))
    assert all(load(tmp_path).find(each) for each in names)


def test_the_file_may_be_a_credential(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = tmp_path / "credentials"
    kept.mkdir()
    (kept / "o.toml").write_text('[[operator]]\nname = "Maria"\n')
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(kept))
    known = load(tmp_path)
    assert not known.authenticate("Maria", None, privileged=False)
    with pytest.raises(UserError) as told:
        load(tmp_path, "other.toml")
    assert str(told.value) == (
        f"no such file or directory: neither {kept}/other.toml nor {tmp_path}/other.toml"
    )
