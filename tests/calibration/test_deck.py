"""
A deck that is scanned card by card becomes a table that reads a shoe right; whatever went wrong
while it was scanned is said, and no card that was learned is lost.
"""

from __future__ import annotations

import json
import os
import random
import re
import threading
import tomllib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from threading import Event

import pytest
from click.testing import CliRunner, Result

from calibration.deck_learning import (
    DeckError,
    DeckLearning,
    ScannedDeck,
    part_of,
)
from calibration.deck_scanning import Scan, scan_deck
from calibration.terminal import Terminal
from drivers import (
    CaptureLine,
    Driver,
    LineError,
    LineSettings,
    create_driver,
    load_deck_profile,
    write_capture,
)
from drivers.simulators.angel_eye import Settings
from drivers.simulators.lines import PtyLine
from drivers.simulators.simulator import Pace, find_simulator, play
from drivers.text import card_table
from shoe_daemon.cli import main
from shoe_daemon.config.table import load_config
from shoe_daemon.errors import UserError
from shoe_daemon.game import DECK, Card
from shoe_daemon.table.observations import CardDrawn, Role
from tests.each_case import each_case

EAN = {f"73108650047{number:02}": str(card) for number, card in enumerate(DECK)}
TAGS = {f"{number:014X}": str(card) for number, card in enumerate(DECK * 8, 0x04A2B3C4000000)}

READERS: dict[str, tuple[str, dict[str, object], dict[str, str], int]] = {
    "codes of the maker": ("line-scanner", {"preset": "handheld", "prefix": "]E0"}, EAN, 1),
    "tags of eight decks": ("json-lines", {}, TAGS, 8),
}
"""A driver, its options without a table, the true table, and the decks to scan."""


def run(*arguments: object, typed: str | None = None) -> Result:
    return CliRunner().invoke(main, ["calibrate", "deck", *map(str, arguments)], input=typed)


def toml(options: dict[str, object]) -> str:
    return f"{{{', '.join(f'{key} = {json.dumps(value)}' for key, value in options.items())}}}"


def lines_of(codes: Iterable[str]) -> list[bytes]:
    return [f"{code}\r".encode() for code in codes]


def capture(path: Path, codes: Iterable[str], driver: str = "line-scanner") -> Path:
    lines = (CaptureLine(raw, number * 2_000_000) for number, raw in enumerate(lines_of(codes), 1))
    write_capture(path, {"driver": driver}, lines)
    return path


class ScriptedReader:
    """A line on which the reader sends one piece after another; an exception is raised."""

    def __init__(self, *pieces: bytes | Exception | Callable[[], object]) -> None:
        self._pieces = iter(pieces)
        self.written: list[bytes] = []
        self.opened = 0

    def open_line(self, *_: object) -> ScriptedReader:
        self.opened += 1
        return self

    def read(self) -> bytes:
        piece = next(self._pieces, b"")
        if isinstance(piece, Exception):
            raise piece
        if callable(piece):
            piece()
            return b""
        return piece

    def check(self) -> None: ...

    def write(self, data: bytes) -> None:
        self.written.append(data)

    def close(self) -> None: ...


@pytest.fixture
def reader_of(monkeypatch: pytest.MonkeyPatch) -> Callable[..., ScriptedReader]:
    def make(*pieces: bytes | Exception | Callable[[], object]) -> ScriptedReader:
        reader = ScriptedReader(*pieces)
        monkeypatch.setattr("calibration.deck_scanning.open_transport", reader.open_line)
        monkeypatch.setattr("calibration.deck_scanning._REOPEN_S", 0)
        return reader

    return make


@pytest.mark.parametrize("reader", READERS)
def test_a_table_with_the_profile_reads_a_simulated_shoe(reader: str, tmp_path: Path) -> None:
    name, options, table, decks = READERS[reader]
    true_reader = create_driver(name, options | {"cards": table})
    simulator = find_simulator(name)(true_reader)
    line, stopping = PtyLine(tmp_path / "line"), Event()

    def scan_all() -> None:
        for _ in play(simulator.scanned_decks(decks), line, Pace(speed=0), stopping):  # type: ignore[attr-defined]  # of readers of text
            pass

    # As fast as a pty is read, equal tags cannot come within the cooldown.
    scanning = threading.Thread(target=scan_all)
    scanning.start()
    out = tmp_path / "deck.toml"
    result = run(
        *("--port", line.address, "--driver", name, "--options", toml(options)),
        *("--decks", decks, "--out", out, "--yes", "--seconds", 60),
    )
    stopping.set()
    scanning.join()
    line.close()
    assert result.exit_code == 0, result.output
    assert not part_of(out).exists()

    config = tmp_path / "table.toml"
    settings = "\n".join(f"{key} = {json.dumps(value)}" for key, value in options.items())
    config.write_text(
        f'site = "here"\n[table]\nid = "t"\n[journal]\npath = "j.db"\n[[reader]]\n'
        f'driver = "{name}"\nport = "file:none.cap"\n[reader.options]\n'
        f'cards_file = "deck.toml"\n{settings}\n'
    )
    decoder = load_config(config).readers[0].driver.decoder()
    dealt, read = [], []
    for scene in simulator.scenes(Settings(rounds=60, seed=3), once=True):
        dealt += [] if scene.round is None else [card for _, card in scene.round.cards]
        for step in scene.steps:
            for at, data in step.writes():
                for frame in decoder.feed(data, at):
                    read += [
                        each.card
                        for each in frame.observations
                        if isinstance(each, CardDrawn) and each.role is Role.PLAY
                    ]
    assert len(dealt) > 250
    assert read == dealt


def test_the_profile_says_how_it_was_made(tmp_path: Path) -> None:
    source = capture(tmp_path / "deck.cap", EAN)
    out = tmp_path / "deck.toml"
    assert run("--port", f"file:{source}", "--out", out).exit_code == 0
    profile = load_deck_profile(out)
    assert profile is not None
    assert (profile.version, profile.driver, profile.decks, profile.codes) == (
        1,
        "line-scanner",
        1,
        52,
    )
    assert profile.cards == EAN
    assert profile.is_unchanged
    out.write_text(out.read_text().replace('"7310865004700" = "AS"', '"7310865004700" = "KS"'))
    changed = load_deck_profile(out)
    assert changed is not None
    assert not changed.is_unchanged


@each_case(
    "driver, options, tags, settings",
    [
        ("line-scanner", "{}", True, {"unique_codes": True}),
        ("line-scanner", "{unique_codes = true}", True, {"unique_codes": True}),
        ("line-scanner", "{}", False, {}),
        ("json-lines", "{}", True, {}),
        ("json-lines", "{unique_codes = false}", True, {}),
        ("json-lines", "{unique_codes = false}", False, {"unique_codes": False}),
    ],
)
def test_two_decks_show_whether_their_codes_are_unique(
    driver: str, options: str, *, tags: bool, settings: dict[str, bool], tmp_path: Path
) -> None:
    codes = [f"{code}{deck}" if tags else code for deck in range(2) for code in EAN]
    if driver == "json-lines":
        codes = [json.dumps({"card_uid": code}) + "\n" for code in codes]
    source, out = capture(tmp_path / "deck.cap", codes, driver), tmp_path / "deck.toml"
    done = run(
        "--port", f"file:{source}", "--out", out, "--decks", 2, "--options", options, "--replace"
    )
    assert done.exit_code == 0, done.output
    profile = load_deck_profile(out)
    assert profile is not None
    assert profile.options == settings
    (shown,) = re.findall(r"\[reader.options\]\n(.*)\n\nnext", done.output, re.DOTALL)
    assert tomllib.loads(shown) == {"cards_file": "deck.toml"} | settings


def learned(codes: Iterable[str], *, decks: int = 1, unique: bool = False) -> DeckLearning:
    deck = ScannedDeck(driver="x", decks=decks, scans=tuple(codes))
    return DeckLearning(deck, unique_codes=unique)


def test_a_code_of_two_cards_names_both() -> None:
    learning = learned(["one", "two"])
    with pytest.raises(DeckError) as caught:
        learning.take("one")
    assert str(caught.value).startswith(
        "one was learned for the ACE OF SPADES (AS) and came again for the THREE OF SPADES (3S)"
    )
    assert learning.deck.scans == ("one", "two")


def test_copies_have_the_same_barcode_but_a_tag_of_their_own() -> None:
    learned(list(EAN), decks=2).take(next(iter(EAN)))
    with pytest.raises(DeckError, match="of deck 1 and came again for the ACE OF SPADES"):
        learned(list(EAN), decks=2, unique=True).take(next(iter(EAN)))
    with pytest.raises(DeckError, match=r"AS.* of deck 1 and came again for the TWO OF SPADES"):
        learned([*EAN, *list(EAN)[:1]], decks=2).take(next(iter(EAN)))


def test_the_last_card_is_taken_back() -> None:
    learning = learned(["one", "two"])
    assert learning.undo() == ["      taken back: two, the TWO OF SPADES (2S)"]
    learning.take("three")
    assert learning.cards == {"one": Card("AS"), "three": Card("2S")}
    in_deck_2 = learned([*EAN, *list(EAN)[:1]], decks=2)
    in_deck_2.undo()
    assert len(in_deck_2.cards) == 52
    with pytest.raises(DeckError, match="nothing to take back"):
        learned([]).undo()


def test_what_is_typed_is_obeyed(tmp_path: Path, reader_of: Callable[..., ScriptedReader]) -> None:
    said: list[str] = []
    typed = threading.Semaphore(0)

    def type_line() -> Iterator[str]:
        for text in ("u\n", "what\n", "stop\n"):
            typed.acquire()
            yield text

    learning = DeckLearning(ScannedDeck(driver="line-scanner"), unique_codes=False)
    reader_of(b"one\r", b"two\r", typed.release)

    def echo(text: str) -> None:
        said.append(text)
        if "taken back" in text or "expected u" in text:
            typed.release()

    scan = Scan(
        port="/dev/none",
        driver=create_driver("line-scanner"),
        line=LineSettings(),
        stopping=Event(),
        terminal=Terminal(echo, type_line()),
    )
    assert not scan_deck(scan, learning)
    assert learning.deck.scans == ("one",)
    assert "      taken back: two, the TWO OF SPADES (2S)" in said
    assert "  !!  'what'; expected u (undo), stop, or Enter" in said


def scan_of(driver: Driver, stopping: Event, said: list[str]) -> Scan:
    return Scan(
        port="/dev/none",
        driver=driver,
        line=LineSettings(),
        stopping=stopping,
        terminal=Terminal(said.append, ()),
    )


def test_a_lost_line_is_opened_again_and_no_card_is_lost(
    reader_of: Callable[..., ScriptedReader],
) -> None:
    codes = lines_of(EAN)
    reader = reader_of(*codes[:20], b"7310", LineError("unplugged"), *codes[20:])
    learning = DeckLearning(ScannedDeck(driver="line-scanner"), unique_codes=False)
    said: list[str] = []
    assert scan_deck(scan_of(create_driver("line-scanner"), Event(), said), learning)
    assert reader.opened == 2
    assert list(learning.cards) == list(EAN)
    text = "  !!  unplugged; the cards so far are kept, the line is opened again"
    assert text in said


def test_a_damaged_or_unread_card_is_asked_for_again(
    reader_of: Callable[..., ScriptedReader],
) -> None:
    codes = lines_of(EAN)
    reader_of(codes[0], b"NOREAD\r", b"73\xff10\r", *codes[1:])
    learning = DeckLearning(ScannedDeck(driver="line-scanner"), unique_codes=False)
    said: list[str] = []
    assert scan_deck(scan_of(create_driver("line-scanner"), Event(), said), learning)
    assert list(learning.cards) == list(EAN)
    assert sum("scan that card again" in line for line in said) == 2


def test_scanning_goes_on_where_it_was_stopped(
    tmp_path: Path, reader_of: Callable[..., ScriptedReader]
) -> None:
    out, codes = tmp_path / "deck.toml", lines_of(EAN)
    common = ("--port", "/dev/none", "--driver", "line-scanner", "--out", out)

    def interrupt() -> None:
        os.kill(os.getpid(), 2)

    reader_of(*codes[:17], interrupt)
    stopped = run(*common, typed="")
    assert stopped.exit_code == 1
    assert "17 of 52 cards were scanned" in stopped.output
    assert not out.exists()
    assert len(json.loads(part_of(out).read_bytes())["scans"]) == 17

    reader_of(*codes[17:])
    other = run(*common, "--order", "SDch", "--yes")
    assert other.exit_code == 2
    assert "--order SHDC" in other.output
    assert run(*common, typed="").output.endswith("expected --yes to go on\n")
    done = run(*common, typed="\n")
    assert done.exit_code == 0, done.output
    assert "17 cards were learned before" in done.output
    assert "card 18 of 52:  FIVE OF HEARTS (5H)" in done.output
    profile = load_deck_profile(out)
    assert profile is not None
    assert profile.cards == EAN
    assert not part_of(out).exists()


def test_a_part_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    out = tmp_path / "deck.toml"
    for content in ("", "{}", '{"driver": "x", "scans": 3}', "\udcff"):
        part_of(out).write_bytes(content.encode("utf-8", "surrogateescape"))
        result = run("--port", "/dev/none", "--driver", "line-scanner", "--out", out)
        assert result.exit_code == 2
        assert f"remove {part_of(out)} to begin again" in result.output
        assert result.output.count("\n") == 1


def test_a_keyboard_is_grabbed_and_learned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = ScriptedReader(*lines_of(EAN))
    monkeypatch.setattr("drivers.keyboard.open_transport", reader.open_line)
    out = tmp_path / "deck.toml"
    port = "/dev/input/by-id/usb-scanner-event-kbd"
    result = run("--port", port, "--driver", "keyboard", "--out", out, "--yes")
    assert result.exit_code == 0, result.output
    profile = load_deck_profile(out)
    assert profile is not None
    assert (profile.driver, profile.port, profile.line) == ("keyboard", port, {})
    assert profile.cards == EAN


class TestLayout:
    """`calibrate serial` asks a scanner that types for an ace and a queen."""

    PORT = "/dev/input/by-id/usb-scanner-event-kbd"

    def check(self, monkeypatch: pytest.MonkeyPatch, *codes: str, options: str = "{}") -> Result:
        reader = ScriptedReader(*lines_of(codes))
        monkeypatch.setattr("drivers.keyboard.open_transport", reader.open_line)
        arguments = ["--driver", "keyboard", "--options", options, "--port", self.PORT]
        command = ["calibrate", "serial", *arguments, "--seconds", "0.3"]
        return CliRunner().invoke(main, command)

    @each_case(
        "codes, options",
        [
            (["AS", "QD"], "{}"),
            (["AS", "AS", "QD"], "{}"),
            (["9S", "??", "AH", "QH"], "{}"),
            (["QD", "QH", "AS", "QD"], "{}"),
            (["S1", "SA", "DQ"], '{codes = "suit-rank"}'),
        ],
    )
    def test_a_right_layout_is_printed_with_the_configuration(
        self, codes: list[str], options: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        done = self.check(monkeypatch, *codes, options=options)
        assert done.exit_code == 0, done.output
        (reader,) = tomllib.loads(done.output[done.output.index("[[reader]]") :])["reader"]
        assert (reader["driver"], reader["port"]) == ("keyboard", self.PORT)
        assert reader["options"] == tomllib.loads(f"o = {options}")["o"] | {"layout": "us"}

    def test_a_french_layout_is_one_line(self, monkeypatch: pytest.MonkeyPatch) -> None:
        done = self.check(monkeypatch, "QS", "AD")
        assert done.exit_code == 1
        assert done.output.splitlines()[-1].endswith(
            "the ace was read as QS and the queen as AD: the scanner types on a French keyboard; "
            "set it to the keyboard of the United States, or learn its codes with `shoe-daemon "
            "calibrate deck`"
        )
        assert "[[reader]]" not in done.output

    @each_case("codes", [[], ["AS"], ["QS"], ["AS", "AH"], ["9S", "9S"]])
    def test_less_than_both_checks_nothing(
        self, codes: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        done = self.check(monkeypatch, *codes)
        assert done.exit_code == 1
        assert "the layout is not checked" in done.output
        assert "[[reader]]" not in done.output


def test_a_deck_that_was_complete_at_a_crash_becomes_a_profile(
    tmp_path: Path, reader_of: Callable[..., ScriptedReader]
) -> None:
    out = tmp_path / "deck.toml"
    part_of(out).write_text(json.dumps({"driver": "line-scanner", "scans": list(EAN)}))
    reader_of()
    result = run("--port", "/dev/none", "--driver", "line-scanner", "--out", out, "--yes")
    assert result.exit_code == 0, result.output
    assert load_deck_profile(out) is not None


def test_a_finished_profile_is_replaced_only_on_demand(tmp_path: Path) -> None:
    source, out = capture(tmp_path / "deck.cap", EAN), tmp_path / "deck.toml"
    out.write_text('"1" = "AS"\n')
    refused = run("--port", f"file:{source}", "--out", out)
    assert refused.exit_code == 2
    assert refused.output == (
        f"shoe-daemon: {out}: the profile exists; expected another --out, or --replace\n"
    )
    assert out.read_text() == '"1" = "AS"\n'
    assert run("--port", f"file:{source}", "--out", out, "--replace").exit_code == 0
    assert load_deck_profile(out) is not None


def test_a_capture_with_a_fault_writes_no_profile(tmp_path: Path) -> None:
    codes, out = list(EAN), tmp_path / "deck.toml"
    faults = {
        "51 of 52 cards were scanned; missing: KC of this deck": codes[:-1],
        f"{codes[4]} was learned for the FIVE OF SPADES (5S)": [*codes[:9], codes[4], *codes[9:]],
        "1 more codes follow the last card": [*codes, "73"],
    }
    for text, scanned in faults.items():
        source = capture(tmp_path / "deck.cap", scanned)
        result = run("--port", f"file:{source}", "--out", out)
        assert result.exit_code == 1
        assert text in result.output
        assert list(tmp_path.iterdir()) == [source]


def test_strangers_and_missing_cards_are_named(tmp_path: Path) -> None:
    out = tmp_path / "deck.toml"
    whole = capture(tmp_path / "deck.cap", EAN)
    assert run("--port", f"file:{whole}", "--out", out).exit_code == 0
    shuffled = capture(tmp_path / "again.cap", sorted(EAN, key=lambda code: code[::-1]))
    good = run("--port", f"file:{shuffled}", "--verify", out)
    assert good.exit_code == 0
    assert good.output.endswith(f"{out}: all 52 codes are right, no stranger\n")
    others = capture(tmp_path / "others.cap", ["4006381333931", *list(EAN)[:-2]])
    bad = run("--port", f"file:{others}", "--verify", out)
    assert bad.exit_code == 1
    assert bad.output.endswith(f"{out}: strangers: 4006381333931; not scanned: QC, KC\n")


@pytest.mark.parametrize("name", ["line-scanner", "json-lines", "keyboard"])
def test_any_bytes_have_a_code_that_a_table_can_have_or_none(name: str) -> None:
    chance = random.Random(name)
    parts = [*b'\x02\x03\r\n{}":, ', *map(ord, "AS10H"), 0, 0x7F, 0xFF]
    whole = [b'{"card_uid":"', b'","type":"card"}', b'{"type":[]}', b'"\\ud800"', b"NR\r"]
    for options in ({}, {"preset": "no-terminator"}, {"preset": "handheld"}):
        driver = create_driver(name, {} if name == "json-lines" else options)
        for _ in range(1500):
            raw = b"".join(
                chance.choice(whole) if chance.random() < 0.2 else bytes([chance.choice(parts)])
                for _ in range(chance.randrange(12))
            )
            driver.recognises(raw)
            code = driver.code_in(raw)
            if code is not None:
                card_table({code: "AS"})


class TestProfileErrors:
    @pytest.mark.parametrize(
        ("content", "said"),
        [
            ("version = 2\n[cards]\n", "version: 2; expected 1: scan the deck again"),
            ('version = 1\ndriver = "x"\n[cards]\n', "date: missing"),
            ("cards = 3\n", "cards: 3; expected a table"),
            ('"1" = "AS"\n"2" = 5\n', "2: 5; expected"),
        ],
    )
    def test_an_invalid_profile_names_each_key(
        self, content: str, said: str, tmp_path: Path
    ) -> None:
        path = tmp_path / "deck.toml"
        path.write_text(content)
        with pytest.raises(UserError) as caught:
            create_driver("line-scanner", {"cards_file": str(path)}).decoder()
        assert all(line.startswith(f"{path}: ") for line in str(caught.value).splitlines())
        assert said in str(caught.value)

    def test_a_missing_profile_names_what_writes_it(self, tmp_path: Path) -> None:
        path = tmp_path / "deck.toml"
        driver = create_driver
        with pytest.raises(UserError, match="`shoe-daemon calibrate deck` writes one"):
            driver("line-scanner", {"cards_file": str(path)})
        part_of(path).write_text("{}")
        with pytest.raises(UserError, match=r"deck.toml.part is a part of one"):
            driver("line-scanner", {"cards_file": str(path)})


class TestDoctor:
    def findings(self, folder: Path, driver: str, options: str) -> list[list[str]]:
        (folder / "none.cap").touch()
        config = folder / "table.toml"
        config.write_text(
            f'site = "here"\n[table]\nid = "t"\n[journal]\npath = "j.db"\n[[reader]]\n'
            f'driver = "{driver}"\nport = "file:{folder}/none.cap"\n[reader.options]\n{options}\n'
        )
        result = CliRunner().invoke(main, ["doctor", "--config", str(config), "--json"])
        return [
            [each["verdict"], each["text"]]
            for each in json.loads(result.stdout)
            if each["about"] == "reader shoe"
            if "codes" in each["text"] or "learned" in each["text"]
        ]

    def test_a_profile_that_fits_is_good(self, tmp_path: Path) -> None:
        source, out = capture(tmp_path / "deck.cap", EAN), tmp_path / "deck.toml"
        run("--port", f"file:{source}", "--out", out)
        ((verdict, text),) = self.findings(tmp_path, "line-scanner", 'cards_file = "deck.toml"')
        assert verdict == "good"
        assert "52 codes of 1 decks, learned 20" in text

    def test_another_reader_is_bad(self, tmp_path: Path) -> None:
        source, out = capture(tmp_path / "deck.cap", EAN), tmp_path / "deck.toml"
        run("--port", f"file:{source}", "--out", out)
        found = self.findings(tmp_path, "line-scanner", 'cards_file = "deck.toml"\nprefix = "]E0"')
        assert found[0] == [
            "bad",
            f"{out} was learned with other settings: prefix was the default, and is ']E0'",
        ]
        found = self.findings(tmp_path, "json-lines", 'cards_file = "deck.toml"')
        assert ["bad", "note"][0] in {verdict for verdict, _ in found}
        assert any("driver was 'line-scanner', and is 'json-lines'" in text for _, text in found)

    def test_a_table_that_was_changed_by_hand_is_noted(self, tmp_path: Path) -> None:
        source, out = capture(tmp_path / "deck.cap", EAN), tmp_path / "deck.toml"
        run("--port", f"file:{source}", "--out", out)
        with out.open("a") as file:
            file.write('"spare" = "KC"\n')
        found = self.findings(tmp_path, "line-scanner", 'cards_file = "deck.toml"')
        assert found[0][0] == "note"
        assert "was changed after" in found[0][1]
