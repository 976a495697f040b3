"""The containers: their files agree; `make test-containers` runs the demo."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from shoe_daemon.config.table import load_config
from shoe_daemon.display.config import load_display
from tests.packaging.conftest import ROOT
from tests.waiting import wait_for
from tools.build_deb import WORK, locked_wheels

FOLDER = ROOT / "packaging/container"
CONTAINERFILE = (FOLDER / "Containerfile").read_text(encoding="utf-8")
COMPOSE = (FOLDER / "compose.yaml").read_text(encoding="utf-8")
STATE = "/var/lib/shoe-daemon"
BASE = os.environ.get("BASE", "docker.io/library/debian:trixie-slim")
IMAGE = "localhost/shoe-daemon-demo"
PROJECT = "shoe-daemon-test"
VOLUME = f"{PROJECT}_data:{STATE}"

in_containers = pytest.mark.skipif(
    not os.environ.get("TEST_CONTAINERS"), reason="minutes: make test-containers"
)


def installed(root: Path) -> Path:
    """Run the installation of the demo's stage below a folder, and return its /etc."""
    (command,) = re.findall(r"(?ms)^RUN (mkdir /demo.*?[^\\])$", CONTAINERFILE)
    script = command.replace("/demo", str(root / "demo")).replace(STATE, str(root))
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    subprocess.run(["sh", "-ec", script], check=True, env={**os.environ, "PATH": path})
    return root / "demo/etc"


def test_what_compose_names_is_what_the_image_installs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STATE_DIRECTORY", str(tmp_path))
    etc = installed(tmp_path)
    table = load_config(etc / "shoe-daemon/table-1.toml")
    display = load_display(etc / "shoe-daemon/display.toml")
    (shoe,) = re.findall(r"simulate angel-eye-ii --listen (\S+)", COMPOSE)
    assert table.config.reader[0].port == f"socket://{shoe}"
    (watched,) = re.findall(r"find (\S+)", COMPOSE)
    assert table.config.metrics.health_file == watched.replace(STATE, str(tmp_path))
    (published,) = re.findall(r'ports: \["127\.0\.0\.1:(\d+):(\d+)"\]', COMPOSE)
    assert set(published) == set(re.findall(r"--listen 0\.0\.0\.0:(\d+)", COMPOSE))
    assert set(re.findall(r"http://127\.0\.0\.1:(\d+)/", COMPOSE)) == set(published)
    assert display.config.display.orders.allow_plain_pins
    assert display.history is not None
    for file in re.findall(r"/etc/(\S+\.(?:toml|conf))", COMPOSE):
        assert (etc / file).is_file(), file
    for service in re.findall(r"service:(\w+)", COMPOSE):
        assert f"\n  {service}:\n" in COMPOSE
    (target,) = re.findall(r"target: (\w+)", COMPOSE)
    assert f"AS {target}\n" in CONTAINERFILE


def test_what_the_image_copies_is_there() -> None:
    for copied in re.findall(r"^COPY (?!--from)(.*) \S+$", CONTAINERFILE, re.MULTILINE):
        for name in copied.split():
            assert (ROOT / name).exists(), name


def run(*command: str | Path) -> str:
    """Run a command at the root of the repository, and return what it prints."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def compose(tmp_path: Path) -> Iterator[list[str | Path]]:
    """The image, built from the wheels that `make deb` keeps; and the command of the demo."""
    for program in ("podman", "podman-compose"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is missing: apt-get install {program}")
    if subprocess.run(["podman", "image", "exists", BASE], check=False).returncode:
        pytest.skip(f"no image {BASE}: podman pull it, or BASE=IMAGE make test-containers")
    WORK.mkdir(parents=True, exist_ok=True)
    wheels = locked_wheels("requirements.lock", "amd64")[0].parent
    pip = tmp_path / "pip.conf"
    pip.write_text("[global]\nno-index = true\nfind-links = /wheels\n")
    run(
        *("podman", "build", "--network=host", f"--build-arg=BASE={BASE}", f"--tag={IMAGE}"),
        *("-v", f"{wheels}:/wheels:ro", "-v", f"{pip}:/etc/pip.conf:ro"),
        *("-f", FOLDER / "Containerfile", "."),
    )
    command: list[str | Path] = ["podman-compose", "-p", PROJECT, "-f", FOLDER / "compose.yaml"]
    yield command
    run(*command, "down", "--volumes")


def health() -> dict[str, object]:
    """Return the health of the display; empty while it starts."""
    try:
        with urllib.request.urlopen("http://127.0.0.1:8080/health", timeout=5) as answer:
            found: dict[str, object] = json.loads(answer.read())
    except OSError:
        return {}
    return found


def journal(verb: str) -> str:
    """Return what a command says of the demo's journal."""
    return run("podman", "run", "--rm", "-v", VOLUME, IMAGE, "journal", verb, "journal.db")


def finished() -> int:
    """Return the number of finished rounds in the demo's journal."""
    (count,) = re.findall(r"([\d,]+) finished", journal("stats"))
    return int(count.replace(",", ""))


@in_containers
@pytest.mark.timeout(1800)
def test_the_demo_stops_with_a_good_journal_and_goes_on(compose: list[str | Path]) -> None:
    dealt = 0
    for _ in range(2):
        run(*compose, "up", "--detach", "--no-build")
        wait_for(lambda: health().get("live") == 1, "the table on the board")
        wait_for(lambda: finished() > dealt, "a round")  # noqa: B023 - called in this turn only
        run(*compose, "down")
        assert "unchanged up to event " in journal("verify")
        dealt = finished()
