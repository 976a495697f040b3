"""`doctor` opens devices as the table's service does: with its user, groups and device rules."""

from __future__ import annotations

import errno
import grp
import json
import os
import random
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from click.testing import CliRunner

from shoe_daemon.cli import main
from shoe_daemon.config import table as config
from shoe_daemon.doctor import access
from shoe_daemon.doctor.access import Service, check_access, load_service
from shoe_daemon.errors import UserError
from tests.brokers import free_port
from tests.volume import volume

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can try another identity")
UNIT = "shoe-daemon@table-7.service"
SHOWN = """
User=
Group=
DynamicUser=yes
SupplementaryGroups=dialout
DevicePolicy=closed
DeviceAllow=char-ttyUSB rw
DeviceAllow=char-ttyACM rw
LoadState=loaded
"""
"""What systemd 252 shows of the unit."""

DIALOUT = grp.getgrnam("dialout").gr_gid
TAPE = grp.getgrnam("tape").gr_gid
DYNAMIC = 65519


@pytest.fixture
def systemctl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Write a program in place of systemctl, which shows a unit."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")

    def write(shown: str) -> None:
        program = folder / "systemctl"
        program.write_text(f'#!/bin/sh\ntest "$3" = {UNIT} && cat <<"END"\n{shown.strip()}\nEND\n')
        program.chmod(0o755)

    write(SHOWN)
    return write


@pytest.fixture
def pty() -> Iterator[str]:
    ends = os.openpty()
    yield os.ttyname(ends[1])
    for end in ends:
        os.close(end)


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, str]]:
    """Install table-7 on a port, and return the findings of `doctor` by what they are about."""
    folder = tmp_path / "etc"
    folder.mkdir()
    monkeypatch.setattr(config, "SERVICE_CONFIGS", folder)
    monkeypatch.setattr(config, "SERVICE_STATE", tmp_path)
    file = folder / "table-7.toml"

    def examine(port: str, more: str = "") -> dict[str, str]:
        broker = f"[mqtt]\nport = {free_port()}\n"
        reader = f'[[reader]]\ndriver = "angel-eye-ii"\nport = "{port}"\n'
        file.write_text(f'site = "here"\n[table]\nid = "table-7"\n{broker}{reader}{more}')
        result = CliRunner().invoke(main, ["doctor", "--config", str(file), "--json"])
        return {
            each["about"]: f"{each['verdict']} {each['text']}"
            for each in reversed(json.loads(result.stdout))
        }

    return examine


def own(path: str, group: int, mode: int, user: int = 0) -> None:
    os.chown(path, user, group)
    Path(path).chmod(mode)


@AS_ROOT
@pytest.mark.usefixtures("systemctl")
def test_a_port_that_only_root_may_open_is_bad(
    table: Callable[..., dict[str, str]], pty: str
) -> None:
    own(pty, TAPE, 0o660)
    told = table(pty)
    assert told["service"] == (
        f"good {UNIT} with a user of its own and the groups dialout: its devices are tried so"
    )
    assert told["reader shoe"] == (
        f"bad {pty}: Permission denied to {UNIT} with a user of its own and the groups dialout; "
        "it belongs to root and the group tape, mode 0660: give it a group of the service, by "
        "99-shoe-daemon.rules of the samples"
    )
    own(pty, DIALOUT, 0o660)
    assert table(pty)["reader shoe"].startswith(f"good {pty} opens")
    # The processes that tried it did not change this one.
    assert os.geteuid() == 0


@AS_ROOT
@pytest.mark.usefixtures("systemctl")
def test_copies_lamps_and_cameras_are_tried_too(
    table: Callable[..., dict[str, str]], pty: str
) -> None:
    own(pty, TAPE, 0o660)
    rule = "rule = [{severity = 3, channel = 1}]"
    for about, section in (
        ("copy shoe", f'[reader.forward]\nto = "{pty}"\n'),
        ("lamp lamp", f'[[lamp]]\nrelay = "{pty}"\n{rule}\n'),
        ("witness witness", f'[[witness]]\nsource = "{pty}"\n'),
    ):
        told = table("/dev/null", section)
        assert told[about].startswith(f"bad {pty}: Permission denied to {UNIT}")


def test_drop_ins_count(
    systemctl: Callable[[str], None], table: Callable[..., dict[str, str]], pty: str
) -> None:
    own(pty, TAPE, 0o660)
    systemctl(SHOWN.replace("=dialout", "=dialout tape"))
    assert table(pty)["reader shoe"].startswith("good")


@pytest.mark.parametrize(
    ("shown", "told"),
    [
        ("LoadState=not-found", "note shoe-daemon@table-7.service: systemctl: not-found"),
        (SHOWN.replace("dialout", "no-such"), "bad shoe-daemon@table-7.service: its group 'no-s"),
        (SHOWN.replace("=yes", "=no").replace("User=\n", "User=no-such\n", 1), "bad shoe-daemon"),
    ],
)
def test_a_service_that_is_unknown_or_cannot_start_is_named(
    systemctl: Callable[[str], None],
    table: Callable[..., dict[str, str]],
    pty: str,
    shown: str,
    told: str,
) -> None:
    systemctl(shown)
    found = table(pty)
    assert found["service"].startswith(told)
    assert found["service"].endswith(": whether it may open its devices was not tried")
    assert found["reader shoe"].startswith("good")


def test_a_computer_without_systemd_is_named(
    table: Callable[..., dict[str, str]], pty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert table(pty)["service"].startswith(f"note {UNIT}: systemctl: No such file")


@pytest.mark.usefixtures("systemctl")
def test_a_person_who_may_not_open_the_port_is_not_the_service(
    table: Callable[..., dict[str, str]], pty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A technician without the group dialout examines a table that works."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr("drivers.transport.serial.serial_for_url", deny)
    own(pty, DIALOUT, 0o660)
    told = table(pty)
    assert told["reader shoe"] == f"note {pty}: the service may open it, you may not"
    assert told["service"].endswith("judged by their modes; only root can try it")
    own(pty, TAPE, 0o660)
    assert table(pty)["reader shoe"].startswith("bad")


def deny(*_: object, **__: object) -> None:
    raise PermissionError(errno.EACCES, "Permission denied")


@AS_ROOT
def test_modes_are_judged_as_the_kernel_does(pty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel is the oracle: a real process of each identity opens a real terminal."""
    chance = random.Random(7)
    answers = []
    for _ in range(volume(40, 150)):
        mode = chance.randrange(0o1000)
        own(pty, chance.choice((DIALOUT, TAPE, DYNAMIC)), mode, chance.choice((0, DYNAMIC)))
        groups = chance.choice(((), (DIALOUT,), (DIALOUT, TAPE)))
        service = Service(UNIT, DYNAMIC, chance.choice((DYNAMIC, TAPE)), groups)
        with monkeypatch.context() as patch:
            tried = check_access("reader", pty, service)
            patch.setattr(os, "geteuid", lambda: 1000)
            assert check_access("reader", pty, service) == tried, (oct(mode), service)
        answers.append(tried is None)
    assert min(answers.count(True), answers.count(False)) > volume(4, 20)


KINDS = ("ttyUSB", "ttyS", "input", "video4linux")


@pytest.fixture
def devices(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], str]]:
    """Make a device of a kind that this kernel may lack; everybody may open it."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        lines = [f"{number + 200} {name}" for number, name in enumerate(KINDS)]
        names = folder / "devices"
        names.write_text("\n".join(["Character devices:", "1 mem", *lines, "", "Block devices:"]))
        monkeypatch.setattr(access, "_DEVICE_NAMES", names)

        def make(kind: str) -> str:
            path = folder / f"{kind}0"
            os.mknod(path, stat.S_IFCHR, os.makedev(200 + KINDS.index(kind), 0))
            path.chmod(0o666)
            return str(path)

        yield make


@AS_ROOT
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("rules", "allowed"),
    [
        (
            "DevicePolicy=closed\nDeviceAllow=char-ttyUSB rw\nDeviceAllow=char-ttyS rw",
            "ttyUSB ttyS",
        ),
        ("DevicePolicy=closed\nDeviceAllow=char-tty* rw", "ttyUSB ttyS"),
        ("DevicePolicy=auto\nDeviceAllow=char-input r", "input"),
        ("DevicePolicy=strict\nDeviceAllow=", ""),
        ("DevicePolicy=auto", " ".join(KINDS)),
    ],
)
def test_device_rules_forbid_what_a_group_would_allow(
    systemctl: Callable[[str], None],
    devices: Callable[[str], str],
    kind: str,
    rules: str,
    allowed: str,
) -> None:
    systemctl(SHOWN.partition("DevicePolicy")[0] + rules + "\nLoadState=loaded")
    device = devices(kind)
    found = check_access("reader", device, load_service(UNIT))
    if kind in allowed.split():
        assert found is None
    else:
        assert found is not None
        assert found.text.startswith(f"{device}: the device rules of {UNIT} forbid it")


def test_a_user_that_always_exists_has_its_own_groups(systemctl: Callable[[str], None]) -> None:
    shown = SHOWN.replace("DynamicUser=yes", "DynamicUser=no").replace(
        "User=\n", "User=nobody\n", 1
    )
    systemctl(shown)
    service = load_service(UNIT)
    assert service.groups == (DIALOUT, *os.getgrouplist("nobody", service.gid))
    assert (service.uid, service.gid) == (65534, 65534)
    systemctl("LoadState=loaded\n" + shown.replace("=nobody", "="))
    assert load_service(UNIT).uid == 0
    with pytest.raises(UserError, match="systemctl: no answer"):
        load_service("shoe-daemon@table-8.service")
