"""The package of `new-driver`, which `docs/write-a-driver.md` prints, is a complete driver."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from drivers.capture import Anonymiser, CaptureLine, blank, random_permutation
from drivers.conformance import PROMISES
from drivers.driver import Frame
from shoe_daemon.cli import main
from shoe_daemon.table.observations import CardDrawn
from tests.service.daemon_process import SHOE_DAEMON, DaemonProcess, Shoe
from tests.volume import sample, volume
from tests.waiting import wait_for

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "write-a-driver.md"
_FILE = re.compile(r"`([a-z_]+\.(?:py|toml|txt))`[^`]*?:\n\n```\w+\n(.*?)```", re.DOTALL)


def page_files() -> dict[str, str]:
    """Return the files that the page prints, by name."""
    found = dict(_FILE.findall(PAGE.read_text(encoding="utf-8")))
    assert sorted(found) == ["my_reader.py", "pyproject.toml", "round.txt", "table.toml"]
    return found


def new_driver(name: str, folder: Path) -> Path:
    """Generate a package, and install it in its folder."""
    done = CliRunner().invoke(main, ["new-driver", name, "--folder", str(folder)])
    assert done.exit_code == 0, done.output
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    about = folder / f"{project['name'].replace('-', '_')}-1.0.dist-info"
    about.mkdir()
    head = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 1\n"
    (about / "METADATA").write_text(head)
    lines = [f"{name} = {value}" for name, value in group(project).items()]
    (about / "entry_points.txt").write_text("\n".join(["[shoe_daemon.drivers]", *lines]) + "\n")
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Generate the page's package, which has the files that the page prints."""
    folder = new_driver("my-reader", tmp_path / "package")
    for name, text in page_files().items():
        if name == "round.txt":
            (folder / name).write_text(text, encoding="utf-8")
        assert (folder / name).read_text(encoding="utf-8") == text
    return folder


def group(project: dict[str, dict[str, dict[str, str]]]) -> dict[str, str]:
    return project["entry-points"]["shoe_daemon.drivers"]


def shoe_daemon(
    folder: Path, *arguments: str, path: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command in the folder, where the package is found."""
    return subprocess.run(
        [*SHOE_DAEMON, *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": f"{path or folder}:{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )


def on_pty(folder: Path, line: str) -> None:
    """Put the port of a test into the page's configuration."""
    file = folder / "table.toml"
    file.write_text(file.read_text().replace("/dev/ttyUSB0", line), encoding="utf-8")


@pytest.mark.parametrize("name", sample(["acme-shoe-2", "my-reader"], 2))
def test_its_tests_pass_as_generated(name: str, tmp_path: Path) -> None:
    folder = new_driver(name, tmp_path / "package")
    assert (folder / f"{name.replace('-', '_')}.py").exists()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": f"{folder}:{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(PROMISES) + 3} passed" in done.stdout
    assert "my-reader" not in done.stdout or name == "my-reader"


@pytest.mark.skipif(not volume(0, 1), reason="`new_driver` writes what pip would: at full volume")
def test_pip_installs_it_and_every_command_knows_it(tmp_path: Path) -> None:
    package, installed = tmp_path / "package", tmp_path / "installed"
    done = CliRunner().invoke(main, ["new-driver", "my-reader", "--folder", str(package)])
    assert done.exit_code == 0, done.output
    offline = ("--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check")
    pip = (sys.executable, "-m", "pip", "install", "--quiet", *offline, "--target", installed)
    subprocess.run([*pip, package], check=True)

    options = ("--rounds", "3", "--speed", "0", "--capture", str(tmp_path / "shoe.cap"))
    assert shoe_daemon(installed, "simulate", "my-reader", *options).returncode == 0
    replayed = shoe_daemon(installed, "replay", str(tmp_path / "shoe.cap"))
    assert replayed.stdout.count(" wins") + replayed.stdout.count("Tie") >= 3, replayed.stderr


def test_it_is_installed_without_pip_and_its_commands_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package, site = tmp_path / "package", tmp_path / "site"
    site.mkdir()
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(site))
    told = CliRunner().invoke(main, ["new-driver", "my-reader", "--folder", str(package)]).output
    readme = (package / "README.md").read_text().partition("```sh\n")[2].partition("```")[0]
    commands = [line.split() for line in (told.partition("\n\n")[2] + readme).splitlines()]
    monkeypatch.chdir(package)
    for words in commands:
        if words[1] == "install-driver":
            for _ in range(2):  # again after each change
                done = CliRunner().invoke(main, words[1:])
                assert done.exit_code == 0, done.output
        elif words[0] == "shoe-daemon":
            answer = shoe_daemon(package, *words[1:], path=site)
            assert answer.returncode == 0, answer.stdout + answer.stderr
    assert (package / "captures/second.observations.jsonl").exists()
    assert sorted(path.name for path in site.iterdir()) == [
        "my_reader-1.0.dist-info",
        "my_reader.py",
        "my_reader_simulator.py",
    ]


@pytest.mark.parametrize(
    ("project", "told"),
    [
        (None, "No such file or directory"),
        ("[project", "pyproject.toml: "),
        ("[project]\nname = 'x'\nversion = '1'\n", "no entry-points; expected a file as"),
    ],
)
def test_a_folder_without_a_driver_is_not_installed(
    project: str | None, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(tmp_path / "site"))
    package = tmp_path / "package"
    package.mkdir()
    if project is not None:
        (package / "pyproject.toml").write_text(project)
    done = CliRunner().invoke(main, ["install-driver", str(package)])
    assert done.exit_code == 2
    (line,) = done.output.splitlines()
    assert told in line


def test_a_module_of_another_package_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(tmp_path))
    (tmp_path / "my_reader.py").write_text("another one")
    package = tmp_path / "package"
    CliRunner().invoke(main, ["new-driver", "my-reader", "--folder", str(package)])
    done = CliRunner().invoke(main, ["install-driver", str(package)])
    assert "my_reader.py: belongs to another package" in done.output
    assert (tmp_path / "my_reader.py").read_text() == "another one"


@pytest.mark.parametrize("options", ["", "slots = true", "{slots = true, buttons = false}"])
def test_its_simulator_places_cards_and_declares_results(folder: Path, options: str) -> None:
    deal = ("--rounds", "3", "--speed", "0", "--capture", "shoe.cap", "--options", options)
    done = shoe_daemon(folder, "simulate", "my-reader", *deal)
    assert done.returncode == 0, done.stderr
    done = shoe_daemon(folder, "replay", "--json", "--strict", "shoe.cap")
    assert done.returncode == 0, done.stdout + done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    finished = [each["data"] for each in events if each["type"] == "round_finished"]
    assert len(finished) >= 2
    sent = (folder / "shoe.cap").read_text()
    assert (b" P1\n".hex(" ").upper() in sent) is ("slots" in options)
    assert (b"R ".hex(" ").upper() in sent) is ("false" not in options)


def test_its_simulator_deals_what_replay_shows_though_each_card_takes_long(folder: Path) -> None:
    simulator = folder / "my_reader_simulator.py"
    late = simulator.read_text().replace('[(0, f"C {card}', '[(2, f"C {card}')
    simulator.write_text(late)
    options = ("--rounds", "3", "--speed", "0", "--capture", "shoe.cap")
    assert shoe_daemon(folder, "simulate", "my-reader", *options).returncode == 0
    replayed = shoe_daemon(folder, "replay", "shoe.cap")
    assert replayed.returncode == 0, replayed.stderr
    assert replayed.stdout.count(" wins") + replayed.stdout.count("Tie") >= 3


def test_a_simulator_that_cannot_be_loaded_takes_none_away(folder: Path) -> None:
    (folder / "my_reader_simulator.py").write_text("raise RuntimeError('broken')\n")
    listed = shoe_daemon(folder, "simulate", "--help")
    assert "angel-eye-ii" in listed.stdout
    assert "my-reader" not in listed.stdout
    done = shoe_daemon(folder, "simulate", "my-reader")
    assert done.returncode == 2
    assert "cannot be loaded: RuntimeError: broken" in done.stderr


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("My_Reader", "'My_Reader': expected lower-case words with hyphens, such as my-reader"),
        ("angel-eye-ii", "angel-eye-ii: there is a driver of this name; expected a new one"),
        ("../up", "'../up': expected lower-case words"),
        ("json", "json: Python has a module of this name; expected another"),
    ],
)
def test_a_wrong_name_is_refused(name: str, told: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["new-driver", name, "--folder", str(tmp_path / "new")])
    assert done.exit_code == 2
    assert told in done.output
    assert not (tmp_path / "new").exists()


def test_a_folder_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["new-driver", "my-reader", "--folder", str(tmp_path)])
    assert done.exit_code == 2
    assert f"{tmp_path}: is there already; expected a new folder" in done.output
    assert list(tmp_path.iterdir()) == []


def test_replay_reads_the_round_of_the_page(folder: Path) -> None:
    done = shoe_daemon(folder, "replay", "--json", "--protocol", "my-reader", "round.txt")
    assert (done.returncode, done.stderr) == (0, "")
    finished = [e for e in map(json.loads, done.stdout.splitlines()) if e["type"][:5] == "round"]
    assert [e["type"] for e in finished] == ["round_started", "round_finished"]
    assert finished[-1]["data"]["outcome"] == "player"


def test_check_config_and_doctor_accept_it(folder: Path) -> None:
    master, slave = os.openpty()
    try:
        on_pty(folder, os.ttyname(slave))
        checked = shoe_daemon(folder, "check-config", "table.toml")
        examined = shoe_daemon(folder, "doctor", "--config", "table.toml", "--json")
    finally:
        os.close(master)
        os.close(slave)
    assert (checked.returncode, checked.stderr) == (0, "")
    assert "rounds    end by button (auto)" in checked.stdout
    assert "my-reader on /dev/" in checked.stdout
    assert examined.returncode == 0, examined.stdout + examined.stderr
    assert {"result_mismatch", "unreadable_card"}.isdisjoint(
        f["text"].partition(" ")[0] for f in json.loads(examined.stdout)
    )


def test_a_daemon_runs_with_it(folder: Path) -> None:
    on_pty(folder, str(folder / "port"))
    with Shoe(folder / "port") as shoe, DaemonProcess(folder / "table.toml") as daemon:
        daemon.start(PYTHONPATH=f"{folder}:{ROOT}").wait_ready()
        shoe.wait_heard()
        shoe.send((folder / "round.txt").read_bytes() * 2)
        wait_for(lambda: outcomes(folder) == ["player", "player"], "two rounds")
        assert daemon.stop() == 0
    assert '"type":"irregularity"' not in exported(folder)


def exported(folder: Path) -> str:
    return shoe_daemon(folder, "journal", "export", "journal.db").stdout


def outcomes(folder: Path) -> list[str]:
    events = map(json.loads, exported(folder).splitlines())
    return [e["data"]["outcome"] for e in events if e["type"] == "round_finished"]


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    path = tmp_path_factory.mktemp("page") / "my_reader.py"
    path.write_text(page_files()["my_reader.py"], encoding="utf-8")
    spec = importlib.util.spec_from_file_location("my_reader", path)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


STREAM = (
    b"9S\nC 9S\nC TH\nC ZZ\nC \xff\nU\nR player\nR nobody\nE\nX 1\n\xff\xfe\n"
    + b"x" * 200
    + b"C KD\nC 2S\n"
)


def decode(module: ModuleType, pieces: list[bytes], **options: bool) -> list[Frame]:
    decoder = module.MyReader(module.MyReaderOptions(**options)).decoder()
    return [frame for piece in pieces for frame in decoder.feed(piece, 1.0)]


def test_without_buttons_it_reports_no_results(module: ModuleType) -> None:
    driver = module.MyReader(module.MyReaderOptions(buttons=False))
    assert driver.signals == ("faults",)
    frames = decode(module, [b"R player\nE\n"], buttons=False)
    assert [frame.observations for frame in frames] == [(), ()]


def test_the_method_of_the_page_replaces_the_cards(module: ModuleType) -> None:
    page = PAGE.read_text(encoding="utf-8")
    found = re.search(r"```python\n(    def anonymised.*?)```", page, re.DOTALL)
    assert found is not None
    source = f"class Anonymising(MyReader):\n    name = 'my-reader'\n\n{found[1]}"
    names = vars(module) | {"blank": blank}
    exec(source, names)  # noqa: S102 - the page's own text
    cards = random_permutation()
    anonymiser = Anonymiser(names["Anonymising"](module.MyReaderOptions()), cards)
    changed = [*anonymiser.take(CaptureLine(STREAM)), *anonymiser.finish()]
    after = decode(module, [line.data for line in changed])
    shown = [seen for frame in after for seen in frame.observations]
    before = [seen for frame in decode(module, [STREAM]) for seen in frame.observations]
    assert shown == [
        replace(seen, card=cards[seen.card]) if isinstance(seen, CardDrawn) and seen.card else seen
        for seen in before
    ]
