"""`init --reader search`, and the ports of several tables on one computer."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterator
from itertools import permutations
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from calibration.serial import Port
from shoe_daemon.config.table import load_config
from shoe_daemon.install import readers
from shoe_daemon.install.answers import Answers, default_answers
from tests.installation.test_init import contents, init, written

SEARCH = ("--yes", "--reader", "search")


class Computer:
    """Adapters (each a pty with a lasting name), cameras and keyboards of this test's computer."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ends: list[int] = []
        self.ports: list[Port] = []
        for name in ("v4l", "input"):
            (folder / name).mkdir(parents=True)

    def plug_adapter(self, name: str) -> str:
        """Return its lasting name."""
        self._ends += (ends := os.openpty())
        link = self._folder / name
        link.symlink_to(os.ttyname(ends[1]))
        self.ports.append(Port(os.ttyname(ends[1]), "a test adapter", (str(link),)))
        return str(link)

    def device(self, name: str) -> str:
        """Return the current path of an adapter, such as /dev/pts/3."""
        return os.path.realpath(self._folder / name)

    def plug_camera(self) -> str:
        (self._folder / "v4l/usb-Eye-video-index1").touch()
        (camera := self._folder / "v4l/usb-Eye-video-index0").touch()
        return f"camera:{camera}"

    def plug_keyboard(self) -> str:
        (keyboard := self._folder / "input/usb-HR22-event-kbd").touch()
        return f"keyboard:{keyboard}"

    def close(self) -> None:
        for end in self._ends:
            os.close(end)


@pytest.fixture
def computer(monkeypatch: pytest.MonkeyPatch) -> Iterator[Computer]:
    with TemporaryDirectory(dir="/dev/shm", prefix="shoe-") as name:
        here = Computer(Path(name))
        monkeypatch.setattr(readers, "_CAMERAS", Path(name, "v4l"))
        monkeypatch.setattr(readers, "_KEYBOARDS", Path(name, "input"))
        monkeypatch.setattr(readers, "list_ports", lambda: here.ports)
        yield here
        here.close()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (folder := tmp_path / "root").mkdir()
    return folder


def refused(root: Path, *options: str) -> str:
    """Return the one line of a run that installs nothing."""
    before = contents(root)
    result = init(root, *options)
    assert result.exit_code != 0, result.output
    assert contents(root) == before
    text = str(result.exception)
    assert "\n" not in text
    return text


def reader(root: Path, table: str) -> str:
    config = tomllib.loads((root / f"etc/shoe-daemon/{table}.toml").read_text())
    port: str = config["reader"][0]["port"]
    return port


def test_what_is_plugged_in_is_found(root: Path, computer: Computer) -> None:
    keyboard = computer.plug_keyboard()
    # It may be the keyboard of a person: it is named, and not taken.
    assert f"{keyboard} types: name it if it is the scanner" in refused(root, *SEARCH)
    camera = computer.plug_camera()
    written(root, *SEARCH)
    assert reader(root, "table-1") == camera
    adapters = [computer.plug_adapter(name) for name in ("another", "shoe")]
    assert f"search found {', '.join(adapters)}; expected one device: name it" in refused(
        root, *SEARCH, "--table", "table-2"
    )


def test_search_keeps_a_tables_own_reader(root: Path, computer: Computer) -> None:
    adapter = computer.plug_adapter("shoe")
    written(root, *SEARCH)
    before = contents(root)
    computer.plug_camera()
    # Profiles name the port at which they were made.
    profile = root / "etc/shoe-daemon/cards.toml"
    profile.write_text(f'[profile]\nport = "{adapter}"\n')
    written(root, *SEARCH)
    written(root, "--yes")
    profile.unlink()
    assert contents(root) == before
    # A reader that is gone is kept without a search, and not found by one.
    computer.ports.clear()
    written(root, "--yes")
    assert reader(root, "table-1") == adapter
    written(root, *SEARCH)
    assert reader(root, "table-1").startswith("camera:")


def test_two_tables_never_have_one_port(root: Path, computer: Computer) -> None:
    first = computer.plug_adapter("first")
    written(root, *SEARCH, "--table", "table-1")
    text = refused(root, *SEARCH, "--table", "table-2")
    assert f"{first} is that of table 'table-1'" in text
    second = computer.plug_adapter("second")
    written(root, *SEARCH, "--table", "table-2")
    assert [reader(root, f"table-{number}") for number in (1, 2)] == [first, second]
    # By whatever name, and in whatever section the other table has it.
    for named in (first, computer.device("first"), f"camera:{first}"):
        text = refused(root, "--yes", "--table", "table-2", "--reader", named)
        assert text.endswith(
            f"{named!r} is that of table 'table-1'; expected one that no other table has"
        )
    third = computer.plug_adapter("third")
    config = root / "etc/shoe-daemon/table-1.toml"
    config.write_text(f'{config.read_text()}\n[reader.forward]\nto = "{third}"\n')
    assert "'table-1'" in refused(root, "--yes", "--table", "table-2", "--reader", third)
    assert "'table-1'" in refused(root, "--yes", "--table", "table-2", "--witness", third)
    # A table that was removed has none.
    config.unlink()
    written(root, "--yes", "--table", "table-2", "--reader", first)


@pytest.mark.parametrize("plugged", [0, 1, 2])
@pytest.mark.parametrize("own", [None, "simulated", "adapter"])
def test_a_reader_is_own_found_or_named(
    root: Path, computer: Computer, plugged: int, own: str | None
) -> None:
    """Whatever is given, had before and plugged in, beside a table that has an adapter."""
    taken, gone = computer.plug_adapter("taken"), computer.plug_adapter("gone")
    written(root, "--yes", "--table", "table-1", "--reader", taken)
    simulated = "socket://127.0.0.1:4007"
    had = {None: None, "simulated": simulated, "adapter": gone}[own]
    if had is not None:
        named = "simulated" if had == simulated else gone
        written(root, "--yes", "--table", "table-7", "--reader", named)
    computer.ports.pop()  # that which is gone
    free = [computer.plug_adapter(f"free-{number}") for number in range(plugged)]
    found = free[0] if len(free) == 1 else None
    before = contents(root)
    for given, expected in (
        (None, had or found),
        ("search", found),
        (taken, None),
        (gone, gone),
        ("simulated", simulated),
    ):
        options = () if given is None else ("--reader", given)
        result = init(root, "--yes", "--table", "table-7", *options)
        assert (result.exit_code == 0) is (expected is not None), (given, result.output)
        if expected is not None:
            assert reader(root, "table-7") == expected, given
        for name in set(contents(root)) - set(before):
            (root / name).unlink()
        for name, content in before.items():
            (root / name).write_bytes(content)


@pytest.mark.usefixtures("computer")
def test_simulated_shoes_and_device_servers_have_ports_of_their_own(root: Path) -> None:
    written(root, "--yes", "--table", "table-1", "--reader", "simulated")
    for table, named in (
        ("salon", "simulated"),
        ("table-2", "socket://127.0.0.1:4001"),
        ("table-2", "rfc2217://127.0.0.1:4001"),
    ):
        text = refused(root, "--yes", "--table", table, "--reader", named)
        assert "is that of table 'table-1'" in text
    for table in ("table-2", "table-3"):
        written(root, "--yes", "--table", table, "--reader", "simulated")


def test_ports_of_a_broken_configuration_are_not_given_away(
    root: Path, computer: Computer
) -> None:
    computer.plug_adapter("shoe")
    written(root, *SEARCH)
    config = root / "etc/shoe-daemon/table-1.toml"
    config.write_text("[[reader]\n")
    text = refused(root, *SEARCH, "--table", "table-2")
    assert text.startswith(f"{config}: ")
    assert text.endswith("its ports are unknown: correct it, or move it away")


def test_a_keyboard_that_is_named_is_installed_with_its_rights(
    root: Path, computer: Computer
) -> None:
    keyboard = computer.plug_keyboard()
    written(root, "--yes", "--reader", keyboard)
    (found,) = load_config(root / "etc/shoe-daemon/table-1.toml").readers
    assert (found.driver.name, found.port) == ("keyboard", keyboard)
    units = root / "etc/systemd/system/shoe-daemon@table-1.service.d"
    assert "DeviceAllow=char-input" in (units / "40-keyboard.conf").read_text()


class TestQuestions:
    """A person answers: the same promises."""

    @pytest.fixture
    def answer(self, root: Path) -> Callable[..., str]:
        def run(*readers: str, table: str = "table-1", options: tuple[str, ...] = ()) -> str:
            typed = [table, "", "", "", *readers, "", "", ""]
            return init(root, "--listen", "0", *options, typed="\n".join([*typed, ""])).output

        return run

    def test_return_searches_again_and_never_simulates(
        self, root: Path, computer: Computer, answer: Callable[..., str]
    ) -> None:
        output = answer("", "", "")
        assert output.count("No free serial adapter or camera was found: plug it in") > 3
        assert not contents(root)
        adapter = computer.plug_adapter("shoe")
        answer("")
        assert reader(root, "table-1") == adapter

    def test_ports_of_other_tables_are_neither_offered_nor_taken(
        self, root: Path, computer: Computer, answer: Callable[..., str]
    ) -> None:
        first, second = computer.plug_adapter("first"), computer.plug_adapter("second")
        answer(first)
        shown = answer(first, "", table="table-2")
        assert f"1  {second}" in shown
        assert f"{first!r} is that of table 'table-1'" in shown
        assert [reader(root, f"table-{number}") for number in (1, 2)] == [first, second]

    def test_a_search_that_finds_nothing_asks(
        self, root: Path, computer: Computer, answer: Callable[..., str]
    ) -> None:
        search = ("--reader", "search")
        output = answer("simulated", options=search)
        assert "reader: search found no free serial adapter or camera" in output
        assert reader(root, "table-1") == "socket://127.0.0.1:4001"
        adapter = computer.plug_adapter("shoe")
        output = answer(table="table-2", options=search)
        assert "search again" not in output
        assert reader(root, "table-2") == adapter


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_defaults_of_a_table_are_its_own_and_those_of_the_computer(order: tuple[int, ...]) -> None:
    """An answer of another table is a default only where tables share it."""
    tables = [
        Answers(
            site=f"site-{number}",
            table=f"table-{number}",
            name=f"name {number}",
            house=f"house-{number}",
            policy=f"policy-{number}",
            reader=f"/dev/reader-{number}",
            driver=f"driver-{number}",
            driver_options={"number": number},
            line={"baudrate": number},
            baudrate=number,
            broker=f"broker-{number}",
            ca_file=f"ca-{number}",
            witness=f"/dev/witness-{number}",
            display="network",
            language=f"l{number}",
            tls_names=(f"tls-{number}",),
            operators=(f"operator-{number}",),
        )
        for number in order
    ]
    earlier = {each.table: each for each in tables}
    last = tables[-1]
    computer = ("display", "language", "tls_names")
    site = ("site", "broker", "ca_file", "operators")
    assert default_answers(None, earlier) == last
    for own in tables:
        found = default_answers(own.table, earlier)
        for field in Answers.__struct_fields__:
            whose = last if field in computer else own
            assert getattr(found, field) == getattr(whose, field), field
    new = default_answers("salon-9", earlier)
    fresh = Answers(site="", table="salon-9", name="Salon 9", house="punto-banco", reader="search")
    for field in Answers.__struct_fields__:
        whose = last if field in (*computer, *site) else fresh
        assert getattr(new, field) == getattr(whose, field), field
